"""Rules that predict whole sets of labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logit

from fuselearn._core import find_best_sizes
from fuselearn.multilabel.decisions.base import DecisionRule, Decisions, Scores, check_labels, check_probability
from fuselearn.multilabel.label_noise import correct_probabilities, read_noise_rate
from fuselearn.multilabel.labels import UNKNOWN, PartialTable

PRIORS = (0.0, 0.25, 0.5)
SHIFTS = (0.0, 0.5, -0.5, 1.0)
# Probabilities are clipped to [1e-4, 1 - 1e-4], so that a single label cannot dominate the sum of log-odds.
LEAST_PROBABILITY = 1e-4
# Number of values computed at once.
N_CELLS = 2**22


class KnownSets(DecisionRule):
    """Predict the most probable of the label sets of the training samples, assuming independent labels.

    With q(S) the fraction of the training samples whose label set is S, the predicted set maximizes ::

        sum over j in S of (log p_j / (1 - p_j) + shift) + prior · log q(S)

    This rule optimizes subset accuracy, since label sets that do not occur in training are rarely correct. The shift
    and the weight of the prior have the best subset accuracy on out-of-sample probabilities, where the label set of a
    single sample is never correct.

    .. versionadded:: 0.2

    Attributes
    ----------
    sets_ : array of shape (n_sets, n_labels)
        The label sets of training, zeros and ones.
    shift_, prior_ : float

    Examples
    --------
    >>> from fuselearn.multilabel.decisions import KnownSets
    >>> scores, Y = [[0.9, 0.2], [0.7, 0.1], [0.4, 0.8], [0.1, 0.6]], [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> KnownSets().fit(scores, Y)([[0.6, 0.7], [0.2, 0.1]])
    array([[0, 1],
           [1, 0]])
    """

    sets_: Decisions
    shift_: float
    prior_: float
    _learns = True

    def _learn(self, scores: Scores, truth: PartialTable, weights: Scores) -> None:
        is_known = (truth != UNKNOWN).all(axis=1)
        if not is_known.any():
            raise ValueError("Y has NaN in every sample; KnownSets needs samples all of whose labels are known.")
        scores, weights, table = scores[is_known], weights[is_known], truth[is_known].astype(np.int64)
        self.sets_, own, n_samples = np.unique(table, axis=0, return_inverse=True, return_counts=True)
        own = own.reshape(-1)
        self._log_fractions_ = np.log(np.bincount(own, weights) / weights.sum())
        candidates = [(shift, prior) for prior in PRIORS for shift in SHIFTS]
        right = np.zeros(len(candidates))
        for part, odds in self._score_sets(scores):
            gains = weights[part] * (n_samples[own[part]] > 1)
            for k, candidate in enumerate(candidates):
                right[k] += gains @ ((odds + self._offsets(*candidate)).argmax(axis=1) == own[part])
        self.shift_, self.prior_ = candidates[int(right.argmax())]

    def _decide(self, scores: Scores) -> npt.NDArray[Any]:
        check_labels(scores, self.sets_.shape[1])
        chosen = [(odds + self.offsets).argmax(axis=1) for _, odds in self._score_sets(scores)]
        return self.sets_[np.concatenate([np.empty(0, dtype=np.intp), *chosen])]

    @property
    def offsets(self) -> Scores:
        """The shift and prior terms of each set."""
        return self._offsets(self.shift_, self.prior_)

    def _offsets(self, shift: float, prior: float) -> Scores:
        offsets: Scores = shift * self.sets_.sum(axis=1) + prior * self._log_fractions_
        return offsets

    def _score_sets(self, scores: Scores) -> Iterator[tuple[slice, Scores]]:
        """Yield batches of samples with the sum of log-odds over the labels of each set."""
        n_at_once = max(1, N_CELLS // len(self.sets_))
        indicators = self.sets_.T.astype(np.float64)
        for start in range(0, len(scores), n_at_once):
            part = slice(start, start + n_at_once)
            yield part, logit(scores[part].clip(LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)) @ indicators


class ExpectedF1(DecisionRule):
    """Predict the set of labels with the largest expected F1, assuming independent labels.

    The rule needs calibrated probabilities and no threshold: if all labels of a sample are uncertain, it may predict
    labels with a probability below 0.5.

    With the labels in order of decreasing probability, the best set of k labels is the first k (Lewis 1995). With T_k
    true labels among those and S_k among the others::

        f(k) = E[2 T_k / (k + T_k + S_k)] = Σ_i 2 i P(T_k = i) s_k(k + i),    s_k(a) = E[1 / (a + S_k)]

    and f(0) = `empty` · P(no label is true). P(T_k = i) follows from k - 1, and s_k from k + 1 (Ye et al. 2012)::

        P(T_k = i) = p_k P(T_{k-1} = i - 1) + (1 - p_k) P(T_{k-1} = i)
        s_{k-1}(a) = p_k s_k(a + 1) + (1 - p_k) s_k(a),    s_L(a) = 1 / a

    so the time for a sample is proportional to the square of the number L of labels. With μ_k = p_1 + ... + p_k,
    Jensen's inequality gives 2 μ_k / (k + 1 + μ_L) <= f(k) <= 2 μ_k / (k + μ_k), so sizes whose upper bound is below
    the best lower bound are skipped. Ties go to the smallest set.

    Parameters
    ----------
    empty : float, default=1.0
        F1 of an empty set if no label is true. With 0, at least one label is predicted for every sample.
    noise_rate : float or "auto", default=0.0
        Fraction of the training labels that were flipped at random; the probabilities are then corrected for it. With a
        value other than 0, the rule must be fitted. "auto" estimates it, see
        :func:`~fuselearn.multilabel.label_noise.estimate_noise_rate`.

    Attributes
    ----------
    noise_rate_ : float

    References
    ----------
    Lewis, D. D. (1995). Evaluating and optimizing autonomous text classification systems. SIGIR, 246-254.
    Ye, N., Chai, K. M. A., Lee, W. S., Chieu, H. L. (2012). Optimizing F-measures: a tale of two approaches. ICML.

    Examples
    --------
    Predicting two labels of probability 0.4 is better than predicting none: P(none) = 0.36, f(1) = 0.37, f(2) = 0.48.

    >>> from fuselearn.multilabel.decisions import ExpectedF1
    >>> ExpectedF1()([[0.4, 0.4], [0.1, 0.2], [0.9, 0.1]])
    array([[1, 1],
           [0, 0],
           [1, 0]])
    """

    noise_rate_ = 0.0

    def __init__(self, empty: float = 1.0, *, noise_rate: Any = 0.0) -> None:
        self.empty = empty
        self.noise_rate = noise_rate

    @property
    def needs_scores(self) -> bool:
        """Whether the rule must be fitted, to set the fraction of flipped labels."""
        return bool(self.noise_rate != 0.0)

    def _learn(self, scores: Scores, truth: PartialTable, weights: Scores) -> None:
        self.noise_rate_ = read_noise_rate(self.noise_rate, scores, truth)

    def _decide(self, scores: Scores) -> npt.NDArray[Any]:
        empty = check_probability("empty", self.empty)
        if scores.size and not (scores.min() >= -1e-9 and scores.max() <= 1 + 1e-9):
            raise ValueError(
                f"Expected F1 needs probabilities from 0 to 1, not scores from {scores.min():g} to {scores.max():g}."
            )
        probabilities = np.ascontiguousarray(correct_probabilities(scores, self.noise_rate_))
        order = np.argsort(-probabilities, axis=1, kind="stable")
        sizes = find_best_sizes(np.take_along_axis(probabilities, order, axis=1), empty)
        chosen = np.empty(scores.shape, dtype=np.int64)
        np.put_along_axis(chosen, order, np.arange(scores.shape[1]) < sizes[:, None], axis=1)
        return chosen
