"""Combination of any models: fusion, fixed rules, stacking, selection, output codes, consensus clustering."""

from fuselearn.combine.clustering import ConsensusClustering
from fuselearn.combine.code_books import make_code
from fuselearn.combine.fixed_rules import AveragingRegressor, FixedRuleClassifier
from fuselearn.combine.fused import FusedClassifier
from fuselearn.combine.output_codes import ErrorCorrectingCodeClassifier
from fuselearn.combine.prediction_sets import PredictionSetClassifier
from fuselearn.combine.rules import combine_scores
from fuselearn.combine.selection import EnsembleSelection
from fuselearn.combine.stacking import LinearStackingClassifier, LinearStackingRegressor

__all__ = [
    "AveragingRegressor",
    "ConsensusClustering",
    "EnsembleSelection",
    "ErrorCorrectingCodeClassifier",
    "FixedRuleClassifier",
    "FusedClassifier",
    "LinearStackingClassifier",
    "LinearStackingRegressor",
    "PredictionSetClassifier",
    "combine_scores",
    "make_code",
]
