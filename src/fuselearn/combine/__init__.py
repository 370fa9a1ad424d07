"""Combining models: fusion of many sensors, fixed rules, learned weights, ensemble selection, consensus clustering."""

from fuselearn.combine.averaging import AveragingRegressor
from fuselearn.combine.clustering import ConsensusClustering
from fuselearn.combine.fixed import FixedCombiner
from fuselearn.combine.fused import FusedClassifier
from fuselearn.combine.rules import combine_scores
from fuselearn.combine.selection import EnsembleSelection
from fuselearn.combine.stacking import LinearStackingClassifier, LinearStackingRegressor

__all__ = [
    "AveragingRegressor",
    "ConsensusClustering",
    "EnsembleSelection",
    "FixedCombiner",
    "FusedClassifier",
    "LinearStackingClassifier",
    "LinearStackingRegressor",
    "combine_scores",
]
