"""Out-of-bag scores: any metric or scorer on answers that are known already."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from fuselearn._messages import show


class KnownValues(RegressorMixin, BaseEstimator):
    """A regressor that looks its predictions up by the number of a row, so that scorers can ask it."""

    def __init__(self, predictions: npt.NDArray[Any]) -> None:
        self.predictions = predictions

    def predict(self, X: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
        """Look up the predictions for the rows whose numbers are in the first column."""
        return self.predictions[X[:, 0]]


class KnownClasses(ClassifierMixin, BaseEstimator):
    """A classifier that looks its answers up in the same way."""

    def __init__(
        self, predictions: npt.NDArray[Any], probabilities: npt.NDArray[np.float64], classes: npt.NDArray[Any]
    ) -> None:
        self.predictions = predictions
        self.probabilities = probabilities
        self.classes_ = classes

    def predict(self, X: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
        """Look up the classes of the rows whose numbers are in the first column."""
        return self.predictions[X[:, 0]]

    def predict_proba(self, X: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        """Look up their class probabilities."""
        return self.probabilities[X[:, 0]]


Scorer = Callable[[Any, npt.NDArray[np.intp], npt.NDArray[Any]], float]


def read_scoring(oob_score: Any, default: str) -> Scorer | None:
    """Make a scorer of the ``oob_score`` parameter; None means that no score is wanted.

    Parameters
    ----------
    oob_score : bool, str or callable
        Whether to score with the default; or the name of a scorer of scikit-learn, or a scorer; or a metric
        ``metric(y_true, y_pred)``.
    default : str
        The name of a scorer of scikit-learn.
    """
    if oob_score is None or isinstance(oob_score, bool | np.bool_):
        if not oob_score:
            return None
        oob_score = default
    if isinstance(oob_score, str):
        from sklearn.metrics import get_scorer  # takes long to import, and few ensembles are scored

        try:
            return get_scorer(oob_score)
        except ValueError as error:
            raise ValueError(_describe_choices(oob_score)) from error
    if not callable(oob_score):
        raise TypeError(_describe_choices(oob_score))
    return oob_score if _takes_estimator(oob_score) else _score_by(oob_score)


def score_out_of_bag(scorer: Scorer, known: Any, truth: npt.NDArray[Any], covered: npt.NDArray[np.bool_]) -> float:
    """Score the rows that any model has not seen; NaN if there is none."""
    rows = np.flatnonzero(covered)
    return float(scorer(known, rows[:, None], truth[rows])) if len(rows) else np.nan


def _describe_choices(oob_score: Any) -> str:
    return f"oob_score must be True, False, a metric, or a scorer or its name in scikit-learn, not {show(oob_score)}."


def _score_by(metric: Callable[..., float]) -> Scorer:
    return lambda estimator, X, y: metric(y, estimator.predict(X))


def _takes_estimator(function: Callable[..., Any]) -> bool:
    """Tell a scorer, ``scorer(estimator, X, y)``, from a metric, ``metric(y_true, y_pred)``."""
    return next(iter(inspect.signature(function).parameters), None) == "estimator"
