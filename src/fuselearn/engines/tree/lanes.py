"""Add up the labels of a row in vector lanes, all at once.

A list of labels is added one by one, and how many there are cannot be foreseen by the processor. Where labels are not
too many, it is faster to keep a lane of 16 bits for every label, set or not in each row, and to add sixteen lanes in
one instruction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from fuselearn.engines.vectors import INDEX, Variable, Vector, at, open_arrays, whole

Lanes = npt.NDArray[np.uint16]

LANES = 16
LOWER_HALF = 2**16 - 1
LANE_WEIGHT = 2**15 - 1  # twice such a sum fits into a lane
# Lists are better where a row has many more blocks of lanes than labels.
MORE_BLOCKS = 4
BLOCKS_PER_LABEL = 0.5


def make_lanes(has_label: npt.NDArray[np.bool_]) -> Lanes:
    """Give every row a lane per label, with all bits set or none; no lanes at all where lists of labels are better."""
    n_rows, n_labels = has_label.shape
    n_blocks = -(-n_labels // LANES)
    if n_blocks > MORE_BLOCKS + BLOCKS_PER_LABEL * has_label.sum() / max(1, n_rows):
        return np.empty((n_rows, 0), dtype=np.uint16)
    lanes = np.zeros((n_rows, LANES * n_blocks), dtype=np.uint16)
    lanes[:, :n_labels][has_label] = 2**16 - 1
    return lanes


@intrinsic
def add_lanes(typing_context: Any, lanes: Any, row: Any, weight: Any, sums: Any) -> Any:
    """Add a whole weight to the sums of a row's labels; return the sums of these labels before plus after that."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        table, row, weight, sums = open_arrays(context, builder, signature, args)
        width = builder.extract_value(table.shape, 1)
        labels = at(builder, table.data, builder.mul(row, width))
        weights = Vector.spread(builder, builder.trunc(weight, whole(16)), LANES)
        both = Variable(Vector.constant(builder, whole(32), [0] * (LANES // 2)))
        n_lanes = ir.Constant(INDEX, LANES)
        with cgutils.for_range(builder, builder.udiv(width, n_lanes)) as blocks:
            start = builder.mul(blocks.index, n_lanes)
            has_label = Vector.load(builder, at(builder, labels, start), LANES, align=2)
            before = Vector.load(builder, at(builder, sums.data, start), LANES, align=2)
            after = before + (weights & has_label)
            after.store(at(builder, sums.data, start), align=2)
            own = ((before + after) & has_label).recast(32)
            both.set(both.get() + (own & LOWER_HALF) + (own >> 16))
        return builder.zext(both.get().total(), INDEX)

    return types.int64(lanes, types.int64, types.int64, sums), generate
