"""Decision rules: from probabilities of labels to labels.

Multi-label classifiers take a rule as their parameter ``decision``, by name or as an object:

==================  ===========================================================================================
``decision``        predicted labels of a sample
==================  ===========================================================================================
a number            those with a probability above it; ``"half"`` is 0.5
``"cardinality"``   `CardinalityThreshold`: those above one threshold for all labels, with which samples have as
                    many labels as in training
``"per_label"``     `PerLabelThresholds`: those above the threshold of the label with the best F1, for rare labels
                    near that of ``"cardinality"``
``"macro_f1"``      `MacroF1Thresholds`: those above the threshold of the label with the best expected F1, if
                    probabilities are calibrated
``"micro_f1"``      `MicroF1Threshold`: those above one threshold for all labels, with the best micro F1
``"known_sets"``    `KnownSets`: the most probable of the label sets of the training samples
``"at_least_one"``  `AtLeastOne`: like ``"half"``, but at least the most probable label
``"expected_f1"``   `ExpectedF1`: the set of labels with the largest expected F1
==================  ===========================================================================================

Settings are those of the object, such as ``decision=AtLeastOne("cardinality")``. Five of the rules are learned. They
need out-of-bag or out-of-fold probabilities: on its own training samples, a flexible model looks perfect at any
threshold.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import logit
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from fuselearn._core import find_best_sizes
from fuselearn._messages import did_you_mean, show
from fuselearn._parameters import check_choice, check_number, check_whole_number
from fuselearn.base import read_weights
from fuselearn.multilabel.label_noise import (
    correct_labels,
    correct_probabilities,
    estimate_label_frequency,
    noise_variance,
    read_noise_rate,
)
from fuselearn.multilabel.labels import UNKNOWN, PartialTable, read_partial_labels, restore_unknown

__all__ = [
    "AtLeastOne",
    "CardinalityThreshold",
    "DecisionRule",
    "ExpectedF1",
    "KnownSets",
    "MacroF1Thresholds",
    "MicroF1Threshold",
    "PerLabelThresholds",
]

Scores = npt.NDArray[np.float64]
Decisions = npt.NDArray[np.int64]


class DecisionRule(BaseEstimator):
    """Base class of decision rules, which return labels when they are called with probabilities.

    Rules with ``needs_scores`` are fitted first. A rule of your own implements ``_decide(scores)``, and if it learns,
    also ``_learn(scores, labels, weights)`` and the class attribute ``_learns = True``.

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
        """Fit the rule; rules that learn nothing are unchanged.

        Parameters
        ----------
        scores : array of shape (n_samples, n_labels)
            Probabilities by models that were not trained on the sample. Samples with NaN do not count.
        Y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            True labels, zeros and ones; NaN, an unknown label, does not count.
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
            raise ValueError("Y has NaN only; known labels are needed to learn thresholds.")
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
    """Raise an error for scores of another number of labels than in fit."""
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


class LearnedThreshold(DecisionRule):
    """Base class of rules with one learned threshold for all labels, ``threshold_``."""

    threshold_: float
    noise_rate_: float
    _learns = True

    def __init__(self, noise_rate: Any = 0.0) -> None:
        self.noise_rate = noise_rate

    def _decide(self, scores: Scores) -> npt.NDArray[Any]:
        return scores > self.threshold_


class CardinalityThreshold(LearnedThreshold):
    """Predict with one threshold for all labels, such that samples have on average as many labels as in training.

    Parameters
    ----------
    noise_rate : float or "auto", default=0.0
        Fraction of the training labels that were flipped by chance; the threshold is then that for correct labels.
        "auto" estimates it, see :func:`~fuselearn.multilabel.label_noise.estimate_noise_rate`.

    Attributes
    ----------
    threshold_ : float
    noise_rate_ : float

    References
    ----------
    Read, J., Pfahringer, B., Holmes, G., Frank, E. (2011). Classifier chains for multi-label classification. Machine
    Learning 85(3), 333-359. There the threshold is chosen on the samples to predict.

    Examples
    --------
    >>> from fuselearn.multilabel.decisions import CardinalityThreshold
    >>> scores, Y = [[0.4, 0.1], [0.2, 0.3]], [[1, 0], [0, 1]]
    >>> rule = CardinalityThreshold().fit(scores, Y)
    >>> rule.threshold_
    0.25
    """

    def _learn(self, scores: Scores, truth: PartialTable, weights: Scores) -> None:
        self.noise_rate_ = read_noise_rate(self.noise_rate, scores, truth)
        self.threshold_ = _match_truth(scores, truth, weights, self.noise_rate_)


class MicroF1Threshold(LearnedThreshold):
    """Predict with one threshold for all labels: that with the best micro F1.

    With calibrated probabilities, no other rule has a larger expected micro F1. The threshold is then half of that F1,
    so mostly below 0.5.

    .. versionadded:: 0.2

    Parameters
    ----------
    noise_rate : float or "auto", default=0.0
        Fraction of the training labels that were flipped by chance; the threshold is then that for correct labels.
        "auto" estimates it, see :func:`~fuselearn.multilabel.label_noise.estimate_noise_rate`.

    Attributes
    ----------
    threshold_ : float
        0.5 if no sample has a label.
    noise_rate_ : float

    References
    ----------
    Lipton, Z. C., Elkan, C., Narayanaswamy, B. (2014). Optimal thresholding of classifiers to maximize F1 measure.
    ECML PKDD, 225-239.

    Examples
    --------
    >>> from fuselearn.multilabel.decisions import MicroF1Threshold
    >>> scores, Y = [[0.4, 0.1], [0.2, 0.3]], [[1, 0], [1, 0]]
    >>> round(MicroF1Threshold().fit(scores, Y).threshold_, 2)
    0.15
    """

    def _learn(self, scores: Scores, truth: PartialTable, weights: Scores) -> None:
        self.noise_rate_ = read_noise_rate(self.noise_rate, scores, truth)
        positives = correct_labels(truth, self.noise_rate_)
        self.threshold_ = _best_common_threshold(scores, positives, _known_weights(truth, weights))


class LabelThresholds(DecisionRule):
    """Base class of rules with one learned threshold per label, ``thresholds_``."""

    thresholds_: Scores
    _learns = True

    def _decide(self, scores: Scores) -> npt.NDArray[Any]:
        check_labels(scores, len(self.thresholds_))
        return scores > self.thresholds_


class PerLabelThresholds(LabelThresholds):
    """Predict with one threshold per label: that with the best F1, shrunk toward a common one for rare labels.

    With the threshold t* that has the best F1 on out-of-sample scores, n⁺ positive samples, the shrinkage c and the
    common threshold t₀::

        t = t₀ + (t* - t₀) · n⁺ / (n⁺ + c)

    since the best of many thresholds on a few positive samples is mostly due to chance.

    Parameters
    ----------
    shrinkage : float, default=10.0
        Number of positive samples at which a threshold is halfway between t₀ and t*; 0 means no shrinkage.
    towards : {"cardinality", "half"} or float, default="cardinality"
        The common threshold t₀: that of `CardinalityThreshold`, 0.5, or any other. The probability of a rare label
        hardly ever reaches 0.5, so that shrinking toward 0.5 amounts to not predicting it.
    min_positives : int, default=5
        Labels with fewer positive samples have the threshold t₀. Without shrinkage, the threshold with the best F1 for
        a label of one sample is just below the score of that sample, which may be the lowest one: some of many rare
        labels are then predicted for all samples.

    Attributes
    ----------
    thresholds_ : array of shape (n_labels,)

    See Also
    --------
    MacroF1Thresholds : For probabilities that are calibrated.

    Examples
    --------
    >>> from fuselearn.multilabel.decisions import PerLabelThresholds
    >>> scores, Y = [[0.4, 0.9], [0.2, 0.6], [0.1, 0.7]], [[1, 1], [1, 0], [0, 0]]
    >>> PerLabelThresholds(shrinkage=0, min_positives=1).fit(scores, Y).thresholds_
    array([0.15, 0.8 ])
    >>> PerLabelThresholds(shrinkage=0, min_positives=2).fit(scores, Y).thresholds_
    array([0.15, 0.5 ])
    """

    def __init__(self, shrinkage: float = 10.0, *, towards: Any = "cardinality", min_positives: int = 5) -> None:
        self.shrinkage = shrinkage
        self.towards = towards
        self.min_positives = min_positives

    def _learn(self, scores: Scores, truth: PartialTable, weights: Scores) -> None:
        shrinkage = check_number("shrinkage", self.shrinkage, 0)
        least = check_whole_number("min_positives", self.min_positives, 1)
        if not isinstance(self.towards, str):
            common = check_probability("towards", self.towards)
        elif check_choice("towards", self.towards, ("cardinality", "half")) == "half":
            common = 0.5
        else:
            common = _match_truth(scores, truth, weights)
        is_positive = truth == 1
        best = _best_f1_thresholds(scores, is_positive, _known_weights(truth, weights))
        positives = np.where(is_positive.sum(axis=0) >= least, weights @ is_positive, 0.0)
        self.thresholds_ = _shrink(best, common, positives, shrinkage)


class MacroF1Thresholds(LabelThresholds):
    """Predict with one threshold per label: that with the best expected F1, if the probabilities are calibrated.

    With the probabilities p_1 >= p_2 >= ... of the samples, the expected F1 of a label that is predicted for the first
    k samples is nearly::

        F1(k) = 2 (p_1 + ... + p_k) / (k + p_1 + ... + p_n)

    and the best k has the threshold t*. It does not depend on the few positive samples of a rare label, and so is less
    random than the threshold with the best F1 on them. It is shrunk toward a common threshold t₀ like those of
    `PerLabelThresholds`, t = t₀ + (t* - t₀) · n⁺ / (n⁺ + c), but by less.

    If labels were flipped by chance, both the probabilities and the numbers of positive samples are those of flipped
    labels. The rule estimates the correct ones. n⁺ is then replaced by n⁺² / (n⁺ + v), with the variance v of the
    number of flips, and t₀ is 0.5: a label that does not stand out from the flips is hardly ever predicted.

    With ``noise_rate="auto"`` and no flips found, some labels may still have been forgotten. The probability of a true
    label is then p / c, with the fraction c of the true labels that are given
    (:func:`~fuselearn.multilabel.label_noise.estimate_label_frequency`; 1 without evidence of forgotten labels), which
    replaces p in F1(k). t₀ is the threshold with which samples have 1 / c times as many labels as in training, or that
    with the best expected micro F1, whichever is lower.

    .. versionadded:: 0.2

    Parameters
    ----------
    shrinkage : float, default=2.0
        The number c of positive samples at which a threshold is halfway between t₀ and t*; 0 means no shrinkage.
    noise_rate : float or "auto", default=0.0
        Fraction of the training labels that were flipped by chance; the thresholds are then those for correct labels.
        "auto" estimates it, see :func:`~fuselearn.multilabel.label_noise.estimate_noise_rate`.

    Attributes
    ----------
    thresholds_ : array of shape (n_labels,)
    noise_rate_ : float
    label_frequency_ : float
        The fraction c; 1 if there is no evidence of forgotten labels.

    See Also
    --------
    PerLabelThresholds : For scores that are not calibrated.
    MicroF1Threshold : One threshold for all labels.

    References
    ----------
    Lipton, Z. C., Elkan, C., Narayanaswamy, B. (2014), as for :class:`MicroF1Threshold`.

    Examples
    --------
    The expected F1 of one, two and three samples is 0.84, 0.83 and 0.77.

    >>> from fuselearn.multilabel.decisions import MacroF1Thresholds
    >>> scores, Y = [[0.9], [0.3], [0.1]], [[1], [0], [0]]
    >>> MacroF1Thresholds(shrinkage=0).fit(scores, Y).thresholds_
    array([0.6])
    """

    noise_rate_: float
    label_frequency_: float

    def __init__(self, shrinkage: float = 2.0, *, noise_rate: Any = 0.0) -> None:
        self.shrinkage = shrinkage
        self.noise_rate = noise_rate

    def _learn(self, scores: Scores, truth: PartialTable, weights: Scores) -> None:
        shrinkage = check_number("shrinkage", self.shrinkage, 0)
        self.noise_rate_ = rate = read_noise_rate(self.noise_rate, scores, truth)
        counted, may_be_forgotten = _known_weights(truth, weights), self.noise_rate == "auto" and not rate
        self.label_frequency_ = estimate_label_frequency(scores, truth) if may_be_forgotten else 1.0
        expected = np.minimum(correct_probabilities(scores, rate) / self.label_frequency_, 1.0)
        best = _best_f1_thresholds(scores, expected, counted)
        common = 0.5 if rate else _match_truth(scores, truth, weights, frequency=self.label_frequency_)
        if may_be_forgotten:
            common = min(common, _best_common_threshold(scores, expected, counted))
        positives = np.maximum((counted * correct_labels(truth, rate)).sum(axis=0), 0.0)
        total = positives + noise_variance(rate) * counted.sum(axis=0)
        outstanding = np.divide(positives**2, total, out=np.zeros_like(total), where=total > 0)
        self.thresholds_ = _shrink(best, common, outstanding, shrinkage)


def _match_truth(
    scores: Scores, truth: PartialTable, weights: Scores, noise_rate: float = 0.0, frequency: float = 1.0
) -> float:
    """Return the threshold with which as many known labels are predicted, by weight, as are true.

    It is halfway between two scores; the higher one of two equally good thresholds.
    """
    known = truth != UNKNOWN
    entries = np.broadcast_to(weights[:, None], truth.shape)[known]
    total = entries @ correct_labels(truth[known], noise_rate) / frequency
    order = np.argsort(-scores[known])
    ranked = scores[known][order]
    above = np.concatenate([[max(1.0, ranked[0])], ranked])
    below = np.append(ranked, 0.0)
    distance = np.abs(np.concatenate([[0.0], np.cumsum(entries[order])]) - total)
    distance[1:][above[1:] <= below[1:]] = np.inf  # no threshold separates equal scores, and none is below 0
    best = distance.argmin()
    return float(_halfway(above[best], below[best]))


def _known_weights(truth: PartialTable, weights: Scores) -> Scores:
    """Return the weight of each label of each sample, 0 where it is unknown."""
    return np.where(truth == UNKNOWN, 0.0, weights[:, None])


def _best_f1_thresholds(scores: Scores, positives: npt.NDArray[Any], weights: Scores) -> Scores:
    """Return the threshold with the best F1 for each label, the highest in case of ties; NaN without positives.

    ``positives`` are the labels, or their expectations, and ``weights`` the weights of both.
    """
    order = np.argsort(-scores, axis=0, kind="stable")
    ranked, positives, weights = (np.take_along_axis(part, order, axis=0) for part in (scores, positives, weights))
    below = np.vstack([ranked[1:], np.zeros(scores.shape[1])])
    hits = np.cumsum(positives * weights, axis=0)
    total = np.cumsum(weights, axis=0) + np.maximum(hits[-1], 0.0)
    f1 = np.divide(2 * hits, total, out=np.zeros_like(hits), where=total > 0)
    f1[:, hits[-1] <= 0] = 0.0
    f1[ranked <= below] = 0.0  # no threshold separates equal scores, and none is below 0
    best = f1.argmax(axis=0)[None]
    thresholds = _halfway(np.take_along_axis(ranked, best, axis=0), np.take_along_axis(below, best, axis=0))[0]
    return np.where(f1.max(axis=0) > 0, thresholds, np.nan)


def _best_common_threshold(scores: Scores, positives: npt.NDArray[Any], weights: Scores) -> float:
    """Return the threshold for all labels with the best micro F1, 0.5 without positives."""
    [best] = _best_f1_thresholds(*(table.reshape(-1, 1) for table in (scores, positives, weights)))
    return 0.5 if np.isnan(best) else float(best)


def _shrink(best: Scores, common: float, n_positives: Scores, shrinkage: float) -> Scores:
    """Shrink thresholds toward a common one, the more, the fewer positive samples they were learned from."""
    learned = ~np.isnan(best) & (n_positives > 0)
    fractions = np.divide(n_positives, n_positives + shrinkage, out=np.zeros_like(n_positives), where=learned)
    return common + fractions * (np.where(learned, best, common) - common)


def _halfway(above: Any, below: Any) -> Any:
    """Return a number that ``above`` exceeds and ``below`` does not, even if they are neighboring floats."""
    middle = (above + below) / 2
    return np.where(middle < above, middle, below)


PRIORS = (0.0, 0.25, 0.5)
SHIFTS = (0.0, 0.5, -0.5, 1.0)
# Probabilities nearer to 0 or 1 than this are moved, so that one label cannot decide alone.
LEAST_PROBABILITY = 1e-4
# Values computed at a time.
N_CELLS = 2**22


class KnownSets(DecisionRule):
    """Predict the most probable of the label sets of the training samples, assuming independent labels.

    Of the sets S in training, each that of a fraction q(S) of the samples, the one with the largest ::

        sum over j in S of (log p_j / (1 - p_j) + shift) + prior · log q(S)

    is predicted. This is the rule for subset accuracy: a new set is hardly ever right. The shift and the weight of the
    prior are those with the best subset accuracy on out-of-sample probabilities, where a set that only one sample has
    cannot be right.

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
        """What is added to the sum of the log-odds of each set's labels."""
        return self._offsets(self.shift_, self.prior_)

    def _offsets(self, shift: float, prior: float) -> Scores:
        offsets: Scores = shift * self.sets_.sum(axis=1) + prior * self._log_fractions_
        return offsets

    def _score_sets(self, scores: Scores) -> Iterator[tuple[slice, Scores]]:
        """Yield parts of the samples with the sum of the log-odds of each set's labels."""
        n_at_once = max(1, N_CELLS // len(self.sets_))
        indicators = self.sets_.T.astype(np.float64)
        for start in range(0, len(scores), n_at_once):
            part = slice(start, start + n_at_once)
            yield part, logit(scores[part].clip(LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)) @ indicators


class ExpectedF1(DecisionRule):
    """Predict the set of labels with the largest expected F1, assuming independent labels.

    It needs calibrated probabilities and no threshold: if all labels of a sample are uncertain, it chooses some with a
    probability below 0.5.

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
        F1 of an empty set if no label is true. With 0, every sample gets a label.
    noise_rate : float or "auto", default=0.0
        Fraction of the training labels that were flipped by chance; the probabilities are then corrected for it. Any
        but 0 is learned in ``fit``. "auto" estimates it, see
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
        """Whether the fraction of flips must be learned."""
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


class FixedThreshold(DecisionRule):
    """Predict the labels with a probability above a threshold: the rule for a number.

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
    """Predict the labels that a model chooses by itself; applied to probabilities alone, those above 0.5."""


class AtLeastOne(DecisionRule):
    """Apply another rule, but predict at least the most probable label of each sample.

    Parameters
    ----------
    rule : str, float or DecisionRule, default="half"
        The other rule, as the parameter ``decision`` of a classifier.

    Attributes
    ----------
    rule_ : DecisionRule
        The fitted rule, if it had to be fitted.

    Examples
    --------
    >>> from fuselearn.multilabel.decisions import AtLeastOne
    >>> AtLeastOne()([[0.2, 0.4], [0.6, 0.7]])
    array([[0, 1],
           [1, 1]])
    """

    rule_: DecisionRule

    def __init__(self, rule: Any = "half") -> None:
        self.rule = rule

    @property
    def needs_scores(self) -> bool:
        """Whether the other rule must be fitted."""
        return make_decision_rule(self.rule).needs_scores

    def _learn(self, scores: Scores, truth: PartialTable, weights: Scores) -> None:
        self.rule_ = make_decision_rule(self.rule).fit(scores, restore_unknown(truth), weights)

    def _decide(self, scores: Scores) -> npt.NDArray[Any]:
        rule = self.rule_ if self.needs_scores else make_decision_rule(self.rule)
        decisions = rule(scores)
        without = np.flatnonzero(~decisions.any(axis=1))
        decisions[without, scores[without].argmax(axis=1)] = 1
        return decisions


RULES: dict[str, type[DecisionRule]] = {
    "half": FixedThreshold,
    "cardinality": CardinalityThreshold,
    "per_label": PerLabelThresholds,
    "macro_f1": MacroF1Thresholds,
    "micro_f1": MicroF1Threshold,
    "known_sets": KnownSets,
    "at_least_one": AtLeastOne,
    "expected_f1": ExpectedF1,
}


def make_decision_rule(rule: Any, name: str = "rule", own: str | None = None) -> DecisionRule:
    """Return the unfitted rule for the parameter ``name`` of an estimator: a rule, its name, or a threshold.

    Examples
    --------
    >>> make_decision_rule("per_label"), make_decision_rule(0.3)
    (PerLabelThresholds(), FixedThreshold(threshold=0.3))
    """
    if isinstance(rule, DecisionRule):
        return clone(rule)
    if isinstance(rule, str) and rule in RULES:
        return RULES[rule]()
    if isinstance(rule, numbers.Real) and not isinstance(rule, bool):
        return FixedThreshold(check_probability(name, rule))
    names = [*([] if own is None else [own]), *RULES]
    listed = ", ".join(map(repr, names))
    raise ValueError(
        f"{name} must be one of {listed}, a threshold from 0 to 1, or a DecisionRule, not {show(rule)}."
        f"{did_you_mean(rule, names)}"
    )
