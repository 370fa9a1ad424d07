"""Settings for the whole suite."""

import os

# Threads of BLAS and OpenMP wait in loops, which takes two thirds of the time of some tests if others run beside them.
# The variables are read when NumPy is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings
from joblib import parallel_config

# A busy machine must not fail a test, nor a run today that passed yesterday.
settings.register_profile("fuselearn", deadline=None, derandomize=True)
settings.load_profile("fuselearn")


@pytest.fixture
def threads():
    """Let ``n_jobs`` mean threads: processes take seconds to start."""
    with parallel_config("threading"):
        yield
