"""Make the rule for a parameter ``decision``; at least one label per sample."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from fuselearn._messages import did_you_mean, show
from fuselearn.multilabel.decisions.base import DecisionRule, FixedThreshold, Scores, check_probability
from fuselearn.multilabel.decisions.sets import ExpectedF1, KnownSets
from fuselearn.multilabel.decisions.thresholds import (
    CardinalityThreshold,
    MacroF1Thresholds,
    MicroF1Threshold,
    PerLabelThresholds,
)
from fuselearn.multilabel.labels import PartialTable, restore_unknown


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
