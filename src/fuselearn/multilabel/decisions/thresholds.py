"""Decision rules with learned thresholds: one for all labels, or one for each."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn._parameters import check_choice, check_number, check_whole_number
from fuselearn.multilabel.data.labels import UNKNOWN, PartialTable
from fuselearn.multilabel.decisions.base import DecisionRule, Scores, check_labels, check_share
from fuselearn.multilabel.decisions.noise import correct_labels, correct_probabilities, noise_variance, read_noise_rate

__all__ = [
    "CardinalityThreshold",
    "LabelThresholds",
    "LearnedThreshold",
    "MacroF1Thresholds",
    "MicroF1Threshold",
    "PerLabelThresholds",
    "match_cardinality",
]


class LearnedThreshold(DecisionRule):
    """Base class of rules with one learned threshold for all labels, ``threshold_``."""

    threshold_: float
    noise_rate_: float

    def __init__(self, noise_rate: Any = 0.0) -> None:
        self.noise_rate = noise_rate

    @property
    def needs_scores(self) -> bool:
        """True, since the threshold is learned."""
        return True

    def _decide(self, scores: Scores) -> npt.NDArray[Any]:
        return scores > self.threshold_


class CardinalityThreshold(LearnedThreshold):
    """Predict with one threshold for all labels, such that samples have on average as many labels as in training.

    Parameters
    ----------
    noise_rate : float or "auto", default=0.0
        Share of the labels to learn from that were flipped by chance; the threshold is then that for correct labels.
        "auto" estimates it, see :func:`~fuselearn.multilabel.decisions.noise.estimate_noise_rate`.

    Attributes
    ----------
    threshold_ : float
    noise_rate_ : float

    References
    ----------
    Read, J., Pfahringer, B., Holmes, G., Frank, E. (2011). Classifier chains for multi-label classification. Machine
    Learning 85(3), 333-359. There the threshold is chosen on the samples to predict, which `match_cardinality`
    supports.

    Examples
    --------
    >>> from fuselearn.multilabel import CardinalityThreshold
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

    With probabilities that are right, no other rule has a larger expected micro F1. The threshold is then half of that
    F1, so mostly below 0.5.

    .. versionadded:: 0.2

    Parameters
    ----------
    noise_rate : float or "auto", default=0.0
        Share of the labels to learn from that were flipped by chance; the threshold is then that for correct labels.
        "auto" estimates it, see :func:`~fuselearn.multilabel.decisions.noise.estimate_noise_rate`.

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
    >>> from fuselearn.multilabel import MicroF1Threshold
    >>> scores, Y = [[0.4, 0.1], [0.2, 0.3]], [[1, 0], [1, 0]]
    >>> round(MicroF1Threshold().fit(scores, Y).threshold_, 2)
    0.15
    """

    def _learn(self, scores: Scores, truth: PartialTable, weights: Scores) -> None:
        self.noise_rate_ = read_noise_rate(self.noise_rate, scores, truth)
        counted = _count_known(truth, weights)
        [best] = _best_f1_thresholds(
            *(cells.reshape(-1, 1) for cells in (scores, correct_labels(truth, self.noise_rate_), counted))
        )
        self.threshold_ = 0.5 if np.isnan(best) else float(best)


class LabelThresholds(DecisionRule):
    """Base class of rules with one learned threshold per label, ``thresholds_``."""

    thresholds_: Scores

    @property
    def needs_scores(self) -> bool:
        """True, since the thresholds are learned."""
        return True

    def _decide(self, scores: Scores) -> npt.NDArray[Any]:
        check_labels(scores, len(self.thresholds_))
        return scores > self.thresholds_


class PerLabelThresholds(LabelThresholds):
    """Predict with one threshold per label: that with the best F1, shrunk towards a common one for rare labels.

    With the threshold t* that has the best F1 on out-of-sample scores, n⁺ positive samples, the shrinkage c and the
    common threshold t₀::

        t = t₀ + (t* - t₀) · n⁺ / (n⁺ + c)

    since the best of many thresholds on a few positive samples is mostly chance.

    Parameters
    ----------
    shrinkage : float, default=10.0
        Number of positive samples at which a threshold is halfway between t₀ and t*; 0 means no shrinkage.
    towards : {"cardinality", "half"} or float, default="cardinality"
        The common threshold t₀: that of `CardinalityThreshold`, 0.5, or any other. The probability of a rare label
        hardly ever reaches 0.5, so that shrinking towards 0.5 amounts to not predicting it.
    min_positives : int, default=5
        Labels with fewer positive samples have the threshold t₀. Without shrinkage, the threshold with the best F1 for
        a label of one sample is just below the score of that sample, which may be the lowest one: of many rare labels,
        some are then predicted for all samples.

    Attributes
    ----------
    thresholds_ : array of shape (n_labels,)

    See Also
    --------
    MacroF1Thresholds : For probabilities that are calibrated.

    Examples
    --------
    >>> from fuselearn.multilabel import PerLabelThresholds
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
        common = self._common_threshold(scores, truth, weights)
        best = _best_f1_thresholds(scores, truth == 1, _count_known(truth, weights))
        positives = weights @ (truth == 1)
        learned = (truth == 1).sum(axis=0) >= least
        self.thresholds_ = _shrink(best, common, np.where(learned, positives, 0.0), shrinkage)

    def _common_threshold(self, scores: Scores, truth: PartialTable, weights: Scores) -> float:
        if not isinstance(self.towards, str):
            return check_share("towards", self.towards)
        if check_choice("towards", self.towards, ("cardinality", "half")) == "half":
            return 0.5
        return _match_truth(scores, truth, weights, noise_rate=0.0)


class MacroF1Thresholds(LabelThresholds):
    """Predict with one threshold per label: that with the best expected F1, if the probabilities are calibrated.

    With the probabilities p_1 >= p_2 >= ... of the samples, the expected F1 of a label that the first k samples get is
    nearly::

        F1(k) = 2 (p_1 + ... + p_k) / (k + p_1 + ... + p_n)

    and the best k has the threshold t*. The few positive samples of a rare label do not have to tell it, which makes
    it less random than the threshold with the best F1 on them. It is drawn to a common threshold t₀ like those of
    `PerLabelThresholds`, t = t₀ + (t* - t₀) · n⁺ / (n⁺ + c), but by less.

    If labels were flipped by chance, both the probabilities and the numbers of positive samples are those of flipped
    labels. The rule estimates the correct ones. Of n⁺ only what stands out from the flips counts, n⁺² / (n⁺ + v) with
    the variance v of their number, and t₀ is 0.5: a label that does not stand out is hardly ever predicted.

    .. versionadded:: 0.2

    Parameters
    ----------
    shrinkage : float, default=2.0
        The number c of positive samples at which a threshold is halfway between t₀ and t*; 0 means no shrinkage.
    noise_rate : float or "auto", default=0.0
        Share of the labels to learn from that were flipped by chance; the thresholds are then those for correct labels.
        "auto" estimates it, see :func:`~fuselearn.multilabel.decisions.noise.estimate_noise_rate`.

    Attributes
    ----------
    thresholds_ : array of shape (n_labels,)
    noise_rate_ : float

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

    >>> from fuselearn.multilabel import MacroF1Thresholds
    >>> scores, Y = [[0.9], [0.3], [0.1]], [[1], [0], [0]]
    >>> MacroF1Thresholds(shrinkage=0).fit(scores, Y).thresholds_
    array([0.6])
    """

    noise_rate_: float

    def __init__(self, shrinkage: float = 2.0, *, noise_rate: Any = 0.0) -> None:
        self.shrinkage = shrinkage
        self.noise_rate = noise_rate

    def _learn(self, scores: Scores, truth: PartialTable, weights: Scores) -> None:
        shrinkage = check_number("shrinkage", self.shrinkage, 0)
        self.noise_rate_ = rate = read_noise_rate(self.noise_rate, scores, truth)
        counted = _count_known(truth, weights)
        best = _best_f1_thresholds(scores, correct_probabilities(scores, rate), counted)
        common = 0.5 if rate else _match_truth(scores, truth, weights, rate)
        positives = np.maximum((counted * correct_labels(truth, rate)).sum(axis=0), 0.0)
        total = positives + noise_variance(rate) * counted.sum(axis=0)
        outstanding = np.divide(positives**2, total, out=np.zeros_like(total), where=total > 0)
        self.thresholds_ = _shrink(best, common, outstanding, shrinkage)


def match_cardinality(scores: Scores, cardinality: float, weights: Scores | None = None) -> float:
    """Return the threshold with which samples have, as nearly as possible, a given mean number of labels.

    Parameters
    ----------
    scores : array of shape (n_samples, n_labels)
    cardinality : float
        Mean number of labels per sample.
    weights : array of shape (n_samples,), optional
        Weights of the samples.

    Returns
    -------
    float
        Halfway between two scores; of two equally good thresholds the higher one.

    Examples
    --------
    >>> match_cardinality(np.array([[0.9, 0.2], [0.6, 0.1]]), 1.5)
    0.15...
    """
    n_rows, n_labels = scores.shape
    weights = np.ones(n_rows) if weights is None else weights
    return _match_total(scores.ravel(), np.repeat(weights, n_labels), cardinality * weights.sum())


def _match_truth(scores: Scores, truth: PartialTable, weights: Scores, noise_rate: float) -> float:
    """Return the threshold with which as many known labels are predicted as are true."""
    known = truth != UNKNOWN
    cells = np.broadcast_to(weights[:, None], truth.shape)[known]
    return _match_total(scores[known], cells, float(cells @ correct_labels(truth[known], noise_rate)))


def _match_total(scores: Scores, weights: Scores, total: float) -> float:
    """Return the threshold that scores of this total weight exceed, as nearly as possible."""
    order = np.argsort(-scores)
    ranked = scores[order]
    above = np.concatenate([[max(1.0, ranked[0])], ranked])
    below = np.append(ranked, 0.0)
    labels = np.concatenate([[0.0], np.cumsum(weights[order])])
    distance = np.abs(labels - total)
    distance[1:][above[1:] <= below[1:]] = np.inf  # no threshold separates equal scores, and none is below 0
    best = distance.argmin()
    return float(_halfway(above[best], below[best]))


def _count_known(truth: PartialTable, weights: Scores) -> Scores:
    """Return the weight of each label of each sample, 0 where it is unknown."""
    return np.where(truth == UNKNOWN, 0.0, weights[:, None])


def _best_f1_thresholds(scores: Scores, positives: npt.NDArray[Any], counted: Scores) -> Scores:
    """Return the threshold with the best F1 for each label, the highest in case of ties; NaN without positives.

    ``positives`` are the labels, or their expectations, and ``counted`` the weights of both.
    """
    order = np.argsort(-scores, axis=0, kind="stable")
    ranked, positives, counted = (np.take_along_axis(part, order, axis=0) for part in (scores, positives, counted))
    below = np.vstack([ranked[1:], np.zeros(scores.shape[1])])
    hits = np.cumsum(positives * counted, axis=0)
    total = np.cumsum(counted, axis=0) + np.maximum(hits[-1], 0.0)
    f1 = np.divide(2 * hits, total, out=np.zeros_like(hits), where=total > 0)
    f1[:, hits[-1] <= 0] = 0.0
    f1[ranked <= below] = 0.0  # no threshold separates equal scores, and none is below 0
    best = f1.argmax(axis=0)[None]
    thresholds = _halfway(np.take_along_axis(ranked, best, axis=0), np.take_along_axis(below, best, axis=0))[0]
    return np.where(f1.max(axis=0) > 0, thresholds, np.nan)


def _shrink(best: Scores, common: float, n_positives: Scores, shrinkage: float) -> Scores:
    """Draw thresholds to a common one, the fewer positive samples they were learned from."""
    learned = ~np.isnan(best) & (n_positives > 0)
    way = np.divide(n_positives, n_positives + shrinkage, out=np.zeros_like(n_positives), where=learned)
    return common + way * (np.where(learned, best, common) - common)


def _halfway(above: Any, below: Any) -> Any:
    """Return a number that ``above`` exceeds and ``below`` does not, even if they are neighbouring floats."""
    middle = (above + below) / 2
    return np.where(middle < above, middle, below)
