"""Count the samples in the nodes of a tree that grows level by level, in one of several places.

Every place lists the samples that were drawn for the tree by the node that they have reached (`Drawn`), counts them per
node, feature, code and class (`count_bins`), and lets them descend once the nodes are split (`descend`). The counts of
all places are added (`merge_bins`). Counts are whole numbers, so their sum depends neither on the places nor on the
order. Only bins that hold samples are listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import inlined, kernel

# The bins of so few samples are sorted while they are found.
SMALL = 32


class Drawn(NamedTuple):
    """The samples drawn for a tree, those in the first node of a level first, and how often each was drawn."""

    samples: npt.NDArray[np.uint32]
    copies: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int64]
    """The end of each node's samples."""


class Splits(NamedTuple):
    """What has become of the nodes of a level: their records, and where their children are in the next level."""

    nodes: npt.NDArray[np.void]
    subsets: npt.NDArray[np.uint32]
    children: npt.NDArray[np.int64]
    """Place of the left and of the right child in the next level, of shape (n_nodes, 2); -1 if it is not there."""
    n_children: int


class Bins(NamedTuple):
    """Samples counted per feature and code in some nodes of a level, for the bins that hold any.

    The codes of the first feature come first, each feature's code for missing values last.
    """

    ends: npt.NDArray[np.int64]
    """The end of each node's bins."""
    numbers: npt.NDArray[np.uint32]
    """Number of each bin among those of all features and codes."""
    counted: npt.NDArray[np.int32]
    """Copies of samples, with a column for each class."""
    squares: npt.NDArray[np.int64]
    """Sum of the samples' squared numbers of copies, or empty."""


def list_drawn(counts: npt.NDArray[np.int32]) -> Drawn:
    """Put the samples that were drawn at least once into the root of a tree.

    Examples
    --------
    >>> list_drawn(np.array([0, 2, 1], dtype=np.int32))[:2]
    (array([1, 2], dtype=uint32), array([2, 1], dtype=int32))
    """
    samples = np.flatnonzero(counts).astype(np.uint32)
    return Drawn(samples, counts[samples], np.array([len(samples)]))


def count_classes(drawn: Drawn, target: npt.NDArray[np.int32], n_classes: int) -> npt.NDArray[np.int64]:
    """Count the copies of samples of each class."""
    return np.bincount(target[drawn.samples], drawn.copies, n_classes).astype(np.int64)


def count_bins(
    drawn: Drawn,
    codes: npt.NDArray[np.unsignedinteger],
    features: npt.NDArray[np.intp],
    n_codes: npt.NDArray[np.int32],
    target: npt.NDArray[np.int32],
    n_classes: int,
    nodes: npt.NDArray[np.int64],
    squared: bool,
) -> Bins:
    """Count the samples in some nodes of a level.

    Parameters
    ----------
    drawn : Drawn
    codes : array of shape (n_samples, n_columns)
    features : array of shape (n_features,)
        The columns to count in.
    n_codes : int32 array of shape (n_features,)
        How many codes each of them has.
    target : int32 array of shape (n_samples,)
        Class numbers.
    n_classes : int
    nodes : int64 array
        Places of the nodes in the level.
    squared : bool
        Whether to sum squares.
    """
    return Bins(*_count_bins(drawn, codes, features, n_codes, target, n_classes, nodes, squared))


def merge_bins(parts: Sequence[Bins]) -> Bins:
    """Add the counts of several places.

    Examples
    --------
    >>> one = Bins(np.array([1]), np.array([3], np.uint32), np.array([[1, 2]], np.int32), np.empty(0, np.int64))
    >>> merge_bins([one, one]).counted
    array([[2, 4]], dtype=int32)
    """
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(len(part.numbers) for part in parts[:-1])])
    return Bins(
        *_merge_bins(
            np.stack([part.ends + start for part, start in zip(parts, starts, strict=True)]),
            np.concatenate([part.numbers for part in parts]),
            np.concatenate([part.counted for part in parts]),
            np.concatenate([part.squares for part in parts]),
        )
    )


def descend(
    drawn: Drawn,
    codes: npt.NDArray[np.unsignedinteger],
    features: npt.NDArray[np.intp],
    n_codes: npt.NDArray[np.int32],
    splits: Splits,
) -> Drawn:
    """Let the samples of a level go on to the next one; those that have reached a leaf are left out."""
    return Drawn(*_descend(drawn, codes, features, n_codes, splits))


class Tally(NamedTuple):
    """Counts of all bins of one node. Where few bins hold samples, these are listed instead of searched for."""

    counted: npt.NDArray[np.int32]
    squares: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    """Copies of samples in each bin, if bins are listed."""
    filled: npt.NDArray[np.uint32]


@kernel
def _make_tally(n_bins, n_classes):  # type: ignore[no-untyped-def]
    return Tally(
        np.zeros((n_bins, n_classes), dtype=np.int32),
        np.zeros(n_bins, dtype=np.int64),
        np.zeros(n_bins, dtype=np.int64),
        np.empty(n_bins, dtype=np.uint32),
    )


@kernel
def _make_bins(n_nodes, most, n_classes, squared):  # type: ignore[no-untyped-def]
    """Make room for so many bins."""
    return Bins(
        np.zeros(n_nodes, dtype=np.int64),
        np.empty(most, dtype=np.uint32),
        np.empty((most, n_classes), dtype=np.int32),
        np.empty(most if squared else 0, dtype=np.int64),
    )


@kernel
def _list_bins(tally, is_listed, n_filled, bins, n_found, squared):  # type: ignore[no-untyped-def]
    """Append the bins of a node that hold samples, set them back to zero, and return how many bins there are now."""
    n_classes = tally.counted.shape[1]
    for k in range(n_filled if is_listed else len(tally.sizes)):
        b = np.int64(tally.filled[k]) if is_listed else k
        is_filled = is_listed
        for j in range(n_classes):
            is_filled |= tally.counted[b, j] > 0
        if not is_filled:
            continue
        bins.numbers[n_found] = b
        for j in range(n_classes):
            bins.counted[n_found, j] = tally.counted[b, j]
            tally.counted[b, j] = 0
        if squared:
            bins.squares[n_found] = tally.squares[b]
            tally.squares[b] = 0
        tally.sizes[b] = 0
        n_found += 1
    return n_found


@inlined
def _add(tally, b, c, copies, squared):  # type: ignore[no-untyped-def]
    """Count the copies of a sample of class ``c`` in a bin."""
    tally.counted[b, c] += copies
    if squared:
        tally.squares[b] += np.int64(copies) * copies


@kernel
def _shorten(bins, n_found):  # type: ignore[no-untyped-def]
    n_squares = min(n_found, len(bins.squares))
    return bins.ends, bins.numbers[:n_found].copy(), bins.counted[:n_found].copy(), bins.squares[:n_squares].copy()


@kernel
def _count_bins(drawn, codes, features, n_codes, target, n_classes, nodes, squared):  # type: ignore[no-untyped-def]
    samples, copies, ends = drawn
    n_features = len(features)
    starts = np.zeros(n_features + 1, dtype=np.int64)
    for f in range(n_features):
        starts[f + 1] = starts[f] + n_codes[f] + 1
    n_bins = starts[n_features]
    most = 0
    for node in nodes:
        most += min((ends[node] - (ends[node - 1] if node else 0)) * n_features, n_bins)
    bins = _make_bins(len(nodes), most, n_classes, squared)
    tally = _make_tally(n_bins, n_classes)
    sizes, filled = tally.sizes, tally.filled
    n_found = 0
    for place in range(len(nodes)):
        node = nodes[place]
        start, end = ends[node - 1] if node else 0, ends[node]
        is_listed = (end - start) * n_features < n_bins // 4
        is_small = end - start <= SMALL
        n_filled = 0
        if is_listed:
            for f in range(n_features):
                n_before = n_filled
                for k in range(start, end):
                    i = np.int64(samples[k])
                    b = starts[f] + codes[i, features[f]]
                    if sizes[b] == 0:
                        place_in_order = n_filled
                        while is_small and place_in_order > n_before and filled[place_in_order - 1] > b:
                            filled[place_in_order] = filled[place_in_order - 1]
                            place_in_order -= 1
                        filled[place_in_order] = b
                        n_filled += 1
                    sizes[b] += copies[k]
                    _add(tally, b, target[i], copies[k], squared)
                if not is_small:
                    filled[n_before:n_filled].sort()
        else:
            for k in range(start, end):
                i, n_copies = np.int64(samples[k]), copies[k]
                c = target[i]
                for f in range(n_features):
                    _add(tally, starts[f] + codes[i, features[f]], c, n_copies, squared)
        n_found = _list_bins(tally, is_listed, n_filled, bins, n_found, squared)
        bins.ends[place] = n_found
    return _shorten(bins, n_found)


@kernel
def _merge_bins(ends, numbers, counted, squares):  # type: ignore[no-untyped-def]
    """Add counts; ``ends[p, node]`` is the end of a node's bins from one place."""
    n_parts, n_nodes = ends.shape
    n_classes, squared = counted.shape[1], len(squares) > 0
    n_bins = 0
    for k in range(len(numbers)):
        n_bins = max(n_bins, np.int64(numbers[k]) + 1)
    starts = np.empty(n_parts, dtype=np.int64)
    starts[0] = 0
    starts[1:] = ends[:-1, -1]
    bins = _make_bins(n_nodes, len(numbers), n_classes, squared)
    tally = _make_tally(n_bins, n_classes)
    n_found = 0
    for node in range(n_nodes):
        n_here = 0
        for p in range(n_parts):
            n_here += ends[p, node] - starts[p]
        is_listed = n_here < n_bins // 4
        n_filled = 0
        for p in range(n_parts):
            for k in range(starts[p], ends[p, node]):
                b = np.int64(numbers[k])
                if is_listed and tally.sizes[b] == 0:
                    tally.filled[n_filled] = b
                    n_filled += 1
                tally.sizes[b] = 1
                for j in range(n_classes):
                    tally.counted[b, j] += counted[k, j]
                if squared:
                    tally.squares[b] += squares[k]
            starts[p] = ends[p, node]
        tally.filled[:n_filled].sort()
        n_found = _list_bins(tally, is_listed, n_filled, bins, n_found, squared)
        bins.ends[node] = n_found
    return _shorten(bins, n_found)


@kernel
def _descend(drawn, codes, features, n_codes, splits):  # type: ignore[no-untyped-def]
    samples, copies, ends = drawn
    nodes, children = splits.nodes, splits.children
    goes = np.empty(len(samples), dtype=np.int8)  # 0 to the left, 1 to the right, -1 nowhere
    sizes = np.zeros(splits.n_children + 1, dtype=np.int64)
    start = 0
    for place in range(len(ends)):
        f = nodes[place].feature
        for k in range(start, ends[place]):
            goes[k] = -1
            if f >= 0:
                code = np.int64(codes[samples[k], features[f]])
                side = 0 if code_goes_left(nodes[place], splits.subsets, code, n_codes[f]) else 1
                child = children[place, side]
                if child >= 0:
                    goes[k] = side
                    sizes[child + 1] += 1
        start = ends[place]

    positions = sizes.cumsum()
    next_ends = positions[1:].copy()
    next_samples = np.empty(positions[-1], dtype=np.uint32)
    next_copies = np.empty(positions[-1], dtype=np.int32)
    start = 0
    for place in range(len(ends)):
        for k in range(start, ends[place]):
            if goes[k] >= 0:
                child = children[place, goes[k]]
                next_samples[positions[child]] = samples[k]
                next_copies[positions[child]] = copies[k]
                positions[child] += 1
        start = ends[place]
    return next_samples, next_copies, next_ends


@inlined
def code_goes_left(node, subsets, code, missing_code):  # type: ignore[no-untyped-def]
    """Send a code left or right at a node that is split."""
    if code == missing_code:
        left = node.missing_left
    elif node.is_category:
        left = (subsets[node.cut + code // 32] >> np.uint32(code % 32)) & np.uint32(1) == 1
    else:
        left = code <= node.cut
    return left
