"""Multi-label ensembles: several labels per row, one (n, L) array of probabilities."""

from fuselearn.multilabel.adaboost_mh import AdaBoostMHClassifier
from fuselearn.multilabel.binary_relevance import BinaryRelevanceClassifier
from fuselearn.multilabel.binary_relevance_ensemble import EnsembleOfBinaryRelevanceClassifier
from fuselearn.multilabel.chain import ChainClassifier
from fuselearn.multilabel.chain_ensemble import EnsembleOfChainsClassifier
from fuselearn.multilabel.decisions import (
    AtLeastOne,
    CardinalityThreshold,
    DecisionRule,
    ExpectedF1,
    FixedThreshold,
    PerLabelThresholds,
    make_decision_rule,
)
from fuselearn.multilabel.ensemble_homer import EnsembleHOMERClassifier
from fuselearn.multilabel.homer import HOMERClassifier
from fuselearn.multilabel.kfhe_homer import KFHEHOMERClassifier
from fuselearn.multilabel.kfhe_multilabel import KFHEMultilabelClassifier
from fuselearn.multilabel.metrics import example_f1, macro_f1, micro_f1, multilabel_scores
from fuselearn.multilabel.pct_forest import PCTForestClassifier
from fuselearn.multilabel.powerset import LabelPowersetClassifier
from fuselearn.multilabel.pruned_sets import PrunedSetsClassifier
from fuselearn.multilabel.pruned_sets_ensemble import EnsembleOfPrunedSetsClassifier
from fuselearn.multilabel.rakel import RAkELClassifier
from fuselearn.multilabel.stratification import (
    IterativeStratifiedKFold,
    RepeatedIterativeStratifiedKFold,
    iterative_train_test_split,
)
from fuselearn.multilabel.thresholding import ThresholdedClassifier

__all__ = [
    "AdaBoostMHClassifier",
    "AtLeastOne",
    "BinaryRelevanceClassifier",
    "CardinalityThreshold",
    "ChainClassifier",
    "DecisionRule",
    "EnsembleHOMERClassifier",
    "EnsembleOfBinaryRelevanceClassifier",
    "EnsembleOfChainsClassifier",
    "EnsembleOfPrunedSetsClassifier",
    "ExpectedF1",
    "FixedThreshold",
    "HOMERClassifier",
    "IterativeStratifiedKFold",
    "KFHEHOMERClassifier",
    "KFHEMultilabelClassifier",
    "LabelPowersetClassifier",
    "PCTForestClassifier",
    "PerLabelThresholds",
    "PrunedSetsClassifier",
    "RAkELClassifier",
    "RepeatedIterativeStratifiedKFold",
    "ThresholdedClassifier",
    "example_f1",
    "iterative_train_test_split",
    "macro_f1",
    "make_decision_rule",
    "micro_f1",
    "multilabel_scores",
]
