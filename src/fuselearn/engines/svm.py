"""Support vector machines for ensembles: one Gram matrix, many SVMs.

The flow is `compute_gram` (once per kernel and dataset), `take_block` (once per set of samples), `train_columns` (one
SVM per label), `decide` (decision values from kernel values). Tables that are too large for a Gram matrix have linear
SVMs by `train_linear_columns`.

Calibration by Platt's method needs decision values of samples that the SVM has not seen. They come from
cross-validation over drawn copies, as if the copies had been written out: a sample drawn three times may be in three
folds, and counts in each. Every fold starts from the solution on all samples, and works off the difference.

This is what libsvm does with a written-out sample. Its copies make an SVM overconfident, as a fold knows some of the
samples that it leaves out; but so should members of an ensemble be, whose mean is less confident than they are. With
all copies of a sample in one fold, E-HOMER has larger calibration errors and a smaller macro F1 on most of the papers'
datasets (``benchmarks/calibration.py``). Weights that do not come from draws are no copies: a sample with a weight is
in one fold.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fuselearn import _core
from fuselearn._core import collapse

TOLERANCE = 1e-3
MOST_PASSES = 1000
SAMPLES_FOR_THREADS = 200
# Of a Gram matrix: so many bytes of products at once, and the side of a tile that fits into the cache.
BLOCK_BYTES = 2**26
TILE = 128

Floats = npt.NDArray[np.float64]
KernelValues = npt.NDArray[np.float32]
Indices = npt.NDArray[np.integer]


def compute_gram(X: Any, kernel: str, factor: float, centre: Floats | None = None) -> KernelValues:
    """Compute the kernel values between all pairs of samples.

    Parameters
    ----------
    X : float64 array or sparse matrix of shape (n_samples, n_features)
    kernel : {"linear", "rbf"}
        ``factor * x.z``, or ``exp(-factor * |x - z|^2)``.
    factor : float
    centre : array of shape (n_features,), optional
        What to subtract from every sample. A sparse matrix stays sparse.

    Returns
    -------
    float32 array of shape (n_samples, n_samples)
        Exactly symmetric.

    Examples
    --------
    >>> compute_gram(np.array([[1.0, 2.0], [0.0, 1.0]]), "linear", 0.5)
    array([[2.5, 1. ],
           [1. , 0.5]], dtype=float32)
    """
    n_samples = X.shape[0]
    gram = np.empty((n_samples, n_samples), dtype=np.float32)
    shifts = _measure_samples(X, kernel, centre)
    step = _samples_at_once(n_samples)
    for start in range(0, n_samples, step):
        part, others = slice(start, min(start + step, n_samples)), slice(start, n_samples)
        _compute(X[part], X[others], shifts[part], shifts[others], kernel, factor, gram[part, others])
    _mirror(gram)
    if kernel == "rbf":
        np.fill_diagonal(gram, 1.0)
    return gram


def compute_kernel(X: Any, Z: Any, kernel: str, factor: float, centre: Floats | None = None) -> KernelValues:
    """Compute the kernel values between the samples of ``X`` and of ``Z``, as :func:`compute_gram` does.

    Examples
    --------
    >>> compute_kernel(np.array([[0.0], [1.0]]), np.array([[1.0]]), "rbf", np.log(2))
    array([[0.5],
           [1. ]], dtype=float32)
    """
    values = np.empty((X.shape[0], Z.shape[0]), dtype=np.float32)
    x_shifts, z_shifts = (_measure_samples(samples, kernel, centre) for samples in (X, Z))
    step = _samples_at_once(Z.shape[0])
    for start in range(0, X.shape[0], step):
        part = slice(start, start + step)
        _compute(X[part], Z, x_shifts[part], z_shifts, kernel, factor, values[part])
    return values


def _compute(
    X: Any, Z: Any, x_shifts: Floats, z_shifts: Floats, kernel: str, factor: float, values: KernelValues
) -> None:
    """Write kernel values."""
    # Distances are small differences of large numbers: float32 enters only when they are known.
    products = X @ Z.T
    if hasattr(products, "toarray"):
        products = products.toarray()
    products -= x_shifts[:, None]
    products -= z_shifts
    if kernel == "linear":
        np.multiply(products, factor, out=values, casting="same_kind")
        return
    # Half of the squared distance, with a minus.
    np.minimum(products, 0.0, out=products)
    np.multiply(products, 2.0 * factor, out=values, casting="same_kind")
    np.exp(values, out=values)


def _mirror(gram: KernelValues) -> None:
    """Copy the values above the diagonal of a square matrix below it, tile by tile, as tiles fit into the cache.

    Near the diagonal, where there are two values, both become the larger one.
    """
    n_samples = len(gram)
    for start in range(0, n_samples, TILE):
        part = slice(start, start + TILE)
        square = gram[part, part]
        square[:] = np.maximum(square, square.T)
        for other in range(start + TILE, n_samples, TILE):
            gram[other : other + TILE, part] = gram[part, other : other + TILE].T


def _measure_samples(X: Any, kernel: str, centre: Floats | None = None) -> Floats:
    """Return what each sample takes off its products: its part in the centering, or half of its squared length.

    Products of centered samples are x.z - (x.c - c.c / 2) - (z.c - c.c / 2), and half of a squared distance, with a
    minus, is x.z - x.x / 2 - z.z / 2.
    """
    if kernel == "linear":
        return np.zeros(X.shape[0]) if centre is None else X @ centre - centre @ centre / 2
    if hasattr(X, "multiply"):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel() / 2
    return np.einsum("ij,ij->i", X, X) / 2


def _samples_at_once(n_others: int) -> int:
    # Whole tiles, as those on the diagonal are computed twice.
    return max(1, BLOCK_BYTES // (8 * max(n_others, 1) * TILE)) * TILE


def append_labels(
    values: KernelValues,
    rows: Indices,
    columns: Indices,
    left: Indices,
    right: Indices,
    name: str,
    factor: float,
    width: float,
) -> KernelValues:
    """Return kernel values between samples with labels appended as features, made from those without.

    Such features hold 0 and 1, so all that matters of two samples is how many of them differ. A linear value then
    grows, and a radial one shrinks, by one of a few numbers, looked up by a count of bits.

    Parameters
    ----------
    values : float32 array of shape (n_rows, n_columns)
    rows, columns : int arrays of shape (n_left,) and (n_right,)
        The part of ``values`` to make new ones of.
    left, right : array of shape (n_left, n_labels) and (n_right, n_labels)
        0 and 1, which stand for -width / 2 and width / 2.
    name : {"linear", "rbf"}
        ``factor * x.z``, or ``exp(-factor * |x - z|^2)``.
    factor, width : float

    Returns
    -------
    float32 array of shape (n_left, n_right)

    Examples
    --------
    >>> values, both, labels = np.ones((2, 2), dtype=np.float32), np.arange(2), np.array([[0], [1]])
    >>> append_labels(values, both, both, labels, labels, "rbf", np.log(2), 1.0)
    array([[1. , 0.5],
           [0.5, 1. ]], dtype=float32)
    """
    if left.shape[1] != right.shape[1]:
        raise ValueError(f"{left.shape[1]} labels cannot be compared with {right.shape[1]}.")
    differing = np.arange(left.shape[1] + 1)
    if name == "linear":
        changes = factor * width**2 * (left.shape[1] - 2.0 * differing) / 4
    else:
        changes = np.exp(-factor * width**2 * differing)
    rows, columns = (indices.astype(np.int64, copy=False) for indices in (rows, columns))
    changes = changes.astype(np.float32)
    return _core.append_labels(
        values, rows, columns, _pack_labels(left), _pack_labels(right), changes, are_added=name == "linear"
    )


def _pack_labels(labels: Indices) -> npt.NDArray[np.uint64]:
    """Pack the 0 and 1 of each sample into words of 64 bits.

    Examples
    --------
    >>> _pack_labels(np.array([[1, 0, 1], [0, 0, 0]]))
    array([[5],
           [0]], dtype=uint64)
    """
    n_samples, n_labels = labels.shape
    bits = np.zeros((n_samples, 8 * -(-n_labels // 64)), dtype=np.uint8)
    packed = np.packbits(labels.astype(np.uint8), axis=1, bitorder="little")
    bits[:, : packed.shape[1]] = packed
    return bits.view(np.dtype("<u8")).astype(np.uint64)


def take_block(gram: KernelValues, samples: Indices) -> KernelValues:
    """Copy the kernel values between some samples into a matrix of their own.

    Examples
    --------
    >>> take_block(np.arange(9, dtype=np.float32).reshape(3, 3), np.array([0, 2]))
    array([[0., 2.],
           [6., 8.]], dtype=float32)
    """
    return _core.take_block(gram, samples.astype(np.int64, copy=False))


def decide(
    kernel_rows: KernelValues,
    asked: Indices,
    support: npt.NDArray[np.int32],
    coefficients: KernelValues,
    intercepts: Floats,
) -> Floats:
    """Return the decision values of some samples, which do not depend on what other samples are asked for.

    Parameters
    ----------
    kernel_rows : float32 array of shape (n, n_train)
        Kernel values between samples and those trained on.
    asked : int array of shape (n_asked,)
        Indices of the samples to decide for.
    support : int32 array of shape (n_support,)
    coefficients : float32 array of shape (n_labels, n_support)
    intercepts : float64 array of shape (n_labels,)

    Returns
    -------
    float64 array of shape (n_asked, n_labels)

    Examples
    --------
    >>> kernel_rows, support = np.array([[1.0, 2.0, 3.0]], dtype=np.float32), np.array([0, 2], dtype=np.int32)
    >>> decide(kernel_rows, np.array([0]), support, np.array([[1.0, -1.0]], dtype=np.float32), np.array([0.5]))
    array([[-1.5]])
    """
    return _core.decide(kernel_rows, asked.astype(np.int64, copy=False), support, coefficients, intercepts)


class TrainedColumns(NamedTuple):
    """One SVM per label."""

    coefficients: Floats  # (n_labels, n_samples)
    intercepts: Floats  # (n_labels,)
    slopes: Floats  # (n_labels,), of Platt's sigmoid
    offsets: Floats  # (n_labels,)
    converged: npt.NDArray[np.bool_]  # (n_labels,)
    left_out: Floats  # (n_labels, n_held_out), decision values of held-out samples, fold by fold


def train_columns(
    gram: KernelValues,
    signs: Floats,
    weights: Floats,
    C: float,
    *,
    folds: Floats | None = None,
    max_steps: int | None = None,
    tolerance: float = TOLERANCE,
    n_threads: int = 1,
) -> TrainedColumns:
    """Train one SVM per label, all on the same samples.

    Parameters
    ----------
    gram : float32 array of shape (n_samples, n_samples)
        Kernel values between the samples of this training alone.
    signs : float64 array of shape (n_labels, n_samples)
        -1 or 1.
    weights : float64 array of shape (n_samples,)
    C : float
        The bound of a coefficient is C times the weight of its sample.
    folds : float64 array of shape (n_folds, n_samples), optional
        Held-out weight of each sample in each fold, as :func:`deal_folds` returns it. Without it no sigmoid is
        fitted.
    max_steps : int, optional
        Steps of one solution; by default a hundred per sample, and at least 100,000.
    tolerance : float
    n_threads : int
    """
    n_samples = len(weights)
    return TrainedColumns(
        *_core.train_svms(
            gram,
            signs,
            weights,
            C,
            np.empty((0, n_samples)) if folds is None else folds,
            100 * max(n_samples, 1000) if max_steps is None else max_steps,
            tolerance,
            _count_threads(n_threads, n_samples),
        )
    )


def train_linear_columns(
    X: Any,
    rows: Indices,
    signs: Floats,
    weights: Floats,
    C: float,
    *,
    folds: Floats | None = None,
    max_passes: int = MOST_PASSES,
    tolerance: float = TOLERANCE,
    n_threads: int = 1,
) -> TrainedColumns:
    """Train one linear SVM per label on the features themselves, by dual coordinate descent.

    The problem is that of :func:`train_columns`: the hinge loss, and an intercept that is not penalized; see
    ``cpp/svm/linear.hpp``. liblinear penalizes the intercept. With the costs of texts, C divided by thousands of
    features, its intercept stays near zero; scaled up, it does not converge on Nystroem features.

    Parameters
    ----------
    X : float array or sparse CSR array of shape (n_samples, n_features)
    rows : int array of shape (n_rows,)
        Indices of the samples to train on.
    signs, weights, C, folds, tolerance, n_threads
        As in :func:`train_columns`.
    max_passes : int
        Steps of one solution, in passes over all samples.

    Returns
    -------
    TrainedColumns
        The coefficients are weights of the features.

    Examples
    --------
    >>> X, signs = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([[-1.0, -1.0, 1.0, 1.0]])
    >>> trained = train_linear_columns(X, np.arange(4), signs, np.ones(4), 10.0)
    >>> trained.coefficients.round(2), trained.intercepts.round(2)
    (array([[1.]]), array([-2.]))
    """
    settings = (
        rows.astype(np.int64, copy=False),
        2.0 * _measure_samples(X, "rbf")[rows].astype(np.float64, copy=False),
        signs,
        weights,
        C,
        np.empty((0, len(rows))) if folds is None else folds,
        max_passes,
        tolerance,
        _count_threads(n_threads, len(rows)),
    )
    if sparse.issparse(X):
        values = X.data.astype(np.float64, copy=False)
        return TrainedColumns(*_core.train_sparse_linear_svms(values, X.indices, X.indptr, X.shape[1], *settings))
    return TrainedColumns(*_core.train_linear_svms(X, *settings))


def _count_threads(n_threads: int, n_samples: int) -> int:
    """Return the number of threads that are worth their start."""
    return n_threads if n_samples >= SAMPLES_FOR_THREADS else 1


def deal_folds(counts: Indices, n_folds: int, seed: int) -> Floats:
    """Deal drawn copies at random to folds whose sizes differ by at most one.

    Parameters
    ----------
    counts : int array of shape (n_samples,)
        Number of copies of each sample.
    n_folds : int
    seed : int

    Returns
    -------
    float64 array of shape (n_folds, n_samples)
        Number of copies of each sample in each fold.

    Examples
    --------
    >>> folds = deal_folds(np.array([3, 0, 2, 1]), 2, seed=0)
    >>> folds.sum(axis=0)
    array([3., 0., 2., 1.])
    >>> folds.sum(axis=1)
    array([3., 3.])
    """
    n_samples = len(counts)
    copies = np.random.default_rng(seed).permutation(np.repeat(np.arange(n_samples), counts))
    fold = np.arange(len(copies)) * n_folds // max(len(copies), 1)
    return np.bincount(fold * n_samples + copies, minlength=n_folds * n_samples).reshape(n_folds, -1).astype(np.float64)
