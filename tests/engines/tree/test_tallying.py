"""Counts of samples in nodes, whichever way they are counted."""

import numpy as np
import pytest

from fuselearn.engines.tree.tallying import Drawn, count_bins, merge_bins

N_CODES = np.array([400, 3, 255], dtype=np.int32)
FEATURES = np.array([3, 0, 2])
RNG = np.random.default_rng(0)
N_SAMPLES = 1000
CODES = np.column_stack([RNG.integers(0, n + 1, N_SAMPLES) for n in (3, 9, 255, 400)]).astype(np.uint16)
TARGET = RNG.integers(0, 3, N_SAMPLES).astype(np.int32)


def draw(sizes):
    """Put samples into nodes of such sizes."""
    samples = RNG.permutation(N_SAMPLES)[: sum(sizes)].astype(np.uint32)
    return Drawn(samples, RNG.integers(1, 4, len(samples)).astype(np.int32), np.cumsum(sizes))


def count_plainly(drawn, node):
    """Count the samples of a node in arrays that have room for all bins."""
    part = slice(0 if node == 0 else drawn.ends[node - 1], drawn.ends[node])
    samples, copies = drawn.samples[part], drawn.copies[part]
    starts = np.cumsum([0, *(N_CODES + 1)])
    counted, squares = np.zeros((starts[-1], 3), dtype=int), np.zeros(starts[-1], dtype=int)
    for start, f in zip(starts, FEATURES, strict=False):
        np.add.at(counted, (start + CODES[samples, f], TARGET[samples]), copies)
        np.add.at(squares, start + CODES[samples, f], copies**2)
    return counted, squares


@pytest.mark.parametrize("squared", [True, False])
def test_nodes_of_all_sizes(squared):
    drawn = draw([5, 0, 40, 300, 1])  # sorted while found, none, sorted afterwards, all bins looked at
    nodes = np.array([0, 1, 2, 3, 4])
    bins = count_bins(drawn, CODES, FEATURES, N_CODES, TARGET, 3, nodes, squared)
    start = 0
    for node, end in zip(nodes, bins.ends, strict=True):
        counted, squares = count_plainly(drawn, node)
        numbers = bins.numbers[start:end]
        np.testing.assert_array_equal(numbers, np.flatnonzero(counted.any(axis=1)))
        np.testing.assert_array_equal(bins.counted[start:end], counted[numbers])
        if squared:
            np.testing.assert_array_equal(bins.squares[start:end], squares[numbers])
        start = end
    assert len(bins.squares) == (len(bins.numbers) if squared else 0)


def test_some_nodes_only():
    drawn = draw([5, 20, 40])
    whole = count_bins(drawn, CODES, FEATURES, N_CODES, TARGET, 3, np.array([0, 1, 2]), False)
    last = count_bins(drawn, CODES, FEATURES, N_CODES, TARGET, 3, np.array([2]), False)
    np.testing.assert_array_equal(last.counted, whole.counted[whole.ends[1] :])


@pytest.mark.parametrize("sizes", [(4, 7), (300, 200), (0, 0)])
def test_counts_of_several_places_are_added(sizes):
    places = [draw(sizes) for _ in range(3)]
    nodes = np.arange(len(sizes))
    merged = merge_bins([count_bins(own, CODES, FEATURES, N_CODES, TARGET, 3, nodes, True) for own in places])
    start = 0
    for node, end in zip(nodes, merged.ends, strict=True):
        counted, squares = (sum(parts) for parts in zip(*(count_plainly(own, node) for own in places), strict=True))
        numbers = merged.numbers[start:end]
        np.testing.assert_array_equal(numbers, np.flatnonzero(counted.any(axis=1)))
        np.testing.assert_array_equal(merged.counted[start:end], counted[numbers])
        np.testing.assert_array_equal(merged.squares[start:end], squares[numbers])
        start = end
