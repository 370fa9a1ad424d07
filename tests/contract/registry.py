"""All public estimators, each once with cheap settings, and what it promises beyond the contract of all.

A new class needs an entry here, and a new parameter values in ``bad_parameters.py``.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine, make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import fuselearn
from fuselearn.combine import (
    AveragingRegressor,
    ConsensusClustering,
    EnsembleSelection,
    ErrorCorrectingCodeClassifier,
    FixedRuleClassifier,
    FusedClassifier,
    LinearStackingClassifier,
    LinearStackingRegressor,
    PredictionSetClassifier,
)
from fuselearn.diagnosis import CleanedClassifier
from fuselearn.ensembles import (
    BaggedClassifier,
    BaggedRegressor,
    BrownBoostClassifier,
    CARTClassifier,
    CARTRegressor,
    ForestClassifier,
    KFHEClassifier,
    LogitBoostClassifier,
    MadaBoostClassifier,
    RotationForestClassifier,
    SAMMEClassifier,
    SVMClassifier,
)
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
    MLkNNClassifier,
    PCTForestClassifier,
    PrunedSetsClassifier,
    RAkELClassifier,
    StackedBinaryRelevanceClassifier,
    ThresholdedClassifier,
)
from fuselearn.scale import DaskEnsemble, DiskEnsemble

NOTHING: Mapping[str, str] = MappingProxyType({})


class Entry(NamedTuple):
    """An estimator and its promises."""

    model: Any
    task: str
    """What it learns: "classes", "labels", "values" or "clusters"."""
    copies: bool = True
    """Whether a whole weight means so many copies of the sample."""
    categories: bool = True
    """Whether it learns from categories of DataFrames."""
    missing: bool = True
    """Whether it learns from missing values."""
    folds: bool = False
    """Whether it holds out samples in folds, which samples without weight are dealt to as well."""
    any_base: bool = False
    """Whether ``estimator`` may be any classifier, or any regressor."""
    fails: Mapping[str, str] = NOTHING
    """Checks of scikit-learn and of multi-label classifiers that do not apply, each with the reason."""

    def __repr__(self) -> str:
        return repr(self.model)

    @property
    def kind(self) -> type:
        return type(self.model)

    def make(self, **changes: Any) -> Any:
        """Make an estimator with other settings and a seed."""
        seed = {"random_state": 0} if self.takes("random_state") else {}
        return clone(self.model).set_params(**{**seed, **changes})

    def fit(self, **changes: Any) -> Any:
        """Fit an estimator to the samples of its task."""
        return self.make(**changes).fit(*self.samples())

    def samples(self) -> tuple[Any, Any]:
        """Return copies of a small table and of a target."""
        X, y = make_samples(self.task)
        return X.copy(), y.copy()

    def takes(self, parameter: str) -> bool:
        """Tell whether a parameter of this name exists."""
        return parameter in inspect.signature(self.kind).parameters


@cache
def make_samples(task: str) -> tuple[Any, Any]:
    """Make a table and a target."""
    if task == "labels":
        return make_multilabel_classification(60, 6, n_classes=5, random_state=0)
    X, y = load_wine(return_X_y=True)
    X, y = X[::2], y[::2]
    return (X[:, 1:], X[:, 0]) if task == "values" else (X, y)


def answer(model: Any, X: Any) -> Any:
    """Return the probabilities of a fitted model, or what it predicts."""
    if not hasattr(model, "predict"):
        return model.labels_
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def find_public_classes() -> set[type]:
    """Find all classes that predict or cluster in the lists of names of the packages."""
    packages = [found.name for found in pkgutil.iter_modules(fuselearn.__path__) if found.ispkg]
    rooms = [fuselearn, *(importlib.import_module(f"fuselearn.{name}") for name in packages)]
    named = {getattr(room, name) for room in rooms for name in getattr(room, "__all__", ())}
    named.remove(DaskEnsemble)  # it takes Dask collections: see tests/scale
    kinds = {one for one in named if inspect.isclass(one) and issubclass(one, BaseEstimator)}
    return {kind for kind in kinds if hasattr(kind, "predict") or hasattr(kind, "fit_predict")}


def find_reasons(entry: Entry) -> dict[str, str]:
    """Find the checks of scikit-learn that an entry may fail, because of what it learns or what weights mean to it."""
    reasons: dict[str, str] = {}
    if not entry.copies:
        reasons |= dict.fromkeys(WEIGHT_CHECKS, "a weight of 2 is not two copies")
    if entry.task == "labels":
        reasons |= ONE_COLUMN
        if entry.model.decision != 0.5:
            reasons["check_classifier_multioutput"] = "it expects labels where a probability is above 0.5"
    return {**reasons, **entry.fails}


WEIGHT_CHECKS = [f"check_sample_weight_equivalence_on_{form}_data" for form in ("dense", "sparse")]
SURE = {"check_classifiers_multilabel_output_format_predict_proba": "it refuses probabilities of 0 and 1"}
ONE_COLUMN = {
    "check_array_api_input": "arrays are NumPy's",
    "check_classifiers_classes": "it sends one column of classes, as text",
    "check_classifiers_train": "it sends one column of classes, and expects one column of predictions",
    "check_classifier_not_supporting_multiclass": "it wants its own words for the refusal of one column of classes",
    "check_classifiers_multilabel_output_format_decision_function": "there is no decision_function",
    "check_estimator_sparse_array": "it sends one column of four classes",
    "check_estimator_sparse_matrix": "it sends one column of four classes",
    **SURE,
}
ORDER = {"check_permuted_labels": "the order of the labels is part of the model"}
NUMBERS_ONLY = {"check_categories": "it takes numbers only"}
ONE_CLUSTER = dict.fromkeys(
    [
        "check_dont_overwrite_parameters", "check_methods_subset_invariance", "check_fit2d_1sample",
        "check_fit2d_1feature", "check_fit2d_predict1d",
    ],
    "it sets n_clusters=1, with which nothing is divided",
)  # fmt: skip
ROUNDED = dict.fromkeys(WEIGHT_CHECKS, "of splits that are equally good on 15 samples, rounding decides")

TREE = CARTClassifier(min_samples_split=6, complexity=0.0)
PLAIN = [("bayes", GaussianNB()), ("line", LogisticRegression(solver="newton-cholesky"))]
TREES = [(f"tree{depth}", DecisionTreeClassifier(max_depth=depth, random_state=0)) for depth in (None, 3)]
NUMBERS = [("line", Ridge()), ("tree", DecisionTreeRegressor(max_depth=4, random_state=0))]
SVM = SVMClassifier(probability="logistic")
IN_FOLDS = {"folds": True, "copies": False}
# Members decide whether ensembles of any members take categories and missing values.
PLAIN_ONLY = {"categories": False, "missing": False}


def classes(model: Any, **promises: Any) -> Entry:
    return Entry(model, "classes", **promises)


def labels(model: Any, **promises: Any) -> Entry:
    return Entry(model, "labels", **promises)


def values(model: Any, **promises: Any) -> Entry:
    return Entry(model, "values", **promises)


CLASSES = [
    classes(BaggedClassifier(n_estimators=4), any_base=True, copies=False),
    classes(BrownBoostClassifier(n_estimators=3), any_base=True, copies=False),
    classes(CARTClassifier()),
    classes(CleanedClassifier(TREE, auditor=TREE), any_base=True, **IN_FOLDS),
    classes(DiskEnsemble(KFHEClassifier(n_estimators=3, sampling="poisson", random_state=0)), copies=False),
    classes(ErrorCorrectingCodeClassifier(), any_base=True),
    classes(EnsembleSelection(PLAIN, n_rounds=5, cv=3), **IN_FOLDS, **PLAIN_ONLY),
    classes(FixedRuleClassifier(PLAIN, "mean"), **PLAIN_ONLY),
    classes(ForestClassifier(n_estimators=4), copies=False),
    classes(FusedClassifier([("tree", TREE), ("forest", ForestClassifier(3, random_state=0))], cv=2), **IN_FOLDS),
    classes(KFHEClassifier(n_estimators=4), any_base=True, copies=False),
    classes(LinearStackingClassifier(PLAIN, shrinkage=0.1, cv=3), **IN_FOLDS, **PLAIN_ONLY),
    classes(LogitBoostClassifier(n_estimators=3), fails=ROUNDED),
    classes(MadaBoostClassifier(n_estimators=3), any_base=True, copies=False),
    classes(PredictionSetClassifier(TREE, cv=3), any_base=True, **IN_FOLDS),
    classes(RotationForestClassifier(n_estimators=3), copies=False, categories=False, missing=False),
    classes(SAMMEClassifier(n_estimators=4), any_base=True, copies=False),
    classes(SVMClassifier(), copies=False, missing=False),
]
VALUES = [
    values(AveragingRegressor(NUMBERS), **PLAIN_ONLY),
    values(BaggedRegressor(n_estimators=3), any_base=True, copies=False),
    values(CARTRegressor()),
    values(LinearStackingRegressor(NUMBERS, shrinkage=0.1, cv=3), **IN_FOLDS, **PLAIN_ONLY),
]
LABELS = [
    labels(AdaBoostMHClassifier(n_estimators=4), copies=False),
    labels(BinaryRelevanceClassifier(TREE), any_base=True),
    labels(BRkNNClassifier(3, decision="per_label"), copies=False, missing=False),
    labels(CalibratedLabelRankingClassifier(TREE, vote="probability"), any_base=True),
    labels(ChainClassifier(TREE), any_base=True, fails=ORDER),
    labels(EnsembleHOMERClassifier(TREE, n_estimators=3), any_base=True, copies=False),
    labels(EnsembleOfBinaryRelevanceClassifier(TREE, 3, decision="cardinality"), any_base=True, copies=False),
    labels(EnsembleOfChainsClassifier(TREE, 3, decision="at_least_one"), any_base=True, copies=False, fails=ORDER),
    labels(EnsembleOfPrunedSetsClassifier(TREE, 3, decision="cardinality"), any_base=True, copies=False),
    labels(
        FusedMultilabelClassifier(
            [("forest", PCTForestClassifier(4, random_state=0)), ("relevance", BinaryRelevanceClassifier(TREE))]
        ),
        copies=False,
    ),
    labels(GradientBoostingMultilabelClassifier(n_estimators=6, max_features=None), copies=False),
    labels(HOMERClassifier(TREE), any_base=True, fails=ONE_CLUSTER),
    labels(KFHEHOMERClassifier(TREE, n_estimators=3), any_base=True, copies=False),
    labels(KFHEMultilabelClassifier(n_estimators=3), copies=False),
    labels(LabelPowersetClassifier(TREE), any_base=True),
    labels(MLkNNClassifier(5), copies=False, missing=False),
    labels(PCTForestClassifier(n_estimators=4), copies=False),
    labels(PrunedSetsClassifier(TREE, min_count=3), any_base=True),
    labels(RAkELClassifier(TREE, labelset_size=2), any_base=True),
    labels(StackedBinaryRelevanceClassifier(TREE, cv=3), any_base=True, **IN_FOLDS),
    labels(ThresholdedClassifier(BinaryRelevanceClassifier(TREE))),
]
CLUSTERS = [
    Entry(
        ConsensusClustering(KMeans(3, n_init=1), n_estimators=5),
        "clusters",
        copies=False,
        categories=False,
        missing=False,
    )
]
# What other settings do by code of their own.
VARIANTS = {
    "KFHEClassifier over another": classes(KFHEClassifier(GaussianNB(), 3), copies=False),
    "SAMMEClassifier over another": classes(SAMMEClassifier(GaussianNB(), 3), copies=False),
    "BaggedClassifier over another": classes(BaggedClassifier(GaussianNB(), 3), copies=False),
    "CARTClassifier by chance": classes(CARTClassifier(max_features="sqrt", splitter="random")),
    "SVMClassifier, linear": classes(
        SVMClassifier(kernel="linear", probability="logistic", scaling=None), copies=False
    ),
    "FixedRuleClassifier, borda": classes(FixedRuleClassifier(PLAIN, "borda")),
    "LinearStackingClassifier, least squares": classes(
        LinearStackingClassifier(TREES, loss="squared_error", constraint=None, shrinkage=0.1, cv=3), fails=SURE
    ),
    "EnsembleSelection of regressors": values(EnsembleSelection(NUMBERS, n_rounds=5, cv=2)),
    "EnsembleSelection in bags": classes(
        EnsembleSelection(TREES, n_rounds=5, scoring="accuracy", n_bags=2, cv=2), fails=SURE
    ),
    "ConsensusClustering, spectral": Entry(ConsensusClustering(n_estimators=5, method="spectral"), "clusters"),
    "BinaryRelevanceClassifier of SVMs": labels(BinaryRelevanceClassifier(), copies=False),
    "LabelPowersetClassifier of SVMs": labels(LabelPowersetClassifier(SVM), copies=False),
    "ThresholdedClassifier of a forest": labels(
        ThresholdedClassifier(RandomForestClassifier(3, random_state=0), cv="oob"), copies=False, fails=NUMBERS_ONLY
    ),
}
# The same for multi-label classifiers, for their own checks only.
LABEL_VARIANTS = {
    "BinaryRelevanceClassifier of others": labels(
        BinaryRelevanceClassifier(GaussianNB(), decision="per_label"), fails=NUMBERS_ONLY
    ),
    "BRkNNClassifier by distance": labels(BRkNNClassifier(weights="distance"), copies=False),
    "CalibratedLabelRankingClassifier of SVMs": labels(CalibratedLabelRankingClassifier(SVM), copies=False),
    "ChainClassifier by beam search": labels(
        ChainClassifier(TREE, inference="beam", n_paths=3, decision="set"), fails=ORDER
    ),
    "ChainClassifier by chance": labels(
        ChainClassifier(GaussianNB(), inference="monte_carlo", n_paths=4, decision="set"), fails=ORDER | NUMBERS_ONLY
    ),
    "ChainClassifier of SVMs": labels(ChainClassifier(SVM, order="random"), copies=False, fails=ORDER),
    "EnsembleOfBinaryRelevanceClassifier of SVMs": labels(
        EnsembleOfBinaryRelevanceClassifier(SVM, 3, max_features=0.5, vote="probability"), copies=False
    ),
    "EnsembleOfChainsClassifier of others": labels(
        EnsembleOfChainsClassifier(GaussianNB(), 3, max_samples=2.0), copies=False, fails=ORDER | NUMBERS_ONLY
    ),
    "FusedMultilabelClassifier of its own members": labels(FusedMultilabelClassifier(n_estimators=5), copies=False),
    "HOMERClassifier of SVMs": labels(HOMERClassifier(SVM, n_clusters=2), copies=False, fails=ONE_CLUSTER),
    "KFHEMultilabelClassifier of others": labels(
        KFHEMultilabelClassifier(BinaryRelevanceClassifier(TREE), n_estimators=3), copies=False
    ),
    "PrunedSetsClassifier of others": labels(PrunedSetsClassifier(GaussianNB(), min_count=3), fails=NUMBERS_ONLY),
    "RAkELClassifier of SVMs, disjoint": labels(
        RAkELClassifier(SVM, labelset_size=3, overlapping=False, vote="probability"), copies=False, fails=ORDER
    ),
}
REGISTRY = {entry.kind.__name__: entry for entry in CLASSES + VALUES + LABELS + CLUSTERS}


def predicts(entry: Entry) -> bool:
    return entry.task != "clusters"


def entries(condition: Callable[[Entry], bool] = lambda entry: True) -> Any:
    """Run a test for each entry that a condition holds for."""
    chosen = {name: entry for name, entry in REGISTRY.items() if condition(entry)}
    return pytest.mark.parametrize("entry", chosen.values(), ids=chosen)
