"""The baselines of ``robust``: the classifiers of other packages, used as their documentation recommends.

Boosting stops early on a validation part of the training samples, whose labels are as noisy as the others. Categories
and missing values reach each classifier in the form that it supports. Every fit uses one thread, since suites run
many fits at once.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from fuselearn import (
    BaggedClassifier,
    EnsembleSelection,
    ForestClassifier,
    KFHEClassifier,
    SVMClassifier,
)

__all__ = [
    "CleanLearningClassifier",
    "EarlyStoppingClassifier",
    "GreedySelectionClassifier",
    "WrappedClassifier",
    "catboost",
    "clean_forest",
    "clean_lightgbm",
    "lightgbm",
    "logistic_regression",
    "one_hot",
    "stopped_hist_gradient_boosting",
    "stopped_lightgbm",
    "stopped_xgboost",
    "tabpfn",
]

Codes = npt.NDArray[np.intp]

MOST_ROUNDS = 1000
PATIENCE = 20
# CatBoost adapts its learning rate to the number of rounds, of which each is slow.
CATBOOST_ROUNDS = 300
MISSING = "missing"
TABPFN_WEIGHTS = "TABPFN_WEIGHTS"


class WrappedClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that needs classes numbered from 0 without gaps."""

    def fit(self, X: pd.DataFrame, y: npt.ArrayLike) -> WrappedClassifier:
        """Fit the estimator to numbered classes.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self : fitted estimator
        """
        classes, codes = np.unique(y, return_inverse=True)
        self.estimator_ = self._fitted(X, codes)
        # Without its last sample, a class is unknown to the estimator.
        self.classes_ = classes[np.asarray(self.estimator_.classes_, dtype=np.intp)]
        return self

    def _fitted(self, X: pd.DataFrame, codes: Codes) -> Any:
        raise NotImplementedError

    def predict_proba(self, X: pd.DataFrame) -> npt.NDArray[np.float64]:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return np.asarray(self.estimator_.predict_proba(X), dtype=np.float64)

    def predict(self, X: pd.DataFrame) -> npt.NDArray[Any]:
        """Return the most probable class of each sample.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        predicted: npt.NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return predicted


class EarlyStoppingClassifier(WrappedClassifier):
    """Gradient boosting that stops when the loss on a validation part of the training samples stops falling.

    Parameters
    ----------
    estimator : classifier
        With its number of rounds to wait. The ``fit`` of LightGBM, XGBoost and CatBoost takes the validation part as
        ``eval_set``, that of scikit-learn as ``X_val`` and ``y_val``; what scikit-learn would hold out itself fails if
        a class has a single sample.
    validation_fraction : float, default=0.2
        The fraction of each class that is held out, rounded.
    fit_options : callable, optional
        Returns further arguments of the estimator's ``fit``, given X.
    random_state : int or None, default=None
        Seed of the validation part.
    """

    def __init__(
        self,
        estimator: Any,
        *,
        validation_fraction: float = 0.2,
        fit_options: Callable[[pd.DataFrame], dict[str, Any]] | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.validation_fraction = validation_fraction
        self.fit_options = fit_options
        self.random_state = random_state

    def _fitted(self, X: pd.DataFrame, codes: Codes) -> Any:
        held = hold_out(codes, self.validation_fraction, self.random_state)
        options = {} if self.fit_options is None else self.fit_options(X)
        if isinstance(self.estimator, HistGradientBoostingClassifier):
            options |= {"X_val": X[held], "y_val": codes[held]}
        else:
            options["eval_set"] = [(X[held], codes[held])]
        return clone(self.estimator).fit(X[~held], codes[~held], **options)


def hold_out(codes: Codes, fraction: float, random_state: Any) -> npt.NDArray[np.bool_]:
    """Choose a fraction of each class, but never all of its samples, and at least one sample in total.

    Parameters
    ----------
    codes : array of int, shape (n_samples,)
        Classes, numbered from 0 without gaps.
    fraction : float
        Above 0 and below 1.
    random_state : int or None

    Returns
    -------
    held : array of bool, shape (n_samples,)

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.baselines import hold_out
    >>> held = hold_out(np.array([0] * 10 + [1] * 5 + [2]), 0.2, random_state=0)
    >>> held[:10].sum(), held[10:15].sum(), held[15:].sum()
    (np.int64(2), np.int64(1), np.int64(0))
    """
    rng = np.random.default_rng(random_state)
    held = np.zeros(len(codes), dtype=bool)
    sizes = np.bincount(codes)
    counts = np.minimum(np.round(sizes * fraction).astype(np.intp), sizes - 1)
    if not counts.any():
        counts[sizes.argmax()] = 1
    for number, count in enumerate(counts.tolist()):
        held[rng.choice(np.flatnonzero(codes == number), count, replace=False)] = True
    return held


class CleanLearningClassifier(WrappedClassifier):
    """cleanlab's CleanLearning: find wrong labels by cross-validation, drop their samples, and fit to the others.

    Parameters
    ----------
    estimator : classifier
    random_state : int or None, default=None
    """

    def __init__(self, estimator: Any, *, random_state: int | None = None) -> None:
        self.estimator = estimator
        self.random_state = random_state

    def _fitted(self, X: pd.DataFrame, codes: Codes) -> Any:
        cleanlab = importlib.import_module("cleanlab.classification")
        cleaning = cleanlab.CleanLearning(
            clone(self.estimator), seed=self.random_state, find_label_issues_kwargs={"n_jobs": 1}
        )
        # Categories are passed through, which a single array of numbers cannot.
        return cleaning.fit(X.reset_index(drop=True), codes).clf


class GreedySelectionClassifier(WrappedClassifier):
    """Greedy ensemble selection from the default members of `fuselearn.FusedClassifier`.

    Parameters
    ----------
    n_rounds : int, default=25
        Number of steps.
    n_estimators : int, default=50
        Trees of each ensemble among the members.
    random_state : int or None, default=None
    """

    def __init__(self, *, n_rounds: int = 25, n_estimators: int = 50, random_state: int | None = None) -> None:
        self.n_rounds = n_rounds
        self.n_estimators = n_estimators
        self.random_state = random_state

    def _fitted(self, X: pd.DataFrame, codes: Codes) -> Any:
        seed = int(np.random.default_rng(self.random_state).integers(2**31))
        members = fused_members(self.n_estimators, seed)
        return EnsembleSelection(members, n_rounds=self.n_rounds, random_state=seed).fit(X, codes)


def fused_members(n_estimators: int, seed: int) -> list[tuple[str, Any]]:
    """Return the members of a `FusedClassifier` without ``estimators``."""
    size: dict[str, Any] = {"n_estimators": n_estimators, "random_state": seed}
    members: list[tuple[str, Any]] = [("kfhe", KFHEClassifier(**size)), ("bagging", BaggedClassifier(**size))]
    for name, splitter in (("forest", "best"), ("extra_trees", "random")):
        for leaf in (1, 3, 8):
            forest = ForestClassifier(splitter=splitter, min_samples_leaf=leaf, **size)
            members.append((f"{name}_leaf{leaf}", forest))
    for name, kernel in (("svm", "rbf"), ("svm_linear", "linear")):
        members.append((name, SVMClassifier(kernel=kernel, impute=True, random_state=seed)))
    return members


def one_hot(model: BaseEstimator) -> Pipeline:
    """One-hot encode categories; a missing category is a category of its own.

    Missing numbers remain, since scikit-learn's trees support them.
    """
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    categories = make_column_selector(dtype_include="category")
    return make_pipeline(make_column_transformer((encode, categories), remainder="passthrough"), model)


def without_gaps(model: BaseEstimator, *steps: BaseEstimator, sparse: bool = False) -> Pipeline:
    """Put the mean for missing numbers, which then take some more steps, and one-hot encode categories."""
    encode = make_column_transformer(
        (
            make_pipeline(SimpleImputer(keep_empty_features=True), *steps),
            make_column_selector(dtype_exclude="category"),
        ),
        (
            OneHotEncoder(handle_unknown="ignore", sparse_output=sparse),
            make_column_selector(dtype_include="category"),
        ),
    )
    return make_pipeline(encode, model)


def logistic_regression() -> Pipeline:
    """Return logistic regression on standardized numbers, with missing ones at the mean, and one-hot categories."""
    return without_gaps(LogisticRegression(max_iter=1000), StandardScaler(), sparse=True)


def lightgbm() -> Pipeline:
    """Return LightGBM with its defaults."""
    return _numbered_features(importlib.import_module("lightgbm").LGBMClassifier(n_jobs=1, verbose=-1))


def stopped_hist_gradient_boosting() -> EarlyStoppingClassifier:
    """Return scikit-learn's gradient boosting with early stopping."""
    model = HistGradientBoostingClassifier(
        categorical_features="from_dtype", early_stopping=True, max_iter=MOST_ROUNDS, n_iter_no_change=PATIENCE
    )
    return EarlyStoppingClassifier(model)


def stopped_lightgbm() -> Pipeline:
    """Return LightGBM with early stopping."""
    model = importlib.import_module("lightgbm").LGBMClassifier(
        n_estimators=MOST_ROUNDS, early_stopping_round=PATIENCE, n_jobs=1, verbose=-1
    )
    return _numbered_features(EarlyStoppingClassifier(model))


def stopped_xgboost() -> Pipeline:
    """Return XGBoost with early stopping and its own splits on categories."""
    model = importlib.import_module("xgboost").XGBClassifier(
        n_estimators=MOST_ROUNDS, early_stopping_rounds=PATIENCE, enable_categorical=True, n_jobs=1
    )
    return _numbered_features(EarlyStoppingClassifier(model, fit_options=_without_log))


def catboost() -> Pipeline:
    """Return CatBoost with early stopping and its own encoding of categories."""
    model = importlib.import_module("catboost").CatBoostClassifier(
        iterations=CATBOOST_ROUNDS,
        early_stopping_rounds=PATIENCE,
        thread_count=1,
        allow_writing_files=False,
        random_state=None,
    )
    stopping = EarlyStoppingClassifier(model, fit_options=_with_categories)
    return make_pipeline(FunctionTransformer(_as_text), stopping)


def clean_forest() -> CleanLearningClassifier:
    """Return cleanlab's CleanLearning over a random forest."""
    return CleanLearningClassifier(one_hot(RandomForestClassifier()))


def clean_lightgbm() -> CleanLearningClassifier:
    """Return cleanlab's CleanLearning over LightGBM."""
    return CleanLearningClassifier(lightgbm())


def tabpfn() -> Any:
    """Return TabPFN v2, whose weights are not part of its package and are not downloaded here.

    Raises
    ------
    ValueError
        If the environment variable ``TABPFN_WEIGHTS`` does not name their file.
    """
    weights = os.environ.get(TABPFN_WEIGHTS, "")
    if not Path(weights).is_file():
        raise ValueError(
            "TabPFN needs its weights, which are not part of the package tabpfn and are not downloaded here: set "
            f"{TABPFN_WEIGHTS} to the path of tabpfn-v2-classifier.ckpt; got {weights!r}."
        )
    return one_hot(importlib.import_module("tabpfn").TabPFNClassifier(model_path=weights, device="cpu", n_jobs=1))


def _numbered_features(model: BaseEstimator) -> Pipeline:
    return make_pipeline(FunctionTransformer(_numbered), model)


def _numbered(X: pd.DataFrame) -> pd.DataFrame:
    """Name the features 0, 1, 2, since LightGBM and XGBoost reject names with brackets or commas."""
    return X.set_axis([str(position) for position in range(X.shape[1])], axis=1)


def _without_log(_X: pd.DataFrame) -> dict[str, Any]:
    return {"verbose": False}


def _with_categories(X: pd.DataFrame) -> dict[str, Any]:
    text = [name for name, dtype in X.dtypes.items() if not pd.api.types.is_numeric_dtype(dtype)]
    return {"cat_features": text, "verbose": False}


def _as_text(X: pd.DataFrame) -> pd.DataFrame:
    """Write categories as text, since CatBoost accepts no missing ones."""
    categories = X.select_dtypes("category").columns
    return X.assign(**{name: X[name].astype(object).fillna(MISSING).astype(str) for name in categories})
