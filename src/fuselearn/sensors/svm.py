"""The SVM sensor: a scaled table, its Gram matrices, and support vector machines trained on slices of them."""

from __future__ import annotations

import copy
import threading
import warnings
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from fuselearn.engines.svm import (
    append_labels,
    compute_gram,
    compute_kernel,
    deal_folds,
    decide,
    take_block,
    train_columns,
)

KERNELS = ("rbf", "linear")
PROBABILITIES = ("platt", "logistic", "sign")
SCALINGS = ("standard", "minmax", None)


class Kernel(NamedTuple):
    """A kernel by name, and the factor of its products (linear) or of its squared distances (rbf)."""

    name: str
    factor: float


class SVMSensor:
    """Scale a table once, and train any number of support vector machines on slices of its Gram matrices.

    Parameters
    ----------
    X : float array or sparse matrix of shape (n_rows, n_columns)
        Finite numbers.
    scaling : {"standard", "minmax"}, optional
        Whether columns are divided by their standard deviation, by their range, or not at all. They are centred in any
        case, which changes no machine that has an intercept, but keeps the numbers small; a sparse matrix stays sparse.
    """

    def __init__(self, X: Any, *, scaling: str | None = "standard") -> None:
        self.n_rows, self.n_columns = X.shape
        self.scaling = scaling
        self.shift, self.scale = _measure_columns(X, scaling)
        self.is_sparse = sparse.issparse(X)
        self._training_X = self._scale(X)
        self._bound: KernelRows | None = KernelRows(self, self._training_X)
        self._needs_rows = False
        self.root: SVMSensor = self
        self.appended: npt.NDArray[np.integer] = np.empty((self.n_rows, 0), dtype=np.int8)

    def train(
        self,
        Y: npt.NDArray[Any],
        rows: npt.NDArray[np.integer] | None,
        counts: npt.NDArray[Any],
        *,
        kernel: str = "rbf",
        C: float = 1.0,
        gamma: float | None = None,
        probability: str = "platt",
        n_folds: int = 5,
        seed: int = 0,
        max_steps: int | None = None,
        n_threads: int = 1,
    ) -> SVMBlock:
        """Train one support vector machine per label column, all on the same rows.

        Parameters
        ----------
        Y : array of shape (n_rows, n_labels)
            0 or 1.
        rows : int array, optional
            The rows to train on; by default those with a positive count.
        counts : array of shape (n_rows,)
            How often each row was drawn. Floats are taken as weights.
        kernel : {"rbf", "linear"}
            exp(-gamma |x - z|^2) or gamma x.z.
        C : float
            The cost of one drawn copy.
        gamma : float, optional
            By default one over the number of columns, appended ones not counted.
        probability : {"platt", "logistic", "sign"}
            How a decision value f becomes a probability: by Platt's sigmoid, fitted to cross-validated decision
            values; as 1 / (1 + exp(-2 f)); or as 1 where f is positive and 0 elsewhere.
        n_folds : int
            Folds of that cross-validation.
        seed : int
            Seed of the folds.
        max_steps : int, optional
            See :func:`~fuselearn.engines.svm.train_columns`.
        n_threads : int
            Threads that share the label columns.
        """
        chosen = Kernel(kernel, 1.0 / self.n_columns if gamma is None else float(gamma))
        bound = self.bound_rows()
        rows = np.flatnonzero(counts > 0) if rows is None else np.asarray(rows)
        labels = Y[rows] > 0
        n_positive = labels.sum(axis=0)
        constant = (n_positive == 0) | (n_positive == len(rows))
        block = SVMBlock(self, chosen, probability, np.where(n_positive == 0, 0.0, 1.0), constant)
        if constant.all():
            return block

        gram = bound.values(chosen)
        if len(rows) < self.n_rows:
            gram = take_block(gram, rows)
        signs = np.where(labels[:, ~constant].T, 1.0, -1.0)
        folds = _deal(counts[rows], n_folds, seed) if probability == "platt" else None
        trained = train_columns(
            gram, signs, counts[rows].astype(np.float64), C, folds=folds, max_steps=max_steps, n_threads=n_threads
        )
        if not trained.converged.all():
            warnings.warn(
                "A support vector machine stopped before it reached its tolerance; scale the columns, lower C, or "
                "allow more steps.",
                ConvergenceWarning,
                stacklevel=2,
            )
        used = (trained.coefficients != 0.0).any(axis=0)
        block.slopes, block.offsets, block.converged = trained.slopes, trained.offsets, trained.converged
        block.intercepts = trained.intercepts
        support, coefficients = rows[used], trained.coefficients[:, used]
        if self.collapses(chosen):
            weights = chosen.factor * (coefficients @ bound.X[support])
            block.coefficients = weights.astype(np.float32)
            block.label_coefficients = chosen.factor * self.label_width * (coefficients @ (bound.labels[support] - 0.5))
            if self.centre is not None:
                block.intercepts = block.intercepts - weights @ self.centre
        else:
            block.support, block.coefficients = support.astype(np.int32), coefficients.astype(np.float32)
            self.root._needs_rows = True
        return block

    def prepare(self, X: Any) -> KernelRows:
        """Scale new rows, for which kernel values are then computed once for all blocks."""
        return KernelRows(self, self._scale(X))

    def extend(self, columns: npt.NDArray[np.integer]) -> Self:
        """Give a sensor on the same rows with more columns, of 0 and 1.

        Its kernel values are those of the first sensor, brought up to date with the columns appended since.
        """
        other = copy.copy(self)
        other.appended = np.hstack([self.appended, columns])
        other._training_X = None  # the first sensor has it
        other._bound = other.extend_rows(self.root.bound_rows(), other.appended)
        return other

    def extend_rows(
        self, rows: KernelRows, labels: npt.NDArray[np.integer], only: npt.NDArray[np.integer] | None = None
    ) -> KernelRows:
        """Give rows that the first sensor has prepared, or some of them, the columns that were appended since."""
        return KernelRows(self, rows.X if only is None else rows.X[only], labels, rows, only)

    @property
    def label_width(self) -> float:
        """How far apart 0 and 1 are in an appended column.

        Standardised, a column with as many zeros as ones is -1 and 1. All columns are taken for such, so that no
        machine knows anything of labels of rows that it is not trained on.
        """
        return 2.0 if self.scaling == "standard" else 1.0

    def bound_rows(self) -> KernelRows:
        """Give the rows that the sensor is bound to."""
        if self._bound is None:
            raise RuntimeError("The sensor no longer has its training data; pass the rows.")
        return self._bound

    def unbind(self) -> None:
        """Let go of the Gram matrices, and of the training rows too if no block needs kernel values to them."""
        self._bound = None
        if self is self.root and not self._needs_rows:
            self._training_X = None

    def kernel_values(self, X: Any, kernel: Kernel) -> npt.NDArray[np.float32]:
        """Compute the kernel values between scaled rows and the training rows."""
        if X is self._training_X:
            return compute_gram(X, *kernel, self.centre)
        return compute_kernel(X, self._training_X, *kernel, self.centre)

    def collapses(self, kernel: Kernel) -> bool:
        """Tell whether machines are kept as one weight per column, which is less than one per row."""
        return kernel.name == "linear" and self.n_columns <= self.n_rows

    def _scale(self, X: Any) -> Any:
        if self.is_sparse:
            return sparse.csr_array(X, dtype=np.float64) @ sparse.diags_array(1.0 / self.scale)
        X = X.toarray() if sparse.issparse(X) else X
        return np.ascontiguousarray((X - self.shift) / self.scale, dtype=np.float64)

    @property
    def centre(self) -> npt.NDArray[np.float64] | None:
        """What is still to be subtracted from scaled rows."""
        return self.shift / self.scale if self.is_sparse else None


class KernelRows:
    """Scaled rows, and their kernel values to the rows that a sensor is bound to.

    Values of a kernel are computed when a block first asks for them, and kept for the other blocks.
    """

    def __init__(
        self,
        sensor: SVMSensor,
        X: Any,
        labels: npt.NDArray[np.integer] | None = None,
        base: KernelRows | None = None,
        only: npt.NDArray[np.integer] | None = None,
    ) -> None:
        self.sensor = sensor
        self.X = X
        self.n_rows = X.shape[0]
        self.labels = np.empty((self.n_rows, 0), dtype=np.int8) if labels is None else labels
        self._base = base
        self._only = only
        self._values: dict[Kernel, npt.NDArray[np.float32]] = {}
        self._lock = threading.Lock()

    def values(self, kernel: Kernel) -> npt.NDArray[np.float32]:
        """Give the values of a kernel, one row per row here, one column per training row."""
        with self._lock:
            if kernel not in self._values:
                self._values[kernel] = self._compute(kernel)
            return self._values[kernel]

    def _compute(self, kernel: Kernel) -> npt.NDArray[np.float32]:
        if self._base is None:
            return self.sensor.kernel_values(self.X, kernel)
        only = np.arange(self.n_rows) if self._only is None else self._only
        return append_labels(
            self._base.values(kernel), only, self.labels, self.sensor.appended, *kernel, self.sensor.label_width
        )


class SVMBlock:
    """Support vector machines of several label columns, trained on the same rows."""

    def __init__(
        self,
        sensor: SVMSensor,
        kernel: Kernel,
        probability: str,
        constants: npt.NDArray[np.float64],
        is_constant: npt.NDArray[np.bool_],
    ) -> None:
        self.sensor = sensor
        self.kernel = kernel
        self.probability = probability
        self.constants = constants
        self.is_constant = is_constant
        self.support: npt.NDArray[np.int32] | None = None
        self.coefficients = np.empty((0, 0), dtype=np.float32)
        self.label_coefficients = np.empty((0, 0))
        self.intercepts = self.slopes = self.offsets = np.empty(0)
        self.converged = np.empty(0, dtype=np.bool_)

    def probabilities(
        self, prepared: KernelRows | None = None, rows: npt.NDArray[np.integer] | None = None
    ) -> npt.NDArray[np.float64]:
        """Give the probability of each label.

        Parameters
        ----------
        prepared : KernelRows, optional
            New rows, from :meth:`SVMSensor.prepare`; by default the rows that the sensor is bound to.
        rows : int array, optional
            Which of the rows to answer for; all by default.

        Returns
        -------
        float64 array of shape (n_asked, n_labels)
        """
        prepared = self.sensor.bound_rows() if prepared is None else prepared
        rows = np.arange(prepared.n_rows) if rows is None else rows
        chances = np.tile(self.constants, (len(rows), 1))
        if not self.is_constant.all():
            chances[:, ~self.is_constant] = self._squash(self._decide(prepared, rows))
        return chances

    def _decide(self, prepared: KernelRows, rows: npt.NDArray[np.integer]) -> npt.NDArray[np.float64]:
        if self.support is not None:
            values = prepared.values(self.kernel)
            return decide(values, rows, self.support, self.coefficients, self.intercepts)
        shifts = self.sensor.label_width * ((prepared.labels[rows] - 0.5) @ self.label_coefficients.T)
        if sparse.issparse(prepared.X):
            return prepared.X[rows] @ self.coefficients.T.astype(np.float64) + self.intercepts + shifts
        every = np.arange(self.sensor.n_columns, dtype=np.int32)
        return decide(prepared.X, rows, every, self.coefficients, self.intercepts) + shifts

    def _squash(self, decisions: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        if self.probability == "sign":
            return (decisions > 0.0).astype(np.float64)
        if self.probability == "logistic":
            return _logistic(2.0 * decisions)
        return _logistic(-(self.slopes * decisions + self.offsets))


def _logistic(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return 0.5 * (1.0 + np.tanh(0.5 * values))


def _deal(counts: npt.NDArray[Any], n_folds: int, seed: int) -> npt.NDArray[np.float64]:
    """Deal drawn copies to folds, or whole rows if they have weights."""
    if counts.dtype.kind in "iu":
        return deal_folds(counts, n_folds, seed)
    return deal_folds(np.ones(len(counts), dtype=np.int64), n_folds, seed) * counts


def _measure_columns(X: Any, scaling: str | None) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Give the centre and the scale of each column; constant columns keep their scale."""
    if sparse.issparse(X):
        X = sparse.csc_matrix(X, dtype=np.float64)
        centre = np.asarray(X.mean(axis=0)).ravel()
        low, high = X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
        deviation = np.sqrt(np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel() - centre**2, 0.0))
    else:
        centre, deviation = X.mean(axis=0), X.std(axis=0)
        low, high = X.min(axis=0), X.max(axis=0)
    if scaling is None:
        return centre, np.ones(len(centre))
    scale = np.where(low < high, deviation if scaling == "standard" else high - low, 1.0)
    return centre, np.where(scale > 0.0, scale, 1.0)
