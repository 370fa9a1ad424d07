"""Decision rules: from probabilities of labels to labels.

They are passed to multi-label estimators as one parameter, which `make_decision_rule` reads:

==================  ======================================================================================
``"half"``          labels with a probability above 0.5
a number            labels with a probability above it
``"cardinality"``   one threshold for all labels, with which samples have as many labels as in training
``"per_label"``     for each label the threshold with the best F1, for rare labels near that of ``"cardinality"``
``"micro_f1"``      one threshold for all labels, with the best micro F1
``"known_sets"``    the most probable of the label sets of training
``"at_least_one"``  like ``"half"``, but at least the most probable label of each sample
``"expected_f1"``   the set of labels with the largest expected F1
==================  ======================================================================================

or an object, such as ``AtLeastOne("cardinality")``. Four of the rules are learned. They need scores of models
that have not seen the sample, out-of-bag or out-of-fold: on its training samples, a flexible model looks perfect at any
threshold.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from fuselearn._messages import show
from fuselearn._parameters import check_choice, check_number, check_whole_number
from fuselearn.multilabel.data.labels import UNKNOWN, PartialTable, restore_unknown
from fuselearn.multilabel.decisions.base import DecisionRule, Scores, check_labels, check_share
from fuselearn.multilabel.decisions.expected_f1 import maximise_expected_f1
from fuselearn.multilabel.decisions.known_sets import KnownSets
from fuselearn.multilabel.decisions.noise import correct_labels, read_noise_rate

__all__ = [
    "AtLeastOne",
    "CardinalityThreshold",
    "DecisionRule",
    "ExpectedF1",
    "FixedThreshold",
    "KnownSets",
    "MicroF1Threshold",
    "PerLabelThresholds",
    "make_decision_rule",
    "match_cardinality",
]


class FixedThreshold(DecisionRule):
    """Predict the labels with a probability above a threshold.

    Parameters
    ----------
    threshold : float, default=0.5
        From 0 to 1. A probability equal to it is not above it.

    Examples
    --------
    >>> from fuselearn.multilabel import FixedThreshold
    >>> FixedThreshold()([[0.5, 0.51]])
    array([[0, 1]])
    """

    def __init__(self, threshold: float = 0.5) -> None:
        self.threshold = threshold

    def _decide(self, scores: Scores) -> npt.NDArray[Any]:
        return scores > check_share("threshold", self.threshold)


class OwnDecision(FixedThreshold):
    """Predict the labels that a model chooses by itself; applied to probabilities alone, those above 0.5."""


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
        cells = scores.reshape(-1, 1), truth.reshape(-1, 1), np.repeat(weights, scores.shape[1])
        [best] = _best_f1_thresholds(*cells, self.noise_rate_)
        self.threshold_ = 0.5 if np.isnan(best) else float(best)


class PerLabelThresholds(DecisionRule):
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
    noise_rate : float or "auto", default=0.0
        Share of the labels to learn from that were flipped by chance; the threshold is then that for correct labels.
        "auto" estimates it, see :func:`~fuselearn.multilabel.decisions.noise.estimate_noise_rate`.

    Attributes
    ----------
    thresholds_ : array of shape (n_labels,)
    noise_rate_ : float

    Examples
    --------
    >>> from fuselearn.multilabel import PerLabelThresholds
    >>> scores, Y = [[0.4, 0.9], [0.2, 0.6], [0.1, 0.7]], [[1, 1], [1, 0], [0, 0]]
    >>> PerLabelThresholds(shrinkage=0, min_positives=1).fit(scores, Y).thresholds_
    array([0.15, 0.8 ])
    >>> PerLabelThresholds(shrinkage=0, min_positives=2).fit(scores, Y).thresholds_
    array([0.15, 0.5 ])
    """

    thresholds_: Scores
    noise_rate_: float

    def __init__(
        self,
        shrinkage: float = 10.0,
        *,
        towards: Any = "cardinality",
        min_positives: int = 5,
        noise_rate: Any = 0.0,
    ) -> None:
        self.shrinkage = shrinkage
        self.towards = towards
        self.min_positives = min_positives
        self.noise_rate = noise_rate

    @property
    def needs_scores(self) -> bool:
        """True, since the thresholds are learned."""
        return True

    def _learn(self, scores: Scores, truth: PartialTable, weights: Scores) -> None:
        shrinkage = check_number("shrinkage", self.shrinkage, 0)
        least = check_whole_number("min_positives", self.min_positives, 1)
        self.noise_rate_ = read_noise_rate(self.noise_rate, scores, truth)
        common = self._common_threshold(scores, truth, weights)
        best = _best_f1_thresholds(scores, truth, weights, self.noise_rate_)
        positives = np.maximum(weights @ correct_labels(truth, self.noise_rate_), 0.0)
        learned = ((truth == 1).sum(axis=0) >= least) & ~np.isnan(best)
        way = np.divide(positives, positives + shrinkage, out=np.zeros_like(positives), where=learned)
        self.thresholds_ = common + way * (np.where(learned, best, common) - common)

    def _common_threshold(self, scores: Scores, truth: PartialTable, weights: Scores) -> float:
        if not isinstance(self.towards, str):
            return check_share("towards", self.towards)
        if check_choice("towards", self.towards, ("cardinality", "half")) == "half":
            return 0.5
        return _match_truth(scores, truth, weights, self.noise_rate_)

    def _decide(self, scores: Scores) -> npt.NDArray[Any]:
        check_labels(scores, len(self.thresholds_))
        return scores > self.thresholds_


class AtLeastOne(DecisionRule):
    """Apply another rule, but predict at least the most probable label of each sample.

    Parameters
    ----------
    rule : str, float or DecisionRule, default="half"
        The other rule, as for `make_decision_rule`.

    Attributes
    ----------
    rule_ : DecisionRule
        The fitted rule, if it had to be fitted.

    Examples
    --------
    >>> from fuselearn.multilabel import AtLeastOne
    >>> AtLeastOne()([[0.2, 0.4], [0.6, 0.7]])
    array([[0, 1],
           [1, 1]])
    """

    rule_: DecisionRule

    def __init__(self, rule: Any = "half") -> None:
        self.rule = rule

    @property
    def needs_scores(self) -> bool:
        """Whether the other rule needs scores."""
        return make_decision_rule(self.rule).needs_scores

    def _learn(self, scores: Scores, truth: PartialTable, weights: Scores) -> None:
        self.rule_ = make_decision_rule(self.rule).fit(scores, restore_unknown(truth), weights)

    def _decide(self, scores: Scores) -> npt.NDArray[Any]:
        rule = self.rule_ if self.needs_scores else make_decision_rule(self.rule)
        decisions = rule.apply(scores)
        without = np.flatnonzero(~decisions.any(axis=1))
        decisions[without, scores[without].argmax(axis=1)] = 1
        return decisions


class ExpectedF1(DecisionRule):
    """Predict the set of labels with the largest expected F1, assuming independent labels.

    It needs well-calibrated probabilities and no threshold: if all labels of a sample are uncertain, it chooses some
    with a probability below 0.5. See `fuselearn.multilabel.decisions.expected_f1.maximise_expected_f1` for the
    algorithm.

    Parameters
    ----------
    empty : float, default=1.0
        F1 of an empty set if no label is true. With 0, every sample gets a label.

    Examples
    --------
    >>> from fuselearn.multilabel import ExpectedF1
    >>> ExpectedF1()([[0.4, 0.4, 0.1], [0.9, 0.1, 0.1]])
    array([[1, 1, 0],
           [1, 0, 0]])
    """

    def __init__(self, empty: float = 1.0) -> None:
        self.empty = empty

    def _decide(self, scores: Scores) -> npt.NDArray[Any]:
        empty = check_share("empty", self.empty)
        if scores.size and not (scores.min() >= -1e-9 and scores.max() <= 1 + 1e-9):
            raise ValueError(
                f"Expected F1 needs probabilities from 0 to 1, not scores from {scores.min():g} to {scores.max():g}."
            )
        return maximise_expected_f1(scores.clip(0, 1), empty)


RULES: dict[str, type[DecisionRule]] = {
    "half": FixedThreshold,
    "cardinality": CardinalityThreshold,
    "per_label": PerLabelThresholds,
    "micro_f1": MicroF1Threshold,
    "known_sets": KnownSets,
    "at_least_one": AtLeastOne,
    "expected_f1": ExpectedF1,
}


def make_decision_rule(rule: Any, name: str = "rule") -> DecisionRule:
    """Return the unfitted rule for a parameter of an estimator.

    Parameters
    ----------
    rule : str, float or DecisionRule
        One of ``"half"``, ``"cardinality"``, ``"per_label"``, ``"micro_f1"``, ``"known_sets"``, ``"at_least_one"`` and
        ``"expected_f1"``, a threshold, or a rule, which is copied.
    name : str, default="rule"
        Name of the parameter in error messages.

    Returns
    -------
    DecisionRule

    Examples
    --------
    >>> make_decision_rule("per_label")
    PerLabelThresholds()
    >>> make_decision_rule(0.3)
    FixedThreshold(threshold=0.3)
    """
    if isinstance(rule, DecisionRule):
        return clone(rule)
    if isinstance(rule, str) and rule in RULES:
        return RULES[rule]()
    if isinstance(rule, numbers.Real) and not isinstance(rule, bool):
        return FixedThreshold(check_share(name, rule))
    listed = ", ".join(repr(known) for known in RULES)
    raise ValueError(f"{name} must be one of {listed}, a threshold from 0 to 1, or a DecisionRule, not {show(rule)}.")


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


def _best_f1_thresholds(scores: Scores, truth: PartialTable, weights: Scores, noise_rate: float) -> Scores:
    """Return the threshold with the best F1 for each label, the highest in case of ties; NaN without positives."""
    order = np.argsort(-scores, axis=0, kind="stable")
    ranked, true = np.take_along_axis(scores, order, axis=0), np.take_along_axis(truth, order, axis=0)
    below = np.vstack([ranked[1:], np.zeros(scores.shape[1])])
    counted = np.where(true == UNKNOWN, 0.0, weights[order])
    hits = np.cumsum(correct_labels(true, noise_rate) * counted, axis=0)
    f1 = 2 * hits / np.maximum(np.cumsum(counted, axis=0) + hits[-1], np.finfo(float).tiny)
    f1[:, hits[-1] <= 0] = 0.0
    f1[ranked <= below] = 0.0  # no threshold separates equal scores, and none is below 0
    best = f1.argmax(axis=0)[None]
    thresholds = _halfway(np.take_along_axis(ranked, best, axis=0), np.take_along_axis(below, best, axis=0))[0]
    return np.where(f1.max(axis=0) > 0, thresholds, np.nan)


def _halfway(above: Any, below: Any) -> Any:
    """Return a number that ``above`` exceeds and ``below`` does not, even if they are neighbouring floats."""
    middle = (above + below) / 2
    return np.where(middle < above, middle, below)
