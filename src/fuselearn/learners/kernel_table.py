"""A table for support vector machines: scaled features, and kernel values shared by all SVMs."""

from __future__ import annotations

import copy
import threading
import warnings
import weakref
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.kernel_approximation import Nystroem

from fuselearn._core import take_block
from fuselearn._messages import show
from fuselearn.learners.kernels import append_labels, compute_gram, compute_kernel

# Maximum number of samples of a Gram matrix; more would take over 1 GiB.
MOST_SAMPLES = 16_384
# The same for the linear kernel on sparse data; with more samples, training on the features is faster.
MOST_SPARSE_SAMPLES = 2_000
# Number of Nystroem features.
N_LANDMARKS = 500
# Number of samples for which Nystroem features are computed at once.
_BLOCK = 10_000

# Squares of larger values, and of their inverses, overflow float64; kernel values are stored as float32.
LARGEST_VALUE = 1e150
LARGEST_SCALED = 1e15


class Kernel(NamedTuple):
    """The name of a kernel, and the factor of its products (linear) or of its squared distances (rbf)."""

    name: str
    factor: float


class KernelTable:
    """A scaled table and its Gram matrices, one per kernel, computed on demand.

    There is no Gram matrix for more than 16,384 samples, or for the linear kernel on more than 2,000 sparse samples.
    SVMs are then trained on the features or, for the radial kernel, on Nystroem features that approximate it:
    combinations of the kernel values to 500 random samples, with a fixed seed.

    Parameters
    ----------
    X : float array or sparse matrix of shape (n_samples, n_features)
        Finite numbers.
    scaling : {"standard", "minmax"}, optional
        Whether features are divided by their standard deviation, by their range, or not scaled. They are always
        centered, which keeps numbers small and does not change an SVM with an intercept; a sparse matrix stays sparse.

    Warns
    -----
    UserWarning
        The first time that a radial kernel is approximated.
    """

    def __init__(self, X: Any, *, scaling: str | None = "standard") -> None:
        self.n_rows, self.n_columns = X.shape
        self.scaling = scaling
        self.shift, self.scale = measure_columns(X, scaling)
        self.is_sparse = sparse.issparse(X)
        self._training_X = self._scale(X)
        self._bound: KernelRows | None = KernelRows(self, self._training_X)
        self._needs_rows = False
        self.radial_maps: dict[float, Any] = {}
        self.root: KernelTable = self
        self.source: KernelTable = self
        self.chosen: npt.NDArray[np.intp] | None = None
        # The appended columns are the first ones of this array, which all tables of a chain share.
        self._labels: npt.NDArray[np.integer] = np.empty((self.n_rows, 0), dtype=np.int8)
        self._n_appended = 0
        self._derived: list[weakref.ref[KernelTable]] = []  # extended or restricted tables, released with this one

    def prepare(self, X: Any) -> KernelRows:
        """Scale new samples; their kernel values are then computed once for all SVMs."""
        return KernelRows(self, self._scale(X))

    def restrict(self, columns: npt.NDArray[np.intp]) -> Self:
        """Return a table of some columns with separate Gram matrices; the scaled samples are not copied."""
        other = self._derive()
        other.root, other.source, other.chosen = other, self, columns
        other.n_columns, other.shift, other.scale = len(columns), self.shift[columns], self.scale[columns]
        other._training_X = None
        other.radial_maps = {}
        other._bound = other.restrict_rows(self.bound_rows())
        return other

    def restrict_rows(self, rows: KernelRows) -> KernelRows:
        """Select the columns of this table from samples prepared by the unrestricted table."""
        return KernelRows(self, rows.X if self.chosen is None else rows.X[:, self.chosen])

    @property
    def appended(self) -> npt.NDArray[np.integer]:
        """The appended binary columns."""
        return self._labels[:, : self._n_appended]

    def extend(self, columns: npt.NDArray[np.integer], n_columns: int | None = None) -> Self:
        """Return a table of the same samples with additional binary columns: all of ``columns``, or the first ones.

        Its kernel values are those of the original table, updated for the appended columns.
        """
        other = self._derive()
        n_columns = columns.shape[1] if n_columns is None else n_columns
        other._n_appended = self._n_appended + n_columns
        other._labels = np.hstack([self.appended, columns]) if self._n_appended else columns
        other._training_X = None  # stored by the original table
        other.radial_maps = {}
        other._bound = other.extend_rows(self.root.bound_rows(), other.appended)
        return other

    def extend_rows(
        self, rows: KernelRows, labels: npt.NDArray[np.integer], only: npt.NDArray[np.integer] | None = None
    ) -> KernelRows:
        """Append the additional columns to all or some of the samples prepared by the original table."""
        return KernelRows(self, rows.X if only is None else rows.X[only], labels, rows, only)

    @property
    def label_width(self) -> float:
        """The distance between 0 and 1 in an appended column after scaling.

        A standardized column with as many zeros as ones has the values -1 and 1. These are used for all columns, since
        the actual frequencies would leak labels of samples outside of the training fold.
        """
        return 2.0 if self.scaling == "standard" else 1.0

    def bound_rows(self) -> KernelRows:
        """Return the training samples."""
        if self._bound is None:
            raise RuntimeError("The training data have been released; pass X.")
        return self._bound

    def gram(self, kernel: Kernel, rows: npt.NDArray[np.integer]) -> npt.NDArray[np.float32]:
        """Return the kernel values between some training samples."""
        if self is not self.root:
            drawn = self.extend_rows(self.root.bound_rows(), self.appended[rows], rows)
            return drawn.values_to(kernel, rows)
        values = self.bound_rows().values(kernel)
        return values if len(rows) == self.n_rows else take_block(values, rows.astype(np.int64, copy=False))

    def keep_rows(self) -> None:
        """Keep the training samples when the table is released, because they include the support vectors."""
        self.root.source._needs_rows = True

    def release(self) -> None:
        """Release the Gram matrices, and the training samples if no SVM needs kernel values to them."""
        self._bound = None
        if not self._needs_rows:
            self._training_X = None
        for derived in self._derived:
            if (table := derived()) is not None:
                table.release()
        self._derived = []

    def _derive(self) -> Self:
        """Return a copy that is released with this table."""
        other = copy.copy(self)
        other._derived = []
        self._derived.append(weakref.ref(other))
        return other

    def training_rows(self) -> Any:
        """Return the scaled training samples, which include the support vectors."""
        return self._training_X if self.chosen is None else self.source._training_X[:, self.chosen]

    def kernel_values(self, X: Any, kernel: Kernel) -> npt.NDArray[np.float32]:
        """Compute the kernel values between scaled samples and the training samples."""
        if self._bound is not None and X is self._bound.X:
            return compute_gram(X, *kernel, self.center)
        return compute_kernel(X, self.training_rows(), *kernel, self.center)

    def has_gram(self, kernel: Kernel) -> bool:
        """Return whether SVMs with a kernel are trained on a Gram matrix rather than on features."""
        is_sparse = kernel.name == "linear" and self.is_sparse
        return self.n_rows <= (MOST_SPARSE_SAMPLES if is_sparse else MOST_SAMPLES)

    @property
    def most_values(self) -> int:
        """Maximum number of kernel values of a sample."""
        return self.n_rows if self.n_rows <= MOST_SAMPLES else N_LANDMARKS

    def map_features(self, rows: KernelRows, kernel: Kernel) -> npt.NDArray[np.float32]:
        """Return Nystroem features, whose products approximate a radial kernel."""
        if kernel.factor not in self.radial_maps:
            self.radial_maps[kernel.factor] = self._fit_radial_map(kernel.factor)
        radial_map, X = self.radial_maps[kernel.factor], rows.joined()
        features = np.empty((rows.n_rows, radial_map.components_.shape[0]), dtype=np.float32)
        for start in range(0, rows.n_rows, _BLOCK):
            features[start : start + _BLOCK] = radial_map.transform(X[start : start + _BLOCK])
        return features

    def _fit_radial_map(self, gamma: float) -> Nystroem:
        if self is self.root:  # warn once, not for each extended table
            warnings.warn(
                f"The Gram matrix of {self.n_rows:,} samples would take more than 1 GiB: the RBF kernel is "
                f"approximated by Nystroem features with {N_LANDMARKS} components.",
                stacklevel=2,
            )
        return Nystroem(gamma=gamma, n_components=N_LANDMARKS, random_state=0).fit(self.bound_rows().joined())

    def collapses(self, kernel: Kernel) -> bool:
        """Return whether linear SVMs are stored as one weight per column, not as one coefficient per sample."""
        return kernel.name == "linear" and (self.n_columns <= self.n_rows or not self.has_gram(kernel))

    def _scale(self, X: Any) -> Any:
        """Scale samples; clip values so far from the training samples that kernel values would overflow."""
        if self.is_sparse:
            X = sparse.csr_array(X)
            index = np.int32 if max(X.nnz, X.shape[1]) < 2**31 else np.int64  # 64 bits only where they are needed
            parts = X.data.astype(np.float64), X.indices.astype(index), X.indptr.astype(index)
            rows = sparse.csr_array(parts, shape=X.shape)
            rows.sum_duplicates()
            rows.data /= self.scale[rows.indices]
            np.clip(rows.data, -LARGEST_SCALED, LARGEST_SCALED, out=rows.data)
            return rows
        X = X.toarray() if sparse.issparse(X) else X
        with np.errstate(over="ignore"):
            scaled = np.ascontiguousarray((X - self.shift) / self.scale, dtype=np.float64)
        return np.clip(scaled, -LARGEST_SCALED, LARGEST_SCALED, out=scaled)

    @property
    def center(self) -> npt.NDArray[np.float64] | None:
        """The center to subtract from scaled samples, if they are sparse and not yet centered."""
        return self.shift / self.scale if self.is_sparse else None


class KernelRows:
    """Scaled samples, and their kernel values to the training samples of a table.

    Values of a kernel are computed on demand and cached.
    """

    def __init__(
        self,
        table: KernelTable,
        X: Any,
        labels: npt.NDArray[np.integer] | None = None,
        base: KernelRows | None = None,
        only: npt.NDArray[np.integer] | None = None,
    ) -> None:
        self.table = table
        self.X = X
        self.shape = X.shape
        self.n_rows = X.shape[0]
        self.labels = np.empty((self.n_rows, 0), dtype=np.int8) if labels is None else labels
        self._base = base
        self._only = only
        self._values: dict[Kernel, npt.NDArray[np.float32]] = {}
        self._features: dict[Kernel, Any] = {}
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a worker process: the samples, without cached kernel values."""
        return {**vars(self), "_values": {}, "_features": {}, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the samples in a worker process."""
        vars(self).update(state, _lock=threading.Lock())

    def values(self, kernel: Kernel) -> npt.NDArray[np.float32]:
        """Return the values of a kernel without appended columns, of shape (n_samples, n_training_samples)."""
        with self._lock:
            if kernel not in self._values:
                self._values[kernel] = self.table.kernel_values(self.X, kernel)
            return self._values[kernel]

    def values_to(self, kernel: Kernel, columns: npt.NDArray[np.integer]) -> npt.NDArray[np.float32]:
        """Return the values of a kernel to some training samples, including the appended columns."""
        assert self._base is not None, "samples without appended columns store the values to all training samples"
        only = np.arange(self.n_rows) if self._only is None else self._only
        right = self.table.appended[columns]
        return append_labels(
            self._base.values(kernel), only, columns, self.labels, right, *kernel, self.table.label_width
        )

    @property
    def is_extended(self) -> bool:
        """Whether columns were appended, so that kernel values are updated from those without them."""
        return self._base is not None

    @property
    def extra(self) -> npt.NDArray[np.float64]:
        """The appended columns after scaling."""
        return self.table.label_width * (self.labels.astype(np.float64) - 0.5)

    def features(self, kernel: Kernel) -> Any:
        """Return the features of linear SVMs: the columns, or the Nystroem features of a radial kernel."""
        with self._lock:
            if kernel not in self._features:
                if kernel.name == "rbf":
                    self._features[kernel] = self.table.map_features(self, kernel)
                else:
                    self._features[kernel] = self.X if sparse.issparse(self.X) else self.X.astype(np.float32)
            return self._features[kernel]

    def joined(self) -> Any:
        """Return all columns, including appended ones."""
        return join_columns(self.X, self.extra)


def join_columns(columns: Any, extra: npt.NDArray[np.float64]) -> Any:
    """Append columns to a table."""
    if extra.shape[1] == 0:
        return columns
    extra = extra.astype(columns.dtype)
    return sparse.hstack([columns, extra], "csr") if sparse.issparse(columns) else np.hstack([columns, extra])


def measure_columns(
    X: Any, scaling: str | None, user: str = "support vector machines"
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the center and the scale of each column; the scale of constant columns is 1."""
    if sparse.issparse(X):
        if not X.has_canonical_format:  # duplicate entries must be summed before squaring
            X = X.copy()
            X.sum_duplicates()
        low, high = X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
        _refuse_large_values(low, high, scaling, user)
        center = np.bincount(X.indices, X.data, X.shape[1]) / X.shape[0]
        squares = np.bincount(X.indices, X.data**2, X.shape[1]) / X.shape[0]
        deviation = np.sqrt(np.maximum(squares - center**2, 0.0))
    else:
        low, high = X.min(axis=0), X.max(axis=0)
        _refuse_large_values(low, high, scaling, user)
        center, deviation = X.mean(axis=0), X.std(axis=0)
    if scaling is None:
        return center, np.ones(len(center))
    scale = np.where(low < high, deviation if scaling == "standard" else high - low, 1.0)
    return center, np.where(scale > 1.0 / LARGEST_VALUE, scale, 1.0)


def _refuse_large_values(
    low: npt.NDArray[np.float64], high: npt.NDArray[np.float64], scaling: str | None, user: str
) -> None:
    limit = LARGEST_SCALED if scaling is None else LARGEST_VALUE
    for column in np.flatnonzero(np.maximum(-low, high) > limit):
        raise ValueError(
            f"Column {column} of X has absolute values above {limit:g}, which are too large for {user} with "
            f"scaling={show(scaling)}."
        )
