"""What combines the answers of many members, for blocks of samples at once.

``np.median`` returns the same medians in 4 to 12 times the time, ``scipy.stats.rankdata`` the same ranks in 5 to 50
times the time: ``python -m benchmarks combining`` compares them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn import _core

Floats = npt.NDArray[np.floating]
Doubles = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


def average_middle(values: Floats, pairs: Indices, n_cut: int) -> tuple[Doubles, int]:
    """Average the members' values of each cell between the ``n_cut`` smallest and largest ones; also count NaN.

    Parameters
    ----------
    values : float32 or float64 array of shape (n_members, n_cells)
    pairs : array of shape (n_pairs, 2)
        Members to be brought in order, one pair after the other: a selection network.
    n_cut : int
        From 0 to (n_members - 1) // 2.

    Examples
    --------
    >>> average_middle(np.array([[1.0, 5.0], [9.0, 7.0]]), np.array([[0, 1]]), 0)
    (array([5., 6.]), 0)
    """
    average: Any = _core.average_middle_f4 if values.dtype == np.float32 else _core.average_middle_f8
    return average(values, pairs, n_cut)


def sum_leads(scores: Floats, weights: Doubles) -> tuple[Doubles, int]:
    """Sum over the members, for each class, how many classes they score below it less how many above it.

    Parameters
    ----------
    scores : float32 or float64 array of shape (n_members, n_samples, n_classes)
    weights : array of shape (n_members,)
        Whole numbers make whole sums.

    Returns
    -------
    sums : array of shape (n_samples, n_classes)
    n_gaps : int
        The number of scores that are NaN.

    Examples
    --------
    >>> sum_leads(np.array([[[0.5, 0.3, 0.2]], [[0.4, 0.5, 0.1]]]), np.array([2.0, 1.0]))
    (array([[ 4.,  2., -6.]]), 0)
    """
    sum_up: Any = _core.sum_leads_f4 if scores.dtype == np.float32 else _core.sum_leads_f8
    return sum_up(scores, weights)


def average_logarithms(values: Doubles, total: Doubles, size: float, members: Indices) -> Doubles:
    """Average log((total + value) / size) over cells, for some of the members, by logarithms of products.

    Parameters
    ----------
    values : array of shape (n_members, n_cells)
    total : array of shape (n_cells,)
    size : float
    members : array of shape (n_candidates,)

    Returns
    -------
    array of shape (n_candidates,)

    Examples
    --------
    >>> average_logarithms(np.array([[1.0, 1.0], [0.5, 1.0]]), np.array([1.0, 1.0]), 2.0, np.array([0])).tolist()
    [0.0]
    """
    return _core.average_logarithms(values, total, size, members)


def tally_classes(
    values: Doubles, members: Indices, total: Doubles, truth: Indices, weights: Doubles, samples: Indices
) -> Doubles:
    """Count true against predicted classes in some samples, for the sum with each candidate.

    Parameters
    ----------
    values : array of shape (n_members, n_samples, n_classes)
    members : array of shape (n_candidates,)
    total : array of shape (n_samples, n_classes)
    truth : array of shape (n_samples,)
    weights : array of shape (n_samples,)
        What each sample counts.
    samples : int array
        The samples to count.

    Returns
    -------
    array of shape (n_candidates, n_classes, n_classes)

    Examples
    --------
    >>> values = np.array([[[0.2, 0.8], [0.6, 0.4]]])
    >>> tally_classes(values, np.array([0]), np.zeros((2, 2)), np.array([1, 1]), np.ones(2), np.array([0, 1]))
    array([[[0., 0.],
            [1., 1.]]])
    """
    return _core.tally_classes(values, members, total, truth, weights, samples)
