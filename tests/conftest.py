"""Settings for the whole suite."""

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
