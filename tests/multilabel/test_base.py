"""What all multi-label classifiers share: reading labels, decision rules, weights, prediction in parts."""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import get_tags

from fuselearn import CARTClassifier, SVMClassifier, multilabel
from fuselearn._core import draw_counts
from fuselearn.learners import LabelModel
from fuselearn.multilabel import (
    BinaryRelevanceClassifier,
    EnsembleHOMERClassifier,
    EnsembleOfBinaryRelevanceClassifier,
    EnsembleOfChainsClassifier,
    EnsembleOfPrunedSetsClassifier,
    KFHEHOMERClassifier,
)
from fuselearn.multilabel.base import MultilabelBase, single
from fuselearn.multilabel.decisions import CardinalityThreshold, PerLabelThresholds
from fuselearn.multilabel.stratification import IterativeStratifiedKFold


def relevance(**kwargs):
    kwargs.setdefault("estimator", CARTClassifier(min_samples_split=4))
    return BinaryRelevanceClassifier(random_state=0, **kwargs)


class Lookup(MultilabelBase):
    """Remember the labels of the training samples, by the number in the first column; 0.5 for others."""

    fits = ()

    def __init__(self, decision=0.5, random_state=None, n_jobs=None):
        self.decision = decision
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _base_estimator(self):
        return DummyClassifier()

    def _train(self, problem):
        used = np.flatnonzero(problem.initial_weights)
        self.fits.append(problem.X[used, 0].astype(int).tolist())
        return single(Known(dict(zip(self.fits[-1], problem.target.values[used], strict=True))), problem)


class Known(LabelModel):
    def __init__(self, labels):
        self.labels = labels

    def scores(self, X=None, *, appended=None, only=None):
        X = X if only is None else X[only]
        unknown = np.full(len(next(iter(self.labels.values()))), 0.5)
        return np.array([self.labels.get(int(number), unknown) for number in X[:, 0]])


@pytest.fixture
def lookup(monkeypatch):
    monkeypatch.setattr(Lookup, "fits", [])
    return Lookup


class TestLabels:
    @pytest.mark.parametrize(
        "form",
        [
            np.asarray, np.ndarray.tolist, lambda Y: Y.astype(bool), lambda Y: Y.astype(float), np.asfortranarray,
            sparse.csr_matrix, sparse.coo_array, pd.DataFrame, lambda Y: pd.DataFrame(Y).astype("boolean"),
            lambda Y: pl.DataFrame(Y, schema=list("abcd")), lambda Y: Y.astype(object),
        ],
    )  # fmt: skip
    def test_any_form_gives_the_same_model(self, labelled, form):
        X, Y = labelled
        expected = relevance().fit(X, Y).predict_proba(X)
        np.testing.assert_array_equal(relevance().fit(X, form(Y)).predict_proba(X), expected)

    def test_names_are_kept(self, labelled):
        X, Y = labelled
        for frame in (pd.DataFrame, pl.DataFrame):
            model = relevance().fit(X, frame({"sad": Y[:, 0], "calm": Y[:, 1]}))
            assert model.labels_.tolist() == ["sad", "calm"]
        model = relevance().fit(X, Y)
        assert model.labels_.tolist() == [0, 1, 2, 3]
        assert model.n_labels_ == 4

    def test_what_is_no_table_of_labels(self):
        for Y, match in [
            ([[0, 2], [1, 0]], "must hold 0 and 1 only"),
            ([[np.nan, np.nan], [np.nan, np.nan]], "y has only NaN"),
            ([[0, np.inf], [1, 0]], "it has inf at sample 0, label 1"),
            ([[0, -1], [1, 0]], "must hold 0 and 1 only"),
            ([["a", "b"], ["a", "b"]], "must hold 0 and 1"),
            (np.empty((2, 0)), r"0 label\(s\)"),
            ([0, 1], "one column per label"),
            ([[0, 1], [1]], "different lengths"),
            ([[0, 1]], "inconsistent numbers of samples: 2 and 1"),
            (None, "y is None"),
            (sparse.csr_array([[0, 2], [1, 0]]), "must hold 0 and 1 only"),
            (pd.DataFrame({"a": [0, 1], "b": [0, 3]}), "column 'b'"),
        ]:
            model = relevance()
            with pytest.raises(ValueError, match=match):
                model.fit(np.zeros((2, 3)), Y)
            with pytest.raises(NotFittedError):
                model.predict(np.zeros((2, 3)))

    def test_no_rows(self):
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            relevance().fit(np.empty((0, 3)), np.empty((0, 2)))

    def test_labels_without_rows_and_rows_without_labels(self, labelled):
        X = labelled[0]
        Y = np.zeros((80, 3), dtype=int)
        Y[:, 1] = 1
        Y[7, 2] = 1
        chances = relevance().fit(X, Y).predict_proba(X)
        np.testing.assert_array_equal(chances[:, :2], Y[:, :2])

    def test_nothing_but_empty_rows(self, labelled):
        X, Y = labelled
        assert not relevance().fit(X, 0 * Y).predict(X).any()


class TestDecisions:
    X = np.arange(20.0)[:, None]
    Y = np.column_stack([np.arange(20) < 8, np.arange(20) % 2 == 0]).astype(int)

    def test_probabilities_above_a_number(self, labelled):
        X, Y = labelled
        model = relevance(decision=0.2).fit(X, Y)
        np.testing.assert_array_equal(model.predict(X), model.predict_proba(X) > 0.2)
        assert model.predict(X).dtype == np.int64

    def test_rules_that_learn_nothing_need_no_further_fit(self, lookup):
        lookup(decision="at_least_one").fit(self.X, self.Y)
        assert len(lookup.fits) == 1

    def test_rules_that_learn_get_scores_of_rows_not_seen(self, lookup, monkeypatch):
        given = []
        monkeypatch.setattr(
            CardinalityThreshold, "_learn", lambda self, scores, truth, weights: given.append((scores, truth))
        )
        monkeypatch.setattr(CardinalityThreshold, "threshold_", 0.5, raising=False)
        lookup(decision="cardinality", random_state=3).fit(self.X, self.Y)
        whole, *folds = lookup.fits
        assert whole == list(range(20))
        outside = [row for fold in folds for row in range(20) if row not in fold]
        assert sorted(outside) == list(range(20))
        [(scores, truth)] = given
        np.testing.assert_array_equal(scores, np.full((20, 2), 0.5))
        np.testing.assert_array_equal(truth, self.Y)

    def test_folds_follow_the_seed(self, lookup):
        for seed in (1, 1, 2):
            lookup(decision="cardinality", random_state=seed).fit(self.X, self.Y)
        first, second, other = (lookup.fits[start + 1 : start + 6] for start in (0, 6, 12))
        assert first == second
        assert first != other

    def test_rows_without_weight_stay_out_of_the_folds(self, lookup):
        weights = np.where(self.X[:, 0] < 3, 0.0, 1.5)
        lookup(decision="cardinality", random_state=0).fit(self.X, self.Y, weights)
        assert all(set(range(3)).isdisjoint(fold) for fold in lookup.fits[1:])

    def test_fewer_rows_than_folds(self, lookup):
        lookup(decision="cardinality").fit(self.X[:3], self.Y[:3])
        assert len(lookup.fits) == 1 + 3
        with pytest.raises(ValueError, match="'cardinality' is fitted by cross-validation"):
            lookup(decision="cardinality").fit(self.X[:1], self.Y[:1])

    def test_thresholds_of_out_of_fold_scores(self, labelled):
        X, Y = labelled
        model = relevance(estimator=LogisticRegression(), decision=PerLabelThresholds(shrinkage=0)).fit(X, Y)
        assert not hasattr(model.decision, "thresholds_")
        assert (model.rule_.thresholds_ != 0.5).any()
        expected = (model.predict_proba(X) > model.rule_.thresholds_).astype(int)
        np.testing.assert_array_equal(model.predict(X), expected)

    def test_out_of_fold_scores_are_those_of_a_plain_loop(self, labelled, monkeypatch):
        X, Y = labelled
        given = []
        monkeypatch.setattr(PerLabelThresholds, "fit", lambda self, scores, truth, weights: given.append(scores))
        relevance(estimator=LogisticRegression(), decision="per_label").fit(X, Y)
        [scores] = given
        rng = np.random.default_rng(0)
        rng.integers(2**31)  # the seed of the models
        seed = int(rng.integers(2**31))
        for inside, outside in IterativeStratifiedKFold(5, random_state=seed).split(X, Y):
            expected = relevance(estimator=LogisticRegression()).fit(X[inside], Y[inside]).predict_proba(X[outside])
            np.testing.assert_array_equal(scores[outside], expected)

    def test_a_table_is_bound_once_for_all_folds(self, labelled, monkeypatch):
        bound = []
        bind_table = CARTClassifier._bind_table
        monkeypatch.setattr(CARTClassifier, "_bind_table", lambda *args: bound.append(1) or bind_table(*args))
        relevance(decision="per_label").fit(*labelled)
        assert len(bound) == 1

    def test_what_is_no_rule(self, labelled):
        for decision in ["best", -0.1, 1.5, None, True, np.nan]:
            X, Y = labelled
            with pytest.raises((ValueError, TypeError), match="decision must be"):
                relevance(decision=decision).fit(X, Y)


ENSEMBLES = [
    EnsembleOfChainsClassifier,
    EnsembleOfBinaryRelevanceClassifier,
    EnsembleOfPrunedSetsClassifier,
    EnsembleHOMERClassifier,
    KFHEHOMERClassifier,
]


class TestWithDecision:
    """A rule chosen after training decides as one that was chosen before."""

    weights = np.random.default_rng(2).choice([0.2, 1.0, 5.0], 80)

    def test_a_threshold_needs_no_data(self, labelled):
        X, Y = labelled
        model = relevance().fit(X, Y)
        np.testing.assert_array_equal(model.with_decision(0.3).predict(X), model.predict_proba(X) > 0.3)
        assert model.with_decision("at_least_one").predict(X).any(axis=1).all()
        with pytest.raises(ValueError, match="decision='per_label' learns thresholds from the training data; pass X"):
            model.with_decision("per_label")
        assert (model.decision, model.rule_.threshold) == (0.5, 0.5)

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("decision", ["cardinality", PerLabelThresholds(0)])
    def test_thresholds_are_those_of_fit(self, labelled, decision, weighted):
        X, Y = labelled
        weights = self.weights if weighted else None
        before = relevance(decision=decision).fit(X, Y, weights)
        after = relevance().fit(X, Y, weights).with_decision(decision, X, Y, weights)
        name = "threshold_" if decision == "cardinality" else "thresholds_"
        np.testing.assert_array_equal(getattr(after.rule_, name), getattr(before.rule_, name))

    def test_weights_reach_the_rule(self, labelled):
        X, Y = labelled
        model = relevance().fit(X, Y, self.weights)
        thresholds = [
            model.with_decision(PerLabelThresholds(0), X, Y, w).rule_.thresholds_ for w in (None, self.weights)
        ]
        assert not np.array_equal(*thresholds)

    @pytest.mark.parametrize("make", ENSEMBLES)
    def test_folds_are_used_where_no_out_of_bag_scores_were_kept(self, labelled, make):
        X, Y = labelled
        model = make("tree", n_estimators=3, decision=0.5, random_state=0).fit(X, Y)
        changed = model.with_decision(PerLabelThresholds(0), X, Y)
        scores = np.empty(Y.shape)
        folds = IterativeStratifiedKFold(5, random_state=model._fold_seed_)
        for inside, outside in folds.split(X, Y):
            weights = np.isin(np.arange(80), inside).astype(float)
            n_draws = len(inside) * (2 if "HOMER" in make.__name__ else 1)
            fold = make("tree", n_estimators=3, max_samples=n_draws, random_state=model._fold_seed_)
            scores[outside] = fold.fit(X, Y, weights).predict_proba(X[outside])
        np.testing.assert_array_equal(changed.rule_.thresholds_, PerLabelThresholds(0).fit(scores, Y).thresholds_)
        np.testing.assert_array_equal(changed.predict_proba(X), model.predict_proba(X))

    @pytest.mark.parametrize("make", ENSEMBLES)
    def test_out_of_bag_scores_are_used_where_they_were_kept(self, labelled, make):
        X, Y = labelled
        model = make("tree", n_estimators=8, decision="cardinality", random_state=0).fit(X, Y, self.weights)
        expected = PerLabelThresholds(0).fit(model.oob_decision_function_, Y, self.weights)
        changed = model.with_decision(PerLabelThresholds(0), X, Y, self.weights)
        np.testing.assert_array_equal(changed.rule_.thresholds_, expected.thresholds_)
        with pytest.raises(ValueError, match="X has 79 samples, but the model was fitted on 80"):
            model.with_decision("per_label", X[:79], Y[:79])

    def test_a_member_of_an_ensemble_can_change_its_rule(self, labelled):
        X, Y = labelled
        member = EnsembleHOMERClassifier("tree", n_estimators=2, random_state=0).fit(X, Y).estimators_[1]
        assert member.with_decision("per_label", X, Y).rule_.thresholds_.shape == (4,)

    def test_other_tables_get_a_sentence(self, labelled):
        X, Y = labelled
        model = relevance().fit(X, Y)
        with pytest.raises(ValueError, match=r"y has 3 label\(s\), but the model was fitted on 4"):
            model.with_decision("per_label", X, Y[:, :3])
        named = relevance().fit(X, pd.DataFrame(Y, columns=list("abcd")))
        with pytest.raises(ValueError, match="y has labels of other names or order than in fit"):
            named.with_decision("per_label", X, pd.DataFrame(Y, columns=list("dabc")))
        with pytest.raises(ValueError, match="inconsistent numbers of samples: 80 and 79"):
            model.with_decision("per_label", X, Y[1:])
        with pytest.raises(NotFittedError):
            relevance().with_decision(0.3)


def classes_with(parameter):
    classes = [getattr(multilabel, name) for name in multilabel.__all__ if name.endswith("Classifier")]
    return [one for one in classes if parameter in inspect.signature(one).parameters]


NO_REDUCTIONS = (multilabel.KFHEMultilabelClassifier, multilabel.ThresholdedClassifier)
REDUCTIONS = [make for make in classes_with("estimator") if make not in NO_REDUCTIONS]
BAD_SETTINGS = [
    *[{"C": value} for value in (-5, 0, np.nan, np.inf, "1", None, True)],
    *[{"gamma": value} for value in (-0.1, np.nan, np.inf, "scale")],
    *[{"kernel": value} for value in ("RBF", "nonsense", ["rbf"], None)],
    *[{"probability": value} for value in ("Platt", None, 0.5)],
    *[{"scaling": value} for value in ("Standard", "none", False)],
]


class TestParameters:
    def test_a_multilabel_classifier_is_no_base_learner_of_single_labels(self, labelled):
        with pytest.raises(TypeError, match="PCTForestClassifier is a multi-label classifier, which KFHEMultilabel"):
            relevance(estimator=multilabel.PCTForestClassifier(2)).fit(*labelled)

    @pytest.mark.parametrize("make", REDUCTIONS)
    def test_settings_of_machines_are_checked_before_the_data_is_read(self, make):
        for setting in BAD_SETTINGS:
            [name] = setting
            with pytest.raises((ValueError, TypeError), match=rf"\b{name} must be"):
                make(SVMClassifier(**setting)).fit("no table", "no labels")

    @pytest.mark.parametrize("make", classes_with("varied"))
    def test_settings_that_vary_are_checked_before_the_data_is_read(self, make):
        for setting in BAD_SETTINGS[:-3]:
            [(name, value)] = setting.items()
            with pytest.raises((ValueError, TypeError), match=rf"\b{name} must be"):
                make(varied={name: [value]}).fit("no table", "no labels")

    def test_max_samples_is_a_number_of_draws_or_a_share(self):
        for make in classes_with("max_samples"):
            for value in (0, -1, 0.0, -0.5, np.inf, np.nan, None, True, "all"):
                with pytest.raises((ValueError, TypeError), match=r"max_samples .*must be"):
                    make(max_samples=value).fit("no table", "no labels")

    @pytest.mark.parametrize("make", classes_with("max_samples"))
    def test_every_ensemble_draws_as_many_samples(self, labelled, make, monkeypatch):
        X, Y = labelled
        drawn = []

        def spy(seed, weights, n_draws):
            drawn.append(n_draws)
            return draw_counts(seed, weights, n_draws)

        for module in ("methods.kfhe_homer", "methods.kfhe", "methods.pct_forest", "ensemble"):
            monkeypatch.setattr(f"fuselearn.multilabel.{module}.draw_counts", spy)
        base = {"estimator": "tree"} if "vote" in inspect.signature(make).parameters else {}
        for value, n_draws in ((2, 2), (200, 200), (0.5, 40), (2.5, 200)):
            drawn.clear()
            make(**base, n_estimators=2, max_samples=value, random_state=0).fit(X, Y)
            assert drawn == [n_draws] * 2


class TestWeights:
    @pytest.mark.parametrize(
        "estimator", ["tree", LogisticRegression(), SVMClassifier(probability="logistic", scaling=None)]
    )
    def test_whole_weights_are_copies(self, labelled, estimator):
        X, Y = labelled
        weights = np.random.default_rng(1).integers(0, 4, 80)
        copies = np.repeat(np.arange(80), weights)
        weighted = relevance(estimator=estimator).fit(X, Y, weights)
        repeated = relevance(estimator=estimator).fit(X[copies], Y[copies])
        np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=2e-3)

    def test_learners_that_take_none_get_draws(self, labelled):
        X, Y = labelled
        weights = np.where(np.arange(80) < 40, np.linspace(0.1, 3.0, 80), 0.0)
        model = relevance(estimator=KNeighborsClassifier(3)).fit(X, Y, weights)
        seed = int(np.random.default_rng(0).integers(2**31))
        drawn = np.repeat(np.arange(80), draw_counts(seed, weights, 80))
        expected = [KNeighborsClassifier(3).fit(X[drawn], y[drawn]).predict(X) for y in Y.T]
        np.testing.assert_array_equal(model.predict(X), np.transpose(expected))

    def test_bad_weights(self, labelled):
        for weights in [np.zeros(80), -np.ones(80), np.ones(79), np.full(80, np.nan)]:
            with pytest.raises(ValueError, match=r"(?i)sample.weight"):
                relevance().fit(*labelled, weights)


def test_large_tables_are_predicted_in_parts(labelled, monkeypatch):
    X, Y = labelled
    expected = relevance(estimator=None).fit(X, Y).predict_proba(X)
    monkeypatch.setattr("fuselearn.learners.svm.KERNEL_VALUES", 80 * 30)
    for form in (np.asarray, sparse.csr_array, lambda X: pl.DataFrame(X, schema=list("abcde"))):
        model = relevance(estimator=None).fit(form(X), Y)
        sizes = []
        whole = model._fused_.scores
        monkeypatch.setattr(model._fused_, "scores", lambda X, n: sizes.append(X.shape[0]) or whole(X, n))  # noqa: B023
        np.testing.assert_allclose(model.predict_proba(form(X)), expected, atol=1e-4)
        assert sizes == [30, 30, 20]


def test_what_the_base_learner_takes_decides_what_the_estimator_takes():
    for estimator, nan, thin in (
        (None, False, True), ("tree", True, True), (CARTClassifier(), True, True),
        (LogisticRegression(), False, True),
    ):  # fmt: skip
        tags = get_tags(relevance(estimator=estimator)).input_tags
        assert (tags.allow_nan, tags.sparse) == (nan, thin)


@pytest.mark.parametrize("name", ["f1_macro", "roc_auc", "average_precision", "accuracy"])
def test_scorers_of_scikit_learn(labelled, name):
    X, Y = labelled
    model = relevance().fit(X, Y)
    assert 0.5 < get_scorer(name)(model, X, Y) <= 1.0


def test_an_interrupted_fit_leaves_an_unfitted_model(labelled, monkeypatch):
    X, Y = labelled
    model = relevance(decision="cardinality").fit(X, Y)

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(model, "_held_out_scores", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    with pytest.raises(NotFittedError):
        model.predict(X)
