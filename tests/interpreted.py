"""A plugin for pytest: kernels run as plain Python, so that the lines they reach can be counted.

``NUMBA_DISABLE_JIT=1 PYTHONPATH=tests python -m pytest -p interpreted`` uses it; see ``make coverage``. The functions
below do what the instructions do that some kernels are written with. They are tested, too: the tests of kernels hold
for them as for the instructions.
"""

import signal
import sys

import numpy as np
import pytest
from numba import config
from numba.core.extending import _Intrinsic

from fuselearn import _kernels

assert config.DISABLE_JIT, "interpreted kernels need NUMBA_DISABLE_JIT=1"
PATIENCE = 2  # seconds of a processor for a test


def larger(a, b):
    return a if a > b else b


def bits_of(number):
    return np.float64(number).view(np.int64)


def float_of(bits):
    return np.int64(bits).view(np.float64)


def lowest_bit(word):
    return np.uint64((int(word) & -int(word)).bit_length() - 1)


def count_bits(word):
    return np.uint64(int(word).bit_count())


PLAIN = {
    "larger": larger,
    "bits_of": bits_of,
    "float_of": float_of,
    "lowest_bit": lowest_bit,
    "_count_bits": count_bits,
}

NEEDS_COMPILER = {
    "coded_by_the_same_kernel": "counts compiled kernels",
}


def leave_plain(**options):
    """Decorate a kernel with nothing but the name that compiled ones have for their Python function."""

    def decorate(function):
        function.py_func = function
        return function

    return decorate


_kernels.njit = leave_plain
_Intrinsic.__call__ = lambda self, *args: PLAIN[self._name](*args)


class OneThread:
    """What the library uses of an executor. Other threads would neither be stopped nor be any faster."""

    def __init__(self, n_threads):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def map(self, work, *inputs):
        return list(map(work, *inputs))


def pytest_collection_modifyitems(items):
    """Skip what needs the compiler, and have no threads in what is left."""
    for item in items:
        for name, reason in NEEDS_COMPILER.items():
            if name in item.nodeid:
                item.add_marker(pytest.mark.skip(reason=reason))
    for name, module in list(sys.modules.items()):
        if name.startswith("fuselearn.") and hasattr(module, "ThreadPoolExecutor"):
            module.ThreadPoolExecutor = OneThread


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Stop what takes too long, as soon as it is in the library; the lines reached until then are counted."""

    def stop(signum, frame):
        if "fuselearn" in frame.f_code.co_filename:
            pytest.skip(f"needs more than {PATIENCE} s without the compiler")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE, 0.05)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
