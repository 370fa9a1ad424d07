"""The two decorators of all kernels.

Kernels release the interpreter's lock, are compiled once per machine, and divide as NumPy does: by a check that a
divisor is not zero, a tight loop would lose a fifth of its speed.
"""

from numba import njit

kernel = njit(nogil=True, cache=True, error_model="numpy")
inlined = njit(nogil=True, cache=True, error_model="numpy", inline="always")

__all__ = ["inlined", "kernel"]
