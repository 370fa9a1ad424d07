"""Decision rules: from probabilities of labels to labels.

Multi-label classifiers take a rule as their parameter ``decision``, by name or as an object:

==================  ===========================================================================================
``decision``        predicted labels of a sample
==================  ===========================================================================================
a number            labels with a probability above this threshold; ``"half"`` is 0.5
``"cardinality"``   `CardinalityThreshold`: a common threshold that predicts as many labels per sample as in training
``"per_label"``     `PerLabelThresholds`: one threshold per label, with the best F1, shrunk toward that of
                    ``"cardinality"`` for rare labels
``"macro_f1"``      `MacroF1Thresholds`: one threshold per label, with the best expected F1; needs calibrated
                    probabilities
``"micro_f1"``      `MicroF1Threshold`: a common threshold with the best micro F1
``"known_sets"``    `KnownSets`: the most probable of the label sets of the training samples
``"at_least_one"``  `AtLeastOne`: like ``"half"``, but at least the most probable label
``"expected_f1"``   `ExpectedF1`: the set of labels with the largest expected F1
==================  ===========================================================================================

To set parameters of a rule, pass an object, such as ``decision=AtLeastOne("cardinality")``. Five of the rules are
fitted to out-of-bag or out-of-fold probabilities, because on its own training samples a flexible model looks perfect at
any threshold.
"""

from fuselearn.multilabel.decisions.base import DecisionRule
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
