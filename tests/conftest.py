"""Settings for the whole suite."""

from hypothesis import settings

# Compiling a kernel may take seconds, and a run must not fail today that passed yesterday.
settings.register_profile("fuselearn", deadline=None, derandomize=True)
settings.load_profile("fuselearn")
