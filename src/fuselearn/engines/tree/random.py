"""A counter-based random generator for kernels.

Every node derives its own key from its parent's, so the random choices in a tree depend on the seed and on
the node's place in the tree alone, whatever the order, or the thread, in which nodes are grown.
"""

import math

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import bits_of, float_of, inlined, kernel

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)

_LOG_2 = math.log(2.0)
_FRACTION = (1 << 52) - 1
_FRACTION_OF_ROOT = int((math.sqrt(2.0) - 1.0) * 2**52)


@kernel
def mix(key, salt):  # type: ignore[no-untyped-def]
    """Derive a new 64-bit key from a key and a small number (the finaliser of SplitMix64)."""
    z = np.uint64(key) + _STEP * (np.uint64(salt) + np.uint64(1))
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


@kernel
def uniform(key):  # type: ignore[no-untyped-def]
    """Turn a key into a number in [0, 1)."""
    return (key >> np.uint64(11)) * (1.0 / 9007199254740992.0)


def draw_uniforms(seed: int, first: int, n_numbers: int) -> npt.NDArray[np.float64]:
    """Return the random numbers of things with consecutive numbers, each of which depends on its number alone."""
    return _draw_uniforms(np.uint64(seed), first, n_numbers)


@kernel
def _draw_uniforms(key, first, n_numbers):  # type: ignore[no-untyped-def]
    drawn = np.empty(n_numbers)
    for i in range(n_numbers):
        drawn[i] = uniform(mix(key, first + i))
    return drawn


@inlined
def exponential(key):  # type: ignore[no-untyped-def]
    """Turn a key into an exponential number of mean 1: the negative logarithm of a uniform number in (0, 1].

    In plain arithmetic, so that a loop over it becomes vector instructions; the libraries' logarithms stay scalar. With
    the number written as m 2^e, m between sqrt(1/2) and sqrt(2), log m = 2 artanh((m - 1) / (m + 1)).
    """
    bits = bits_of(1.0 - uniform(key))
    above = np.int64((bits & _FRACTION) >= _FRACTION_OF_ROOT)
    exponent = (bits >> 52) - 1023 + above
    m = float_of((bits & _FRACTION) | ((1023 - above) << 52))
    ratio = (m - 1.0) / (m + 1.0)
    square = ratio * ratio
    series = 1.0 / 23.0
    series = series * square + 1.0 / 21.0
    series = series * square + 1.0 / 19.0
    series = series * square + 1.0 / 17.0
    series = series * square + 1.0 / 15.0
    series = series * square + 1.0 / 13.0
    series = series * square + 1.0 / 11.0
    series = series * square + 1.0 / 9.0
    series = series * square + 1.0 / 7.0
    series = series * square + 1.0 / 5.0
    series = series * square + 1.0 / 3.0
    return -(exponent * _LOG_2 + 2.0 * (ratio + ratio * square * series))


@kernel
def draw_into(items, position, key):  # type: ignore[no-untyped-def]
    """Swap into ``position`` a random one of the items from there on, and return it."""
    other = position + int(uniform(mix(key, position)) * (len(items) - position))
    items[position], items[other] = items[other], items[position]
    return items[position]
