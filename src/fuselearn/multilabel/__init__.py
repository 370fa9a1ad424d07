"""Multi-label ensembles: several labels per row, one (n, L) array of probabilities."""

from fuselearn.multilabel.binary_relevance import BinaryRelevanceClassifier
from fuselearn.multilabel.metrics import example_f1, macro_f1, micro_f1, multilabel_scores
from fuselearn.multilabel.stratification import (
    IterativeStratifiedKFold,
    RepeatedIterativeStratifiedKFold,
    iterative_train_test_split,
)

__all__ = [
    "BinaryRelevanceClassifier",
    "IterativeStratifiedKFold",
    "RepeatedIterativeStratifiedKFold",
    "example_f1",
    "iterative_train_test_split",
    "macro_f1",
    "micro_f1",
    "multilabel_scores",
]
