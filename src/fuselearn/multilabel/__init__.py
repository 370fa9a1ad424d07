"""Multi-label ensembles: several labels per row, one (n, L) array of probabilities."""

from fuselearn.multilabel.stratification import (
    IterativeStratifiedKFold,
    RepeatedIterativeStratifiedKFold,
    iterative_train_test_split,
)

__all__ = ["IterativeStratifiedKFold", "RepeatedIterativeStratifiedKFold", "iterative_train_test_split"]
