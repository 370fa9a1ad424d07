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

Lanes = npt.NDArray[np.uint16]

LANES = 16
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
    word, pair, lane = ir.IntType(64), ir.IntType(32), ir.IntType(16)
    block, pairs = ir.VectorType(lane, LANES), ir.VectorType(pair, LANES // 2)

    def constant(number: int) -> Any:
        return ir.Constant(pairs, [number] * (LANES // 2))

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        table = context.make_array(lanes)(context, builder, args[0])
        width = builder.extract_value(table.shape, 1)
        labels = builder.gep(table.data, [builder.mul(args[1], width)])
        sums_data = context.make_array(sums)(context, builder, args[3]).data
        none = ir.Constant(block, ir.Undefined)
        first = builder.insert_element(none, builder.trunc(args[2], lane), ir.Constant(pair, 0))
        weights = builder.shuffle_vector(first, none, ir.Constant(ir.VectorType(pair, LANES), [0] * LANES))
        both = cgutils.alloca_once_value(builder, constant(0))
        with cgutils.for_range(builder, builder.udiv(width, ir.Constant(word, LANES))) as loop:
            start = builder.mul(loop.index, ir.Constant(word, LANES))
            has_label = builder.load(builder.bitcast(builder.gep(labels, [start]), block.as_pointer()), align=2)
            place = builder.bitcast(builder.gep(sums_data, [start]), block.as_pointer())
            before = builder.load(place, align=2)
            after = builder.add(before, builder.and_(weights, has_label))
            builder.store(after, place, align=2)
            own = builder.bitcast(builder.and_(builder.add(before, after), has_label), pairs)
            halves = builder.add(builder.and_(own, constant(2**16 - 1)), builder.lshr(own, constant(16)))
            builder.store(builder.add(builder.load(both), halves), both)
        add_up = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(pair, [pairs]), f"llvm.vector.reduce.add.v{LANES // 2}i32"
        )
        return builder.zext(builder.call(add_up, [builder.load(both)]), word)

    return types.int64(lanes, types.int64, types.int64, sums), generate
