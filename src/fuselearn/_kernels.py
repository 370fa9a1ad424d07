"""The decorators of all kernels, and two instructions.

Kernels release the interpreter's lock, are compiled once per machine, and divide as NumPy does: by a check that a
divisor is not zero, a tight loop would lose a fifth of its speed. A ``vectorised`` kernel may also take sums in any
order, without which the compiler cannot turn a sum of floats into vector instructions.
"""

from __future__ import annotations

from typing import Any

from numba import njit, types
from numba.extending import intrinsic

kernel = njit(nogil=True, cache=True, error_model="numpy")
inlined = njit(nogil=True, cache=True, error_model="numpy", inline="always")
vectorised = njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "reassoc"})

__all__ = ["inlined", "kernel", "larger", "lowest_bit", "vectorised"]


@intrinsic
def larger(typing_context: Any, a: Any, b: Any) -> Any:
    """Give the larger of two floats of the same type, neither of which is NaN.

    Python's ``max`` minds NaN and the sign of zero, so loops over it stay scalar.
    """
    if a != b or not isinstance(a, types.Float):
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        exceeds = builder.fcmp_ordered(">", *args, flags=("nnan", "nsz"))
        return builder.select(exceeds, *args, flags=("nnan", "nsz"))

    return a(a, b), generate


@intrinsic
def lowest_bit(typing_context: Any, word: Any) -> Any:
    """Give the number of the lowest bit that is set in a word of 64 bits, of which one must be set."""
    if word != types.uint64:
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), generate
