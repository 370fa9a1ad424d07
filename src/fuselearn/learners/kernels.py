"""Kernel values between samples, optionally with labels appended as features."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn import _core

# Bytes of products that are computed at once, and the side of a square tile that fits into the cache.
BLOCK_BYTES = 2**23
TILE = 128

Floats = npt.NDArray[np.float64]
KernelValues = npt.NDArray[np.float32]
Indices = npt.NDArray[np.integer]


def compute_gram(X: Any, kernel: str, factor: float, center: Floats | None = None) -> KernelValues:
    """Compute the kernel values between all pairs of samples.

    Parameters
    ----------
    X : float64 array or sparse matrix of shape (n_samples, n_features)
    kernel : {"linear", "rbf"}
        ``factor * x.z``, or ``exp(-factor * |x - z|^2)``.
    factor : float
    center : array of shape (n_features,), optional
        Subtracted from every sample; a sparse matrix stays sparse.

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
    shifts = measure_samples(X, kernel, center)
    step = _samples_at_once(n_samples)
    for start in range(0, n_samples, step):
        part, others = slice(start, min(start + step, n_samples)), slice(start, n_samples)
        _compute(X[part], X[others], shifts[part], shifts[others], kernel, factor, gram[part, others])
    _mirror(gram)
    if kernel == "rbf":
        np.fill_diagonal(gram, 1.0)
    return gram


def compute_kernel(X: Any, Z: Any, kernel: str, factor: float, center: Floats | None = None) -> KernelValues:
    """Compute the kernel values between the samples of ``X`` and of ``Z``, as :func:`compute_gram` does.

    Examples
    --------
    >>> compute_kernel(np.array([[0.0], [1.0]]), np.array([[1.0]]), "rbf", np.log(2))
    array([[0.5],
           [1. ]], dtype=float32)
    """
    values = np.empty((X.shape[0], Z.shape[0]), dtype=np.float32)
    x_shifts, z_shifts = (measure_samples(samples, kernel, center) for samples in (X, Z))
    step = _samples_at_once(Z.shape[0])
    for start in range(0, X.shape[0], step):
        part = slice(start, start + step)
        _compute(X[part], Z, x_shifts[part], z_shifts, kernel, factor, values[part])
    return values


def _compute(
    X: Any, Z: Any, x_shifts: Floats, z_shifts: Floats, kernel: str, factor: float, values: KernelValues
) -> None:
    """Write kernel values."""
    # Distances are small differences of large numbers, so they are only converted to float32 at the end.
    products = X @ Z.T
    if hasattr(products, "toarray"):
        products = products.toarray()
    products -= x_shifts[:, None]
    products -= z_shifts
    if kernel == "linear":
        np.multiply(products, factor, out=values, casting="same_kind")
        return
    # The negative half of the squared distance.
    np.minimum(products, 0.0, out=products)
    np.multiply(products, 2.0 * factor, out=values, casting="same_kind")
    np.exp(values, out=values)


def _mirror(gram: KernelValues) -> None:
    """Copy the values above the diagonal of a square matrix to below it, in tiles that fit into the cache.

    In tiles on the diagonal, which have both values, both become the larger one.
    """
    n_samples = len(gram)
    for start in range(0, n_samples, TILE):
        part = slice(start, start + TILE)
        square = gram[part, part]
        square[:] = np.maximum(square, square.T)
        for other in range(start + TILE, n_samples, TILE):
            gram[other : other + TILE, part] = gram[part, other : other + TILE].T


def measure_samples(X: Any, kernel: str, center: Floats | None = None) -> Floats:
    """Return the term of each sample that is subtracted from its products: for centering, or for distances.

    Products of centered samples are x.z - (x.c - c.c / 2) - (z.c - c.c / 2), and the negative half of a squared
    distance is x.z - x.x / 2 - z.z / 2.
    """
    if kernel == "linear":
        return np.zeros(X.shape[0]) if center is None else X @ center - center @ center / 2
    if hasattr(X, "multiply"):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel() / 2
    return np.einsum("ij,ij->i", X, X) / 2


def _samples_at_once(n_others: int) -> int:
    # A multiple of the tile size, as tiles on the diagonal are computed twice.
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
    """Update kernel values for labels that are appended as features.

    These features are binary, so only the number of labels that differ between two samples matters. Linear values
    change by a summand and radial values by a factor that depends on this number; both are looked up in a small table.

    Parameters
    ----------
    values : float32 array of shape (n_rows, n_columns)
    rows, columns : int arrays of shape (n_left,) and (n_right,)
        The rows and columns of ``values`` to use.
    left, right : array of shape (n_left, n_labels) and (n_right, n_labels)
        Labels 0 and 1, which are encoded as -width / 2 and width / 2.
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
    """Pack the binary labels of each sample into 64-bit words.

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
