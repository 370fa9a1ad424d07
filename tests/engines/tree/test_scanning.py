"""The best cut in every vector lane, against a search with exact fractions."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn._kernels import kernel
from fuselearn.engines.tree.scanning import CLASS_SHIFT, CODE_SHIFT, COUNT_SHIFT, LANES, find_cuts


@kernel
def find(entries, start, end, totals, squares, weight, min_leaf, best, best_below, scores, belows, places):
    find_cuts(entries, start, end, totals, squares, weight, min_leaf, best, best_below, scores, belows, places)


def find_by_lanes(codes, classes, counts, n_classes, min_leaf, best, start, end):
    """Lay out sorted columns as the scan takes them, and give each lane's score and place."""
    memory = np.zeros((len(codes) + 2) * LANES, dtype=np.uint32)
    entries = memory[-memory.ctypes.data // 4 % LANES :][: (len(codes) + 1) * LANES].reshape(-1, LANES)
    entries[:-1] = codes << CODE_SHIFT | classes << CLASS_SHIFT | counts << COUNT_SHIFT
    of_node = [counts[start:end, 0][classes[start:end, 0] == j].sum() for j in range(n_classes + n_classes % 2)]
    totals = np.array([first + (second << 16) for first, second in zip(of_node[::2], of_node[1::2], strict=True)])
    scores, belows, places = np.empty(LANES), np.empty(LANES), np.empty(LANES, dtype=np.int32)
    find(
        entries, start, end, totals.astype(np.int32), sum(int(t) ** 2 for t in of_node), int(sum(of_node)), min_leaf,
        float(best), 1.0, scores, belows, places,
    )  # fmt: skip
    return [
        Fraction(int(score), int(below)) if place >= 0 else None
        for score, below, place in zip(scores, belows, places, strict=True)
    ], places


def best_cut(codes, classes, counts, n_classes, min_leaf, best, start, end):
    """Try all cuts of one column."""
    found, where = None, -1
    for k in range(start, end - 1):
        sides = [range(start, k + 1), range(k + 1, end)]
        sums = [[sum(int(counts[i]) for i in side if classes[i] == j) for j in range(n_classes)] for side in sides]
        if codes[k] == codes[k + 1] or min(map(sum, sums)) < min_leaf:
            continue
        score = sum(Fraction(sum(s * s for s in side), sum(side)) for side in sums)
        if score > (best if found is None else found):
            found, where = score, k
    return found, where


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_entries=st.integers(2, 40),
    n_classes=st.integers(1, 7),
    min_leaf=st.integers(1, 5),
    best=st.sampled_from([0, 20]),
)
def test_every_lane_finds_its_first_best_cut(seed, n_entries, n_classes, min_leaf, best):
    rng = np.random.default_rng(seed)
    start, end = sorted(rng.choice(n_entries + 1, 2, replace=False).tolist())
    codes = np.sort(rng.integers(8, size=(n_entries, LANES)), axis=0).astype(np.uint32)
    rows = np.concatenate(
        [
            rng.permuted(np.tile(np.arange(a, b), (LANES, 1)), axis=1).T
            for a, b in ((0, start), (start, end), (end, n_entries))
        ]
    )
    classes = rng.integers(n_classes, size=n_entries).astype(np.uint32)[rows]
    counts = rng.integers(1, 4, size=n_entries).astype(np.uint32)[rows]
    scores, places = find_by_lanes(codes, classes, counts, n_classes, min_leaf, best, start, end)
    for lane in range(LANES):
        expected = best_cut(codes[:, lane], classes[:, lane], counts[:, lane], n_classes, min_leaf, best, start, end)
        assert (scores[lane], places[lane]) == expected


def test_a_cut_by_hand():
    """Classes 0 0 | 1 1 in one lane, 0 1 | 0 1 in another: 2 + 2 is the best score there is, 1 + 1 the worst."""
    codes = np.zeros((4, LANES), dtype=np.uint32)
    codes[2:, :2] = 1
    classes = np.zeros((4, LANES), dtype=np.uint32)
    classes[2:, 0] = classes[1, 1] = classes[3, 1] = 1
    counts = np.ones((4, LANES), dtype=np.uint32)
    scores, places = find_by_lanes(codes, classes, counts, 2, 1, 0, 0, 4)
    assert scores[:2] == [4, 2]
    np.testing.assert_array_equal(places, [1, 1] + [-1] * (LANES - 2))
