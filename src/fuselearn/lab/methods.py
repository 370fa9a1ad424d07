"""The methods that a suite can name, and how any estimator takes part in one.

A method is a name and an unfitted estimator. It gets a DataFrame whose columns are numbers, with
NaN where a value is missing, or categories. fuselearn's own estimators take that as it is; what
cannot is wrapped in a pipeline that prepares the columns.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from fuselearn.ensembles import BaggedClassifier, CARTClassifier, KFHEClassifier, SAMMEClassifier

__all__ = ["METHODS", "Method", "compiles", "count_components", "make_estimators", "seeded", "settings"]

OURS = (KFHEClassifier, SAMMEClassifier, BaggedClassifier)


@dataclass(frozen=True)
class Method:
    """A way to make an unfitted estimator.

    Parameters
    ----------
    name : str
        What suites, tables and figures call it.
    make : callable
        Returns the unfitted estimator.
    description : str
        What it is, in a phrase.
    requires : str, default=""
        The package it needs beyond those of fuselearn.
    """

    name: str
    make: Callable[[], BaseEstimator]
    description: str
    requires: str = ""

    @property
    def installed(self) -> bool:
        """Whether the package that it needs is there."""
        return not self.requires or importlib.util.find_spec(self.requires) is not None


def make_estimators(
    names: Iterable[str], extra: Mapping[str, BaseEstimator] | None = None
) -> tuple[dict[str, BaseEstimator], dict[str, str]]:
    """Make the estimators of a suite.

    Parameters
    ----------
    names : iterable of str
        Keys of `METHODS` or of `extra`.
    extra : mapping of str to estimator, optional
        Estimators of one's own; they go before methods of the same name.

    Returns
    -------
    estimators : dict of estimators
        Unfitted, by name, in the order of `names`.
    missing : dict of str
        The methods that cannot run here, and the package that each needs.

    Raises
    ------
    ValueError
        If a name is unknown, or something of `extra` is no classifier.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from fuselearn.lab.methods import make_estimators
    >>> estimators, missing = make_estimators(["CART", "Guess"], {"Guess": DummyClassifier()})
    >>> list(estimators), missing
    (['CART', 'Guess'], {})
    """
    extra = extra or {}
    for name, estimator in extra.items():
        if not all(hasattr(estimator, part) for part in ("fit", "predict", "get_params")):
            raise ValueError(f"The method {name!r} must be a scikit-learn classifier; got {estimator!r}.")
    estimators: dict[str, BaseEstimator] = {}
    missing: dict[str, str] = {}
    for name in names:
        if name in extra:
            estimators[name] = clone(extra[name])
        elif name not in METHODS:
            known = ", ".join(map(repr, METHODS))
            raise ValueError(f"methods must be among {known}, or handed over; got {name!r}.")
        elif METHODS[name].installed:
            estimators[name] = METHODS[name].make()
        else:
            missing[name] = METHODS[name].requires
    return estimators, missing


def seeded(estimator: BaseEstimator, seed: int) -> BaseEstimator:
    """Return a copy with `seed` as its random state, and of every estimator inside it."""
    copy = clone(estimator)
    names = (name for name in copy.get_params() if name.split("__")[-1] == "random_state")
    return copy.set_params(**dict.fromkeys(names, seed))


def settings(estimator: BaseEstimator) -> str:
    """Write an estimator on one line, with the parameters that differ from their defaults.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from fuselearn.lab.methods import settings
    >>> settings(DecisionTreeClassifier(max_depth=3))
    'DecisionTreeClassifier(max_depth=3)'
    """
    text = estimator.__repr__(N_CHAR_MAX=10**6) if _prints_itself(estimator) else repr(estimator)
    return " ".join(text.split())


def _prints_itself(estimator: BaseEstimator) -> bool:
    return type(estimator).__repr__ is BaseEstimator.__repr__


def count_components(estimator: BaseEstimator) -> int | None:
    """Return how many models a fitted ensemble consists of, or None if it does not say.

    A gradient boosting of c classes grows c trees in each round, and they count.
    """
    model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if isinstance(model, CARTClassifier):
        return 1
    if isinstance(model, OURS):
        return len(model.coefficients_)
    if isinstance(model, HistGradientBoostingClassifier):
        return int(model.n_iter_ * model.n_trees_per_iteration_)
    if hasattr(model, "booster_"):
        return int(model.booster_.num_trees())
    parts = getattr(model, "estimators_", None)
    return None if parts is None else len(parts)


def compiles(estimator: BaseEstimator) -> bool:
    """Whether the first fit in a process is slow, because fuselearn's kernels compile or load."""
    return isinstance(estimator, (CARTClassifier, *OURS))


def _numbered(X: pd.DataFrame) -> pd.DataFrame:
    """Name the columns 0, 1, 2, since LightGBM refuses names with brackets or commas."""
    return X.set_axis([str(position) for position in range(X.shape[1])], axis=1)


def _one_hot(model: BaseEstimator) -> Pipeline:
    """Put an indicator in the place of each category; a missing category is one of its own.

    Missing numbers stay, since scikit-learn's trees find the better side for them.
    """
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    categories = make_column_selector(dtype_include="category")
    return make_pipeline(make_column_transformer((encode, categories), remainder="passthrough"), model)


def _lightgbm() -> BaseEstimator:
    model = importlib.import_module("lightgbm").LGBMClassifier(n_jobs=1, verbose=-1)
    return make_pipeline(FunctionTransformer(_numbered), model)


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method("KFHE", KFHEClassifier, "100 unpruned trees fused by a Kalman filter"),
        Method(
            "KFHE (pruned)",
            lambda: KFHEClassifier(CARTClassifier(complexity=0.01)),
            "100 pruned trees fused by a Kalman filter",
        ),
        Method("AdaBoost", SAMMEClassifier, "SAMME boosting of 100 pruned trees"),
        Method("Bagging", BaggedClassifier, "the vote of 100 pruned trees on bootstrap samples"),
        Method("CART", CARTClassifier, "one pruned tree"),
        Method(
            "RandomForest",
            lambda: _one_hot(RandomForestClassifier()),
            "scikit-learn's random forest with its defaults",
        ),
        Method(
            "RandomForest (leaf 3)",
            lambda: _one_hot(RandomForestClassifier(min_samples_leaf=3)),
            "scikit-learn's random forest, at least three rows in a leaf",
        ),
        Method(
            "ExtraTrees",
            lambda: _one_hot(ExtraTreesClassifier()),
            "scikit-learn's extremely randomised trees",
        ),
        Method(
            "HistGradientBoosting",
            lambda: HistGradientBoostingClassifier(categorical_features="from_dtype"),
            "scikit-learn's gradient boosting on histograms",
        ),
        Method("LightGBM", _lightgbm, "LightGBM with its defaults", requires="lightgbm"),
    )
}
"""The methods that come with the library, by name."""
