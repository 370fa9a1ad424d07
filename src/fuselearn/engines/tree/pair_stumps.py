"""The best split of a table whose weights belong to (sample, label) pairs, as boosting for many labels needs it.

A table of n samples with L labels is never written out as n times L rows: a cut has a positive and a negative weight
per label on either side, and these are summed up along a sorted column.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fuselearn import _core
from fuselearn._core import PairTable, SparseTable, Stump, Table, Tree, left_samples

__all__ = ["PairTable", "Stump", "find_stump", "left_samples", "make_pair_table", "make_tree"]


def make_pair_table(table: Table | SparseTable) -> PairTable:
    """Prepare a coded table for any number of stumps."""
    return PairTable(table)


def find_stump(
    table: PairTable,
    positive: npt.NDArray[np.float64],
    negative: npt.NDArray[np.float64],
    features: range | None = None,
    n_threads: int = 1,
) -> Stump:
    """Find the split with the smallest sum over sides and labels of sqrt(positive weight * negative weight).

    Parameters
    ----------
    table : PairTable
    positive, negative : arrays of shape (n_samples, n_labels)
        The weight of each pair, in the one if the sample has the label and in the other if not.
    features : range, optional
        Features to look at, by default all; of equally good ones the first is taken, and in it the first cut.
    n_threads : int
        Threads that share the features of large data. The split does not depend on it.
    """
    features = range(table.n_columns) if features is None else features
    return _core.find_stump(table, positive, negative, features.start, features.stop, n_threads)


def make_tree(table: PairTable, stump: Stump, votes: npt.NDArray[np.float64]) -> Tree:
    """Write a stump as a tree whose leaves hold the two sides' votes, the left ones first."""
    return _core.make_stump_tree(table, stump, votes)
