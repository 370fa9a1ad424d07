"""Bind tables to estimators, and predict new samples in batches."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import get_tags

from fuselearn._compat import take_rows
from fuselearn._messages import show
from fuselearn.learners.clones import CloneLearner
from fuselearn.learners.learner import Learner


def bind(estimator: Any, X: Any, n_threads: int = 1) -> Learner:
    """Bind a table to an estimator, of which any number of models are then trained.

    Parameters
    ----------
    estimator : classifier or regressor
        A ``CARTClassifier`` or ``CARTRegressor`` means the compiled trees, an ``SVMClassifier`` the compiled SVMs: they
        bind tables by themselves. Any other scikit-learn estimator is cloned for each model.
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        Checked for its shape already.
    n_threads : int, default=1
        Threads (processes for other classifiers) that train and predict labels side by side.

    Returns
    -------
    Learner

    Examples
    --------
    >>> from fuselearn import CARTClassifier
    >>> from fuselearn.learners import label_target
    >>> X, Y = np.arange(40.0)[:, None], np.repeat([[0, 1], [1, 1]], 20, axis=0)
    >>> learner = bind(CARTClassifier(), X)
    >>> model = learner.train(label_target(Y), np.ones(40, dtype=np.int32), seed=0)
    >>> model.scores(learner.prepare(np.array([[5.0], [35.0]])))
    array([[0., 1.],
           [1., 1.]])
    """
    if hasattr(estimator, "_bind_table"):
        learner: Learner = estimator._bind_table(X, n_threads)
        return learner
    return CloneLearner(X, estimator, n_threads)


def check_base(estimator: Any, kind: str) -> None:
    """Raise an error unless a base estimator is a classifier of single classes, or a regressor.

    Parameters
    ----------
    estimator : object
    kind : {"classifier", "regressor"}

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> check_base(DecisionTreeRegressor(), "classifier")
    Traceback (most recent call last):
    TypeError: estimator must be a classifier or None, not DecisionTreeRegressor().
    """
    is_kind = is_classifier if kind == "classifier" else is_regressor
    if isinstance(estimator, type) or not (hasattr(estimator, "get_params") and is_kind(estimator)):
        raise TypeError(f"estimator must be a {kind} or None, not {show(estimator)}.{_suggest(estimator)}")
    if kind == "classifier" and not get_tags(estimator).target_tags.single_output:
        raise TypeError(
            f"estimator must be a classifier of a single column of classes; {type(estimator).__name__} is a "
            "multi-label classifier, which KFHEMultilabelClassifier and ThresholdedClassifier take."
        )


def _suggest(estimator: Any) -> str:
    """Return what was probably meant by a parameter that is no estimator, after a space; or nothing."""
    if isinstance(estimator, type):
        return f" Pass an object, such as {estimator.__name__}(), not its class."
    if isinstance(estimator, numbers.Integral):
        return f" The first parameter is the base estimator; pass numbers by name, such as n_estimators={estimator}."
    return ""


def predict_in_batches(X: Any, batch_size: int, predict: Callable[[Any], npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Predict the samples of a table by a function, in batches if there are many.

    Examples
    --------
    >>> predict_in_batches(np.arange(5), 2, lambda batch: batch * len(batch))
    array([0, 2, 4, 6, 4])
    """
    n_samples = X.shape[0]
    if n_samples <= batch_size:
        return predict(X)
    batches = (np.arange(start, min(start + batch_size, n_samples)) for start in range(0, n_samples, batch_size))
    return np.concatenate([predict(take_rows(X, batch)) for batch in batches])
