"""Medians and trimmed means over the members of an ensemble, for many cells at once.

A selection network compares fixed pairs of members, whatever the values are, so one comparison serves a block of cells
and needs no branch. Plain medians and trimmed means are both *means of the middle*: the median cuts off all but the one
or two values in the middle.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from fuselearn.engines.combining import average_middle

CELLS = 6400  # sorted at once, which keeps temporary arrays small
ROUNDING = 1e-12


def mean_of_middle(values: npt.NDArray[np.floating], n_cut: int) -> npt.NDArray[np.float64]:
    """Average what is left of each cell's values without its ``n_cut`` smallest and largest ones.

    Parameters
    ----------
    values : float array of shape (n_members, n_cells)
    n_cut : int
        From 0, the mean, to (n_members - 1) // 2, the median.

    Returns
    -------
    array of shape (n_cells,)
        NaN where a cell has a NaN.

    Examples
    --------
    >>> values = np.array([[1.0, 5.0], [2.0, 5.0], [9.0, 7.0], [3.0, 0.0]])
    >>> mean_of_middle(values, 1)
    array([2.5, 5. ])
    """
    means, n_gaps = average_middle(values, _selection_network(len(values), n_cut), n_cut)
    if n_gaps:
        means[np.isnan(values).any(axis=0)] = np.nan
    return means


@lru_cache(maxsize=32)
def _selection_network(n_values: int, n_cut: int) -> npt.NDArray[np.int64]:
    """List the pairs to compare so that the ranks from ``n_cut`` to ``n_values - 1 - n_cut`` end in their places.

    These are the pairs of the pairwise sorting network (Parberry, 1992), which is known for needing few of them for a
    selection, less those on which no wanted rank depends.
    """
    wanted = set(range(n_cut, n_values - n_cut))
    pairs: list[tuple[int, int]] = []
    for low, high in reversed(_sorting_network(n_values)):
        if low in wanted or high in wanted:
            pairs.append((low, high))
            wanted |= {low, high}
    return np.array(pairs[::-1], dtype=np.int64).reshape(-1, 2)


def _sorting_network(n_values: int) -> list[tuple[int, int]]:
    pairs = []
    span = 1
    while span < n_values:
        pairs += [(high - span, high) for high in _alternate(span, span, n_values)]
        span *= 2
    span, reach = span // 4, 1
    while span > 0:
        step = reach
        while step > 0:
            pairs += [(high - step * span, high) for high in _alternate((step + 1) * span, span, n_values)]
            step //= 2
        span, reach = span // 2, 2 * reach + 1
    return pairs


def _alternate(start: int, span: int, stop: int) -> list[int]:
    """Take ``span`` numbers, leave out as many, and so on."""
    return [number for number in range(start, stop) if (number - start) // span % 2 == 0]


def weighted_median(values: npt.NDArray[np.floating], weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Find the value at which the sorted members of a cell reach half of the weight.

    If the weight up to a value is exactly half (but for rounding), it is the mean of that value and the next one, so
    equal weights give the plain median.

    Parameters
    ----------
    values : float array of shape (n_members, n_cells)
    weights : array of shape (n_members,)
        Not negative, and not all zero. Members of weight zero do not count.

    Returns
    -------
    array of shape (n_cells,)

    Examples
    --------
    >>> weighted_median(np.array([[1.0], [2.0], [9.0]]), np.array([1.0, 1.0, 3.0]))
    array([9.])
    >>> weighted_median(np.array([[1.0], [2.0], [9.0]]), np.array([1.0, 1.0, 2.0]))
    array([5.5])
    """
    medians = np.empty(values.shape[1])
    for start in range(0, values.shape[1], CELLS):
        part = values[:, start : start + CELLS]
        order = part.argsort(axis=0, kind="stable")
        reached = weights[order].cumsum(axis=0)
        half = reached[-1] / 2
        lower = (reached >= half * (1 - ROUNDING)).argmax(axis=0)
        upper = (reached > half * (1 + ROUNDING)).argmax(axis=0)
        columns = np.arange(part.shape[1])
        middle = [part[order[rank, columns], columns].astype(np.float64) for rank in (lower, upper)]
        medians[start : start + CELLS] = (middle[0] + middle[1]) / 2
    return medians
