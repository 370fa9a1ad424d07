"""Combining models that exist: fixed rules, learned weights, ensemble selection."""

from fuselearn.combine.rules import combine_scores

__all__ = ["combine_scores"]
