"""Decision rules: from probabilities of labels to labels.

They are passed to multi-label estimators as one parameter, which `make_decision_rule` reads:

==================  ======================================================================================
``"half"``          labels with a probability above 0.5
a number            labels with a probability above it
``"cardinality"``   one threshold for all labels, with which samples have as many labels as in training
``"per_label"``     for each label the threshold with the best F1, for rare labels near that of ``"cardinality"``
``"macro_f1"``      for each label the threshold with the best expected F1, if probabilities are calibrated
``"micro_f1"``      one threshold for all labels, with the best micro F1
``"known_sets"``    the most probable of the label sets of training
``"at_least_one"``  like ``"half"``, but at least the most probable label of each sample
``"expected_f1"``   the set of labels with the largest expected F1
==================  ======================================================================================

or an object, such as ``AtLeastOne("cardinality")``. Five of the rules are learned. They need scores of models
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
from fuselearn.multilabel.data.labels import PartialTable, restore_unknown
from fuselearn.multilabel.decisions.base import DecisionRule, Scores, check_share
from fuselearn.multilabel.decisions.expected_f1 import maximise_expected_f1
from fuselearn.multilabel.decisions.known_sets import KnownSets
from fuselearn.multilabel.decisions.thresholds import (
    CardinalityThreshold,
    MacroF1Thresholds,
    MicroF1Threshold,
    PerLabelThresholds,
)

__all__ = [
    "AtLeastOne",
    "CardinalityThreshold",
    "DecisionRule",
    "ExpectedF1",
    "FixedThreshold",
    "KnownSets",
    "MacroF1Thresholds",
    "MicroF1Threshold",
    "PerLabelThresholds",
    "make_decision_rule",
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
    "macro_f1": MacroF1Thresholds,
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
        One of ``"half"``, ``"cardinality"``, ``"per_label"``, ``"macro_f1"``, ``"micro_f1"``, ``"known_sets"``,
        ``"at_least_one"`` and ``"expected_f1"``, a threshold, or a rule, which is copied.
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
