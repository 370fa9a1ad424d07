"""Rules with learned thresholds: one for all labels, or one per label."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn._parameters import check_choice, check_number, check_whole_number
from fuselearn.multilabel.decisions.base import DecisionRule, Scores, check_labels, check_probability
from fuselearn.multilabel.label_noise import (
    correct_labels,
    correct_probabilities,
    estimate_label_frequency,
    noise_variance,
    read_noise_rate,
)
from fuselearn.multilabel.labels import UNKNOWN, PartialTable


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
    """Predict with a common threshold for all labels, with which samples have as many labels on average as in training.

    Parameters
    ----------
    noise_rate : float or "auto", default=0.0
        Fraction of the training labels that were flipped at random; the threshold is then that for correct labels.
        "auto" estimates it, see :func:`~fuselearn.multilabel.label_noise.estimate_noise_rate`.

    Attributes
    ----------
    threshold_ : float
    noise_rate_ : float

    See Also
    --------
    PerLabelThresholds : One threshold per label.

    References
    ----------
    Read, J., Pfahringer, B., Holmes, G., Frank, E. (2011). Classifier chains for multi-label classification. Machine
    Learning 85(3), 333-359. In the paper, the threshold is chosen on the samples to predict.

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
    """Predict with a common threshold for all labels, the one with the best micro F1.

    With calibrated probabilities, no other rule has a larger expected micro F1. The threshold is then half of this F1,
    so usually below 0.5.

    .. versionadded:: 0.2

    Parameters
    ----------
    noise_rate : float or "auto", default=0.0
        Fraction of the training labels that were flipped at random; the threshold is then that for correct labels.
        "auto" estimates it, see :func:`~fuselearn.multilabel.label_noise.estimate_noise_rate`.

    Attributes
    ----------
    threshold_ : float
        0.5 if no sample has a label.
    noise_rate_ : float

    See Also
    --------
    MacroF1Thresholds : One threshold per label, for macro F1.

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
    """Predict with one threshold per label, the one with the best F1, shrunk toward a common one for rare labels.

    With t* the threshold with the best F1 on out-of-sample scores, n⁺ the number of positive samples, c the shrinkage
    and t₀ the common threshold, the threshold of a label is ::

        t = t₀ + (t* - t₀) · n⁺ / (n⁺ + c).

    Without shrinkage, thresholds of rare labels overfit their few positive samples.

    Parameters
    ----------
    shrinkage : float, default=10.0
        Number of positive samples at which a threshold is halfway between t₀ and t*; 0 means no shrinkage.
    towards : {"cardinality", "half"} or float, default="cardinality"
        The common threshold t₀: that of `CardinalityThreshold`, 0.5, or any other. The probability of a rare label
        seldom reaches 0.5, so with shrinkage toward 0.5 it is rarely predicted.
    min_positives : int, default=5
        Labels with fewer positive samples have the threshold t₀. Otherwise, the best threshold for a label with a
        single positive sample would be just below the score of this sample. If that score is low, the label would be
        predicted for nearly all samples.

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
    """Predict with one threshold per label, the one with the best expected F1; needs calibrated probabilities.

    With the probabilities p_1 >= p_2 >= ... of the samples, the expected F1 of a label that is predicted for the first
    k samples is approximately ::

        F1(k) = 2 (p_1 + ... + p_k) / (k + p_1 + ... + p_n).

    The threshold t* corresponds to the best k. It does not depend on the few positive samples of a rare label, so its
    variance is smaller than that of the threshold with the best F1 on them. Like the thresholds of
    `PerLabelThresholds`, it is shrunk toward a common threshold t₀, t = t₀ + (t* - t₀) · n⁺ / (n⁺ + c), but with a
    smaller c.

    If labels were flipped at random, the rule corrects the probabilities and the numbers of positive samples for it.
    n⁺ is then replaced by n⁺² / (n⁺ + v), with v the variance of the number of flipped labels, and t₀ is 0.5, so labels
    that cannot be distinguished from flipped ones are rarely predicted.

    If ``noise_rate="auto"`` and there is no evidence of flipped labels, some labels may still have been forgotten. With
    c the estimated fraction of the true labels that are given
    (:func:`~fuselearn.multilabel.label_noise.estimate_label_frequency`; 1 without evidence of forgotten labels), p is
    replaced by p / c in F1(k). t₀ is the threshold with which samples have 1 / c times as many labels as in training,
    or the threshold with the best expected micro F1, whichever is lower.

    .. versionadded:: 0.2

    Parameters
    ----------
    shrinkage : float, default=2.0
        The number c of positive samples at which a threshold is halfway between t₀ and t*; 0 means no shrinkage.
    noise_rate : float or "auto", default=0.0
        Fraction of the training labels that were flipped at random; the thresholds are then those for correct labels.
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
    """Return the threshold with which the predicted known labels have the same total weight as the true ones.

    It is halfway between two scores; of two equally good thresholds, it is the higher one.
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
    """Shrink thresholds toward a common one, more strongly for labels with fewer positive samples."""
    learned = ~np.isnan(best) & (n_positives > 0)
    fractions = np.divide(n_positives, n_positives + shrinkage, out=np.zeros_like(n_positives), where=learned)
    return common + fractions * (np.where(learned, best, common) - common)


def _halfway(above: Any, below: Any) -> Any:
    """Return a number that ``above`` exceeds and ``below`` does not, even if they are neighboring floats."""
    middle = (above + below) / 2
    return np.where(middle < above, middle, below)
