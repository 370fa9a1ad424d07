"""Growing on histograms and in branches, at the edges of its buffers."""

import numpy as np
import pytest

from fuselearn.engines.tree import TreeSettings, apply_codes, growing


@pytest.mark.parametrize("n_copies", [1, 1_000])
def test_copies_do_not_bound_the_number_of_branches(grow, monkeypatch, n_copies):
    """400 samples in 1,000 copies each hold 400 leaves of 1,000 copies, not the one that 400 // 1,000 allows."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 100, (400, 2)) / 4, rng.integers(0, 3, 400)
    limits = TreeSettings(min_split=2, min_leaf=n_copies, max_depth=50, complexity=-1.0)
    columns, expected = grow(X, y, limits, np.full(400, n_copies))
    for name, value in (("PRESORTED_ROWS", 0), ("BRANCH_ROWS", 1), ("BRANCHES", 100)):
        monkeypatch.setattr(growing, name, value)
    for name, value in (("SMALL_NODE", 1), ("ROWS_PER_CODE", 0.0)):
        monkeypatch.setattr(growing, name, value)
    _, tree = grow(X, y, limits, np.full(400, n_copies))
    assert tree.n_leaves == expected.n_leaves > 100
    shares, expected_shares = (one.shares()[apply_codes(one, columns)] for one in (tree, expected))
    np.testing.assert_array_equal(shares, expected_shares)
