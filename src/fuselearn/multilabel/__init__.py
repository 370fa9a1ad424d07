"""Multi-label classification: ensembles, stratified folds, statistics of labels, metrics, and checks of estimators."""

from fuselearn.multilabel.checks import check_multilabel_estimator
from fuselearn.multilabel.data.resampling import ml_ros, ml_rus, mlsmote
from fuselearn.multilabel.data.statistics import LabelStatistics, describe_labels
from fuselearn.multilabel.data.stratification import (
    IterativeStratifiedGroupKFold,
    IterativeStratifiedKFold,
    RepeatedIterativeStratifiedGroupKFold,
    RepeatedIterativeStratifiedKFold,
    iterative_train_test_split,
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
from fuselearn.multilabel.metrics import label_calibration_error, label_scores, multilabel_scores, one_error

__all__ = [
    "AdaBoostMHClassifier",
    "BRkNNClassifier",
    "BinaryRelevanceClassifier",
    "CalibratedLabelRankingClassifier",
    "ChainClassifier",
    "EnsembleHOMERClassifier",
    "EnsembleOfBinaryRelevanceClassifier",
    "EnsembleOfChainsClassifier",
    "EnsembleOfPrunedSetsClassifier",
    "FusedMultilabelClassifier",
    "GradientBoostingMultilabelClassifier",
    "HOMERClassifier",
    "IterativeStratifiedGroupKFold",
    "IterativeStratifiedKFold",
    "KFHEHOMERClassifier",
    "KFHEMultilabelClassifier",
    "LIFTClassifier",
    "LabelPowersetClassifier",
    "LabelStatistics",
    "MLkNNClassifier",
    "PCTForestClassifier",
    "PLSTClassifier",
    "PrunedSetsClassifier",
    "RAkELClassifier",
    "RepeatedIterativeStratifiedGroupKFold",
    "RepeatedIterativeStratifiedKFold",
    "StackedBinaryRelevanceClassifier",
    "ThresholdedClassifier",
    "check_multilabel_estimator",
    "describe_labels",
    "iterative_train_test_split",
    "label_calibration_error",
    "label_scores",
    "ml_ros",
    "ml_rus",
    "mlsmote",
    "multilabel_scores",
    "one_error",
]
