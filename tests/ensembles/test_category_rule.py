"""Category features that mean nothing cost nothing, and those that matter are used."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

from fuselearn import BaggedClassifier, CARTClassifier, KFHEClassifier, SAMMEClassifier
from fuselearn.multilabel import PCTForestClassifier

ENSEMBLES = {
    "KFHE": KFHEClassifier,
    "bagging": BaggedClassifier,
    "SAMME": SAMMEClassifier,
    "PCT": PCTForestClassifier,
}


def score(make, X, y, seed):
    """Return the macro F1 over three folds; a PCT forest learns a label for each class."""
    scores = []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=seed).split(X, y):
        model = make()
        is_forest = isinstance(model, PCTForestClassifier)
        model.fit(X.iloc[train], np.eye(y.max() + 1, dtype=int)[y[train]] if is_forest else y[train])
        found = model.predict_proba(X.iloc[test]).argmax(axis=1) if is_forest else model.predict(X.iloc[test])
        scores.append(f1_score(y[test], found, average="macro"))
    return np.mean(scores)


def numbers(n_samples, n_classes, seed):
    X, y = make_classification(
        n_samples, 8, n_informative=5, n_classes=n_classes, n_clusters_per_class=1, flip_y=0.1, random_state=seed
    )
    return pd.DataFrame(X).add_prefix("x"), y


def random_categories(n_samples, cardinality, seed):
    rng = np.random.default_rng(seed)
    values = rng.permutation(n_samples) if cardinality == "unique" else rng.integers(cardinality, size=n_samples)
    return pd.Categorical(values.astype(str))


def change_by_noise(make, n_samples, n_classes, cardinality, n_tables):
    """Average by how much a random category feature changes the score of a model."""
    changes = []
    for seed in range(n_tables):
        X, y = numbers(n_samples, n_classes, seed)
        noisy = X.assign(category=random_categories(n_samples, cardinality, seed))
        changes.append(score(make, noisy, y, seed) - score(make, X, y, seed))
    return np.mean(changes)


@pytest.mark.parametrize(("n_classes", "cardinality"), [(2, "unique"), (5, 30)])
def test_a_random_category_feature_costs_a_tree_next_to_nothing(n_classes, cardinality):
    assert change_by_noise(CARTClassifier, 300, n_classes, cardinality, 8) >= -0.01
    assert change_by_noise(partial(CARTClassifier, category_rule="rpart"), 300, n_classes, cardinality, 8) < -0.01


@pytest.mark.parametrize(
    ("name", "cardinality"), [("KFHE", "unique"), ("bagging", 100), ("SAMME", "unique"), ("PCT", 100)]
)
def test_a_random_category_feature_costs_an_ensemble_next_to_nothing(name, cardinality):
    make = partial(ENSEMBLES[name], n_estimators=20, random_state=0)
    assert change_by_noise(make, 300, 3, cardinality, 8) >= -0.01


@pytest.mark.slow
@pytest.mark.parametrize("cardinality", [30, 100, 300, 1_000, "unique"])
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize(("n_samples", "n_tables"), [(300, 8), (1_000, 4), (5_000, 1)])
@pytest.mark.parametrize("name", ENSEMBLES)
def test_a_random_category_feature_of_any_cardinality_costs_next_to_nothing(
    name, n_samples, n_tables, n_classes, cardinality
):
    if cardinality != "unique" and cardinality > n_samples:
        pytest.skip("more categories than samples")
    assert (
        change_by_noise(partial(ENSEMBLES[name], random_state=0), n_samples, n_classes, cardinality, n_tables) >= -0.01
    )


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_hundred_categories_with_an_effect_each_are_used(n_classes):
    changes = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        category = rng.integers(100, size=1_000)
        utilities = 2.0 * rng.normal(size=(100, n_classes))[category] + rng.gumbel(size=(1_000, n_classes))
        y = utilities.argmax(axis=1)
        X = pd.DataFrame({"x": rng.normal(size=1_000), "category": pd.Categorical(category.astype(str))})
        trees = [CARTClassifier(complexity=None, category_rule=rule) for rule in ("corrected", "rpart")]
        corrected, rpart = (score(partial(KFHEClassifier, tree, n_estimators=20), X, y, seed) for tree in trees)
        assert corrected > 1.3 / n_classes
        changes.append(corrected - rpart)
    assert np.mean(changes) > -0.02


def test_nearly_unique_text_leaves_a_tree_as_it_was():
    X, y = numbers(300, 2, 0)
    text = [f"customer {i} called" for i in range(300)]
    plain, noisy = CARTClassifier().fit(X, y), CARTClassifier().fit(X.assign(note=text, id=text[::-1]), y)
    np.testing.assert_array_equal(noisy.predict_proba(X.assign(note="new", id="new")), plain.predict_proba(X))
    assert noisy.feature_importances_[-2:].tolist() == [0.0, 0.0]
    rpart = CARTClassifier(category_rule="rpart").fit(X.assign(note=text, id=text[::-1]), y)
    assert rpart.feature_importances_[-2:].sum() == 1.0


def test_weights_that_single_out_samples_are_no_evidence_for_their_categories():
    X, y = numbers(300, 2, 0)
    noisy = X.assign(category=random_categories(300, "unique", 0))
    weights = np.random.default_rng(0).exponential(size=300) ** 3
    for own in (weights, np.ceil(weights)):
        tree = CARTClassifier().fit(noisy, y, sample_weight=own)
        assert tree.feature_importances_[-1] == 0.0
