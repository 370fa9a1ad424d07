"""Predict the most probable label set of training, from label probabilities and from forests of label sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import logit, softmax

from fuselearn._compat import take_rows
from fuselearn.ensembles import ForestClassifier
from fuselearn.multilabel.decisions.base import DecisionRule, Decisions, Scores
from fuselearn.multilabel.decisions.sets import LEAST_PROBABILITY, N_CELLS

# Maximum number of samples times label sets; the forests would need too much memory for more.
MOST_CELLS = 2**23
START = np.array([0.5, 0.5, 0.0, 0.0])
PENALTY = 5.0
FOREST_FRACTION = 0.9
# Replaces the frequency of a set of a single sample.
TINY = 1e-9


class SetMixture(DecisionRule):
    """Predict the most probable of the label sets of the training samples, without assuming independent labels.

    With q(S) the fraction of the training samples whose label set is S, the predicted set maximizes ::

        a · sum over j in S of z_j  +  b · log(0.9 P(S | x) + 0.1 q(S))  +  c · log q(S)
            +  d · log(0.9 P(S | z) + 0.1 q(S)),        z_j = log p_j / (1 - p_j).

    P(S | x) is the mean of two forests whose classes are the sets, one with best and one with random thresholds, and
    P(S | z) that of two forests whose features are the log-odds z. The coefficients minimize the out-of-bag log loss
    plus 5 ((a - 0.5)² + (b - 0.5)² + c² + d²) on samples whose set is not unique.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees of each forest.
    random_state : int or None, default=None
        Seed of the forests.
    n_jobs : int or None, default=None
        Threads.

    Attributes
    ----------
    sets_ : array of shape (n_sets, n_labels)
        The label sets of training, zeros and ones.
    frequencies_ : array of shape (n_sets,)
        q(S).
    coef_ : array of shape (4,)
        a, b, c and d.
    forests_ : list of ForestClassifier
        Those of P(S | x).
    score_forests_ : list of ForestClassifier
        Those of P(S | z).
    """

    sets_: Decisions
    frequencies_: Scores
    coef_: Scores
    forests_: list[ForestClassifier]
    score_forests_: list[ForestClassifier]
    _learns = True

    def __init__(self, n_estimators: int = 100, *, random_state: int | None = None, n_jobs: int | None = None) -> None:
        self.n_estimators = n_estimators
        self.random_state = random_state
        self.n_jobs = n_jobs

    @staticmethod
    def suits(Y: npt.NDArray[Any]) -> bool:
        """Return whether there are several sets, one of them repeated, and the forests fit in memory."""
        _, n_samples = np.unique(Y, axis=0, return_counts=True)
        return 1 < len(n_samples) < len(Y) and len(n_samples) * len(Y) <= MOST_CELLS

    def fit_samples(self, X: Any, scores: Scores, Y: npt.NDArray[Any], weights: Scores) -> Self:
        """Train the forests, and fit the coefficients to out-of-bag probabilities.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        scores : array of shape (n_samples, n_labels)
            Out-of-sample probabilities; samples with NaN are not used for the coefficients.
        Y : array of shape (n_samples, n_labels)
        weights : array of shape (n_samples,)
            All positive.
        """
        sets, own, n_samples = np.unique(Y, axis=0, return_inverse=True, return_counts=True)
        self.sets_, own = sets.astype(np.int64), own.reshape(-1)
        totals = np.bincount(own, weights)
        self.frequencies_ = totals / totals.sum()
        self.forests_ = self._train(X, own, weights)
        self.score_forests_ = self._train(_log_odds(np.where(np.isnan(scores), 0.5, scores)), own, weights)
        used = np.flatnonzero(~np.isnan(scores).any(axis=1) & (n_samples[own] > 1))
        used = used[:: 1 + len(used) * len(sets) // N_CELLS]
        self.coef_ = START
        if len(used):
            found = [
                np.mean([np.nan_to_num(forest.oob_decision_function_[used]) for forest in forests], axis=0)
                for forests in (self.forests_, self.score_forests_)
            ]
            others = np.tile(totals, (len(used), 1))
            np.subtract.at(others, (np.arange(len(used)), own[used]), weights[used])
            q = np.maximum(others, TINY) / others.sum(axis=1, keepdims=True)
            table = self._features(_log_odds(scores[used]), found, q)
            self.coef_ = _minimize(table, own[used], weights[used])
        return self

    def decide(self, scores: Scores, X: Any) -> Decisions:
        """Predict the labels of samples from their probabilities and features."""
        chosen = [np.empty(0, dtype=np.intp)]
        for part in _parts(len(scores), len(self.sets_)):
            odds = _log_odds(scores[part])
            found = [
                np.mean([forest.predict_proba(table) for forest in forests], axis=0)
                for forests, table in ((self.forests_, take_rows(X, part)), (self.score_forests_, odds))
            ]
            chosen.append(np.tensordot(self.coef_, self._features(odds, found, self.frequencies_), 1).argmax(axis=1))
        return self.sets_[np.concatenate(chosen)]

    def _train(self, X: Any, own: npt.NDArray[Any], weights: Scores) -> list[ForestClassifier]:
        return [
            ForestClassifier(
                self.n_estimators, splitter=splitter, bootstrap=True, oob_score=True, random_state=self.random_state,
                n_jobs=self.n_jobs,
            ).fit(X, own, weights)
            for splitter in ("best", "random")
        ]  # fmt: skip

    def _features(self, odds: Scores, found: list[Scores], q: Scores) -> Scores:
        """Return the terms for each sample and set, given P(S | x), P(S | z) and the frequencies ``q`` of the sets."""
        of_features, of_scores = (np.log(FOREST_FRACTION * known + (1 - FOREST_FRACTION) * q) for known in found)
        return np.stack(np.broadcast_arrays(odds @ self.sets_.T, of_features, np.log(q), of_scores))

    def _decide(self, scores: Scores) -> npt.NDArray[Any]:
        raise ValueError("This rule also needs the features of the samples; call predict of the classifier.")


def _log_odds(scores: Scores) -> Scores:
    found: Scores = logit(scores.clip(LEAST_PROBABILITY, 1 - LEAST_PROBABILITY))
    return found


def _parts(n_samples: int, n_sets: int) -> Iterator[npt.NDArray[np.intp]]:
    step = max(1, N_CELLS // n_sets)
    for start in range(0, n_samples, step):
        yield np.arange(start, min(start + step, n_samples))


def _minimize(table: Scores, own: npt.NDArray[Any], weights: Scores) -> Scores:
    """Return the coefficients with the smallest penalized log loss."""
    samples = np.arange(len(own))

    def loss(found: Scores) -> tuple[float, Scores]:
        p = softmax(np.tensordot(found, table, 1), axis=1)
        missed = weights @ -np.log(p[samples, own])
        p[samples, own] -= 1.0
        gradient = np.einsum("i,kis,is->k", weights, table, p)
        return missed + PENALTY * ((found - START) ** 2).sum(), gradient + 2 * PENALTY * (found - START)

    best: Scores = minimize(loss, START, jac=True, method="L-BFGS-B").x
    return best
