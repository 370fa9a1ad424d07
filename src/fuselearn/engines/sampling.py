"""Draw samples, as counts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fuselearn import _core

MOST_TRIES = 100


def draw_counts(seed: int, weights: npt.NDArray[np.float64], n_draws: int) -> npt.NDArray[np.int32]:
    """Draw rows with replacement, with chances in proportion to their weights.

    Sorted uniform numbers are made from exponential spacings and merged with the running sum of the weights, so the
    draw takes time in proportion to the number of rows and of draws.

    Parameters
    ----------
    seed : int
        From 0 to 2**63 - 1.
    weights : array of shape (n_rows,)
        At least one is positive, none negative; they need not sum to one.
    n_draws : int

    Returns
    -------
    int32 array of shape (n_rows,)
        How often each row was drawn; the counts sum to ``n_draws``.

    Examples
    --------
    >>> draw_counts(7, np.array([0.0, 1.0, 3.0]), 8)
    array([0, 2, 6], dtype=int32)
    """
    return _core.draw_counts(seed, weights, n_draws)


def draw_covering_counts(
    seed: int,
    weights: npt.NDArray[np.float64],
    n_draws: int,
    classes: npt.NDArray[np.int32],
    n_classes: int,
    max_tries: int = MOST_TRIES,
) -> npt.NDArray[np.int32]:
    """Draw rows until every class is among them, or ``max_tries`` draws have been made.

    Examples
    --------
    >>> draw_covering_counts(7, np.ones(4), 4, np.array([0, 0, 0, 1], dtype=np.int32), 2)
    array([0, 1, 2, 1], dtype=int32)
    """
    return _core.draw_covering_counts(seed, weights, n_draws, classes, n_classes, max_tries)


def draw_poisson_counts(
    seed: int, rates: npt.NDArray[np.float64], first: int = 0, n_tries: int = 0
) -> npt.NDArray[np.int32]:
    """Draw how often each row is there, independently of all other rows.

    The count of a row has a Poisson distribution. It depends on the seed, the row's number and its rate alone, so rows
    can be drawn for in parts.

    Parameters
    ----------
    seed : int
        From 0 to 2**63 - 1.
    rates : array of shape (n_rows,)
        The expected counts.
    first : int
        Number of the first of the rows.
    n_tries : int
        How many draws with this seed have been rejected before.

    Returns
    -------
    int32 array of shape (n_rows,)

    Examples
    --------
    >>> draw_poisson_counts(7, np.array([0.0, 1.0, 3.0]))
    array([0, 4, 8], dtype=int32)
    >>> draw_poisson_counts(7, np.array([1.0, 3.0]), first=1)
    array([4, 8], dtype=int32)
    """
    return _core.draw_poisson_counts(seed, rates, first, n_tries)


def draw_covering_poisson_counts(
    seed: int, rates: npt.NDArray[np.float64], classes: npt.NDArray[np.int32], n_classes: int
) -> npt.NDArray[np.int32]:
    """Draw Poisson counts until every class is among the rows drawn, or ``MOST_TRIES`` draws have been made."""
    return _core.draw_covering_poisson_counts(seed, rates, classes, n_classes, MOST_TRIES)


def draw_uniforms(seed: int, first: int, n_numbers: int) -> npt.NDArray[np.float64]:
    """Return the random numbers in [0, 1) of samples from ``first`` on, each of which depends on its index alone.

    Examples
    --------
    >>> draw_uniforms(7, 1, 2).tolist() == draw_uniforms(7, 0, 3).tolist()[1:]
    True
    """
    return _core.draw_uniforms(seed, first, n_numbers)
