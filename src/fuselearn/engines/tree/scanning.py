"""Walk along sixteen sorted columns at once, one in each vector lane, and keep the best cut of each."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from fuselearn.engines.vectors import INDEX, Variable, Vector, at, open_arrays, whole

LANES = 16
# An entry of a sorted column is one word: from the lowest bit on its row, how often it was drawn, its class, its code.
ROW_BITS, COUNT_BITS, CLASS_BITS = 11, 6, 4
COUNT_SHIFT = ROW_BITS
CLASS_SHIFT = COUNT_SHIFT + COUNT_BITS
CODE_SHIFT = CLASS_SHIFT + CLASS_BITS

_BITS = 32
_ALIGNED = LANES * _BITS // 8
_PAIRS = 1 << (CLASS_BITS - 1)
# Products of four weights are exact in double precision only, of which a vector takes half as many.
_HALVES = (range(LANES // 2), range(LANES // 2, LANES))


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
    real, index = types.float64, types.int64
    numbers = (index, index, totals, index, index, index, real, real, scores, belows, places)
    return types.void(entries, *numbers), _write_find_cuts


def _write_find_cuts(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    entries, start, end, totals, squares, weight, min_leaf, best, best_below, scores, belows, places = open_arrays(
        context, builder, signature, args
    )

    def spread(scalar: Any) -> Vector:
        return Vector.spread(builder, builder.trunc(scalar, whole(_BITS)), LANES)

    def entry_at(place: Any) -> Vector:
        return Vector.load(builder, at(builder, entries.data, builder.mul(place, lanes)), LANES, _ALIGNED)

    lanes, one = ir.Constant(INDEX, LANES), ir.Constant(INDEX, 1)
    none = Vector.constant(builder, whole(_BITS), [0] * LANES)
    all_squares, all_weight, too_little = spread(squares), spread(weight), spread(builder.sub(min_leaf, one))
    on_left = Variable(none)
    tallies = cgutils.alloca_once(builder, none.value.type, ir.Constant(INDEX, _PAIRS))
    n_pairs = builder.extract_value(totals.shape, 0)
    with cgutils.for_range(builder, n_pairs) as pairs:
        builder.store(none.value, at(builder, tallies, pairs.index))
    kept = [
        (
            Variable(Vector.spread(builder, best, len(half))),
            Variable(Vector.spread(builder, best_below, len(half))),
            Variable(Vector.constant(builder, whole(_BITS), [-1] * len(half))),
        )
        for half in _HALVES
    ]

    with cgutils.for_range(builder, builder.sub(end, one), start=start) as walk:
        entry, next_entry = entry_at(walk.index), entry_at(builder.add(walk.index, one))
        left_squares, left_products = _add_entry(builder, entry, tallies, totals.data, n_pairs)
        left = on_left.get() + _count(entry)
        on_left.set(left)
        right = all_weight - left
        right_squares = all_squares - left_products - left_products + left_squares
        is_cut = (entry ^ next_entry).exceeds_unsigned((1 << CODE_SHIFT) - 1)
        is_cut = is_cut & left.exceeds(too_little) & right.exceeds(too_little)
        here = builder.trunc(walk.index, whole(_BITS))
        for half, (best_score, best_under, best_place) in zip(_HALVES, kept, strict=True):
            weights = [side.part(half).doubles() for side in (left, right)]
            sums = [side.part(half).doubles() for side in (left_squares, right_squares)]
            score = sums[0] * weights[1] + sums[1] * weights[0]
            below = weights[0] * weights[1]
            is_better = (score * best_under.get()).exceeds(best_score.get() * below) & is_cut.part(half)
            best_score.set(is_better.choose(score, best_score.get()))
            best_under.set(is_better.choose(below, best_under.get()))
            best_place.set(is_better.choose(Vector.spread(builder, here, len(half)), best_place.get()))

    for half, found in zip(_HALVES, kept, strict=True):
        for variable, array in zip(found, (scores, belows, places), strict=True):
            variable.get().store(at(builder, array.data, half[0]), align=4)
    return context.get_dummy_value()


def _count(entry: Vector) -> Vector:
    return (entry >> COUNT_SHIFT) & ((1 << COUNT_BITS) - 1)


def _add_entry(builder: Any, entry: Vector, tallies: Any, totals: Any, n_pairs: Any) -> tuple[Vector, Vector]:
    """Add an entry to the class weights on the left; give the sums of their squares, and of their products with totals.

    The weights of two classes share a lane, so that one instruction multiplies and adds both.
    """
    second_shift = 16
    is_second = (entry >> CLASS_SHIFT) & 1
    added = _count(entry) << is_second * second_shift
    own_pair = (entry >> (CLASS_SHIFT + 1)) & (_PAIRS - 1)
    none = Vector.constant(builder, whole(_BITS), [0] * LANES)
    squares, products = Variable(none), Variable(none)
    with cgutils.for_range(builder, n_pairs) as pairs:
        place = at(builder, tallies, pairs.index)
        pair = Vector.spread(builder, builder.trunc(pairs.index, whole(_BITS)), LANES)
        tally = Vector(builder, builder.load(place)) + own_pair.equals(pair).choose(added, 0)
        builder.store(tally.value, place)
        total = Vector.spread(builder, builder.load(at(builder, totals, pairs.index)), LANES)
        squares.set(squares.get() + _add_products(tally, tally))
        products.set(products.get() + _add_products(tally, total))
    return squares.get(), products.get()


def _add_products(a: Vector, b: Vector) -> Vector:
    """Multiply the two halves of every lane, and add the two products."""
    products = a.recast(_BITS // 2).extend(_BITS) * b.recast(_BITS // 2).extend(_BITS)
    return products.part(range(0, 2 * LANES, 2)) + products.part(range(1, 2 * LANES, 2))
