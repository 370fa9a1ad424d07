"""The SVM learner: a table of numbers, scaled once, on whose Gram matrices support vector machines are trained."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_array

from fuselearn._parameters import check_choice, check_number
from fuselearn.engines.svm import Coupling, fit_coupling
from fuselearn.multilabel.learners.protocols import Counts, Indices, Labels, Scores, check_sample, list_classes
from fuselearn.sensors.svm import KERNELS, PROBABILITIES, SCALINGS, KernelRows, SVMBlock, SVMSensor
from fuselearn.sensors.table import TableCoder, as_frame

# A table with more columns for categories than this is kept sparse.
DENSE_CATEGORIES = 1_000


def check_svm_parameters(C: Any, kernel: Any, gamma: Any, probability: Any, scaling: Any) -> None:
    """Refuse settings that no support vector machine can have."""
    check_number("C", C, 0.0)
    if C == 0:
        raise ValueError("C must be above 0, not 0.")
    check_choice("kernel", kernel, KERNELS)
    if gamma is not None:
        check_number("gamma", gamma, 0.0)
    check_choice("probability", probability, PROBABILITIES)
    if scaling is not None:
        check_choice("scaling", scaling, [choice for choice in SCALINGS if choice is not None])


class SVMLearner:
    """Turn a table into numbers once, and train any number of support vector machines on it.

    Parameters
    ----------
    X : array, sparse matrix or frame
        Finite numbers. Category columns of a frame become one column of 0 and 1 per category; a missing or unknown
        category is 0 in all of them.
    scaling : {"standard", "minmax"} or None
        See :class:`~fuselearn.sensors.SVMSensor`.
    n_threads : int
        Machines trained at the same time.
    """

    def __init__(self, X: Any, scaling: str | None, n_threads: int) -> None:
        self.encoder = NumberEncoder()
        self.n_rows = X.shape[0]
        self.sensor = SVMSensor(self.encoder.fit_transform(X), scaling=scaling)
        self.n_threads = n_threads

    def train(
        self,
        Y: Labels,
        counts: Counts,
        seed: int,
        *,
        weights: npt.NDArray[np.float64] | None = None,
        **settings: Any,
    ) -> SVMLearnerBlock:
        """Train a machine per label on the rows drawn, with any of ``kernel``, ``C``, ``gamma``, ``probability``."""
        return SVMLearnerBlock(self._train(Y, counts, seed, weights, **settings))

    def _train(
        self, Y: Labels, counts: Counts, seed: int, weights: npt.NDArray[np.float64] | None, **settings: Any
    ) -> SVMBlock:
        check_sample(Y, counts, self.n_rows)
        drawn = counts if weights is None else np.where(counts > 0, weights, 0.0)
        return self.sensor.train(Y, None, drawn, seed=seed, n_threads=self.n_threads, **settings)

    def train_classes(
        self,
        classes: Labels,
        counts: Counts,
        seed: int,
        *,
        labels: Labels | None = None,
        weights: npt.NDArray[np.float64] | None = None,
        **settings: Any,
    ) -> SVMClassBlock:
        """Train a machine per class against all others."""
        check_sample(classes, counts, self.n_rows)
        rows, numbers = list_classes(classes, counts)
        counts = np.where(np.isin(np.arange(self.n_rows), rows), counts, 0)
        block = self._train(classes, counts, seed, weights, keep_left_out=True, **settings)
        drawn = np.bincount(numbers, (counts if weights is None else weights)[rows], classes.shape[1])
        coupling = Coupling(drawn / drawn.sum())
        if block.left_out is not None:
            labels = np.eye(classes.shape[1], dtype=np.int8) if labels is None else labels
            left_out, block.left_out = block.left_out, None
            truth = np.zeros((self.n_rows, labels.shape[1]), dtype=np.bool_)
            np.logical_or.at(truth, rows, labels[numbers] > 0)
            coupling = fit_coupling(coupling.shares, left_out.chances, labels, truth[left_out.rows], left_out.weights)
        return SVMClassBlock(block, coupling)

    def extend(self, columns: npt.NDArray[np.integer]) -> Self:
        """Give a learner whose kernel values are brought up to date with label columns, scaled like the others."""
        other = copy.copy(self)
        other.sensor = self.sensor.extend(columns)
        return other

    def restrict(self, features: npt.NDArray[np.intp]) -> Self:
        """Give a learner with Gram matrices of its own, on some columns of the table."""
        other = copy.copy(self)
        other.sensor = self.sensor.restrict(self.encoder.columns_of(features))
        return other

    def prepare(self, X: Any) -> KernelRows:
        """Turn new rows into scaled numbers."""
        return self.adapt(self.sensor.root.source.prepare(self.encoder.transform(X)))

    def adapt(self, rows: KernelRows) -> KernelRows:
        """Choose the learner's columns of prepared rows."""
        root = self.sensor.root
        return rows if root.chosen is None else root.restrict_rows(rows)

    def estimators(self, block: SVMLearnerBlock, names: npt.NDArray[Any] | None = None) -> list[Any]:
        """Raise an AttributeError: a machine of the engine shares its data with all others."""
        raise AttributeError("Support vector machines of the engine are no estimators of their own.")

    def unbind(self) -> None:
        """Let go of the Gram matrices."""
        self.sensor.unbind()


class SVMLearnerBlock:
    """One support vector machine per label."""

    def __init__(self, block: SVMBlock) -> None:
        self.block = block

    def probabilities(
        self, rows: KernelRows | None = None, extra: npt.NDArray[Any] | None = None, only: Indices | None = None
    ) -> Scores:
        """Give the machines' probabilities."""
        sensor = self.block.sensor
        if rows is None and extra is None:
            return self.block.probabilities(None, only)
        rows = sensor.root.bound_rows() if rows is None else rows
        if sensor is sensor.root:
            return self.block.probabilities(rows, only)
        assert extra is not None, "rows for an extended learner come with its appended columns"
        return self.block.probabilities(sensor.extend_rows(rows, extra, only))

    def unbind(self) -> None:
        """Let go of the Gram matrix of an extended table; the others belong to the learner."""
        if self.block.sensor is not self.block.sensor.root:
            self.block.sensor.unbind()


class SVMClassBlock(SVMLearnerBlock):
    """One support vector machine per class, whose probabilities are coupled, so that they sum to one."""

    def __init__(self, block: SVMBlock, coupling: Coupling) -> None:
        super().__init__(block)
        self.coupling = coupling

    def probabilities(
        self, rows: KernelRows | None = None, extra: npt.NDArray[Any] | None = None, only: Indices | None = None
    ) -> Scores:
        """Return the machines' probabilities, coupled."""
        return self.coupling.apply(super().probabilities(rows, extra, only))


class NumberEncoder:
    """Turn tables of any kind into finite numbers: categories become columns of 0 and 1.

    Examples
    --------
    >>> import pandas as pd
    >>> encoder = NumberEncoder()
    >>> encoder.fit_transform(pd.DataFrame({"colour": ["red", "blue"], "size": [1.5, 2.0]}))
    array([[0. , 1. , 1.5],
           [1. , 0. , 2. ]])
    >>> encoder.transform(pd.DataFrame({"colour": ["green"], "size": [3.0]}))
    array([[0., 0., 3.]])
    """

    def __init__(self) -> None:
        self.coder = TableCoder()

    def fit_transform(self, X: Any) -> Any:
        """Learn the categories of a table and turn it into numbers."""
        coded = self.coder.fit_transform(_check_numbers(X))
        # Numeric columns take one place each, category columns one per category.
        self.widths = np.maximum(self.coder.n_categories_, 1)
        return self._spread(X, coded)

    def transform(self, X: Any) -> Any:
        """Turn a table into numbers, with the categories learned."""
        return self._spread(X, self.coder.transform(_check_numbers(X)))

    def columns_of(self, features: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """List the columns of numbers that columns of the table have become."""
        ends = np.cumsum(self.widths)
        return np.concatenate([np.arange(ends[f] - self.widths[f], ends[f]) for f in features])

    def _spread(self, X: Any, coded: Any) -> Any:
        frame = as_frame(X)
        if frame is None:
            return coded
        is_category = self.coder.n_categories_ > 0
        for f in np.flatnonzero(np.isnan(coded).any(axis=0) & ~is_category):
            raise ValueError(
                f"Column {frame.columns[f]!r} has missing values, which support vector machines cannot take; fill them "
                "in, or use estimator='tree'."
            )
        if not is_category.any():
            return coded
        parts = [
            coded[:, [f]] if self.coder.n_categories_[f] == 0 else coded[:, [f]] == np.arange(self.widths[f])
            for f in range(len(self.widths))
        ]
        if self.widths[is_category].sum() <= DENSE_CATEGORIES:
            return np.hstack(parts, dtype=np.float64)
        return sparse.hstack([sparse.csr_array(part, dtype=np.float64) for part in parts], format="csr")


def _check_numbers(X: Any) -> Any:
    """Check an array of numbers; frames are for the coder to check."""
    if as_frame(X) is not None:
        return X
    return check_array(X, dtype=np.float64, accept_sparse="csr", input_name="X")
