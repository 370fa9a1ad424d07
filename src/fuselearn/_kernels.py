"""The decorators of all kernels, and a few instructions.

Kernels release the interpreter's lock, are compiled once per machine, and divide as NumPy does: by a check that a
divisor is not zero, a tight loop would lose a fifth of its speed. A ``vectorised`` kernel may also take sums in any
order, without which the compiler cannot turn a sum of floats into vector instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config, njit, typeof, types
from numba.extending import intrinsic

__all__ = [
    "bits_of",
    "borrowing",
    "float_of",
    "inlined",
    "inner",
    "interpret",
    "kernel",
    "larger",
    "lowest_bit",
    "record",
    "vectorised",
]


def _decorator(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    def decorate(function: Callable[..., Any]) -> Any:
        return njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, cache=True, **options)(function)

    return decorate


kernel = _decorator(_nrt=True)
# For kernels that only kernels call: taking their arguments out of Python objects would take long to compile.
inner = _decorator(_nrt=True, no_cpython_wrapper=True)
# For those of them that neither make nor return arrays: counting references to arrays takes a fifth of a small tree's
# time. A kernel of this kind must not call one that returns an array, which nobody would release.
borrowing = _decorator(_nrt=False, no_cpython_wrapper=True)
inlined = _decorator(inline="always")
vectorised = _decorator(_nrt=True, fastmath={"contract", "reassoc"})


def record(fields: list[tuple[str, Any]], align: bool = False) -> np.dtype[Any]:
    """Return the type of records whose fields kernels read as attributes, with or without the compiler."""
    kind = np.dtype(fields, align=align)
    return np.dtype((np.record, kind)) if config.DISABLE_JIT else kind


def interpret(overload: Callable[..., Any], *args: Any) -> Any:
    """Call what an overload chooses for the types of the arguments, where there is no compiler that would."""
    return overload(*(typeof(argument) for argument in args))(*args)


@intrinsic
def larger(typing_context: Any, a: Any, b: Any) -> Any:
    """Return the larger of two floats of the same type, neither of which is NaN.

    Python's ``max`` minds NaN and the sign of zero, so loops over it stay scalar.
    """
    if a != b or not isinstance(a, types.Float):
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        exceeds = builder.fcmp_ordered(">", *args, flags=("nnan", "nsz"))
        return builder.select(exceeds, *args, flags=("nnan", "nsz"))

    return a(a, b), generate


@intrinsic
def bits_of(typing_context: Any, number: Any) -> Any:
    """Return the 64 bits of a double-precision number as a whole number."""
    return _recast(number, types.float64, types.int64)


@intrinsic
def float_of(typing_context: Any, bits: Any) -> Any:
    """Return the double-precision number that has these 64 bits."""
    return _recast(bits, types.int64, types.float64)


def _recast(given: Any, expected: Any, wanted: Any) -> Any:
    """Make an intrinsic of taking the same bits for another type."""
    if given != expected:
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], context.get_value_type(wanted))

    return wanted(expected), generate


@intrinsic
def lowest_bit(typing_context: Any, word: Any) -> Any:
    """Return the number of the lowest bit that is set in a word of 64 bits, of which one must be set."""
    if word != types.uint64:
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), generate
