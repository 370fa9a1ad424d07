"""Diagnosis: why a model errs, and which labels are doubtful."""

from fuselearn.diagnosis.bias_variance import (
    BiasVariance,
    BiasVarianceComparison,
    bias_variance,
    compare_bias_variance,
)
from fuselearn.diagnosis.label_audit import LabelAudit, audit_labels

__all__ = [
    "BiasVariance",
    "BiasVarianceComparison",
    "LabelAudit",
    "audit_labels",
    "bias_variance",
    "compare_bias_variance",
]
