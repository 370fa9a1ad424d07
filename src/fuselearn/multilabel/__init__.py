"""Multi-label classification: ensembles, decision rules, stratified folds and metrics."""

from fuselearn.multilabel.data.resampling import ml_ros, ml_rus, mlsmote
from fuselearn.multilabel.data.statistics import LabelStatistics, describe_labels
from fuselearn.multilabel.data.stratification import (
    IterativeStratifiedGroupKFold,
    IterativeStratifiedKFold,
    RepeatedIterativeStratifiedGroupKFold,
    RepeatedIterativeStratifiedKFold,
    iterative_train_test_split,
)
from fuselearn.multilabel.decisions.rules import (
    AtLeastOne,
    CardinalityThreshold,
    DecisionRule,
    ExpectedF1,
    FixedThreshold,
    KnownSets,
    MacroF1Thresholds,
    MicroF1Threshold,
    PerLabelThresholds,
    make_decision_rule,
)
from fuselearn.multilabel.methods.adaboost_mh import AdaBoostMHClassifier
from fuselearn.multilabel.methods.binary_relevance import (
    BinaryRelevanceClassifier,
    EnsembleOfBinaryRelevanceClassifier,
)
from fuselearn.multilabel.methods.chain import ChainClassifier, EnsembleOfChainsClassifier
from fuselearn.multilabel.methods.ensemble_homer import EnsembleHOMERClassifier
from fuselearn.multilabel.methods.fused import FusedMultilabelClassifier
from fuselearn.multilabel.methods.gradient_boosting import GradientBoostingMultilabelClassifier
from fuselearn.multilabel.methods.homer import HOMERClassifier
from fuselearn.multilabel.methods.kfhe_homer import KFHEHOMERClassifier
from fuselearn.multilabel.methods.kfhe_multilabel import KFHEMultilabelClassifier
from fuselearn.multilabel.methods.label_ranking import CalibratedLabelRankingClassifier
from fuselearn.multilabel.methods.label_space import PLSTClassifier
from fuselearn.multilabel.methods.lift import LIFTClassifier
from fuselearn.multilabel.methods.nearest import BRkNNClassifier, MLkNNClassifier
from fuselearn.multilabel.methods.pct_forest import PCTForestClassifier
from fuselearn.multilabel.methods.powerset import LabelPowersetClassifier
from fuselearn.multilabel.methods.pruned_sets import EnsembleOfPrunedSetsClassifier, PrunedSetsClassifier
from fuselearn.multilabel.methods.rakel import RAkELClassifier
from fuselearn.multilabel.methods.stacked_relevance import StackedBinaryRelevanceClassifier
from fuselearn.multilabel.methods.thresholding import ThresholdedClassifier
from fuselearn.multilabel.metrics import (
    example_f1,
    label_jaccard,
    label_precision,
    label_recall,
    label_scores,
    macro_f1,
    micro_f1,
    multilabel_scores,
)
from fuselearn.multilabel.ranking_metrics import (
    coverage,
    label_calibration_error,
    label_ranking_average_precision,
    macro_auc,
    macro_average_precision,
    micro_auc,
    micro_average_precision,
    one_error,
    ranking_loss,
)

__all__ = [
    "AdaBoostMHClassifier",
    "AtLeastOne",
    "BRkNNClassifier",
    "BinaryRelevanceClassifier",
    "CalibratedLabelRankingClassifier",
    "CardinalityThreshold",
    "ChainClassifier",
    "DecisionRule",
    "EnsembleHOMERClassifier",
    "EnsembleOfBinaryRelevanceClassifier",
    "EnsembleOfChainsClassifier",
    "EnsembleOfPrunedSetsClassifier",
    "ExpectedF1",
    "FixedThreshold",
    "FusedMultilabelClassifier",
    "GradientBoostingMultilabelClassifier",
    "HOMERClassifier",
    "IterativeStratifiedGroupKFold",
    "IterativeStratifiedKFold",
    "KFHEHOMERClassifier",
    "KFHEMultilabelClassifier",
    "KnownSets",
    "LIFTClassifier",
    "LabelPowersetClassifier",
    "LabelStatistics",
    "MLkNNClassifier",
    "MacroF1Thresholds",
    "MicroF1Threshold",
    "PCTForestClassifier",
    "PLSTClassifier",
    "PerLabelThresholds",
    "PrunedSetsClassifier",
    "RAkELClassifier",
    "RepeatedIterativeStratifiedGroupKFold",
    "RepeatedIterativeStratifiedKFold",
    "StackedBinaryRelevanceClassifier",
    "ThresholdedClassifier",
    "coverage",
    "describe_labels",
    "example_f1",
    "iterative_train_test_split",
    "label_calibration_error",
    "label_jaccard",
    "label_precision",
    "label_ranking_average_precision",
    "label_recall",
    "label_scores",
    "macro_auc",
    "macro_average_precision",
    "macro_f1",
    "make_decision_rule",
    "micro_auc",
    "micro_average_precision",
    "micro_f1",
    "ml_ros",
    "ml_rus",
    "mlsmote",
    "multilabel_scores",
    "one_error",
    "ranking_loss",
]
