"""Kernel values between rows, computed once and shared by every support vector machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_BLOCK_BYTES = 2**26
_TILE = 128


def compute_gram(
    X: Any, kernel: str, factor: float, centre: npt.NDArray[np.float64] | None = None
) -> npt.NDArray[np.float32]:
    """Compute the kernel values between all pairs of rows.

    Parameters
    ----------
    X : float64 array or sparse matrix of shape (n_rows, n_columns)
    kernel : {"linear", "rbf"}
        ``factor * x.z``, or ``exp(-factor * |x - z|^2)``.
    factor : float
    centre : array of shape (n_columns,), optional
        What to subtract from every row. A sparse matrix stays sparse.

    Returns
    -------
    float32 array of shape (n_rows, n_rows)
        Exactly symmetric.

    Examples
    --------
    >>> compute_gram(np.array([[1.0, 2.0], [0.0, 1.0]]), "linear", 0.5)
    array([[2.5, 1. ],
           [1. , 0.5]], dtype=float32)
    """
    n_rows = X.shape[0]
    gram = np.empty((n_rows, n_rows), dtype=np.float32)
    shifts = measure_rows(X, kernel, centre)
    step = _block_rows(n_rows)
    for start in range(0, n_rows, step):
        part, others = slice(start, min(start + step, n_rows)), slice(start, n_rows)
        _compute(X[part], X[others], shifts[part], shifts[others], kernel, factor, gram[part, others])
    _mirror(gram)
    if kernel == "rbf":
        np.fill_diagonal(gram, 1.0)
    return gram


def compute_kernel(
    X: Any, Z: Any, kernel: str, factor: float, centre: npt.NDArray[np.float64] | None = None
) -> npt.NDArray[np.float32]:
    """Compute the kernel values between the rows of ``X`` and those of ``Z``, as :func:`compute_gram` does.

    Examples
    --------
    >>> compute_kernel(np.array([[0.0], [1.0]]), np.array([[1.0]]), "rbf", np.log(2))
    array([[0.5],
           [1. ]], dtype=float32)
    """
    values = np.empty((X.shape[0], Z.shape[0]), dtype=np.float32)
    x_shifts, z_shifts = (measure_rows(rows, kernel, centre) for rows in (X, Z))
    step = _block_rows(Z.shape[0])
    for start in range(0, X.shape[0], step):
        part = slice(start, start + step)
        _compute(X[part], Z, x_shifts[part], z_shifts, kernel, factor, values[part])
    return values


def _compute(
    X: Any,
    Z: Any,
    x_shifts: npt.NDArray[np.float64],
    z_shifts: npt.NDArray[np.float64],
    kernel: str,
    factor: float,
    values: npt.NDArray[np.float32],
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


def _mirror(gram: npt.NDArray[np.float32]) -> None:
    """Copy the values above the diagonal of a square matrix below it, tile by tile, as tiles fit into the cache.

    Near the diagonal, where there are two values, both become the larger one.
    """
    n_rows = len(gram)
    for start in range(0, n_rows, _TILE):
        part = slice(start, start + _TILE)
        square = gram[part, part]
        square[:] = np.maximum(square, square.T)
        for other in range(start + _TILE, n_rows, _TILE):
            gram[other : other + _TILE, part] = gram[part, other : other + _TILE].T


def measure_rows(X: Any, kernel: str, centre: npt.NDArray[np.float64] | None = None) -> npt.NDArray[np.float64]:
    """Return what each row takes off its products: its share in the centring, or half of its squared length.

    Products of centred rows are x.z - (x.c - c.c / 2) - (z.c - c.c / 2), and x.z - x.x / 2 - z.z / 2 = -|x - z|^2 / 2.
    """
    if kernel == "linear":
        return np.zeros(X.shape[0]) if centre is None else X @ centre - centre @ centre / 2
    if hasattr(X, "multiply"):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel() / 2
    return np.einsum("ij,ij->i", X, X) / 2


def _block_rows(n_columns: int) -> int:
    # Whole tiles, as those on the diagonal are computed twice.
    return max(1, _BLOCK_BYTES // (8 * max(n_columns, 1) * _TILE)) * _TILE
