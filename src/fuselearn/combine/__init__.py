"""Combining models that exist: fixed rules, learned weights, ensemble selection."""

from fuselearn.combine.averaging import AveragingRegressor
from fuselearn.combine.fixed import FixedCombiner
from fuselearn.combine.rules import combine_scores

__all__ = ["AveragingRegressor", "FixedCombiner", "combine_scores"]
