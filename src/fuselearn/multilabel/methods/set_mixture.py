"""The most probable label set of training, by the probabilities of its labels and by forests whose classes are sets."""

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

# Samples times label sets; with more, the forests would take too much memory.
MOST_CELLS = 2**24
START = np.array([0.5, 0.5, 0.0])
PENALTY = 5.0
FOREST_FRACTION = 0.9
# Instead of the frequency of a set that no other sample has.
TINY = 1e-9


class SetMixture(DecisionRule):
    """Predict the most probable of the label sets of the training samples, which need not have independent labels.

    Of the sets S in training, each that of a fraction q(S) of the samples, the one with the largest ::

        a · sum over j in S of log p_j / (1 - p_j)  +  b · log(0.9 P(S | x) + 0.1 q(S))  +  c · log q(S)

    is predicted. P(S | x) is the mean of two forests whose classes are the sets, with the best and with random cuts.
    a, b and c have the least log loss plus 5 ((a - 0.5)² + (b - 0.5)² + c²) out of bag, on samples whose set is not
    unique.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees of each forest.
    random_state : int or None, default=None
        Seed of both forests.
    n_jobs : int or None, default=None
        Threads.

    Attributes
    ----------
    sets_ : array of shape (n_sets, n_labels)
        The label sets of training, zeros and ones.
    frequencies_ : array of shape (n_sets,)
        q(S).
    coef_ : array of shape (3,)
        a, b and c.
    forests_ : list of ForestClassifier
    """

    sets_: Decisions
    frequencies_: Scores
    coef_: Scores
    forests_: list[ForestClassifier]
    _learns = True

    def __init__(self, n_estimators: int = 100, *, random_state: int | None = None, n_jobs: int | None = None) -> None:
        self.n_estimators = n_estimators
        self.random_state = random_state
        self.n_jobs = n_jobs

    @staticmethod
    def suits(Y: npt.NDArray[Any]) -> bool:
        """Whether some set of several occurs more than once, and the forests need not be huge."""
        _, n_samples = np.unique(Y, axis=0, return_counts=True)
        return 1 < len(n_samples) < len(Y) and len(n_samples) * len(Y) <= MOST_CELLS

    def fit_samples(self, X: Any, scores: Scores, Y: npt.NDArray[Any], weights: Scores) -> Self:
        """Train the forests, and weigh them on out-of-bag probabilities.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        scores : array of shape (n_samples, n_labels)
            Probabilities by models that were not trained on the sample; samples with NaN are not weighed on.
        Y : array of shape (n_samples, n_labels)
        weights : array of shape (n_samples,)
            All positive.
        """
        sets, own, n_samples = np.unique(Y, axis=0, return_inverse=True, return_counts=True)
        self.sets_, own = sets.astype(np.int64), own.reshape(-1)
        totals = np.bincount(own, weights)
        self.frequencies_ = totals / totals.sum()
        self.forests_ = [
            ForestClassifier(
                self.n_estimators, splitter=splitter, bootstrap=True, oob_score=True, random_state=self.random_state,
                n_jobs=self.n_jobs,
            ).fit(X, own, weights)
            for splitter in ("best", "random")
        ]  # fmt: skip
        used = np.flatnonzero(~np.isnan(scores).any(axis=1) & (n_samples[own] > 1))
        used = used[:: 1 + len(used) * len(sets) // N_CELLS]
        self.coef_ = START
        if len(used):
            known = np.mean([np.nan_to_num(forest.oob_decision_function_[used]) for forest in self.forests_], axis=0)
            others = np.tile(totals, (len(used), 1))
            np.subtract.at(others, (np.arange(len(used)), own[used]), weights[used])
            q = np.maximum(others, TINY) / others.sum(axis=1, keepdims=True)
            table = self._features(scores[used], known, q)
            self.coef_ = _minimize(table, own[used], weights[used])
        return self

    def decide(self, scores: Scores, X: Any) -> Decisions:
        """Predict the labels of samples, of which both the probabilities and the features are given."""
        chosen = [np.empty(0, dtype=np.intp)]
        for part in _parts(len(scores), len(self.sets_)):
            known = np.mean([forest.predict_proba(take_rows(X, part)) for forest in self.forests_], axis=0)
            chosen.append(
                np.tensordot(self.coef_, self._features(scores[part], known, self.frequencies_), 1).argmax(axis=1)
            )
        return self.sets_[np.concatenate(chosen)]

    def _features(self, scores: Scores, known: Scores, q: Scores) -> Scores:
        """Return the three terms of each sample and set, whose frequencies are ``q``."""
        odds = logit(scores.clip(LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)) @ self.sets_.T
        mixed = np.log(FOREST_FRACTION * known + (1 - FOREST_FRACTION) * q)
        return np.stack(np.broadcast_arrays(odds, mixed, np.log(q)))

    def _decide(self, scores: Scores) -> npt.NDArray[Any]:
        raise ValueError("SetMixture decides by the features of samples, too; call predict of the classifier.")


def _parts(n_samples: int, n_sets: int) -> Iterator[npt.NDArray[np.intp]]:
    step = max(1, N_CELLS // n_sets)
    for start in range(0, n_samples, step):
        yield np.arange(start, min(start + step, n_samples))


def _minimize(table: Scores, own: npt.NDArray[Any], weights: Scores) -> Scores:
    """Return the coefficients of the terms with the least log loss and penalty."""
    samples = np.arange(len(own))

    def loss(found: Scores) -> tuple[float, Scores]:
        p = softmax(np.tensordot(found, table, 1), axis=1)
        missed = weights @ -np.log(p[samples, own])
        p[samples, own] -= 1.0
        gradient = np.einsum("i,kis,is->k", weights, table, p)
        return missed + PENALTY * ((found - START) ** 2).sum(), gradient + 2 * PENALTY * (found - START)

    best: Scores = minimize(loss, START, jac=True, method="L-BFGS-B").x
    return best
