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
    """A fitted regressor whose predictions are known, so that scorers can ask it about their samples."""

    def __init__(self, predictions: npt.NDArray[Any]) -> None:
        self.predictions = predictions

    def __sklearn_is_fitted__(self) -> bool:
        """Return True: there is nothing to fit."""
        return True

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the predictions of the samples."""
        return self.predictions


class KnownClasses(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose answers are known."""

    def __init__(self, predictions: npt.NDArray[Any], probabilities: Any, classes: Any) -> None:
        self.predictions = predictions
        self.probabilities = probabilities
        self.classes_ = classes

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the classes of the samples."""
        return self.predictions

    def predict_proba(self, X: Any) -> Any:
        """Return their class probabilities."""
        return self.probabilities


Scorer = Callable[..., float]


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


def score_known(scorer: Scorer, known: Any, truth: npt.NDArray[Any], **settings: Any) -> float:
    """Score answers that are known; NaN if there is none."""
    return float(scorer(known, np.arange(len(truth))[:, None], truth, **settings)) if len(truth) else np.nan


def _describe_choices(oob_score: Any) -> str:
    return f"oob_score must be True, False, a metric, or a scorer or its name in scikit-learn, not {show(oob_score)}."


def _score_by(metric: Callable[..., float]) -> Scorer:
    return lambda estimator, X, y: metric(y, estimator.predict(X))


def _takes_estimator(function: Callable[..., Any]) -> bool:
    """Return whether a function is ``scorer(estimator, X, y)`` rather than ``metric(y_true, y_pred)``."""
    return next(iter(inspect.signature(function).parameters), None) == "estimator"
