"""SHAP values: Shapley values by definition, those of shap for scikit-learn's trees, and sums that are predictions."""

from itertools import combinations
from math import factorial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import shap
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.datasets import load_diabetes, load_wine, make_multilabel_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fuselearn import (
    BaggedClassifier,
    BaggedRegressor,
    CARTClassifier,
    CleanedClassifier,
    ForestClassifier,
    FusedClassifier,
    KFHEClassifier,
    SAMMEClassifier,
    SVMClassifier,
)
from fuselearn.combine import ErrorCorrectingCodeClassifier
from fuselearn.diagnosis import explain
from fuselearn.ensembles import LogitBoostClassifier, RotationForestClassifier
from fuselearn.multilabel import (
    AdaBoostMHClassifier,
    BinaryRelevanceClassifier,
    EnsembleOfBinaryRelevanceClassifier,
    GradientBoostingMultilabelClassifier,
    PCTForestClassifier,
)

WINE = load_wine(return_X_y=True, as_frame=True)
LABELS = make_multilabel_classification(60, random_state=0)


@pytest.fixture(scope="module")
def mixed():
    """Two numbers, forty categories, and categories of which some are missing."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=240)
    noise = rng.random((240, 3)) < 0.5
    X = pd.DataFrame(
        {
            "size": np.where(noise[:, 0], y, rng.normal(size=240)),
            "town": pd.Categorical((y + 3 * rng.integers(13, size=240) + noise[:, 1]).astype(str)),
            "age": np.where(rng.random(240) < 0.2, np.nan, y + rng.normal(size=240)),
            "kind": pd.Categorical(np.where(noise[:, 2], y, rng.integers(6, size=240)).astype(str)),
        }
    )
    X.loc[::11, "kind"] = np.nan
    return X, y


def sums(explanation):
    return explanation.values.sum(axis=1) + explanation.base_values


def expected_output(tree, sample, known, node=0):
    """Return the mean over training samples of a node, except that the sample's known features decide."""
    record = tree.nodes[node]
    left, right = record["left"], record["left"] + 1
    if record["feature"] < 0:
        return tree.shares()[node]
    if record["feature"] not in known:
        weights = tree.nodes["count"][[left, right]] / record["count"]
        return sum(w * expected_output(tree, sample, known, n) for w, n in zip(weights, (left, right), strict=True))
    value = sample[record["feature"]]
    if np.isnan(value):
        goes_left = record["missing_left"]
    elif not record["is_category"]:
        goes_left = value < record["threshold"]
    elif value < 0:
        goes_left = record["heavier_left"]
    else:
        goes_left = int(tree.subsets[record["cut"] + int(value) // 32]) >> (int(value) % 32) & 1
    return expected_output(tree, sample, known, left if goes_left else right)


def shapley_values(trees, sample):
    """Average over all orders in which features can join."""
    n = len(sample)
    worth = {
        known: np.mean([expected_output(tree, sample, known) for tree in trees], axis=0)
        for size in range(n + 1)
        for known in combinations(range(n), size)
    }
    values = np.zeros((n, len(worth[()])))
    for known, output in worth.items():
        for feature in set(range(n)) - set(known):
            weight = factorial(len(known)) * factorial(n - len(known) - 1) / factorial(n)
            values[feature] += weight * (worth[tuple(sorted({*known, feature}))] - output)
    return values, worth[()]


@pytest.mark.parametrize("columns", [["size", "age"], ["size", "town", "age", "kind"]])
def test_values_are_shapley_values_by_their_definition(mixed, columns):
    X, y = mixed[0][columns], mixed[1]
    forest = ForestClassifier(3, max_depth=6, max_features=None, random_state=0).fit(X, y)
    new = X.iloc[[0, 7, 11, 33]].copy()
    if "kind" in columns:
        new["kind"] = pd.Categorical([*new["kind"].iloc[:3], "unseen"])
    explanation = explain(forest, new)
    trees = [model.tree for model in forest._fused_.models]
    for k, sample in enumerate(explanation.data):
        values, base = shapley_values(trees, sample)
        np.testing.assert_allclose(explanation.values[k], values, atol=1e-12)
        np.testing.assert_allclose(explanation.base_values[k], base)


def test_one_tree_has_the_values_that_shap_gives_to_the_same_tree_of_scikit_learn():
    X, y = WINE
    ours = CARTClassifier(complexity=None, max_depth=2, min_samples_split=2, min_samples_leaf=1).fit(X, y)
    theirs = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))
    explanation = explain(ours, X)
    np.testing.assert_allclose(explanation.values, shap.TreeExplainer(theirs)(X).values, atol=1e-12)
    np.testing.assert_allclose(explanation.base_values, np.tile(np.bincount(y) / len(y), (len(y), 1)))


@pytest.mark.parametrize(
    "model",
    [
        KFHEClassifier(n_estimators=10, random_state=0),
        SAMMEClassifier(n_estimators=10, random_state=0),
        BaggedClassifier(n_estimators=10, random_state=0),
        ForestClassifier(10, random_state=0),
        ForestClassifier(10, vote="class", splitter="random", random_state=0),
        CARTClassifier(),
        CleanedClassifier(ForestClassifier(10, random_state=0), random_state=0),
    ],
)
@pytest.mark.filterwarnings("ignore:Members 'svm'")
def test_sums_are_probabilities(model, mixed):
    X, y = mixed
    model.fit(X, y)
    new = X.assign(kind=pd.Categorical(np.where(np.arange(240) % 5, X["kind"], "unseen")))
    explanation = explain(model, new)
    assert explanation.shape == (240, 4, 3)
    assert explanation.feature_names == list(X.columns)
    np.testing.assert_allclose(sums(explanation), model.predict_proba(new), atol=1e-6)


def test_sums_are_values_of_a_regressor():
    X, y = load_diabetes(return_X_y=True)
    model = BaggedRegressor(n_estimators=5, random_state=0).fit(X, y)
    explanation = explain(model, X)
    assert explanation.shape == X.shape
    np.testing.assert_allclose(sums(explanation), model.predict(X), rtol=1e-9)
    assert explanation.base_values[0] == pytest.approx(y.mean(), rel=0.1)


def test_of_logitboost_the_scores_before_the_softmax_are_explained(mixed):
    model = LogitBoostClassifier(n_estimators=5).fit(*mixed)
    np.testing.assert_allclose(
        softmax(sums(explain(model, mixed[0])), axis=1), model.predict_proba(mixed[0]), atol=1e-6
    )


@pytest.mark.parametrize(
    "model",
    [
        PCTForestClassifier(n_estimators=4, random_state=0),
        BinaryRelevanceClassifier("tree"),
        EnsembleOfBinaryRelevanceClassifier("tree", n_estimators=3, random_state=0),
        GradientBoostingMultilabelClassifier(n_estimators=4, random_state=0),
        AdaBoostMHClassifier(n_estimators=4, random_state=0),
    ],
)
def test_sums_are_probabilities_or_log_odds_of_labels(model):
    X, Y = LABELS
    is_sum = not isinstance(model, GradientBoostingMultilabelClassifier | AdaBoostMHClassifier)
    Y = np.column_stack([Y, np.zeros(60), np.ones(60)]) if is_sum else Y
    found = sums(explain(model.fit(X, Y), X))
    np.testing.assert_allclose(found if is_sum else expit(found), model.predict_proba(X), atol=1e-6)


def test_a_value_equal_to_a_threshold_goes_right():
    tree = CARTClassifier(min_samples_split=2, min_samples_leaf=1).fit([[0.0], [1.0]] * 5, [0, 1] * 5)
    assert tree.tree_.nodes["threshold"][0] == 0.5
    assert sums(explain(tree, [[0.5]])).tolist() == tree.predict_proba([[0.5]]).tolist() == [[0.0, 1.0]]


def test_sparse_samples_and_pipelines():
    X, y = WINE
    forest = ForestClassifier(5, random_state=0).fit(X.to_numpy(), y)
    expected = explain(forest, X.to_numpy())
    np.testing.assert_array_equal(explain(forest, sparse.csr_array(X)).values, expected.values)
    piped = make_pipeline(StandardScaler(), ForestClassifier(5, random_state=0)).fit(X, y)
    np.testing.assert_allclose(sums(explain(piped, X)), piped.predict_proba(X), atol=1e-6)


def test_plots_of_shap_take_the_explanation(mixed):
    explanation = explain(ForestClassifier(5, random_state=0).fit(*mixed), mixed[0])
    assert explanation.output_names == ["0", "1", "2"]
    for plot, shown in [
        (shap.plots.beeswarm, explanation[..., 1]),
        (shap.plots.bar, explanation[..., 1]),
        (shap.plots.waterfall, explanation[3, :, 1]),
        (shap.plots.scatter, explanation[:, "size", 1]),
    ]:
        plot(shown, show=False)
        assert plt.gcf().axes
        plt.close("all")
    assert explanation.display_data[3, 1] == mixed[0]["town"].iloc[3]


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (SVMClassifier(), "SVMClassifier cannot be explained: its output is not a sum of trees.$"),
        (RotationForestClassifier(n_estimators=2), "RotationForestClassifier cannot be explained"),
        (BaggedClassifier(SVMClassifier(), n_estimators=2), "BaggedClassifier cannot be explained"),
        (ErrorCorrectingCodeClassifier(CARTClassifier()), "ErrorCorrectingCodeClassifier cannot be explained"),
        (LogisticRegression(max_iter=5_000), "LogisticRegression cannot be explained"),
        (
            FusedClassifier([("svm", SVMClassifier()), ("forest", ForestClassifier(5))], tolerance=1),
            r"not a sum of trees\. Explain one of its members, such as model\.named_estimators_\['forest'\]: forest\.$",
        ),
    ],
)
def test_what_is_no_sum_of_trees_gets_a_sentence(model, sentence):
    X, y = WINE
    with pytest.raises(TypeError, match=sentence):
        explain(model.fit(X, y), X)


def test_a_model_must_be_fitted():
    with pytest.raises(NotFittedError):
        explain(ForestClassifier(), WINE[0])
