"""Combining models that exist: fixed rules, learned weights, ensemble selection."""

from fuselearn.combine.averaging import AveragingRegressor
from fuselearn.combine.fixed import FixedCombiner
from fuselearn.combine.rules import combine_scores
from fuselearn.combine.selection import EnsembleSelection
from fuselearn.combine.stacking import LinearStackingClassifier, LinearStackingRegressor

__all__ = [
    "AveragingRegressor",
    "EnsembleSelection",
    "FixedCombiner",
    "LinearStackingClassifier",
    "LinearStackingRegressor",
    "combine_scores",
]
