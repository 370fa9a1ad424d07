"""Helpers for the checks of multi-label classifiers: small datasets, predictions and error messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse
from sklearn.base import clone

from fuselearn._random import seed_estimator
from fuselearn.multilabel.data.labels import read_probabilities

TOLERANCE = 1e-6


class Rows(NamedTuple):
    """Samples and their labels."""

    X: npt.NDArray[np.float64]
    Y: npt.NDArray[np.int64]


def make_rows() -> Rows:
    """Return sixty samples with five features and four labels; three depend on the features, one on the first label."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 5)).round(3)
    Y = (X @ rng.normal(size=(5, 4)) + 0.5 * rng.normal(size=(60, 4)) > [0.0, 0.5, 1.0, 0.0]).astype(np.int64)
    Y[:, 3] = Y[:, 0] ^ (rng.random(60) < 0.1)
    return Rows(X, Y)


def as_frames(rows: Rows) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the samples and labels as DataFrames."""
    return pd.DataFrame(rows.X, columns=[f"feature {f}" for f in range(5)]), pd.DataFrame(rows.Y, columns=list("abcd"))


def seeded(estimator: Any, seed: int | None = 0) -> Any:
    """Clone an estimator, with a seed if it takes one."""
    return seed_estimator(clone(estimator), seed, same=True)


def predict(model: Any, X: Any) -> npt.NDArray[Any]:
    """Predict labels, as a dense array."""
    labels = model.predict(X)
    return labels.toarray() if sparse.issparse(labels) else np.asarray(labels)


def give_scores(model: Any, X: Any) -> npt.NDArray[np.float64]:
    """Return a model's probabilities in its own form, or its labels if it has none."""
    labels = predict(model, X).astype(np.float64)
    if not hasattr(model, "predict_proba"):
        return labels
    output = model.predict_proba(X)
    if isinstance(output, list):  # scikit-learn's form, with a single column for a constant label
        values = model.classes_
        full = [np.zeros((len(labels), 2)) for _ in output]
        for table, part, known in zip(full, output, values, strict=True):
            table[:, np.asarray(known, dtype=int)] = part
        output = full
    output = output.toarray() if sparse.issparse(output) else output
    return read_probabilities(output, labels.shape[1])


def describe(output: Any) -> str:
    """Describe the type and shape of an output."""
    shape = getattr(output, "shape", None)
    return f"{type(output).__name__}" + ("" if shape is None else f" of shape {shape}")


class Subject:
    """An estimator that is checked: clones of it, and complaints about it.

    Parameters
    ----------
    estimator : classifier
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def seeded(self, seed: int | None = 0) -> Any:
        """Return a clone, with a seed if it takes one."""
        return seeded(self.estimator, seed)

    def fit(self, X: Any, Y: Any, *, seed: int | None = 0) -> Any:
        """Fit a seeded clone."""
        return self.seeded(seed).fit(X, Y)

    def require(self, fact: bool, complaint: str) -> None:
        """Raise an AssertionError about the estimator unless the fact holds."""
        if not fact:
            raise AssertionError(f"{type(self.estimator).__name__} {complaint}.")

    def require_equal(
        self, actual: npt.NDArray[Any], expected: npt.NDArray[Any], complaint: str, tolerance: float = TOLERANCE
    ) -> None:
        """Raise an AssertionError about the estimator unless two outputs are equal."""
        self.require(actual.shape == expected.shape, f"{complaint} (shape {actual.shape}, not {expected.shape})")
        largest = float(np.abs(actual - expected).max(initial=0.0))
        self.require(largest <= tolerance, f"{complaint} (differences up to {largest:.2g})")

    @contextmanager
    def expecting(self, what: str) -> Iterator[None]:
        """Turn any error into an AssertionError about what the estimator must support."""
        try:
            yield
        except Exception as error:
            raise AssertionError(
                f"{type(self.estimator).__name__} must {what}, but it raised {type(error).__name__}: {error}"
            ) from error

    @contextmanager
    def refusing(self, what: str, errors: type[Exception] | tuple[type[Exception], ...]) -> Iterator[None]:
        """Require an error with a meaningful message."""
        try:
            yield
        except errors as error:
            self.require(len(str(error).split()) >= 3, f"refuses to {what} without a message that says why")
        except Exception as error:
            raise AssertionError(
                f"{type(self.estimator).__name__} must refuse to {what} with another error than "
                f"{type(error).__name__}: {error}"
            ) from error
        else:
            self.require(False, f"must refuse to {what}")
