"""The multi-label classifiers, one per module."""
