"""Every multi-label classifier passes this library's checks and scikit-learn's, and each check finds its fault."""

import re

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator

from fuselearn import CARTClassifier, SVMClassifier, multilabel
from fuselearn.multilabel import (
    AdaBoostMHClassifier,
    BinaryRelevanceClassifier,
    BRkNNClassifier,
    CalibratedLabelRankingClassifier,
    ChainClassifier,
    EnsembleHOMERClassifier,
    EnsembleOfBinaryRelevanceClassifier,
    EnsembleOfChainsClassifier,
    EnsembleOfPrunedSetsClassifier,
    FusedMultilabelClassifier,
    GradientBoostingMultilabelClassifier,
    HOMERClassifier,
    KFHEHOMERClassifier,
    KFHEMultilabelClassifier,
    LabelPowersetClassifier,
    LIFTClassifier,
    MLkNNClassifier,
    PCTForestClassifier,
    PLSTClassifier,
    PrunedSetsClassifier,
    RAkELClassifier,
    StackedBinaryRelevanceClassifier,
    ThresholdedClassifier,
    check_multilabel_estimator,
)
from fuselearn.multilabel.checks import CHECKS, run_check

TREE = CARTClassifier(min_samples_split=6, complexity=0.0)

# Add new classes here, with cheap settings: each is fitted a few hundred times.
ESTIMATORS = [
    AdaBoostMHClassifier(n_estimators=4),
    BinaryRelevanceClassifier(TREE),
    BinaryRelevanceClassifier(),
    BinaryRelevanceClassifier(GaussianNB(), decision="per_label"),
    BRkNNClassifier(3, decision="per_label"),
    BRkNNClassifier(5, weights="distance"),
    CalibratedLabelRankingClassifier(TREE, vote="probability"),
    CalibratedLabelRankingClassifier(SVMClassifier(probability="logistic")),
    ChainClassifier(TREE),
    ChainClassifier(SVMClassifier(kernel="linear", probability="logistic"), order="random"),
    EnsembleOfBinaryRelevanceClassifier(TREE, 3, decision="cardinality"),
    EnsembleOfBinaryRelevanceClassifier(SVMClassifier(probability="logistic"), 3, max_features=0.5, vote="probability"),
    EnsembleOfChainsClassifier(TREE, 3, decision="at_least_one"),
    EnsembleOfChainsClassifier(GaussianNB(), 3, max_samples=2.0),
    EnsembleOfPrunedSetsClassifier(TREE, 3, decision="cardinality"),
    EnsembleHOMERClassifier(TREE, n_estimators=3),
    FusedMultilabelClassifier(n_estimators=10),
    FusedMultilabelClassifier([("forest", PCTForestClassifier(4)), ("relevance", BinaryRelevanceClassifier(TREE))]),
    GradientBoostingMultilabelClassifier(n_estimators=6, max_features=None),
    HOMERClassifier(TREE),
    HOMERClassifier(SVMClassifier(probability="logistic"), n_clusters=2),
    KFHEHOMERClassifier(TREE, n_estimators=3),
    KFHEMultilabelClassifier(n_estimators=3),
    KFHEMultilabelClassifier(BinaryRelevanceClassifier(TREE), n_estimators=3),
    LabelPowersetClassifier(TREE),
    LabelPowersetClassifier(SVMClassifier(probability="logistic")),
    LIFTClassifier(TREE, ratio=0.2),
    MLkNNClassifier(5),
    PLSTClassifier(),
    PLSTClassifier(n_components=2, conditional=True),
    ChainClassifier(TREE, inference="beam", n_paths=3, decision="set"),
    ChainClassifier(GaussianNB(), inference="monte_carlo", n_paths=4, decision=0.5),
    PrunedSetsClassifier(GaussianNB(), min_count=3),
    RAkELClassifier(TREE, labelset_size=2),
    RAkELClassifier(SVMClassifier(probability="logistic"), labelset_size=3, overlapping=False, vote="probability"),
    PCTForestClassifier(n_estimators=4),
    StackedBinaryRelevanceClassifier(TREE, cv=3),
    ThresholdedClassifier(BinaryRelevanceClassifier(TREE)),
]


def test_no_class_is_forgotten():
    classes = {name for name in multilabel.__all__ if name.endswith("Classifier")}
    assert {type(estimator).__name__ for estimator in ESTIMATORS} == classes


def name_of(estimator):
    """Return a short name for a test."""
    base = getattr(estimator, "estimator", None)
    return f"{type(estimator).__name__}-{'default' if base is None else type(base).__name__}"


def expected_failures(estimator):
    """Return the checks of this library that an estimator is known to fail, and how."""
    failures = {}
    is_disjoint = isinstance(estimator, RAkELClassifier) and not estimator.overlapping
    if is_disjoint or isinstance(estimator, ChainClassifier | EnsembleOfChainsClassifier):
        # The order of the labels, or a random one, is part of the model.
        failures["check_permuted_labels"] = "depends on the order of the labels"
    if isinstance(getattr(estimator, "estimator", None), GaussianNB) or isinstance(estimator, PLSTClassifier):
        # scikit-learn's naive Bayes and ridge regression take numbers only.
        failures["check_categories"] = "raised ValueError .*could not convert string to float"
    return failures


@pytest.mark.filterwarnings("ignore:n_clusters", "ignore:labelset_size")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_classifiers_pass(estimator):
    failures = expected_failures(estimator)
    with parallel_config("threading"):  # processes take seconds to start
        check_multilabel_estimator(estimator, failures)
        for name, complaint in failures.items():
            with pytest.raises(AssertionError, match=f"^{type(estimator).__name__} {complaint}"):
                run_check(name, estimator)


class AnyTwoNumbers:
    """Take labels of any two neighbouring numbers, as many of scikit-learn's checks send them, for 0 and 1."""

    def fit(self, X, y, sample_weight=None):
        labels = np.asarray(y)
        are_two = labels.dtype.kind in "iuf" and labels.size > 0 and np.ptp(labels) == 1
        return super().fit(X, labels - labels.min() if are_two else y, sample_weight)


# Pickling needs the adapted classes by name.
ADAPTED = {
    kind: type(f"{kind.__name__}OfTwoNumbers", (AnyTwoNumbers, kind), {"__module__": __name__})
    for kind in dict.fromkeys(map(type, ESTIMATORS))
}
globals().update({adapted.__name__: adapted for adapted in ADAPTED.values()})

# A class alone, with trees where it can; and what the base learner makes different.
FOR_SCIKIT_LEARN = [
    *{type(estimator): estimator for estimator in reversed(ESTIMATORS)}.values(),
    BinaryRelevanceClassifier(),
    LabelPowersetClassifier(SVMClassifier(probability="logistic")),
    ThresholdedClassifier(RandomForestClassifier(3, random_state=0), cv="oob"),
]

WEIGHT_CHECKS = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
SPARSE_CHECKS = ["check_estimator_sparse_array", "check_estimator_sparse_matrix"]
NOT_APPLICABLE = {
    "check_array_api_input": "arrays are NumPy's",
    "check_classifiers_multilabel_output_format_decision_function": "there is no decision_function",
}
OTHER_DECISION = {"check_classifier_multioutput": "it expects labels where a probability is above 0.5"}
SAMPLES_ARE_DRAWN = dict.fromkeys(WEIGHT_CHECKS, "a weight of 2 changes which samples are drawn; so do two copies")


def expected_failures_of_scikit_learn(estimator):
    """Return the checks of scikit-learn that an estimator is known to fail, with the reason."""
    failures = {
        "check_classifiers_classes": "it sends one column of classes, as text",
        "check_classifiers_train": "it sends one column of classes, and expects one column of predictions",
        "check_classifier_not_supporting_multiclass": "it wants its own words for the refusal of one column of classes",
    }
    base = getattr(estimator, "estimator", None)
    if get_tags(estimator).input_tags.sparse:
        failures |= dict.fromkeys(SPARSE_CHECKS, "it sends one column of four classes")
    is_sure = isinstance(base, CARTClassifier | BinaryRelevanceClassifier | RandomForestClassifier)
    is_sure = is_sure and not isinstance(estimator, StackedBinaryRelevanceClassifier | CalibratedLabelRankingClassifier)
    if is_sure or isinstance(
        estimator, PCTForestClassifier | KFHEMultilabelClassifier | BRkNNClassifier | PLSTClassifier
    ):
        failures["check_classifiers_multilabel_output_format_predict_proba"] = "0 and 1 are refused as probabilities"
    if isinstance(estimator, MLkNNClassifier | BRkNNClassifier):
        failures |= dict.fromkeys(WEIGHT_CHECKS, "two copies are two neighbors")
    if isinstance(estimator, AdaBoostMHClassifier):
        failures |= dict.fromkeys(WEIGHT_CHECKS, "votes are smoothed by the number of samples")
    if isinstance(base, SVMClassifier) or (base is None and isinstance(estimator, BinaryRelevanceClassifier)):
        failures |= dict.fromkeys(WEIGHT_CHECKS, "weights do not count in the scaling of features")
    if isinstance(estimator, HOMERClassifier):
        names = ("dont_overwrite_parameters", "methods_subset_invariance", "fit2d_1sample", "fit2d_1feature")
        checks = [f"check_{name}" for name in (*names, "fit2d_predict1d")]
        failures |= dict.fromkeys(checks, "it sets n_clusters=1, with which nothing is divided")
    return failures


def draws_samples(estimator):
    ensemble = getattr(estimator, "estimator", None) if isinstance(estimator, ThresholdedClassifier) else estimator
    is_ensemble = hasattr(ensemble, "n_estimators") or isinstance(ensemble, FusedMultilabelClassifier)
    return is_ensemble and not isinstance(ensemble, AdaBoostMHClassifier)


def list_checks_of_scikit_learn():
    """List estimators and checks, those that are known to fail with their reason."""
    for estimator in FOR_SCIKIT_LEARN:
        adapted = ADAPTED[type(estimator)](**estimator.get_params(deep=False))
        left_out = NOT_APPLICABLE | (SAMPLES_ARE_DRAWN if draws_samples(estimator) else {})
        left_out |= OTHER_DECISION if estimator.decision != 0.5 else {}
        failures = expected_failures_of_scikit_learn(estimator)
        for _, check in estimator_checks_generator(adapted):
            name = check.func.__name__
            if name not in left_out:
                marks = [pytest.mark.xfail(reason=failures[name], strict=True)] if name in failures else []
                yield pytest.param(adapted, check, marks=marks, id=f"{name_of(estimator)}-{name}")


@pytest.mark.filterwarnings("ignore:n_clusters", "ignore:labelset_size", "ignore:Some inputs do not have OOB")
@pytest.mark.parametrize(("estimator", "check"), list(list_checks_of_scikit_learn()))
def test_scikit_learn_checks(estimator, check):
    check(estimator)


class Sound(BinaryRelevanceClassifier):
    """A classifier without faults."""

    def __init__(self, estimator="tree", decision=0.5, random_state=None, n_jobs=None):
        super().__init__(estimator, decision=decision, random_state=random_state, n_jobs=n_jobs)


def on_fit(change):
    """Make a ``fit`` that changes X, y and the weights."""
    return {"fit": lambda self, X, y, sample_weight=None: Sound.fit(self, *change(X, y, sample_weight))}


def on_scores(change):
    """Make a ``predict_proba`` that changes its result."""
    return {"predict_proba": lambda self, X: change(Sound.predict_proba(self, X))}


def on_labels(change):
    """Make a ``predict`` that changes its result."""
    return {"predict": lambda self, X: change(Sound.predict(self, X))}


def on_table(change):
    """Make a ``fit`` and a ``predict_proba`` that change X."""
    return on_fit(lambda X, y, w: (change(X), y, w)) | {
        "predict_proba": lambda self, X: Sound.predict_proba(self, change(X))
    }


def refuse(table, is_refused, error):
    """Raise an error for some tables, and return others."""
    if is_refused(table):
        raise error
    return table


def fill(table, index, value):
    """Change a table in place."""
    table[index] = value
    return table


def change_if(kind, change):
    """Make a function that changes tables of one type."""
    return lambda table: change(table) if isinstance(table, kind) else table


def fit_and_set(name, value):
    """Make a ``fit`` that sets an attribute."""

    def fit(self, X, y, sample_weight=None):
        setattr(Sound.fit(self, X, y, sample_weight), name, value)
        return self

    return {"fit": fit}


def count_fits(self, X, y, sample_weight=None):
    self.n_fits = getattr(self, "n_fits", 0) + 1
    return Sound.fit(self, X, y, sample_weight)


def fit_without_reasons(self, X, y, sample_weight=None):
    try:
        return Sound.fit(self, X, y, sample_weight)
    except ValueError:
        raise ValueError("bad") from None


def fit_in_any_case(self, X, y, sample_weight=None):
    try:
        return Sound.fit(self, X, y, sample_weight)
    except ValueError:
        Sound.fit(self, X, np.zeros((len(X), 1)))
        raise


NOISE = np.random.default_rng(0)
FRAME, SPARSE = pd.DataFrame, sparse.sparray | sparse.spmatrix
# The methods of a classifier with one fault, the check that finds it, and what it says.
FAULTS = [
    (on_fit(lambda X, y, w: (change_if(np.ndarray, lambda X: np.add(X, 1.0, out=X))(X), y, w)),
     "check_inputs_are_not_modified", "modified X, passed as ndarray."),
    (on_fit(lambda X, y, w: (X, change_if(FRAME, lambda y: fill(y, "a", 1))(y), w)),
     "check_inputs_are_not_modified", "modified Y, passed as DataFrame."),
    (on_table(change_if(SPARSE, lambda X: fill(X.tocsr(), 0, 9.0))),
     "check_inputs_are_not_modified", "modified X, passed as csr_array."),
    ({"predict_proba": property(lambda self: self.missing)}, "check_probabilities", "has no predict_proba."),
    (on_scores(lambda scores: [np.column_stack([1 - p, p]) for p in scores.T]), "check_probabilities",
     "must return probabilities of shape (7, 4) for 7 samples and 4 labels, not list."),
    (on_scores(lambda scores: scores[:, :3]), "check_probabilities",
     "must return probabilities of shape (7, 4) for 7 samples and 4 labels, not ndarray of shape (7, 3)."),
    (on_scores(lambda scores: 2 * scores), "check_probabilities", "returns probabilities outside of [0, 1]."),
    (on_scores(lambda scores: np.where(scores > 0.5, np.nan, scores)),
     "check_probabilities", "returns probabilities outside of [0, 1]."),
    (on_scores(lambda scores: np.full_like(scores, 0.3)),
     "check_probabilities", "returns the same probabilities for all samples."),
    (on_labels(lambda labels: labels.astype(float)), "check_predictions", "predicts float64 instead of integers."),
    (on_labels(lambda labels: 2 * labels), "check_predictions", "predicts values other than 0 and 1."),
    (on_labels(lambda labels: labels[:, 0]), "check_predictions",
     "must predict an array of shape (7, 4) for 7 samples, not ndarray of shape (7,)."),
    (on_labels(np.squeeze), "check_predictions",
     "must predict an array of shape (7, 1) for 7 samples, not ndarray of shape (7,)."),
    (on_fit(lambda X, y, w: (X, refuse(y, lambda y: not np.ptp(y, axis=0).all(), ValueError("one class")), w)),
     "check_constant_labels", "raised ValueError in check_constant_labels: one class"),
    (on_labels(lambda labels: labels | ~labels.any(axis=0)),
     "check_constant_labels", "predicts a label that no training sample has."),
    (on_labels(lambda labels: labels & ~labels.all(axis=0)),
     "check_constant_labels", "does not predict a label that every training sample has."),
    (on_scores(lambda scores: 1 - scores) | on_labels(lambda labels: 1 - labels), "check_constant_labels",
     "returns a larger probability for a label that no sample has than for one that all have."),
    (on_fit(lambda X, y, w: (X, refuse(y, lambda y: y[::2].max() == 0, KeyError(0)), w)),
     "check_samples_without_labels", "raised KeyError in check_samples_without_labels: 0"),
    (on_fit(lambda X, y, w: (X, refuse(y, lambda y: (y.sum(axis=0) == 1).any(), ValueError("one member")), w)),
     "check_single_positive_sample", "raised ValueError in check_single_positive_sample: one member"),
    (on_labels(lambda labels: labels | (labels.mean(axis=0) < 0.1)), "check_single_positive_sample",
     "predicts a label with a single positive sample for most samples."),
    ({"fit": count_fits, "predict_proba": lambda self, X: Sound.predict_proba(self, X) / self.n_fits},
     "check_refit", "depends on an earlier fit (differences up to 0.41)."),
    (on_scores(lambda scores: (scores + scores.mean(axis=0)) / 2),
     "check_samples_are_independent", "predicts other probabilities for one sample than for many"),
    (on_labels(lambda labels: labels & ~labels.all(axis=0)),
     "check_samples_are_independent", "predicts other labels for one sample than for many (differences up to 1)."),
    (on_fit(lambda X, y, w: (X, np.asarray(y), w)),
     "check_sparse_equals_dense", "raised ValueError in check_sparse_equals_dense: y has 0 dimension(s)"),
    (on_fit(lambda X, y, w: (X, change_if(SPARSE, lambda y: 1 - y.toarray())(y), w)),
     "check_sparse_equals_dense", "learns a different model from Y as csr_matrix"),
    (on_fit(lambda X, y, w: (change_if(SPARSE, lambda X: -X)(X), y, w)),
     "check_sparse_equals_dense", "learns a different model from X as csr_matrix"),
    (on_scores(lambda scores: scores * [1.0, *[0.9] * (scores.shape[1] - 1)]),
     "check_permuted_labels", "depends on the order of the labels"),
    ({"predict_proba": lambda self, X: Sound.predict_proba(self, X) / (self.n_jobs or 1)}, "check_seeds_and_jobs",
     "learns a different model from the same seed with {'n_jobs': 2}"),
    (on_scores(lambda scores: scores * NOISE.random(scores.shape)),
     "check_seeds_and_jobs", "learns a different model from the same seed with {'n_jobs': 1}"),
    (on_table(change_if(FRAME, lambda X: X.fillna(9.0))),
     "check_data_frames", "learns a different model from DataFrames than from arrays"),
    (on_table(change_if(FRAME, np.asarray)), "check_data_frames",
     "must keep the names ['feature 0', 'feature 1', 'feature 2', 'feature 3', 'feature 4'] in feature_names_in_, but"),
    (fit_and_set("labels_", range(4)), "check_data_frames",
     "must keep the names ['a', 'b', 'c', 'd'] in labels_, but has [0, 1, 2, 3]."),
    ({"predict_proba": lambda self, X: Sound.predict_proba(self, change_if(FRAME, lambda X: X[sorted(X)])(X))},
     "check_data_frames", "must raise ValueError for features in another order."),
    (on_fit(lambda X, y, w: (refuse(X, lambda X: np.isnan(X).any(axis=None), ValueError("it has NaN")), y, w)),
     "check_data_frames", "raised ValueError in check_data_frames: it has NaN"),
    (on_fit(lambda X, y, w: (X.astype(float), y, w)),
     "check_categories", "raised ValueError in check_categories: could not convert string to float"),
    (on_table(lambda X: X.assign(color=0.0)), "check_categories", "does not learn from a categorical feature."),
    ({"predict": lambda self, X: Sound.predict(self, refuse(X, lambda X: "violet" in [*X["color"]], KeyError("new")))},
     "check_categories", "raised KeyError in check_categories: 'new'"),
    (on_fit(lambda X, y, w: (X, y, None if w is None else 9 * w)),
     "check_sample_weight", "learns a different model from weights that are all 1"),
    (on_fit(lambda X, y, w: (X, y, None if w is None else w**0)),
     "check_sample_weight", "learns from samples of weight 0"),
    (on_scores(lambda scores: 2 * scores), "check_unknown_labels", "returns probabilities outside of [0, 1]."),
    (on_scores(lambda scores: np.full_like(scores, 0.7)),
     "check_unknown_labels", "does not learn a label that is known for some samples."),
    (on_fit(lambda X, y, w: (X, np.nan_to_num(y), w)),
     "check_unknown_labels", "does not predict a label that is 1 wherever it is known."),
    (on_fit(lambda X, y, w: (X, refuse(y, lambda y: np.isnan(y).any(), ValueError("NaN")), w)),
     "check_unknown_labels", "raises an error for labels with NaN without a message that says why."),
    (on_fit(lambda X, y, w: (X, (y > 0).astype(int), w)),
     "check_bad_labels", "must raise ValueError or TypeError for labels of 0, 1 and 2."),
    ({"fit": fit_without_reasons},
     "check_bad_labels", "raises an error for labels of 0, 1 and 2 without a message that says why."),
    ({"fit": fit_in_any_case}, "check_bad_labels",
     "must raise NotFittedError in predict after an error in fit, for labels of 0, 1 and 2."),
]  # fmt: skip


def test_a_sound_classifier_passes():
    check_multilabel_estimator(Sound())


@pytest.mark.parametrize(("methods", "check", "complaint"), FAULTS, ids=[f"{fault[1]}-{fault[2]}" for fault in FAULTS])
def test_a_fault_is_found(methods, check, complaint):
    faulty = type("Faulty", (Sound,), methods)
    with pytest.raises(AssertionError, match=f"^Faulty {re.escape(complaint)}"):
        run_check(check, faulty())


def test_every_check_is_seen_failing():
    assert {check for _, check, _ in FAULTS} == set(CHECKS)


def test_all_failures_are_reported():
    refusing = on_fit(lambda X, y, w: (change_if(FRAME, lambda X: X.astype(float))(X), y, w))
    twice = type("Twice", (Sound,), refusing | on_labels(lambda labels: labels.astype(float)))()
    with pytest.raises(AssertionError) as caught:
        check_multilabel_estimator(twice)
    first, *sentences = str(caught.value).splitlines()
    assert first == f"Twice fails 2 of {len(CHECKS)} checks:"
    assert sentences[0] == "- check_predictions: Twice predicts float64 instead of integers."
    assert sentences[1].startswith("- check_categories: Twice raised ValueError in check_categories: could not convert")
    causes = [str(error) for error in caught.value.__cause__.exceptions]
    assert causes == [sentence.split(": ", 1)[1] for sentence in sentences]
    with pytest.raises(AssertionError, match=rf"^Twice fails 1 of {len(CHECKS) - 1} checks"):
        check_multilabel_estimator(twice, {"check_categories": "it takes numbers only"})
    with pytest.raises(ValueError, match=r"unknown names \['check_everything'\]"):
        check_multilabel_estimator(twice, {"check_everything": "it is too much"})


def test_classifiers_of_scikit_learn_can_be_checked():
    failures = {
        "check_inputs_are_not_modified": "raised ValueError in check_inputs_are_not_modified: sparse multilabel",
        "check_sparse_equals_dense": "raised ValueError in check_sparse_equals_dense: sparse multilabel-indicator",
        "check_probabilities": "must return probabilities of shape (7, 4) for 7 samples and 4 labels, not list.",
        "check_predictions": "must predict an array of shape (7, 1) for 7 samples, not ndarray of shape (7,).",
        "check_data_frames": "must keep the names ['a', 'b', 'c', 'd'] in labels_, but has [].",
        "check_bad_labels": "must raise ValueError or TypeError for labels of 0, 1 and 2.",
        "check_sample_weight": "learns ",
        "check_categories": "raised ValueError in check_categories: could not convert string to float",
    }
    forest = RandomForestClassifier(n_estimators=4)
    check_multilabel_estimator(forest, failures)
    for check, complaint in failures.items():
        with pytest.raises(AssertionError, match=f"^RandomForestClassifier {re.escape(complaint)}"):
            run_check(check, forest)
