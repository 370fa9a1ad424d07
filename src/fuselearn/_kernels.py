"""The decorators of all kernels.

Kernels release the interpreter's lock, are compiled once per machine, and divide as NumPy does: by a check that a
divisor is not zero, a tight loop would lose a fifth of its speed. A ``vectorised`` kernel may also take sums in any
order and trusts that no NaN comes in, without which the compiler cannot turn a sum or a maximum of floats into
vector instructions.
"""

from numba import njit

kernel = njit(nogil=True, cache=True, error_model="numpy")
inlined = njit(nogil=True, cache=True, error_model="numpy", inline="always")
vectorised = njit(nogil=True, cache=True, error_model="numpy", fastmath={"nnan", "nsz", "contract", "reassoc"})

__all__ = ["inlined", "kernel", "vectorised"]
