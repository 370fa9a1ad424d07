"""The methods of the suites, and how to use any estimator as one.

A method is a name and an unfitted estimator. It is fitted on a DataFrame of numerical features, with
NaN for missing values, and categorical features. fuselearn's own estimators accept both; others are
wrapped in a pipeline that encodes the features.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import Pipeline

from fuselearn import multilabel
from fuselearn._extras import is_installed
from fuselearn._messages import show
from fuselearn.combine import FusedClassifier
from fuselearn.ensembles import (
    BaggedClassifier,
    BrownBoostClassifier,
    CARTClassifier,
    KFHEClassifier,
    LogitBoostClassifier,
    MadaBoostClassifier,
    RotationForestClassifier,
    SAMMEClassifier,
    SVMClassifier,
)
from fuselearn.ensembles.boosted_classifier import BoostedClassifier
from fuselearn.lab.running import rivals
from fuselearn.multilabel.learning.base import MultilabelClassifier

__all__ = ["METHODS", "Contender", "Method", "count_components", "make_contenders", "settings"]

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
OURS = (KFHEClassifier, BoostedClassifier, BaggedClassifier)


@dataclass(frozen=True)
class Method:
    """A named way to create an unfitted estimator.

    Parameters
    ----------
    name : str
        Its name in suites, tables and figures.
    make : callable
        Returns the unfitted estimator.
    description : str
        A short description.
    requires : tuple of str, default=()
        The packages that it needs in addition to those of fuselearn.
    task : {"multiclass", "multilabel"}, default="multiclass"
        Whether it predicts one class or several labels per sample.
    fits_like : str, default=""
        The method whose fit it shares, because the two differ only in how the fitted model is used.
    adapt : callable, optional
        Returns this method's fitted estimator, given that of `fits_like` and its training samples and labels.
    """

    name: str
    make: Callable[[], BaseEstimator]
    description: str
    requires: tuple[str, ...] = ()
    task: str = "multiclass"
    fits_like: str = ""
    adapt: Callable[[Any, Any, Any], Any] | None = None

    @property
    def missing(self) -> str:
        """The first of the packages that it needs that is not installed, or an empty text."""
        return next((package for package in self.requires if not is_installed(package)), "")


@dataclass(frozen=True)
class Contender:
    """A method in a run.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    fit_name : str
        The name of its fit; contenders with the same one share the fit and its seed.
    trained : estimator
        The estimator that is fitted: `estimator`, or that of the method whose fit it shares.
    adapt : callable, optional
        Returns the fitted estimator, given the fitted `trained` and its training data, as for `Method`.
    """

    estimator: BaseEstimator
    fit_name: str
    trained: BaseEstimator
    adapt: Callable[[Any, Any, Any], Any] | None = None


def make_contenders(
    names: Iterable[str], own: Mapping[str, BaseEstimator] | None = None, *, category_rule: str = "corrected"
) -> tuple[dict[str, Contender], dict[str, str]]:
    """Return the contenders of a suite.

    Parameters
    ----------
    names : iterable of str
        Keys of `METHODS` or of `own`.
    own : mapping of str to estimator, optional
        User-defined estimators; they replace methods of the same name.
    category_rule : {"corrected", "rpart"}, default="corrected"
        How the trees among the methods evaluate categorical splits; user-defined estimators are not changed.

    Returns
    -------
    contenders : dict of Contender
        By name, in the order of `names`.
    missing : dict of str
        The methods that cannot run here, and the package that each needs.

    Raises
    ------
    ValueError
        If a name is unknown, or an estimator in `own` is not a classifier.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from fuselearn.lab.running.methods import make_contenders
    >>> contenders, missing = make_contenders(["CART", "Guess"], {"Guess": DummyClassifier()})
    >>> list(contenders), missing
    (['CART', 'Guess'], {})
    """
    own = own or {}
    for name, estimator in own.items():
        if not all(hasattr(estimator, part) for part in ("fit", "predict", "get_params")):
            raise ValueError(f"The method {name!r} must be a scikit-learn classifier; got {show(estimator)}.")
    contenders: dict[str, Contender] = {}
    missing: dict[str, str] = {}
    for name in names:
        if name in own:
            contenders[name] = _alone(name, clone(own[name]))
        elif name not in METHODS:
            known = ", ".join(map(repr, METHODS))
            raise ValueError(f"methods must be among {known}, or passed as estimators; got {name!r}.")
        elif METHODS[name].missing:
            missing[name] = METHODS[name].missing
        else:
            contenders[name] = _built_in(METHODS[name], own, category_rule)
    return contenders, missing


def _alone(name: str, estimator: BaseEstimator) -> Contender:
    return Contender(estimator, name, estimator)


def _built_in(method: Method, own: Container[str], category_rule: str) -> Contender:
    """Let a method share the fit of another, unless a user-defined estimator has the other's name."""
    lead = method.fits_like
    if not lead or lead in own:
        return _alone(method.name, _with_category_rule(method.make(), category_rule))
    return Contender(method.make(), lead, METHODS[lead].make(), method.adapt)


def _with_category_rule(estimator: BaseEstimator, rule: str) -> BaseEstimator:
    """Set the category rule of a tree, or of the trees of an ensemble."""
    if rule == CARTClassifier().category_rule:
        return estimator
    if isinstance(estimator, CARTClassifier):
        return estimator.set_params(category_rule=rule)
    if isinstance(estimator, OURS):
        return estimator.set_params(estimator=_with_category_rule(estimator._base(), rule))
    return estimator


def settings(estimator: BaseEstimator) -> str:
    """Format an estimator on one line, with the parameters that differ from their defaults.

    The text is the same in every process: memory addresses are removed.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from fuselearn.lab.running.methods import settings
    >>> settings(DecisionTreeClassifier(max_depth=3))
    'DecisionTreeClassifier(max_depth=3)'
    """
    text = estimator.__repr__(N_CHAR_MAX=10**6) if _prints_itself(estimator) else repr(estimator)
    return ADDRESS.sub("", " ".join(text.split()))


def _prints_itself(estimator: BaseEstimator) -> bool:
    return type(estimator).__repr__ is BaseEstimator.__repr__


def count_components(estimator: BaseEstimator) -> int | None:
    """Return the number of models in a fitted ensemble, or None if it is unknown.

    Gradient boosting of c classes grows c trees in each round, and all of them count.
    """
    model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if isinstance(model, (multilabel.ThresholdedClassifier, rivals.WrappedClassifier)):
        return count_components(model.estimator_)
    if isinstance(model, MultilabelClassifier):
        return _count_models(model)
    if isinstance(model, CARTClassifier):
        return 1
    if isinstance(model, OURS):
        return len(model.coefficients_)
    if isinstance(model, FusedClassifier):
        return sum(count_components(sensor) or 1 for sensor in model.estimators_)
    if isinstance(model, LogitBoostClassifier):
        return int(model.n_iter_ * len(model.classes_))
    if isinstance(model, HistGradientBoostingClassifier):
        return int(model.n_iter_ * model.n_trees_per_iteration_)
    if hasattr(model, "booster_"):
        return int(model.booster_.num_trees())
    parts = getattr(model, "estimators_", None)
    return None if parts is None else len(parts)


def _count_models(model: MultilabelClassifier) -> int:
    """Count the two-class models or trees of a multi-label classifier."""
    if hasattr(model, "n_models_"):
        return int(model.n_models_)
    if isinstance(model, multilabel.PCTForestClassifier):
        return int(model.n_estimators)
    if isinstance(model, multilabel.FusedMultilabelClassifier):
        return sum(_count_models(member) for member in model.estimators_)
    if isinstance(model, multilabel.AdaBoostMHClassifier | multilabel.GradientBoostingMultilabelClassifier):
        return int(model.n_iter_)
    if isinstance(model, multilabel.MLkNNClassifier | multilabel.BRkNNClassifier):
        return 1
    if isinstance(model, multilabel.LabelPowersetClassifier | multilabel.PrunedSetsClassifier):
        return 1
    if isinstance(model, multilabel.PLSTClassifier):
        return int(model.n_components_)
    if isinstance(model, multilabel.CalibratedLabelRankingClassifier):
        return int(model.n_labels_ * (model.n_labels_ + 1) // 2)
    if isinstance(model, _MANY_MODELS):
        return len(model._fused_.members)
    n_each = 2 if isinstance(model, multilabel.StackedBinaryRelevanceClassifier) else 1
    return int(getattr(model, "n_estimators", 1) * n_each * model.n_labels_)


# Their members are not one model per label each.
_MANY_MODELS = (
    multilabel.EnsembleOfPrunedSetsClassifier,
    multilabel.KFHEMultilabelClassifier,
    multilabel.RAkELClassifier,
)


def _forest(decision: Any) -> BaseEstimator:
    return multilabel.ThresholdedClassifier(rivals.one_hot(RandomForestClassifier()), decision, cv="oob")


def _forest_per_label(decision: Any) -> BaseEstimator:
    forests = MultiOutputClassifier(RandomForestClassifier())
    return multilabel.ThresholdedClassifier(rivals.one_hot(forests), decision, cv="oob")


# Thresholds with the best F1, whatever the number of samples that have the label.
BEST_F1_THRESHOLDS = multilabel.decisions.PerLabelThresholds(0, towards="half", min_positives=1)


def _decided_forests(name: str, make: Callable[[Any], BaseEstimator], description: str) -> Iterator[Method]:
    """Return a method for each decision rule; all share the fit of the last one."""
    lead = f"{name} (label thresholds)"
    for suffix, decision, how in (
        ("", 0.5, "decided at 0.5"),
        (" (cardinality)", "cardinality", "decided so that samples have as many labels as in training"),
        (" (label thresholds)", BEST_F1_THRESHOLDS, "decided by thresholds from out-of-bag scores"),
    ):
        own = name + suffix
        yield _of_labels(
            own,
            partial(make, decision),
            f"{description}, {how}",
            fits_like="" if own == lead else lead,
            adapt=None if own == lead else partial(_decide, decision),
        )


def _decide(decision: Any, fitted: Any, X: Any, Y: Any) -> Any:
    return fitted.with_decision(decision, X, Y)


def _by_majority(fitted: Any, _X: Any, _Y: Any) -> Any:
    return fitted.with_vote("class")


# HOMER as in the R package utiml, which the paper used.
_AS_PUBLISHED: Mapping[str, Any] = {"any_label": False, "decision": "path"}

_of_labels = partial(Method, task="multilabel")


def _authors_homers(scaling: str | None) -> BaseEstimator:
    """Return KFHE-HOMER with the constants of its authors' program."""
    return multilabel.KFHEHOMERClassifier(
        SVMClassifier(C=1e8, scaling=scaling),
        n_estimators=20,
        varied=[{"kernel": ["rbf"], "gamma": [1e-6]}, {"kernel": ["linear"], "gamma": [1.0]}],
        **_AS_PUBLISHED,
    )


_MULTILABEL_METHODS = (
    _of_labels(
        "Fused (labels)",
        multilabel.FusedMultilabelClassifier,
        "HOMERs and forests, fused label by label by their errors on out-of-bag samples",
    ),
    _of_labels(
        "KFHE-HOMER", partial(multilabel.KFHEHOMERClassifier, **_AS_PUBLISHED), "100 HOMERs fused by a Kalman filter"
    ),
    _of_labels(
        "KFHE-HOMER (authors)",
        partial(_authors_homers, scaling=None),
        "20 HOMERs with the constants of its authors' program: cost 1e8, radial gamma 1e-6, unscaled features",
    ),
    _of_labels(
        "KFHE-HOMER (authors, scaled)",
        partial(_authors_homers, scaling="standard"),
        "the same with standardised features",
    ),
    _of_labels(
        "E-HOMER",
        partial(multilabel.EnsembleHOMERClassifier, vote="class", **_AS_PUBLISHED),
        "the majority vote of 100 HOMERs on samples of twice the size",
        fits_like="E-HOMER (mean)",
        adapt=_by_majority,
    ),
    _of_labels(
        "E-HOMER (mean)", partial(multilabel.EnsembleHOMERClassifier, **_AS_PUBLISHED), "the mean of 100 HOMERs' scores"
    ),
    _of_labels(
        "ECC",
        lambda: multilabel.EnsembleOfChainsClassifier(
            SVMClassifier(probability="logistic"),
            n_estimators=100,
            max_samples=2.0,
            max_features=0.5,
            vote="class",
            decision="cardinality",
        ),
        "the vote of 100 classifier chains on samples of twice the size and half the features",
    ),
    _of_labels("CC", multilabel.ChainClassifier, "one chain of SVMs in the order of the labels"),
    _of_labels("HOMER-B", partial(multilabel.HOMERClassifier, **_AS_PUBLISHED), "one HOMER with balanced clusters"),
    _of_labels(
        "HOMER-K",
        partial(multilabel.HOMERClassifier, clustering="kmeans", **_AS_PUBLISHED),
        "one HOMER with clusters by k-means",
    ),
    _of_labels(
        "RF-PCT",
        partial(multilabel.PCTForestClassifier, category_rule="rpart"),
        "100 trees that split for all labels at once",
    ),
    _of_labels(
        "RF-PCT (label thresholds)",
        partial(multilabel.PCTForestClassifier, decision="per_label", category_rule="rpart"),
        "the same trees, decided by thresholds from out-of-bag scores",
        fits_like="RF-PCT",
        adapt=partial(_decide, "per_label"),
    ),
    _of_labels("AdaBoost.MH", multilabel.AdaBoostMHClassifier, "100 boosted stumps"),
    _of_labels(
        "GradientBoosting (labels)",
        multilabel.GradientBoostingMultilabelClassifier,
        "gradient boosting of 200 trees that split for all labels at once",
    ),
    _of_labels("MLkNN", multilabel.MLkNNClassifier, "ML-kNN with 10 neighbours"),
    _of_labels("BRkNN", multilabel.BRkNNClassifier, "the votes of 10 neighbours"),
    _of_labels("BR", multilabel.BinaryRelevanceClassifier, "one SVM per label"),
    _of_labels("EBR", multilabel.EnsembleOfBinaryRelevanceClassifier, "the mean of 25 SVMs per label on samples"),
    _of_labels(
        "2BR", multilabel.StackedBinaryRelevanceClassifier, "one SVM per label, and a regression of their scores"
    ),
    _of_labels("LIFT", multilabel.LIFTClassifier, "one SVM per label on distances to its clusters"),
    _of_labels("CLR", multilabel.CalibratedLabelRankingClassifier, "the votes of one SVM per pair of labels"),
    _of_labels("PCC", multilabel.ProbabilisticChainClassifier, "a chain of SVMs with a search for the best label set"),
    _of_labels("LP", multilabel.LabelPowersetClassifier, "SVMs of the label sets"),
    _of_labels("PS", multilabel.PrunedSetsClassifier, "SVMs of the frequent label sets"),
    _of_labels("EPS", multilabel.EnsembleOfPrunedSetsClassifier, "the mean of 25 pruned sets on samples"),
    _of_labels("RAkEL", multilabel.RAkELClassifier, "the vote of SVMs of small sets of labels"),
    _of_labels(
        "PLST",
        lambda: rivals.one_hot(multilabel.PLSTClassifier()),
        "ridge regression on the principal components of the labels",
    ),
    _of_labels(
        "CPLST",
        lambda: rivals.one_hot(multilabel.PLSTClassifier(conditional=True)),
        "ridge regression on the components of the labels that features can predict",
    ),
    _of_labels(
        "KFHE (labels)", multilabel.KFHEMultilabelClassifier, "100 trees of all labels fused by a Kalman filter"
    ),
    *_decided_forests("RF", _forest, "scikit-learn's random forest of all labels"),
    *_decided_forests("BR-RF", _forest_per_label, "scikit-learn's random forest per label"),
)

_RIVALS = (
    Method("MadaBoost", MadaBoostClassifier, "MadaBoost of 100 pruned trees: weights are at most the initial ones"),
    Method("BrownBoost", BrownBoostClassifier, "BrownBoost of trees of depth 3, which gives samples up"),
    Method("LogitBoost", LogitBoostClassifier, "LogitBoost of 100 rounds, with a tree of depth 3 per class"),
    Method(
        "RotationForest",
        lambda: rivals.without_gaps(RotationForestClassifier()),
        "100 unpruned trees on features rotated by principal components",
    ),
    Method(
        "ExtraTrees (leaf 3)",
        lambda: rivals.one_hot(ExtraTreesClassifier(min_samples_leaf=3)),
        "scikit-learn's extremely randomised trees, at least three samples in a leaf",
    ),
    Method("LogisticRegression", rivals.logistic_regression, "scikit-learn's logistic regression on scaled features"),
    Method(
        "HistGradientBoosting (stopped)",
        rivals.stopped_hist_gradient_boosting,
        "scikit-learn's gradient boosting, stopped on a validation part",
    ),
    Method(
        "LightGBM (stopped)", rivals.stopped_lightgbm, "LightGBM, stopped on a validation part", requires=("lightgbm",)
    ),
    Method("XGBoost (stopped)", rivals.stopped_xgboost, "XGBoost, stopped on a validation part", requires=("xgboost",)),
    Method("CatBoost (stopped)", rivals.catboost, "CatBoost, stopped on a validation part", requires=("catboost",)),
    Method(
        "CleanLearning (RandomForest)",
        rivals.clean_forest,
        "cleanlab's CleanLearning over scikit-learn's random forest",
        requires=("cleanlab",),
    ),
    Method(
        "CleanLearning (LightGBM)",
        rivals.clean_lightgbm,
        "cleanlab's CleanLearning over LightGBM",
        requires=("cleanlab", "lightgbm"),
    ),
    Method(
        "Greedy selection",
        rivals.GreedySelectionClassifier,
        "25 steps of greedy selection from the members of the fused classifier",
    ),
    Method("TabPFN", rivals.tabpfn, "TabPFN v2, whose weights must be downloaded by hand", requires=("tabpfn",)),
)

METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method("Fused", FusedClassifier, "ten kinds of classifiers, weighed by their errors on held-out samples"),
        Method("KFHE", KFHEClassifier, "100 unpruned trees fused by a Kalman filter"),
        Method(
            "KFHE (pruned)",
            lambda: KFHEClassifier(CARTClassifier(complexity=0.01)),
            "100 pruned trees fused by a Kalman filter",
        ),
        Method(
            "KFHE (2018)",
            lambda: KFHEClassifier(
                CARTClassifier(complexity=-1, min_samples_split=2, min_samples_leaf=1), weighting="symmetric"
            ),
            "KFHE as its authors' program of 2018 has it: trees that split down to single samples",
        ),
        Method("KFHE-l", lambda: KFHEClassifier(weighting="linear"), "KFHE whose weights grow by addition"),
        Method("AdaBoost", SAMMEClassifier, "SAMME boosting of 100 pruned trees"),
        Method("Bagging", BaggedClassifier, "the vote of 100 pruned trees on bootstrap samples"),
        Method("CART", CARTClassifier, "one pruned tree"),
        Method(
            "RandomForest",
            lambda: rivals.one_hot(RandomForestClassifier()),
            "scikit-learn's random forest with its defaults",
        ),
        Method(
            "RandomForest (leaf 3)",
            lambda: rivals.one_hot(RandomForestClassifier(min_samples_leaf=3)),
            "scikit-learn's random forest, at least three samples in a leaf",
        ),
        Method(
            "ExtraTrees", lambda: rivals.one_hot(ExtraTreesClassifier()), "scikit-learn's extremely randomised trees"
        ),
        Method(
            "HistGradientBoosting",
            lambda: HistGradientBoostingClassifier(categorical_features="from_dtype"),
            "scikit-learn's gradient boosting on histograms",
        ),
        Method("LightGBM", rivals.lightgbm, "LightGBM with its defaults", requires=("lightgbm",)),
        *_RIVALS,
        *_MULTILABEL_METHODS,
    )
}
"""The built-in methods by name."""
