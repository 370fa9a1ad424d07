"""Compare the tree engine with what the real rpart predicts, row by row.

    python -m benchmarks.rpart_parity ORACLE DATA

ORACLE holds one CSV per dataset with rpart's class probabilities (columns ``tree:training:class``, and ``count`` for
how often each row was drawn), DATA the datasets, with the class last. A row that differs is explained in one of two
ways. It passes a node of our tree at which another split is exactly as good: rpart takes equally good splits in the
order of floating-point noise, the engine in the order of the columns. Or it was not drawn and has a category that no
drawn row of a node on its path has: rpart without surrogates leaves it at that node, the engine sends it on with the
heavier child.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd

from fuselearn._core import ClassTarget, TreeSettings
from fuselearn.learners import TableCoder
from fuselearn.learners.table import code_columns
from fuselearn.learners.trees import grow_tree

TREES = {"unpruned": -1.0, "default": 0.01}


def compare(oracle: Path, data: Path) -> np.ndarray:
    """Print the rows that differ in one dataset, tree by tree; give the totals of what is printed."""
    name = oracle.name.removesuffix(".csv.gz")
    expected = pd.read_csv(oracle)
    table = pd.read_csv(data / oracle.name)
    coder = TableCoder()
    matrix = coder.fit_transform(table.drop(columns="class"))
    classes = sorted(table["class"].astype(str).unique())
    target = np.searchsorted(classes, table["class"].astype(str)).astype(np.int32)
    columns, asked = code_columns(matrix, coder.n_categories_), ClassTarget(target, len(classes))
    totals = np.zeros(5, dtype=int)
    for kind, complexity in TREES.items():
        for training in ("full", "sample"):
            counts = np.ones(len(table)) if training == "full" else expected["count"].to_numpy()
            counts = counts.astype(np.int32)
            tree = grow_tree(columns, asked, counts, TreeSettings(complexity=complexity))
            ours = tree.shares()[tree.apply(columns)]
            theirs = expected[[f"{kind}:{training}:{c}" for c in classes]].to_numpy()
            differs = np.flatnonzero((np.abs(ours - theirs) > 1e-6).any(axis=1))
            tied = tied_nodes(tree, columns, target, counts, len(classes)) if len(differs) else set()
            absent = [row for row in differs if meets_absent_category(tree, columns, counts, row)]
            ties = [row for row in differs if row not in absent and path(tree, columns, row) & tied]
            unexplained = len(differs) - len(absent) - len(ties)
            totals += (len(table), len(differs), len(ties), len(absent), unexplained)
            print(
                f"{name:<14} {kind:<9} {training:<7} {len(differs):>4} of {len(table):>4} rows differ: "
                f"{len(ties)} by ties, {len(absent)} by absent categories, {unexplained} unexplained"
            )
    return totals


def meets_absent_category(tree, columns, counts, row) -> bool:  # type: ignore[no-untyped-def]
    """Tell whether a row passes a category split with a category that no drawn row of that node has."""
    for node in path(tree, columns, row):
        f = tree.nodes[node]["feature"]
        if tree.nodes[node]["is_category"]:
            alike = np.flatnonzero((counts > 0) & (columns.codes[:, f] == columns.codes[row, f]))
            if not any(node in path(tree, columns, other) for other in alike):
                return True
    return False


def path(tree, columns, row) -> set[int]:  # type: ignore[no-untyped-def]
    """List the nodes that a row of the table passes."""
    nodes, node, passed = tree.nodes, 0, set()
    while nodes[node]["feature"] >= 0:
        passed.add(node)
        left = goes_left(tree, node, int(columns.codes[row, nodes[node]["feature"]]))
        node = nodes[node]["left"] + (0 if left else 1)
    return passed


def tied_nodes(tree, columns, target, counts, n_classes) -> set[int]:  # type: ignore[no-untyped-def]
    """List the nodes where another split, by another column or of other rows, is exactly as good."""
    tied = set()
    members = {0: np.flatnonzero(counts)}
    for node in range(len(tree.nodes)):
        if tree.nodes[node]["feature"] < 0:
            continue
        rows = members[node]
        f, left = tree.nodes[node]["feature"], tree.nodes[node]["left"]
        is_left = np.array([goes_left(tree, node, int(c)) for c in columns.codes[rows, f]])
        members[left], members[left + 1] = rows[is_left], rows[~is_left]
        best = _score(rows[is_left], rows[~is_left], target, counts, n_classes)
        for g in range(columns.codes.shape[1]):
            for side in _splits(columns, rows, g):
                other = g != f or not (np.array_equal(side, is_left) or np.array_equal(~side, is_left))
                large_enough = min(counts[rows[side]].sum(), counts[rows[~side]].sum()) >= TreeSettings().min_leaf
                if other and large_enough and _score(rows[side], rows[~side], target, counts, n_classes) == best:
                    tied.add(node)
    return tied


def goes_left(tree, node, code) -> bool:  # type: ignore[no-untyped-def]
    """Tell whether a code goes left at a node."""
    record = tree.nodes[node]
    if record["is_category"]:
        return bool(tree.subsets[record["cut"] + code // 32] >> (code % 32) & 1)
    return code <= record["cut"]


def _splits(columns, rows, g):  # type: ignore[no-untyped-def]
    codes = columns.codes[rows, g].astype(int)
    present = np.unique(codes)
    if columns.is_category is None or not columns.is_category[g]:
        for code in present[:-1]:
            yield codes <= code
    else:
        for subset in range(1, 1 << (len(present) - 1)):
            yield np.isin(codes, present[[subset >> k & 1 == 1 for k in range(len(present))]])


def _score(left, right, target, counts, n_classes) -> Fraction:  # type: ignore[no-untyped-def]
    score = Fraction(0)
    for rows in (left, right):
        sums = np.bincount(target[rows], weights=counts[rows], minlength=n_classes).astype(int)
        if sums.sum():
            score += Fraction(int((sums**2).sum()), int(sums.sum()))
    return score


def main(oracle: str, data: str) -> None:
    oracles = sorted(Path(oracle).glob("*.csv.gz"))
    totals = np.sum([compare(path, Path(data)) for path in oracles], axis=0)
    print(
        f"in all {totals[1]} of {totals[0]} rows differ: {totals[2]} by ties, {totals[3]} by absent categories, "
        f"{totals[4]} unexplained"
    )


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m benchmarks.rpart_parity ORACLE DATA")
    main(*sys.argv[1:])
