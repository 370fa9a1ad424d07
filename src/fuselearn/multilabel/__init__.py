"""Multi-label classification: ensembles, stratified folds, statistics of labels, metrics, and checks of estimators."""

from fuselearn.multilabel.checks import check_multilabel_estimator
from fuselearn.multilabel.methods.adaboost_mh import AdaBoostMHClassifier
from fuselearn.multilabel.methods.binary_relevance import (
    BinaryRelevanceClassifier,
    EnsembleOfBinaryRelevanceClassifier,
    StackedBinaryRelevanceClassifier,
)
from fuselearn.multilabel.methods.chain import ChainClassifier, EnsembleOfChainsClassifier
from fuselearn.multilabel.methods.fused import FusedMultilabelClassifier
from fuselearn.multilabel.methods.gradient_boosting import GradientBoostingMultilabelClassifier
from fuselearn.multilabel.methods.homer import HOMERClassifier
from fuselearn.multilabel.methods.kfhe import KFHEMultilabelClassifier
from fuselearn.multilabel.methods.kfhe_homer import EnsembleHOMERClassifier, KFHEHOMERClassifier
from fuselearn.multilabel.methods.label_ranking import CalibratedLabelRankingClassifier
from fuselearn.multilabel.methods.label_sets import (
    EnsembleOfPrunedSetsClassifier,
    LabelPowersetClassifier,
    PrunedSetsClassifier,
)
from fuselearn.multilabel.methods.nearest import BRkNNClassifier, MLkNNClassifier
from fuselearn.multilabel.methods.pct_forest import PCTForestClassifier
from fuselearn.multilabel.methods.rakel import RAkELClassifier
from fuselearn.multilabel.methods.thresholding import ThresholdedClassifier
from fuselearn.multilabel.metrics import label_scores, multilabel_scores
from fuselearn.multilabel.statistics import describe_labels
from fuselearn.multilabel.stratification import (
    IterativeStratifiedKFold,
    iterative_train_test_split,
)

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
    "IterativeStratifiedKFold",
    "KFHEHOMERClassifier",
    "KFHEMultilabelClassifier",
    "LabelPowersetClassifier",
    "MLkNNClassifier",
    "PCTForestClassifier",
    "PrunedSetsClassifier",
    "RAkELClassifier",
    "StackedBinaryRelevanceClassifier",
    "ThresholdedClassifier",
    "check_multilabel_estimator",
    "describe_labels",
    "iterative_train_test_split",
    "label_scores",
    "multilabel_scores",
]
