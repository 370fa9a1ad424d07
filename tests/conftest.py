"""Settings for the whole suite."""

from hypothesis import settings

# A busy machine must not fail a test, nor a run today that passed yesterday.
settings.register_profile("fuselearn", deadline=None, derandomize=True)
settings.load_profile("fuselearn")
