"""NaN in Y: unknown labels do not count in classifiers that support them, and in decision rules."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from fuselearn import CARTClassifier, multilabel
from fuselearn.multilabel import (
    AdaBoostMHClassifier,
    BinaryRelevanceClassifier,
    BRkNNClassifier,
    ChainClassifier,
    EnsembleOfBinaryRelevanceClassifier,
    GradientBoostingMultilabelClassifier,
    MLkNNClassifier,
    PCTForestClassifier,
)
from fuselearn.multilabel.base import MultilabelBase
from fuselearn.multilabel.decisions import CardinalityThreshold, KnownSets, MicroF1Threshold, PerLabelThresholds
from fuselearn.multilabel.labels import read_partial_labels

NAN = np.nan
ACCEPTING = [
    AdaBoostMHClassifier(10),
    BinaryRelevanceClassifier("tree"),
    BRkNNClassifier(5),
    EnsembleOfBinaryRelevanceClassifier("tree", 3, random_state=0),
    GradientBoostingMultilabelClassifier(10, max_features=None, random_state=0),
    MLkNNClassifier(5),
]


@pytest.fixture(scope="module")
def partial():
    """Return samples, all labels, and labels of which a third is hidden."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    Y = (X + 0.1 * rng.normal(size=X.shape) > 0).astype(float)
    return X, Y, np.where(rng.random(Y.shape) < 0.33, NAN, Y)


@pytest.mark.parametrize(
    "Y",
    [
        [[1, NAN], [0, 1]],
        [[True, None], [False, True]],
        pd.DataFrame({"a": [1, 0], "b": [NAN, 1]}),
        pd.DataFrame({"a": [1, 0], "b": pd.array([None, True], dtype="boolean")}),
        pd.DataFrame({"a": [1, 0], "b": pd.array([None, 1], dtype="Int64")}),
        pl.DataFrame({"a": [1, 0], "b": [None, 1]}),
        sparse.csr_array([[1, NAN], [0, 1]]),
    ],
)
def test_unknown_labels_are_read_from_every_table(Y):
    np.testing.assert_array_equal(read_partial_labels(Y), [[1, -1], [0, 1]])
    assert read_partial_labels(Y).dtype == np.int8


class TestClassifiers:
    @pytest.mark.parametrize("model", ACCEPTING, ids=lambda model: type(model).__name__)
    def test_hidden_labels_are_found_from_the_known_ones(self, partial, model):
        X, Y, hidden = partial
        found = model.fit(X, hidden).predict(X)
        unknown = np.isnan(hidden)
        assert (found == Y)[unknown].mean() > 0.75

    @pytest.mark.parametrize("decision", ["cardinality", "per_label", "micro_f1", "known_sets", "at_least_one"])
    def test_rules_are_learned_from_the_known_ones(self, partial, decision):
        X, Y, hidden = partial
        model = BinaryRelevanceClassifier("tree", decision=decision, random_state=0).fit(X, hidden)
        assert (model.predict(X) == Y)[np.isnan(hidden)].mean() > 0.7
        again = model.with_decision(0.5).with_decision(decision, X, hidden)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))

    def test_others_name_those_that_can(self, partial):
        X, _, hidden = partial
        frame = pd.DataFrame(hidden, columns=["sad", "calm", "glad"])
        row, column = np.argwhere(np.isnan(hidden))[0]
        names = ", ".join(sorted(type(model).__name__ for model in ACCEPTING))
        match = (
            f"NaN at sample {row}, label '{frame.columns[column]}'. PCTForestClassifier does not support unknown "
            f"labels; these classifiers do: {names}."
        )
        with pytest.raises(ValueError, match=match):
            PCTForestClassifier(3).fit(X, frame)

    def test_all_classes_say_whether_they_can(self):
        can = {type(model) for model in ACCEPTING}
        kinds = [getattr(multilabel, name) for name in multilabel.__all__ if name.endswith("Classifier")]
        assert {kind for kind in kinds if issubclass(kind, MultilabelBase) and kind._accepts_unknown} == can

    @pytest.mark.parametrize("base", ["tree", LogisticRegression(), None], ids=["tree", "clones", "machines"])
    def test_a_label_is_learned_from_the_samples_that_know_it(self, partial, base):
        X, Y, hidden = partial
        model = BinaryRelevanceClassifier(base, random_state=0).fit(X, hidden)
        if base is None:  # machines are calibrated on folds, and features scaled, over all samples
            assert (model.predict(X) == Y).mean() > 0.8
            return
        for j in range(3):
            known = ~np.isnan(hidden[:, j])
            alone = BinaryRelevanceClassifier(base, random_state=0).fit(X[known], hidden[known, j : j + 1])
            np.testing.assert_allclose(model.predict_proba(X)[:, j], alone.predict_proba(X)[:, 0])
            np.testing.assert_allclose(
                model.estimators_[j].predict_proba(X)[:, 1], alone.estimators_[0].predict_proba(X)[:, 1]
            )

    def test_boosting_leaves_out_what_is_not_known(self, partial):
        """A single label is boosted as if only the samples that know it existed."""
        X, _, hidden = partial
        known = ~np.isnan(hidden[:, 0])
        settings = {"subsample": 1.0, "max_features": None, "min_samples_leaf": 1, "max_bins": 200, "decision": 0.5}
        for kind, given in ((GradientBoostingMultilabelClassifier, settings), (AdaBoostMHClassifier, {})):
            model = kind(5, **given).fit(X, hidden[:, :1])
            alone = kind(5, **given).fit(X[known], hidden[known, :1])
            tolerance = 0.1 if kind is AdaBoostMHClassifier else 1e-9  # AdaBoost smooths by the number of samples
            assert (abs(model.predict_proba(X[known]) - alone.predict_proba(X[known])) <= tolerance).all()

    def test_neighbors_by_hand(self):
        X, Y = [[0.0], [1.0], [2.0], [3.0]], [[1, NAN], [NAN, NAN], [0, 1], [0, 0]]
        model = BRkNNClassifier(3).fit(X, Y)
        np.testing.assert_allclose(model.predict_proba([[0.9], [2.9]]), [[1 / 2, 1.0], [0.0, 1 / 2]])
        model = MLkNNClassifier(2).fit(X, Y)
        np.testing.assert_allclose(model.priors_, [(1 + 1) / (2 + 3), (1 + 1) / (2 + 2)])

    def test_a_label_that_is_nowhere_known_is_never_predicted(self, partial):
        X, _, hidden = partial
        nowhere = hidden.copy()
        nowhere[:, 1] = NAN
        for model in ACCEPTING:
            scores = model.fit(X, nowhere).predict_proba(X)
            assert not scores[:, 1].any()
            assert np.isfinite(scores).all()

    def test_a_chain_needs_all(self, partial):
        X, _, hidden = partial
        with pytest.raises(ValueError, match="ChainClassifier does not support unknown labels"):
            ChainClassifier(CARTClassifier()).fit(X, hidden)


class TestRules:
    SCORES = np.array([[0.9, 0.3], [0.6, 0.8], [0.4, 0.2], [0.1, 0.7]])
    Y = np.array([[1, NAN], [1, 1], [0, 0], [NAN, 0]])

    def test_one_threshold(self):
        assert CardinalityThreshold().fit(self.SCORES, self.Y).threshold_ == pytest.approx(0.65)  # .9, .8 and .7
        assert MicroF1Threshold().fit(self.SCORES, self.Y).threshold_ == pytest.approx(0.5)

    def test_a_threshold_per_label(self):
        rule = PerLabelThresholds(0, min_positives=1).fit(self.SCORES, self.Y)
        np.testing.assert_allclose(rule.thresholds_, [0.5, 0.75])

    def test_sets_of_samples_that_know_all(self):
        np.testing.assert_array_equal(KnownSets().fit(self.SCORES, self.Y).sets_, [[0, 0], [1, 1]])
        with pytest.raises(ValueError, match="NaN in every sample; KnownSets needs"):
            KnownSets().fit(self.SCORES[:1], self.Y[:1])

    def test_something_must_be_known(self):
        with pytest.raises(ValueError, match="Y has only NaN"):
            CardinalityThreshold().fit([[0.5, 0.1]], [[NAN, NAN]])
