"""Members of local ensembles are trained on a cluster by joblib's own Dask backend."""

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_wine

from fuselearn import BaggedClassifier, FusedClassifier


@pytest.mark.slow
@pytest.mark.parametrize("kind", [BaggedClassifier, FusedClassifier])
def test_members_trained_on_a_cluster_are_the_same(processes, kind):
    X, y = load_wine(return_X_y=True)
    expected = kind(random_state=0).fit(X, y).predict_proba(X)
    before = n_transitions(processes)
    with joblib.parallel_config("dask"):
        model = kind(random_state=0, n_jobs=2).fit(X, y)
    assert n_transitions(processes) > before
    np.testing.assert_array_equal(model.predict_proba(X), expected)


def n_transitions(client):
    return client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)
