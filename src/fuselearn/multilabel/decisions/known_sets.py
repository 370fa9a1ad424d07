"""Predict label sets that training samples have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logit

from fuselearn.multilabel.data.labels import UNKNOWN, PartialTable
from fuselearn.multilabel.decisions.base import DecisionRule, Decisions, Scores, check_labels

PRIORS = (0.0, 0.25, 0.5)
SHIFTS = (0.0, 0.5, -0.5, 1.0)
# Probabilities nearer to 0 or 1 than this are moved, so that one label cannot decide alone.
LEAST_PROBABILITY = 1e-4
# Values computed at a time.
N_CELLS = 2**22


class KnownSets(DecisionRule):
    """Predict the most probable of the label sets that training samples have, assuming independent labels.

    Of the sets S in training, with the share q(S) of its samples, the one with the largest ::

        sum over j in S of (log p_j / (1 - p_j) + shift) + prior · log q(S)

    is predicted. This is the rule for subset accuracy: a set that nobody had is hardly ever right. The shift and the
    weight of the prior are those with the best subset accuracy on out-of-sample scores, where the set of a sample
    counts as unknown if no other sample has it.

    .. versionadded:: 0.2

    Attributes
    ----------
    sets_ : array of shape (n_sets, n_labels)
        The label sets of training, zeros and ones.
    shift_, prior_ : float

    Examples
    --------
    >>> from fuselearn.multilabel import KnownSets
    >>> scores, Y = [[0.9, 0.2], [0.7, 0.1], [0.4, 0.8], [0.1, 0.6]], [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> KnownSets().fit(scores, Y)([[0.6, 0.7], [0.2, 0.1]])
    array([[0, 1],
           [1, 0]])
    """

    sets_: Decisions
    shift_: float
    prior_: float

    @property
    def needs_scores(self) -> bool:
        """True, since the sets are learned."""
        return True

    def _learn(self, scores: Scores, truth: PartialTable, weights: Scores) -> None:
        whole = (truth != UNKNOWN).all(axis=1)
        if not whole.any():
            raise ValueError("Y has NaN in every sample; KnownSets needs samples all of whose labels are known.")
        scores, weights = scores[whole], weights[whole]
        table = np.ascontiguousarray(truth[whole], dtype=np.int64)
        self.sets_, own, numbers = np.unique(table, axis=0, return_inverse=True, return_counts=True)
        own = own.reshape(-1)
        self._log_shares_ = np.log(np.bincount(own, weights) / weights.sum())
        candidates = [(shift, prior) for prior in PRIORS for shift in SHIFTS]
        right = np.zeros(len(candidates))
        for part, odds in self._score_sets(scores):
            gains = weights[part] * (numbers[own[part]] > 1)
            for k, candidate in enumerate(candidates):
                right[k] += gains @ ((odds + self._offsets(*candidate)).argmax(axis=1) == own[part])
        self.shift_, self.prior_ = candidates[int(right.argmax())]

    def _decide(self, scores: Scores) -> npt.NDArray[Any]:
        check_labels(scores, self.sets_.shape[1])
        chosen = [(odds + self.offsets).argmax(axis=1) for _, odds in self._score_sets(scores)]
        return self.sets_[np.concatenate([np.empty(0, dtype=np.intp), *chosen])]

    @property
    def offsets(self) -> Scores:
        """What is added to the sum of the log-odds of each set's labels."""
        return self._offsets(self.shift_, self.prior_)

    def _score_sets(self, scores: Scores) -> Iterator[tuple[slice, Scores]]:
        """Yield parts of the samples with the sum of the log-odds of each set's labels."""
        n_at_once = max(1, N_CELLS // len(self.sets_))
        indicators = self.sets_.T.astype(np.float64)
        for start in range(0, len(scores), n_at_once):
            part = slice(start, start + n_at_once)
            yield part, logit(scores[part].clip(LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)) @ indicators

    def _offsets(self, shift: float, prior: float) -> Scores:
        offsets: Scores = shift * self.sets_.sum(axis=1) + prior * self._log_shares_
        return offsets
