"""Members of local ensembles are trained on a cluster by joblib's own Dask backend."""

import pickle

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB

from fuselearn import BaggedClassifier, CARTClassifier, FusedClassifier
from fuselearn.learners import bind, class_target


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


@pytest.mark.parametrize("base", [CARTClassifier(), GaussianNB()])
def test_a_learner_travels_with_its_table_and_models_without(base):
    X, y = load_wine(return_X_y=True)
    here, target, counts = bind(base, X), class_target(y.astype(np.int32), 3), np.ones(len(y), dtype=np.int32)
    there = pickle.loads(pickle.dumps(here))
    model = there.train(target, counts, seed=0)
    np.testing.assert_array_equal(model.scores(), here.train(target, counts, seed=0).scores())
    returned = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(returned.scores(here.prepare(X)), model.scores(there.prepare(X)))
    with pytest.raises(RuntimeError, match="have been released"):
        returned.scores()
