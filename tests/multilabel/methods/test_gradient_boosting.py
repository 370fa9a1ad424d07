"""Gradient boosting for all labels at once: another program's numbers, stopping, sampling, importances."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

from fuselearn.datasets import make_digit_pairs
from fuselearn.multilabel import AdaBoostMHClassifier, GradientBoostingMultilabelClassifier, PCTForestClassifier


@pytest.fixture(scope="module")
def pairs():
    X, Y = make_digit_pairs(300, random_state=0)
    return X.to_numpy(), Y.to_numpy()


def boost(n_estimators=20, **parameters):
    return GradientBoostingMultilabelClassifier(n_estimators, random_state=0, **parameters)


def test_probabilities_are_those_of_xgboost():
    """XGBoost 3.2 with multi_strategy="multi_output_tree", tree_method="hist", min_child_weight=0, base_score=0.5."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10, (40, 3)).astype(float)
    Y = np.zeros((40, 2), dtype=int)  # half of the samples have each label, so that boosting starts at 0.5
    Y[np.argsort(X[:, 0] + rng.normal(size=40) * 3)[20:], 0] = 1
    Y[np.argsort(X[:, 1] - X[:, 0] + rng.normal(size=40) * 3)[20:], 1] = 1
    settings = {"max_depth": 3, "learning_rate": 0.3, "l2": 1.0}
    model = boost(5, min_samples_leaf=1, subsample=1.0, max_features=None, **settings).fit(X, Y)
    expected = [
        [0.809673, 0.171949],
        [0.213538, 0.741263],
        [0.227822, 0.677021],
        [0.809673, 0.171949],
        [0.578973, 0.458677],
        [0.672441, 0.248597],
    ]
    np.testing.assert_allclose(model.predict_proba(X[:6]), expected, atol=1e-6)


def test_one_round_by_hand():
    X, Y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([[1, 0], [1, 1], [0, 0], [0, 1]])
    model = boost(1, learning_rate=0.5, l2=1.0, min_samples_leaf=1, subsample=1.0, max_features=None).fit(X, Y)
    # At first p is 1/2, so a sample has gradients of 1/2 and Hessians of 1/4. Left: -(-1) / (1/2 + 1) for label 0.
    expected = 1 / (1 + np.exp(-0.5 * np.array([2 / 3, 0.0])))
    np.testing.assert_allclose(model.predict_proba([[0.0]])[0], expected)
    np.testing.assert_array_equal(model.feature_importances_, [[1.0], [0.0]])


def test_weights_count_like_copies():
    rng = np.random.default_rng(1)
    X, Y, counts = rng.normal(size=(40, 3)), rng.integers(0, 2, (40, 2)), rng.integers(0, 3, 40)
    settings = {"min_samples_leaf": 1, "subsample": 1.0, "max_features": None, "l2": 0.0, "max_depth": 2}
    weighted = boost(**settings).fit(X, Y, counts * np.count_nonzero(counts) / counts.sum())
    scaled = boost(**settings).fit(X, Y, 7.0 * counts)
    np.testing.assert_allclose(weighted.predict_proba(X), scaled.predict_proba(X), rtol=1e-9)
    present = counts > 0
    alone = boost(**settings).fit(X[present], Y[present], counts[present])
    np.testing.assert_allclose(weighted.predict_proba(X), alone.predict_proba(X), rtol=1e-9)


def test_training_stops_once_held_out_samples_get_worse(pairs):
    X, Y = pairs
    model = boost(400, learning_rate=0.5, n_iter_no_change=5).fit(X, Y)
    losses = model.validation_losses_
    assert model.n_iter_ == losses.argmin() + 1
    assert len(losses) == model.n_iter_ + 5
    assert losses[0] > losses.min()
    assert not hasattr(boost().fit(X, Y), "validation_losses_")


def test_samples_and_features_are_drawn_by_the_seed(pairs):
    X, Y = pairs
    first = boost(5).fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(first, boost(5).fit(X, Y).predict_proba(X))
    assert (first != boost(5).set_params(random_state=1).fit(X, Y).predict_proba(X)).any()


def test_missing_values_and_categories_tell_something():
    rng = np.random.default_rng(0)
    kinds, number = rng.choice(["a", "b", "c"], 200), rng.random(200)
    Y = np.column_stack([kinds == "b", number < 0.3, rng.random(200) < 0.5]).astype(int)
    X = pd.DataFrame({"kind": pd.Categorical(kinds), "number": np.where(number < 0.3, np.nan, number)})
    model = boost(20, max_features=None).fit(X, Y)
    assert f1_score(Y[:, :2], model.predict(X)[:, :2], average="macro") == 1.0
    np.testing.assert_array_equal(model.feature_importances_[:2].argmax(axis=1), [0, 1])
    np.testing.assert_allclose(model.feature_importances_.sum(axis=1), 1.0)
    unknown = pd.DataFrame({"kind": pd.Categorical([None, "b"], categories=["a", "b", "c"]), "number": [0.9, np.nan]})
    np.testing.assert_array_equal(model.predict(unknown)[:, :2], [[0, 0], [1, 1]])


def test_a_part_of_few_samples_may_have_none():
    with pytest.raises(ValueError, match=r"validation_fraction=0\.1 of 2 samples is less than one sample"):
        GradientBoostingMultilabelClassifier(n_iter_no_change=5).fit([[0.0], [1.0]], [[0, 1], [1, 0]])


@pytest.mark.parametrize("kind", [GradientBoostingMultilabelClassifier, AdaBoostMHClassifier, PCTForestClassifier])
def test_verbose_prints_the_rounds(kind, capsys):
    X, Y = make_digit_pairs(60, random_state=0)
    kind(4, verbose=2, random_state=0).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0].split(";")[0].split()[1:4] for line in lines] == [
        [str(t), "of", "4"] for t in range(1, 5)
    ]
    assert "left" in lines[0]
    kind(4, random_state=0).fit(X, Y)
    assert capsys.readouterr().out == ""
