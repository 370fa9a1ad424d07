"""Every multi-label classifier passes this library's checks and scikit-learn's; broken ones are found out."""

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
)
from fuselearn.multilabel.checks import CHECKS, check_multilabel_estimator, yield_checks

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
    """Give a short name for a test."""
    base = getattr(estimator, "estimator", None)
    return f"{type(estimator).__name__}-{'default' if base is None else type(base).__name__}"


ORDER = "the order of the labels, or a random one, is part of the model"
NUMBERS = "scikit-learn's naive Bayes and ridge regression take numbers only"


def expected_failures(estimator):
    """Name the checks of this library that an estimator is known to fail."""
    failures = {}
    is_disjoint = isinstance(estimator, RAkELClassifier) and not estimator.overlapping
    if is_disjoint or isinstance(estimator, ChainClassifier | EnsembleOfChainsClassifier):
        failures["check_permuted_labels"] = ORDER
    if isinstance(getattr(estimator, "estimator", None), GaussianNB) or isinstance(estimator, PLSTClassifier):
        failures["check_categories"] = NUMBERS
    return failures


@pytest.mark.filterwarnings("ignore:n_clusters", "ignore:labelset_size")
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_checks(estimator, check):
    with parallel_config("threading"):  # processes take seconds to start
        if check.__name__ in expected_failures(estimator):
            with pytest.raises(AssertionError):
                check(estimator)
        else:
            check(estimator)


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

NOT_APPLICABLE = {
    "check_array_api_input": "arrays are NumPy's",
    "check_classifiers_multilabel_output_format_decision_function": "there is no decision_function",
}
OTHER_DECISION = {"check_classifier_multioutput": "it expects labels where a probability is above 0.5"}
SAMPLES_ARE_DRAWN = {
    "check_sample_weight_equivalence_on_dense_data": "a weight of 2 changes which samples are drawn; so do two copies",
    "check_sample_weight_equivalence_on_sparse_data": "a weight of 2 changes which samples are drawn; so do two copies",
}


def expected_failures_of_scikit_learn(estimator):
    """Name the checks of scikit-learn that an estimator is known to fail."""
    failures = {
        "check_classifiers_classes": "it sends one column of classes, as text",
        "check_classifiers_train": "it sends one column of classes, and expects one column of predictions",
        "check_classifier_not_supporting_multiclass": "it wants its own words for the refusal of one column of classes",
    }
    base = getattr(estimator, "estimator", None)
    if get_tags(estimator).input_tags.sparse:
        failures["check_estimator_sparse_array"] = "it sends one column of four classes"
        failures["check_estimator_sparse_matrix"] = "it sends one column of four classes"
    is_sure = isinstance(base, CARTClassifier | BinaryRelevanceClassifier | RandomForestClassifier)
    is_sure = is_sure and not isinstance(estimator, StackedBinaryRelevanceClassifier | CalibratedLabelRankingClassifier)
    if is_sure or isinstance(estimator, PCTForestClassifier | KFHEMultilabelClassifier):
        failures["check_classifiers_multilabel_output_format_predict_proba"] = "leaves may be sure: 0 and 1 are refused"
    if isinstance(estimator, BRkNNClassifier):
        failures["check_classifiers_multilabel_output_format_predict_proba"] = "all neighbours may agree"
    if isinstance(estimator, MLkNNClassifier | BRkNNClassifier):
        failures["check_sample_weight_equivalence_on_dense_data"] = "two copies are two neighbours"
        failures["check_sample_weight_equivalence_on_sparse_data"] = "two copies are two neighbours"
    if isinstance(estimator, PLSTClassifier):
        name = "check_classifiers_multilabel_output_format_predict_proba"
        failures[name] = "values of a regression below 0 become 0, which is refused"
    if isinstance(estimator, AdaBoostMHClassifier):
        failures["check_sample_weight_equivalence_on_dense_data"] = "votes are smoothed by the number of samples"
        failures["check_sample_weight_equivalence_on_sparse_data"] = "votes are smoothed by the number of samples"
    if isinstance(base, SVMClassifier) or (base is None and isinstance(estimator, BinaryRelevanceClassifier)):
        failures["check_sample_weight_equivalence_on_dense_data"] = "weights do not count in the scaling of features"
        failures["check_sample_weight_equivalence_on_sparse_data"] = "weights do not count in the scaling of features"
    if isinstance(estimator, HOMERClassifier):
        for name in ("dont_overwrite_parameters", "methods_subset_invariance"):
            failures[f"check_{name}"] = "it sets n_clusters=1, with which nothing is divided"
        for name in ("1sample", "1feature", "predict1d"):
            failures[f"check_fit2d_{name}"] = "it sets n_clusters=1, with which nothing is divided"
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
    """A classifier without faults, which the ones below add."""

    def __init__(self, estimator="tree", decision=0.5, random_state=None, n_jobs=None):
        super().__init__(estimator, decision=decision, random_state=random_state, n_jobs=n_jobs)


class ChangesX(Sound):
    def fit(self, X, y, sample_weight=None):
        if isinstance(X, np.ndarray) and X.size:
            X[0, 0] += 1.0
        return super().fit(X, y, sample_weight)


class ChangesYInPlace(Sound):
    def fit(self, X, y, sample_weight=None):
        if isinstance(y, pd.DataFrame):
            y["new"] = 0
        return super().fit(X, y, sample_weight)


class ChangesSparseXInPredict(Sound):
    def predict_proba(self, X):
        if sparse.issparse(X):
            X.data[:] = 0.0
        return super().predict_proba(X)


class GivesLists(Sound):
    def predict_proba(self, X):
        return [np.column_stack([1 - p, p]) for p in super().predict_proba(X).T]


class GivesTooMuch(Sound):
    def predict_proba(self, X):
        return 2 * super().predict_proba(X)


class GivesNaN(Sound):
    def predict_proba(self, X):
        scores = super().predict_proba(X)
        scores[-1, 0] = np.nan
        return scores


class KnowsNothing(Sound):
    def predict_proba(self, X):
        return np.full_like(super().predict_proba(X), 0.3)


class PredictsFloats(Sound):
    def predict(self, X):
        return super().predict(X).astype(float)


class PredictsOneColumn(Sound):
    def predict(self, X):
        return super().predict(X)[:, 0]


class NeedsBothValues(Sound):
    def fit(self, X, y, sample_weight=None):
        if np.ndim(y) == 2 and y.shape[0] and not np.ptp(np.asarray(y), axis=0).all():
            raise ValueError("This solver needs samples of at least 2 classes in the data.")
        return super().fit(X, y, sample_weight)


class TakesAllForNone(Sound):
    def predict(self, X):
        labels = super().predict(X)
        return np.where(labels.all(axis=0), 0, labels)


class NeedsLabels(Sound):
    def fit(self, X, y, sample_weight=None):
        if isinstance(y, np.ndarray) and y.ndim == 2 and not y.any(axis=1).all() and y[::2].max() == 0:
            raise KeyError(0)
        return super().fit(X, y, sample_weight)


class NeedsTwoRows(Sound):
    def fit(self, X, y, sample_weight=None):
        if isinstance(y, np.ndarray) and y.ndim == 2 and y.dtype.kind == "i" and (y.sum(axis=0) == 1).any():
            raise ValueError("The least populated class in y has only 1 member.")
        return super().fit(X, y, sample_weight)


class Squeezes(Sound):
    def predict(self, X):
        return super().predict(X).squeeze()


class Remembers(Sound):
    def fit(self, X, y, sample_weight=None):
        self.seen = getattr(self, "seen", 0) + 1
        return super().fit(X, y, sample_weight)

    def predict_proba(self, X):
        return super().predict_proba(X) / self.seen


class LooksAround(Sound):
    def predict_proba(self, X):
        scores = super().predict_proba(X)
        return 0.5 * scores + 0.5 * scores.mean(axis=0)


class NeedsDenseLabels(Sound):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, np.asarray(y), sample_weight)


class MisreadsSparseX(Sound):
    def fit(self, X, y, sample_weight=None):
        return super().fit(-X if sparse.issparse(X) else X, y, sample_weight)


class PrefersTheFirstLabel(Sound):
    def predict_proba(self, X):
        scores = super().predict_proba(X)
        scores[:, 0] *= 0.9
        return scores


class ChangesParameters(Sound):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.decision = 0.4
        return self

    def __sklearn_clone__(self):
        return type(self)(self.estimator, 0.5, self.random_state, self.n_jobs)


class CannotBePickled(Sound):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.secret_ = lambda: None
        return self


class LosesItsModel(Sound):
    def __getstate__(self):
        return {name: value for name, value in super().__getstate__().items() if name != "_fused_"}


class CountsJobs(Sound):
    def predict_proba(self, X):
        return super().predict_proba(X) / (self.n_jobs or 1)


class ForgetsItsSeed(Sound):
    def predict_proba(self, X):
        scores = super().predict_proba(X)
        return np.clip(scores + 0.1 * np.random.default_rng().random(scores.shape), 0, 1)


class IgnoresNames(Sound):
    def fit(self, X, y, sample_weight=None):
        return super().fit(np.asarray(X), y, sample_weight)

    def predict_proba(self, X):
        return super().predict_proba(np.asarray(X))


class ForgetsLabelNames(Sound):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.labels_ = np.arange(self.n_labels_)
        return self


class RefusesCategories(Sound):
    def fit(self, X, y, sample_weight=None):
        if isinstance(X, pd.DataFrame):
            X.astype(float)
        return super().fit(X, y, sample_weight)


class IgnoresCategories(Sound):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X.assign(colour=0.0) if "colour" in X else X, y, sample_weight)

    def predict_proba(self, X):
        return super().predict_proba(X.assign(colour=0.0) if "colour" in X else X)


class NeedsKnownCategories(Sound):
    def predict(self, X):
        if "colour" in X and (X["colour"] == "violet").any():
            raise KeyError("violet")
        return super().predict(X)


class RefusesMissingValues(Sound):
    def fit(self, X, y, sample_weight=None):
        if isinstance(X, np.ndarray) and np.isnan(X).any():
            raise ValueError("Input X contains NaN.")
        return super().fit(X, y, sample_weight)


class FillsFramesWithZeros(Sound):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X.fillna(0.0) if isinstance(X, pd.DataFrame) else X, y, sample_weight)


class CountsAllRows(Sound):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, None if sample_weight is None else np.ones(len(sample_weight)))


class DoublesWeights(Sound):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, None if sample_weight is None else 9 * np.asarray(sample_weight))


class TakesAnyNumbers(Sound):
    def fit(self, X, y, sample_weight=None):
        if isinstance(y, np.ndarray) and y.dtype.kind == "i":
            y = (y > 0).astype(int)
        return super().fit(X, y, sample_weight)


class TakesUnknownForZero(Sound):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, np.nan_to_num(y) if isinstance(y, np.ndarray) else y, sample_weight)


class SaysLittle(Sound):
    def fit(self, X, y, sample_weight=None):
        try:
            return super().fit(X, y, sample_weight)
        except ValueError:
            raise ValueError("bad") from None


class StaysFitted(Sound):
    def fit(self, X, y, sample_weight=None):
        try:
            return super().fit(X, y, sample_weight)
        except ValueError:
            super().fit(X, np.zeros((len(X), 1)))
            raise


class TakesInfinity(Sound):
    def fit(self, X, y, sample_weight=None):
        return super().fit(np.nan_to_num(X) if isinstance(X, np.ndarray) else X, y, sample_weight)


class RaisesOtherErrors(Sound):
    def predict(self, X):
        if X.shape[1] != 5:
            raise IndexError("index 4 is out of bounds")
        return super().predict(X)


BROKEN = {
    ChangesX: ("check_tables_are_left_alone", "modified X, passed as ndarray"),
    ChangesYInPlace: ("check_tables_are_left_alone", "modified Y, passed as DataFrame"),
    ChangesSparseXInPredict: ("check_tables_are_left_alone", "modified X, passed as csr_array"),
    GivesLists: ("check_probabilities", r"must return probabilities of shape \(7, 4\).*not list"),
    GivesTooMuch: ("check_probabilities", r"outside of \[0, 1\]"),
    GivesNaN: ("check_probabilities", r"outside of \[0, 1\]"),
    KnowsNothing: ("check_probabilities", "the same probabilities for all samples"),
    PredictsFloats: ("check_labels_are_zero_or_one", "float64 instead of integers"),
    PredictsOneColumn: ("check_labels_are_zero_or_one", r"not ndarray of shape \(7,\)"),
    NeedsBothValues: ("check_constant_labels", "must learn labels that no sample has .* it raised ValueError"),
    TakesAllForNone: ("check_constant_labels", "does not predict a label that every training sample has"),
    NeedsLabels: ("check_rows_without_labels", "must learn from samples without labels, but it raised KeyError"),
    NeedsTwoRows: ("check_single_positive_row", "must learn a label with a single positive sample"),
    Squeezes: ("check_single_label", r"predicts ndarray of shape \(60,\)"),
    Remembers: ("check_refit", "depends on an earlier fit"),
    LooksAround: ("check_rows_are_independent", "other probabilities for a single sample"),
    NeedsDenseLabels: ("check_sparse_equals_dense", "must learn from Y as csr_matrix"),
    MisreadsSparseX: ("check_sparse_equals_dense", "a different model from X as csr_matrix"),
    PrefersTheFirstLabel: ("check_permuted_labels", "depends on the order of the labels"),
    ChangesParameters: ("check_clone", "clones with different parameters"),
    CannotBePickled: ("check_pickle", "must be pickled"),
    LosesItsModel: ("check_pickle", "raised AttributeError in check_pickle"),
    CountsJobs: ("check_seeds_and_jobs", r"from the same seed with \{'n_jobs': 2\}"),
    ForgetsItsSeed: ("check_seeds_and_jobs", "from the same seed"),
    IgnoresNames: ("check_frames", "does not keep the feature names"),
    ForgetsLabelNames: ("check_label_names", "must keep the names of the labels"),
    RefusesCategories: ("check_categories", "must learn from categorical and text features, but it raised"),
    TakesUnknownForZero: ("check_unknown_labels", "every sample has of which it is known"),
    IgnoresCategories: ("check_categories", "does not learn from a categorical feature"),
    NeedsKnownCategories: ("check_categories", "must predict for samples of the category 'violet'"),
    RefusesMissingValues: ("check_missing_values", "must learn from missing values, as its tags say"),
    FillsFramesWithZeros: (
        "check_missing_values",
        "a different model from missing values in DataFrames than in arrays",
    ),
    CountsAllRows: ("check_sample_weight", "learns from samples of weight 0"),
    DoublesWeights: ("check_sample_weight", "from weights that are all 1"),
    TakesAnyNumbers: ("check_bad_labels", "must refuse to learn from labels of 0, 1 and 2"),
    SaysLittle: ("check_bad_labels", "without a message"),
    StaysFitted: ("check_bad_labels", "must refuse to predict after it refused"),
    TakesInfinity: ("check_bad_tables", "must refuse to learn from X with infinite values"),
    RaisesOtherErrors: ("check_bad_tables", "with another error than IndexError"),
}


def test_a_sound_classifier_passes():
    check_multilabel_estimator(Sound())


@pytest.mark.parametrize("broken", BROKEN)
def test_broken_classifiers_are_found_out(broken):
    name, complaint = BROKEN[broken]
    [check] = (check for check in CHECKS if check.__name__ == name)
    with pytest.raises(AssertionError, match=f"^{broken.__name__} .*{complaint}"):
        check(broken())


class Twice(RefusesCategories, PredictsFloats):
    """Broken in two ways."""


def test_all_failures_are_reported():
    with pytest.raises(AssertionError) as caught:
        check_multilabel_estimator(Twice())
    first, *sentences = str(caught.value).splitlines()
    assert first == f"Twice fails 2 of {len(CHECKS)} checks:"
    assert sentences[0] == "- check_labels_are_zero_or_one: Twice predicts float64 instead of integers."
    assert sentences[1].startswith("- check_categories: Twice must learn from categorical and text features")
    assert [str(error) for error in caught.value.__cause__.exceptions] == [
        sentence.split(": ", 1)[1] for sentence in sentences
    ]
    with pytest.raises(AssertionError, match=r"^Twice fails 1 of 23 checks"):
        check_multilabel_estimator(Twice(), {"check_categories": "it takes numbers only"})


@pytest.mark.parametrize("name", ["check_pipeline", "check_grid_search"])
def test_tools_that_do_not_work(name, monkeypatch):
    class Refuses(Sound):
        def fit(self, X, y, sample_weight=None):
            raise RuntimeError("not today")

    [check] = (check for check in CHECKS if check.__name__ == name)
    with pytest.raises(AssertionError, match=r"must work in a .* not today"):
        check(Refuses())


def test_classifiers_of_scikit_learn_can_be_checked():
    known = {
        "check_tables_are_left_alone": "sparse labels are refused",
        "check_sparse_equals_dense": "sparse labels are refused",
        "check_probabilities": "there is one array per label",
        "check_single_label": "a single label becomes one dimension",
        "check_label_names": "names of labels are not kept",
        "check_bad_labels": "each column may have any classes",
        "check_sample_weight": "rows are drawn at random",
        "check_categories": "it takes numbers only",
    }
    check_multilabel_estimator(RandomForestClassifier(n_estimators=4), known)
    del known["check_probabilities"]
    with pytest.raises(AssertionError, match=r"RandomForestClassifier must return probabilities of shape \(7, 4\)"):
        check_multilabel_estimator(RandomForestClassifier(n_estimators=4), known)


def test_known_failures_must_be_checks():
    with pytest.raises(ValueError, match=r"unknown names \['check_everything'\]"):
        list(yield_checks({"check_everything": "it is too much"}))
    names = [check.__name__ for check in yield_checks({"check_clone": "why not"})]
    assert len(names) == len(CHECKS) - 1
    assert "check_clone" not in names
