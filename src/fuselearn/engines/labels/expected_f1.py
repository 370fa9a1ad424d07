"""The number of most probable labels with the largest expected F1, by recursions over the labels."""

import numpy as np

from fuselearn._kernels import kernel


@kernel
def best_sizes(ordered, empty):  # type: ignore[no-untyped-def]
    """Return the best number of labels for each row of falling probabilities."""
    sizes = np.empty(len(ordered), dtype=np.int64)
    for row in range(len(ordered)):
        n_possible = np.count_nonzero(ordered[row])  # the others come last and change nothing
        sizes[row] = _best_size(ordered[row, :n_possible], empty)
    return sizes


@kernel
def _best_size(p, empty):  # type: ignore[no-untyped-def]
    largest = _largest_candidate(p)
    # chances[k, i] = P(T_k = i)
    chances = np.zeros((largest + 1, largest + 1))
    chances[0, 0] = 1.0
    for k in range(1, largest + 1):
        chances[k, 0] = (1.0 - p[k - 1]) * chances[k - 1, 0]
        for i in range(1, k + 1):
            chances[k, i] = p[k - 1] * chances[k - 1, i - 1] + (1.0 - p[k - 1]) * chances[k - 1, i]

    # inverses[a] = s_k(a), for k from the last label down; each step knows one a less.
    n_inverses = len(p) + largest + 1
    inverses = np.empty(n_inverses)
    inverses[0] = 0.0  # never used: sizes start at 1
    for a in range(1, n_inverses):
        inverses[a] = 1.0 / a
    expected = np.empty(largest + 1)
    for k in range(len(p), 0, -1):
        if k <= largest:
            expected[k] = 0.0
            for i in range(1, k + 1):
                expected[k] += 2.0 * i * chances[k, i] * inverses[k + i]
        n_inverses -= 1
        for a in range(1, n_inverses):
            inverses[a] = p[k - 1] * inverses[a + 1] + (1.0 - p[k - 1]) * inverses[a]
    expected[0] = empty * np.prod(1.0 - p)
    return expected.argmax()


@kernel
def _largest_candidate(p):  # type: ignore[no-untyped-def]
    """Return the last size whose upper bound reaches the best lower bound."""
    total = p.sum()
    best_lower, running = 0.0, 0.0
    for k in range(1, len(p) + 1):
        running += p[k - 1]
        best_lower = max(best_lower, 2.0 * running / (k + 1.0 + total))
    largest, running = 0, 0.0
    for k in range(1, len(p) + 1):
        running += p[k - 1]
        if 2.0 * running / (k + running) >= best_lower * (1.0 - 1e-12):
            largest = k
    return largest
