"""The settings that HOMERs of an ensemble choose from."""

import numpy as np
import pytest

from fuselearn.multilabel import EnsembleHOMERClassifier
from fuselearn.multilabel.homer_ensemble import HOMERVariety, list_cluster_numbers

VARIETY = HOMERVariety(("balanced", "random"), range(2, 5), [{"kernel": "rbf"}, {"kernel": "linear"}])


@pytest.mark.parametrize(("n_labels", "most"), [(1, 2), (3, 2), (6, 2), (8, 2), (9, 3), (14, 3), (174, 13)])
def test_clusters_number_from_two_to_the_root_of_the_labels(n_labels, most):
    assert list(list_cluster_numbers(n_labels)) == list(range(2, most + 1))


def test_settings_are_chosen_uniformly_and_on_their_own():
    chosen = [VARIETY.choose(seed) for seed in range(2400)]
    numbers = {}
    for clustering, n_clusters, learner in chosen:
        key = clustering, n_clusters, learner["kernel"]
        numbers[key] = numbers.get(key, 0) + 1
    assert len(numbers) == 12
    assert max(abs(number - 200) for number in numbers.values()) < 60  # more than four standard deviations


def test_the_first_homer_chooses_its_number_of_clusters_only():
    chosen = [VARIETY.choose_first(seed) for seed in range(50)]
    assert {(settings.clustering, settings.learner["kernel"]) for settings in chosen} == {("balanced", "rbf")}
    assert {settings.n_clusters for settings in chosen} == {2, 3, 4}


def test_each_kernel_may_have_its_own_factor():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 3)), rng.integers(0, 2, (40, 3))
    model = EnsembleHOMERClassifier(n_estimators=8, gamma={"rbf": 0.5, "linear": 1.0}, random_state=0).fit(X, Y)
    assert {(homer.kernel, homer.gamma) for homer in model.estimators_} == {("rbf", 0.5), ("linear", 1.0)}
    with pytest.raises(ValueError, match="gamma must be a finite number of at least 0, not -1"):
        EnsembleHOMERClassifier(gamma={"rbf": 0.5, "linear": -1.0}).fit(X, Y)
