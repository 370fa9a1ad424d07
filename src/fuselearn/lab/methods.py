"""Methods of the lab and of the command line, by name or by import path.

A method is a short name (``"kfhe"``), the import path of a class (``"lightgbm:LGBMClassifier"``), or the name of an
estimator passed by the user. Short names and import paths may have parameters in parentheses: ``"kfhe(n_estimators=200,
weighting='linear')"``.

Modules are imported only when an estimator is created, so that the command line lists the names quickly.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

from fuselearn._messages import did_you_mean

METHODS: Mapping[str, Mapping[str, str]] = {
    "multiclass": {
        "kfhe": "fuselearn.ensembles:KFHEClassifier",
        "fused": "fuselearn.combine:FusedClassifier",
        "adaboost": "fuselearn.ensembles:SAMMEClassifier",
        "madaboost": "fuselearn.ensembles:MadaBoostClassifier",
        "brownboost": "fuselearn.ensembles:BrownBoostClassifier",
        "logitboost": "fuselearn.ensembles:LogitBoostClassifier",
        "bagging": "fuselearn.ensembles:BaggedClassifier",
        "forest": "fuselearn.ensembles:ForestClassifier",
        "rotation-forest": "fuselearn.ensembles:RotationForestClassifier",
        "cart": "fuselearn.ensembles:CARTClassifier",
        "svm": "fuselearn.ensembles:SVMClassifier",
        "random-forest": "sklearn.ensemble:RandomForestClassifier",
        "extra-trees": "sklearn.ensemble:ExtraTreesClassifier",
        "hist-gradient-boosting": "sklearn.ensemble:HistGradientBoostingClassifier",
    },
    "multilabel": {
        "fused": "fuselearn.multilabel:FusedMultilabelClassifier",
        "kfhe": "fuselearn.multilabel:KFHEMultilabelClassifier",
        "kfhe-homer": "fuselearn.multilabel:KFHEHOMERClassifier",
        "e-homer": "fuselearn.multilabel:EnsembleHOMERClassifier",
        "homer": "fuselearn.multilabel:HOMERClassifier",
        "br": "fuselearn.multilabel:BinaryRelevanceClassifier",
        "ebr": "fuselearn.multilabel:EnsembleOfBinaryRelevanceClassifier",
        "2br": "fuselearn.multilabel:StackedBinaryRelevanceClassifier",
        "cc": "fuselearn.multilabel:ChainClassifier",
        "ecc": "fuselearn.multilabel:EnsembleOfChainsClassifier",
        "clr": "fuselearn.multilabel:CalibratedLabelRankingClassifier",
        "label-powerset": "fuselearn.multilabel:LabelPowersetClassifier",
        "pruned-sets": "fuselearn.multilabel:PrunedSetsClassifier",
        "eps": "fuselearn.multilabel:EnsembleOfPrunedSetsClassifier",
        "rakel": "fuselearn.multilabel:RAkELClassifier",
        "pct-forest": "fuselearn.multilabel:PCTForestClassifier",
        "gradient-boosting": "fuselearn.multilabel:GradientBoostingMultilabelClassifier",
        "adaboost-mh": "fuselearn.multilabel:AdaBoostMHClassifier",
        "mlknn": "fuselearn.multilabel:MLkNNClassifier",
        "brknn": "fuselearn.multilabel:BRkNNClassifier",
        "random-forest": "sklearn.ensemble:RandomForestClassifier",
        "extra-trees": "sklearn.ensemble:ExtraTreesClassifier",
    },
}
"""By task, the import path of the class behind each short name."""
NUMBERS_ONLY = ("RotationForestClassifier",)
"""The library's classifiers that would treat categories as numbers."""
OPTIMIZED = {
    "hamming_loss": "hamming",
    "accuracy": "subset",
    **dict.fromkeys(("micro_f1", "micro_precision", "micro_recall", "micro_jaccard"), "micro_f1"),
    **dict.fromkeys(("example_f1", "example_precision", "example_recall", "example_jaccard"), "example_f1"),
    **dict.fromkeys(("one_error", "coverage", "ranking_loss", "label_ranking_average_precision"), "ranking"),
}
"""The metric that `FusedMultilabelClassifier` optimizes for a score, if not macro F1."""
FOREST_SECONDS, CLASSES_THAT_DOUBLE = 8e-5, 18
"""Processor seconds of a fused fit per sample and square root of n_features."""
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass(frozen=True)
class Variant:
    """A method that uses the fitted model of another one, for example with another decision rule.

    The model is fitted once for both, with one seed.

    Parameters
    ----------
    of : str
        The other method, which may be missing from the suite.
    adapt : callable
        Returns the fitted estimator of the variant, given that of the other method and its training samples and labels.
        It is sent to the processes that fit, so it is a function of a module.

    Examples
    --------
    >>> from fuselearn.lab import Variant
    >>> from fuselearn.multilabel import PCTForestClassifier
    >>> estimators = {
    ...     "PCT": PCTForestClassifier(),
    ...     "PCT (cardinality)": Variant("PCT", lambda fitted, X, Y: fitted.with_decision("cardinality", X, Y)),
    ... }
    """

    of: str
    adapt: Callable[[Any, Any, Any], Any]


class Contender(NamedTuple):
    """A method in a run: its estimator, the name of its fit, and the function that adapts the fitted estimator."""

    estimator: Any
    fit_name: str
    adapt: Callable[[Any, Any, Any], Any] | None = None


def make_contenders(names: Iterable[str], own: Mapping[str, Any] | None, task: str) -> dict[str, Contender]:
    """Return the contenders of a suite by name; the estimators in `own` replace methods of the same name."""
    own = own or {}
    contenders = {}
    for name in names:
        method = own.get(name)
        fit_name = method.of if isinstance(method, Variant) else name
        estimator = own[fit_name] if fit_name in own else make_method(fit_name, task)
        _check_estimator(fit_name, estimator)
        contenders[name] = Contender(estimator, fit_name, method.adapt if isinstance(method, Variant) else None)
    return contenders


def make_method(name: str, task: str = "multiclass") -> Any:
    """Return the unfitted estimator of a method, ready for tables with categories and missing values.

    The library's classifiers support both, and scikit-learn's histogram gradient boosting supports categories with up
    to 255 values. For other classifiers, categories are one-hot encoded; unless a classifier handles missing values,
    they are replaced by the mean, and numbers are standardized.

    Parameters
    ----------
    name : str
        A key of `METHODS`, or the import path of a class; settings may follow in parentheses.
    task : {"multiclass", "multilabel"}, default="multiclass"
        The task.

    Raises
    ------
    ValueError
        If the method, module or class does not exist, or the class is not a classifier.

    Examples
    --------
    >>> make_method("kfhe(n_estimators=200)")
    KFHEClassifier(n_estimators=200)
    """
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.utils import get_tags

    estimator = import_method(name, task)
    is_ours = type(estimator).__module__.startswith("fuselearn.")
    handles = get_tags(estimator).input_tags
    if is_ours and type(estimator).__name__ not in NUMBERS_ONLY:
        return estimator
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    if getattr(estimator, "categorical_features", None) == "from_dtype":
        remaining = make_column_transformer((encode, _find_large_categories), remainder="passthrough")
        estimator = make_pipeline(remaining.set_output(transform="pandas"), estimator)
    elif not handles.categorical:
        parts: list[Any] = [(encode, make_column_selector(dtype_include="category"))]
        if not handles.allow_nan:
            complete = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
            parts.insert(0, (complete, make_column_selector(dtype_exclude="category")))
        estimator = make_pipeline(make_column_transformer(*parts, remainder="passthrough"), estimator)
    if task == "multiclass" or is_ours:
        return estimator
    from fuselearn.multilabel import ThresholdedClassifier

    return ThresholdedClassifier(estimator, 0.5)


def _find_large_categories(X: Any) -> list[Any]:
    """Return the columns with more categories than scikit-learn's histogram gradient boosting allows."""
    return [name for name in X.select_dtypes("category") if X[name].nunique() > 255]


def optimizing(name: str, score: str, task: str) -> str:
    """Return the name of a method, with the setting by which a fused multi-label classifier optimizes a score.

    Examples
    --------
    >>> optimizing("fused(n_estimators=20)", "hamming_loss", "multilabel")
    "fused(n_estimators=20, optimize='hamming')"
    >>> optimizing("kfhe-homer", "hamming_loss", "multilabel")
    'kfhe-homer'
    """
    short, _, settings = name.partition("(")
    if task != "multilabel" or short.strip() != "fused" or score not in OPTIMIZED or "optimize" in settings:
        return name
    chosen = [part for part in [settings.rstrip().removesuffix(")")] if part]
    return f"fused({', '.join([*chosen, f'optimize={OPTIMIZED[score]!r}'])})"


def import_method(name: str, task: str = "multiclass") -> Any:
    """Return the unfitted estimator of a method without preprocessing; the parameters are those of `make_method`."""
    short, bracket, settings = name.partition("(")
    path = METHODS[task].get(short.strip(), short.strip())
    module, colon, attribute = path.partition(":")
    if not colon:
        raise ValueError(
            f"A method must be {', '.join(METHODS[task])}, or the import path of a class such as "
            f"lightgbm:LGBMClassifier; got {name!r}.{did_you_mean(name, METHODS[task])}"
        )
    try:
        found = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        raise ValueError(f"The method {name} needs the module {error.name}, which is not installed.") from error
    except AttributeError as error:
        raise ValueError(f"The module {module} has no {attribute}; got the method {name}.") from error
    chosen = _read_settings(settings) if bracket else {}
    try:
        estimator = found(**chosen) if callable(found) else found
    except TypeError as error:
        raise ValueError(f"The method {name} cannot be made: {error}.") from error
    _check_estimator(name, estimator)
    return estimator


def _read_settings(text: str) -> dict[str, Any]:
    """Parse the settings of a method, up to and including the closing parenthesis."""
    try:
        call = ast.parse(f"settings({text}", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError
        return {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"The settings of a method must be NAME=VALUE, separated by commas; got ({text}.") from error


def read_value(text: str) -> Any:
    """Parse a number, None, True or False; anything else is text.

    Examples
    --------
    >>> read_value("0.5"), read_value("None"), read_value("linear")
    (0.5, None, 'linear')
    """
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def estimate_fused_seconds(n_samples: int, n_features: int, n_classes: int, n_threads: int) -> float:
    """Estimate the time of a fit of `FusedClassifier`, from fits of 1,000 to 30,000 samples.

    Forests, which consider sqrt(n_features) features at each node, take most of it. It is half as long where all labels
    are correct, and up to twice as long where many are wrong.
    """
    forests = n_samples * n_features**0.5 * (1 + n_classes / CLASSES_THAT_DOUBLE)
    return FOREST_SECONDS * forests / n_threads


def _check_estimator(name: str, estimator: Any) -> None:
    if isinstance(estimator, type) or not all(hasattr(estimator, part) for part in ("fit", "predict", "get_params")):
        raise ValueError(f"The method {name!r} must be a scikit-learn classifier; got {estimator!r}.")


def format_settings(estimator: Any) -> str:
    """Format an estimator on one line, with the parameters that differ from their defaults.

    The text is the same in every process: memory addresses are removed.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> format_settings(DecisionTreeClassifier(max_depth=3))
    'DecisionTreeClassifier(max_depth=3)'
    """
    from sklearn.base import BaseEstimator

    prints_itself = type(estimator).__repr__ is BaseEstimator.__repr__
    text = estimator.__repr__(N_CHAR_MAX=10**6) if prints_itself else repr(estimator)
    return ADDRESS.sub("", " ".join(text.split()))
