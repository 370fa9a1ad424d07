"""Operations on vector lanes, against NumPy on the same numbers."""

import numpy as np
import pytest
from numba import njit, types
from numba.extending import intrinsic

from fuselearn.engines.vectors import DOUBLE, Variable, Vector, at, open_arrays, whole

LANES = 8
A = np.array([0, 1, -1, 7, 2**31 - 1, -(2**31), 12345, -999], dtype=np.int32)
B = np.array([5, 1, 3, -7, 2, 1, 12344, -999], dtype=np.int32)


def compiled(operation, out_type=np.int32, n_out=LANES):
    """Compile an operation on two vectors, and give what it makes of A and B."""

    @intrinsic
    def apply(typing_context, a, b, out):
        def generate(context, builder, signature, args):
            a, b, out = open_arrays(context, builder, signature, args)
            vectors = (Vector.load(builder, array.data, LANES, align=4) for array in (a, b))
            operation(*vectors).store(at(builder, out.data, 0), align=4)
            return context.get_dummy_value()

        return types.void(a, b, out), generate

    @njit
    def run(a, b, out):
        apply(a, b, out)

    out = np.zeros(n_out, dtype=out_type)
    run(A, B, out)
    return out


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (lambda a, b: a + b, A + B),
        (lambda a, b: a - b, A - B),
        (lambda a, b: a * b, A * B),
        (lambda a, b: a & b, A & B),
        (lambda a, b: a ^ b, A ^ B),
        (lambda a, b: (a & 15) + 3, (A & 15) + 3),
        (lambda a, b: a << (b & 3), A << (B & 3)),
        (lambda a, b: a >> 4, (A.view(np.uint32) >> 4).view(np.int32)),
        (lambda a, b: a.exceeds(b).count(32), (A > B).astype(int)),
        (lambda a, b: a.exceeds_unsigned(b).count(32), (A.view(np.uint32) > B.view(np.uint32)).astype(int)),
        (lambda a, b: a.equals(b).choose(a, 0), np.where(A == B, A, 0)),
        (lambda a, b: a.exceeds(b).choose(a, b), np.maximum(A, B)),
        (lambda a, b: a.part([7, 6, 5, 4, 3, 2, 1, 0]), A[::-1]),
        (lambda a, b: a.recast(16).extend(32).part(range(0, 2 * LANES, 2)), A.view(np.int16)[::2]),
        (lambda a, b: Vector.spread(a.builder, a.total(), LANES), np.full(LANES, A.sum(dtype=np.int32))),
        (lambda a, b: Vector.constant(a.builder, whole(32), range(LANES)), np.arange(LANES)),
    ],
)
def test_whole_numbers(operation, expected):
    np.testing.assert_array_equal(compiled(operation), expected)


def test_doubles():
    x, y = A[:4].astype(float), B[:4].astype(float)

    def operation(a, b):
        first, second = (vector.part(range(4)).doubles() for vector in (a, b))
        assert first.lane == DOUBLE
        return first.exceeds(second).choose(first * second + 0.5, second)

    np.testing.assert_array_equal(compiled(operation, np.float64, 4), np.where(x > y, x * y + 0.5, y))


def test_a_variable_keeps_what_it_was_set_to():
    def operation(a, b):
        variable = Variable(a)
        variable.set(variable.get() + b)
        return variable.get()

    np.testing.assert_array_equal(compiled(operation), A + B)
