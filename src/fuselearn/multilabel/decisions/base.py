"""The base class of decision rules, and the rules that need no fitting."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fuselearn._messages import show
from fuselearn._parameters import check_number
from fuselearn.base import read_weights
from fuselearn.multilabel.labels import UNKNOWN, PartialTable, read_partial_labels

Scores = npt.NDArray[np.float64]
Decisions = npt.NDArray[np.int64]


class DecisionRule(BaseEstimator):
    """Base class of decision rules: callables that take probabilities and return labels.

    Rules with ``needs_scores`` must be fitted first. To write a rule, implement ``_decide(scores)``; for a rule that
    must be fitted, also ``_learn(scores, labels, weights)`` and the class attribute ``_learns = True``.

    Examples
    --------
    >>> from fuselearn.multilabel.decisions import CardinalityThreshold
    >>> rule = CardinalityThreshold()
    >>> rule.needs_scores
    True
    >>> rule.fit([[0.4, 0.1], [0.2, 0.3]], [[1, 0], [0, 1]])([[0.35, 0.15]])
    array([[1, 0]])
    """

    _learns = False

    @property
    def needs_scores(self) -> bool:
        """Whether the rule must be fitted to out-of-sample probabilities."""
        return self._learns

    def fit(self, scores: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Fit the rule; rules without learned parameters are unchanged.

        Parameters
        ----------
        scores : array of shape (n_samples, n_labels)
            Out-of-sample probabilities. Samples with NaN are ignored.
        Y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            True labels, zeros and ones; NaN, an unknown label, is ignored.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        DecisionRule
            Fitted rule.
        """
        if not self.needs_scores:
            return self
        table, truth = read_scores(scores), read_partial_labels(Y, "Y")
        if table.shape != truth.shape:
            raise ValueError(f"scores and Y must have the same shape, not {table.shape} and {truth.shape}.")
        weights = read_weights(sample_weight, len(table))
        weights = np.ones(len(table)) if weights is None else weights
        is_labeled = (truth != UNKNOWN).any(axis=1)
        if not is_labeled.any():
            raise ValueError("Y has only NaN; known labels are needed to learn thresholds.")
        used = is_labeled & ~np.isnan(table).any(axis=1) & (weights > 0)
        if not used.any():
            raise ValueError(
                "scores has NaN for every sample; out-of-bag or out-of-fold scores are needed to learn thresholds."
            )
        self._learn(table[used], truth[used], weights[used] / weights[used].mean())
        return self

    def __call__(self, scores: Any) -> Decisions:
        """Predict the labels of samples.

        Parameters
        ----------
        scores : array of shape (n_samples, n_labels)
            Probabilities.

        Returns
        -------
        int64 array of shape (n_samples, n_labels)
            Zeros and ones.
        """
        if self.needs_scores:
            check_is_fitted(self)
        table = read_scores(scores)
        if np.isnan(table).any():
            raise ValueError("scores has NaN; expected a probability for every label of every sample.")
        return self._decide(table).astype(np.int64, copy=False)

    def _learn(self, scores: Scores, truth: PartialTable, weights: Scores) -> None:
        """Fit to validated arrays; the mean weight is 1. Labels may be `UNKNOWN`."""

    def _decide(self, scores: Scores) -> npt.NDArray[Any]:
        raise NotImplementedError


def check_probability(name: str, value: Any) -> float:
    """Validate a parameter from 0 to 1."""
    if check_number(name, value, 0) > 1:
        raise ValueError(f"{name} must be a number from 0 to 1, not {show(value)}.")
    return float(value)


def check_labels(scores: Scores, n_labels: int) -> None:
    """Raise an error if the number of labels differs from that in fit."""
    if scores.shape[1] != n_labels:
        raise ValueError(f"scores must have {n_labels} labels, as in fit, not {scores.shape[1]}.")


def read_scores(scores: Any) -> Scores:
    """Validate scores, which may contain NaN."""
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"scores must have shape (n_samples, n_labels), not {table.ndim} dimension(s).")
    if np.isinf(table).any():
        raise ValueError("scores has infinite values; expected probabilities.")
    return table


class FixedThreshold(DecisionRule):
    """Predict the labels with a probability above a threshold, the rule for a number.

    Examples
    --------
    >>> FixedThreshold()([[0.5, 0.51]])
    array([[0, 1]])
    """

    def __init__(self, threshold: float = 0.5) -> None:
        self.threshold = threshold

    def _decide(self, scores: Scores) -> npt.NDArray[Any]:
        return scores > check_probability("threshold", self.threshold)


class OwnDecision(FixedThreshold):
    """Predict the labels chosen by the model itself; for probabilities alone, those above 0.5."""
