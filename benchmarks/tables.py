"""Tables of the papers for benchmarks (see ``FUSELEARN_DATA``); in small runs, made ones that take their place."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.datasets import make_classification, make_multilabel_classification

from benchmarks.timing import SMALL
from fuselearn import datasets


def load_classes(name: str) -> tuple[pd.DataFrame, npt.NDArray[np.intp]]:
    """Return features and class numbers."""
    if SMALL:
        X, y = make_classification(60, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
        return pd.DataFrame(X).add_prefix("x").assign(kind=pd.Categorical(np.where(X[:, 0] > 0, "a", "b"))), y
    data = datasets.load_dataset(name, download=False)
    return data.X, np.unique(data.y, return_inverse=True)[1]


def load_labels(name: str) -> tuple[pd.DataFrame, npt.NDArray[np.intp]]:
    """Return features and an indicator matrix."""
    if SMALL:
        X, Y = make_multilabel_classification(60, 6, n_classes=4, random_state=0)
        return pd.DataFrame(X).add_prefix("x"), Y
    X, Y = datasets.load_dataset(name, download=False)
    return X, Y.to_numpy(dtype=int)
