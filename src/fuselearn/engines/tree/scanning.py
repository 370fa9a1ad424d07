"""Walk along sixteen sorted columns at once, one in each vector lane, and keep the best cut of each."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 16
# An entry of a sorted column is one word: from the lowest bit on its row, how often it was drawn, its class, its code.
ROW_BITS, COUNT_BITS, CLASS_BITS = 11, 6, 4
COUNT_SHIFT = ROW_BITS
CLASS_SHIFT = COUNT_SHIFT + COUNT_BITS
CODE_SHIFT = CLASS_SHIFT + CLASS_BITS

_INDEX, _LANE = ir.IntType(64), ir.IntType(32)
_WORDS = ir.VectorType(_LANE, LANES)
# Products of four weights are exact in double precision only, of which a vector takes half as many.
_HALF = LANES // 2
_DOUBLES = ir.VectorType(ir.DoubleType(), _HALF)
_PLACES = ir.VectorType(_LANE, _HALF)


@intrinsic
def find_cuts(  # type: ignore[no-untyped-def]
    typing_context, entries, start, end, totals, squares, weight, min_leaf, best, best_below, scores, belows, places
) -> Any:
    """Find the best cut of a node in every lane, the first of equal ones.

    With L and R the class weights on the two sides, the best cut has the largest score sum(L^2) / weight(L) +
    sum(R^2) / weight(R), given as a fraction. All numbers are whole, and small enough for the comparison to be exact.

    Parameters
    ----------
    entries : uint32 array of shape (n_entries, LANES)
        The node's entries, from ``start`` to before ``end``, are sorted by code in each lane. The first entry must lie
        at a multiple of 64 bytes.
    totals : int32 array of shape (n_pairs,)
        Class weights of the node, those of two classes in each number: the second times 2^16.
    squares, weight, min_leaf : int
        Sum of the squares of the totals, sum of the totals, and smallest weight of a side.
    best, best_below : float
        Numerator and denominator of the score that is to be exceeded.
    scores, belows : float64 arrays of shape (LANES,)
        For the fraction of each lane's best cut.
    places : int32 array of shape (LANES,)
        For the last entry before that cut, or -1 if no score exceeds the given one.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = {
            position: context.make_array(kind)(context, builder, args[position])
            for position, kind in enumerate(signature.args)
            if isinstance(kind, types.Array)
        }
        n_pairs = builder.extract_value(arrays[3].shape, 0)
        table = builder.bitcast(arrays[0].data, _WORDS.as_pointer())
        tallies = cgutils.alloca_once(builder, _WORDS, ir.Constant(_INDEX, 1 << (CLASS_BITS - 1)))
        left_weight, left_squares, left_products = (cgutils.alloca_once(builder, _WORDS) for _ in range(3))
        kept = [
            (
                cgutils.alloca_once_value(builder, _spread(builder, args[7], _DOUBLES)),
                cgutils.alloca_once_value(builder, _spread(builder, args[8], _DOUBLES)),
                cgutils.alloca_once_value(builder, ir.Constant(_PLACES, [-1] * _HALF)),
            )
            for _ in range(2)
        ]
        for numbers in kept:  # the block of these instructions may be a loop's, that of the variables is not
            builder.store(_spread(builder, args[7], _DOUBLES), numbers[0])
            builder.store(_spread(builder, args[8], _DOUBLES), numbers[1])
            builder.store(ir.Constant(_PLACES, [-1] * _HALF), numbers[2])
        builder.store(_words(0), left_weight)
        with cgutils.for_range(builder, n_pairs) as pairs:
            builder.store(_words(0), builder.gep(tallies, [pairs.index]))
        all_squares, all_weight, least = (_spread(builder, builder.trunc(n, _LANE), _WORDS) for n in args[4:7])

        with cgutils.for_range(builder, builder.sub(args[2], ir.Constant(_INDEX, 1)), start=args[1]) as walk:
            entry = builder.load(builder.gep(table, [walk.index]), align=4 * LANES)
            next_place = builder.add(walk.index, ir.Constant(_INDEX, 1))
            next_entry = builder.load(builder.gep(table, [next_place]), align=4 * LANES)
            count = builder.and_(builder.lshr(entry, _words(COUNT_SHIFT)), _words((1 << COUNT_BITS) - 1))
            is_second = builder.and_(entry, _words(1 << CLASS_SHIFT))
            added = builder.shl(count, builder.lshr(is_second, _words(CLASS_SHIFT - 4)))
            own_pair = builder.and_(entry, _words(((1 << CLASS_BITS) - 2) << CLASS_SHIFT))
            builder.store(_words(0), left_squares)
            builder.store(_words(0), left_products)
            with cgutils.for_range(builder, n_pairs) as pairs:
                place = builder.gep(tallies, [pairs.index])
                this_pair = builder.shl(builder.trunc(pairs.index, _LANE), ir.Constant(_LANE, CLASS_SHIFT + 1))
                is_own = builder.icmp_unsigned("==", own_pair, _spread(builder, this_pair, _WORDS))
                tally = builder.add(builder.load(place), builder.select(is_own, added, _words(0)))
                builder.store(tally, place)
                total = _spread(builder, builder.load(builder.gep(arrays[3].data, [pairs.index])), _WORDS)
                for other, products in ((tally, left_squares), (total, left_products)):
                    builder.store(builder.add(builder.load(products), _add_products(builder, tally, other)), products)
            on_left = builder.add(builder.load(left_weight), count)
            builder.store(on_left, left_weight)
            on_right = builder.sub(all_weight, on_left)
            from_left, products = builder.load(left_squares), builder.load(left_products)
            from_right = builder.add(builder.sub(all_squares, builder.add(products, products)), from_left)
            is_cut = builder.icmp_unsigned(">=", builder.xor(entry, next_entry), _words(1 << CODE_SHIFT))
            is_cut = builder.and_(is_cut, builder.icmp_signed(">=", on_left, least))
            is_cut = builder.and_(is_cut, builder.icmp_signed(">=", on_right, least))
            here = _spread(builder, builder.trunc(walk.index, _LANE), _PLACES)
            for half, (best_score, best_under, best_place) in enumerate(kept):
                left_d, right_d, from_left_d, from_right_d = (
                    builder.sitofp(_half_of(builder, lanes, half), _DOUBLES)
                    for lanes in (on_left, on_right, from_left, from_right)
                )
                score = _multiply_add(builder, from_left_d, right_d, builder.fmul(from_right_d, left_d))
                below = builder.fmul(left_d, right_d)
                ours = builder.fmul(score, builder.load(best_under))
                exceeds = builder.fcmp_ordered(">", ours, builder.fmul(builder.load(best_score), below))
                exceeds = builder.and_(exceeds, _half_of(builder, is_cut, half))
                for new, variable in ((score, best_score), (below, best_under), (here, best_place)):
                    builder.store(builder.select(exceeds, new, builder.load(variable)), variable)

        for half, variables in enumerate(kept):
            for variable, position in zip(variables, (9, 10, 11), strict=True):
                lanes = builder.load(variable)
                target = builder.gep(arrays[position].data, [ir.Constant(_INDEX, half * _HALF)])
                builder.store(lanes, builder.bitcast(target, lanes.type.as_pointer()), align=4)
        return context.get_dummy_value()

    real, index = types.float64, types.int64
    return (
        types.void(
            entries, index, index, totals, index, index, index, real, real,
            scores, belows, places,
        ),
        generate,
    )  # fmt: skip


def _words(value: int) -> Any:
    return ir.Constant(_WORDS, [value] * LANES)


def _spread(builder: Any, scalar: Any, kind: Any) -> Any:
    """Copy a number into all lanes of a vector."""
    none = ir.Constant(kind, ir.Undefined)
    one = builder.insert_element(none, scalar, ir.Constant(_LANE, 0))
    return builder.shuffle_vector(one, none, ir.Constant(ir.VectorType(_LANE, kind.count), [0] * kind.count))


def _half_of(builder: Any, lanes: Any, half: int) -> Any:
    wanted = ir.Constant(_PLACES, list(range(half * _HALF, (half + 1) * _HALF)))
    return builder.shuffle_vector(lanes, ir.Constant(lanes.type, ir.Undefined), wanted)


def _add_products(builder: Any, a: Any, b: Any) -> Any:
    """Multiply the two halves of every lane, and add the two products."""
    halves = ir.VectorType(ir.IntType(16), 2 * LANES)
    wide = ir.VectorType(_LANE, 2 * LANES)
    products = builder.mul(*(builder.sext(builder.bitcast(lanes, halves), wide) for lanes in (a, b)))
    first, second = (
        builder.shuffle_vector(
            products, ir.Constant(wide, ir.Undefined), ir.Constant(_WORDS, list(range(which, 2 * LANES, 2)))
        )
        for which in range(2)
    )
    return builder.add(first, second)


def _multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """Give a * b + c, in one instruction where the processor has it."""
    return builder.fadd(builder.fmul(a, b, flags=["contract"]), c, flags=["contract"])
