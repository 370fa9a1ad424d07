"""Diagnosis: why a model errs, and which labels are doubtful."""

from fuselearn.diagnosis.bias_variance import (
    BiasVariance,
    BiasVarianceComparison,
    bias_variance,
    compare_bias_variance,
)

__all__ = ["BiasVariance", "BiasVarianceComparison", "bias_variance", "compare_bias_variance"]
