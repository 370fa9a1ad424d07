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

from fuselearn.multilabel.decisions.base import DecisionRule, FixedThreshold, OwnDecision  # noqa: F401 (model files of 0.3.0)
from fuselearn.multilabel.decisions.rules import AtLeastOne
from fuselearn.multilabel.decisions.sets import ExpectedF1, KnownSets
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
    "KnownSets",
    "MacroF1Thresholds",
    "MicroF1Threshold",
    "PerLabelThresholds",
]
