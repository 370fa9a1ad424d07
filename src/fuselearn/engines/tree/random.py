"""A counter-based random generator for kernels.

Every node derives its own key from its parent's, so the random choices in a tree depend on the seed and on
the node's place in the tree alone, whatever the order, or the thread, in which nodes are grown.
"""

import numpy as np

from fuselearn._kernels import kernel

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


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


@kernel
def draw_into(items, position, key):  # type: ignore[no-untyped-def]
    """Swap into ``position`` a random one of the items from there on, and return it."""
    other = position + int(uniform(mix(key, position)) * (len(items) - position))
    items[position], items[other] = items[other], items[position]
    return items[position]
