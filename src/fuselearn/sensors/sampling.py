"""Draw samples of rows, as counts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit


def draw_counts(
    rng: np.random.Generator, weights: npt.NDArray[np.float64], n_draws: int
) -> npt.NDArray[np.int32]:
    """Draw rows with replacement, with chances in proportion to their weights.

    Sorted uniform numbers are made from exponential spacings and merged with the running sum of the weights, so the
    draw takes time in proportion to the number of rows and of draws.

    Returns
    -------
    int32 array of shape (n_rows,)
        How often each row was drawn; the counts sum to ``n_draws``.

    Examples
    --------
    >>> draw_counts(np.random.default_rng(0), np.array([0.0, 1.0, 3.0]), 8)
    array([0, 2, 6], dtype=int32)
    """
    return _merge(rng.standard_exponential(n_draws + 1), weights)


def draw_covering_counts(
    rng: np.random.Generator,
    weights: npt.NDArray[np.float64],
    n_draws: int,
    classes: npt.NDArray[np.int32],
    n_classes: int,
    max_tries: int = 100,
) -> npt.NDArray[np.int32]:
    """Draw rows until every class is among them, or ``max_tries`` draws have been made."""
    for _ in range(max_tries):
        counts = draw_counts(rng, weights, n_draws)
        if _covers(counts, classes, n_classes):
            break
    return counts


@njit(nogil=True, cache=True)
def _merge(spacings, weights):  # type: ignore[no-untyped-def]
    counts = np.zeros(len(weights), dtype=np.int32)
    total_weight = 0.0
    last = 0
    for i in range(len(weights)):
        total_weight += weights[i]
        if weights[i] > 0:
            last = i
    total_spacing = 0.0
    for k in range(len(spacings)):
        total_spacing += spacings[k]
    scale = total_weight / total_spacing
    row = 0
    reached = weights[0]
    position = 0.0
    for k in range(len(spacings) - 1):
        position += spacings[k] * scale
        # Rounding may carry the last positions past the sum of the weights.
        while row < last and (reached < position or weights[row] == 0):
            row += 1
            reached += weights[row]
        counts[row] += 1
    return counts


@njit(nogil=True, cache=True)
def _covers(counts, classes, n_classes):  # type: ignore[no-untyped-def]
    seen = np.zeros(n_classes, dtype=np.bool_)
    n_seen = 0
    for i in range(len(counts)):
        if counts[i] > 0 and not seen[classes[i]]:
            seen[classes[i]] = True
            n_seen += 1
            if n_seen == n_classes:
                return True
    return False
