"""Draw samples of rows, as counts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import kernel
from fuselearn.engines.tree.random import exponential, mix

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
    return draw(np.uint64(seed), weights, n_draws)


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
    return draw_covering(seed, weights, n_draws, classes, n_classes, max_tries)


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
    return _draw_poisson(np.uint64(seed), n_tries, rates, first)


def draw_covering_poisson_counts(
    seed: int, rates: npt.NDArray[np.float64], classes: npt.NDArray[np.int32], n_classes: int
) -> npt.NDArray[np.int32]:
    """Draw Poisson counts until every class is among the rows drawn, or ``MOST_TRIES`` draws have been made."""
    for n_tries in range(MOST_TRIES):
        counts = draw_poisson_counts(seed, rates, n_tries=n_tries)
        if len(np.unique(classes[counts > 0])) == n_classes:
            break
    return counts


@kernel
def _draw_poisson(seed, n_tries, rates, first):  # type: ignore[no-untyped-def]
    """Count the arrivals within a time of ``rates[i]`` if the times between arrivals are exponential with mean 1."""
    key = mix(seed, n_tries)
    counts = np.zeros(len(rates), dtype=np.int32)
    for i in range(len(rates)):
        row_key = mix(key, first + i)
        time = exponential(mix(row_key, 0))
        while time < rates[i]:
            counts[i] += 1
            time += exponential(mix(row_key, counts[i]))
    return counts


@kernel
def draw(key, weights, n_draws):  # type: ignore[no-untyped-def]
    """Do the work of ``draw_counts``, for callers that are kernels themselves."""
    # In two loops, since only the second one can be made of vector instructions.
    keys = np.empty(n_draws + 1, dtype=np.uint64)
    for k in range(n_draws + 1):
        keys[k] = mix(key, k)
    spacings = np.empty(n_draws + 1)
    for k in range(n_draws + 1):
        spacings[k] = exponential(keys[k])
    total_spacing = 0.0
    for k in range(n_draws + 1):
        total_spacing += spacings[k]
    total_weight = 0.0
    last = 0
    for i in range(len(weights)):
        total_weight += weights[i]
        if weights[i] > 0:
            last = i

    counts = np.zeros(len(weights), dtype=np.int32)
    scale = total_weight / total_spacing
    row = 0
    reached = weights[0]
    position = 0.0
    for k in range(n_draws):
        position += spacings[k] * scale
        # Rounding may carry the last positions past the sum of the weights.
        while row < last and (reached < position or weights[row] == 0):
            row += 1
            reached += weights[row]
        counts[row] += 1
    return counts


@kernel
def draw_covering(seed, weights, n_draws, classes, n_classes, max_tries):  # type: ignore[no-untyped-def]
    """Do the work of ``draw_covering_counts``, for callers that are kernels themselves."""
    seen = np.empty(n_classes, dtype=np.bool_)
    counts = np.empty(0, dtype=np.int32)
    for attempt in range(max_tries):
        counts = draw(mix(np.uint64(seed), attempt), weights, n_draws)
        for j in range(n_classes):
            seen[j] = False
        n_seen = 0
        for i in range(len(counts)):
            if counts[i] > 0 and not seen[classes[i]]:
                seen[classes[i]] = True
                n_seen += 1
        if n_seen == n_classes:
            break
    return counts
