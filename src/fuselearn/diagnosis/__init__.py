"""Bias and variance of a model, and an audit of doubtful labels."""

from fuselearn._extras import require

require("fuselearn.diagnosis", "pandas")

from fuselearn.diagnosis.bias_variance import (  # noqa: E402
    BiasVariance,
    BiasVarianceComparison,
    bias_variance,
    compare_bias_variance,
)
from fuselearn.diagnosis.label_audit import LabelAudit, audit_labels  # noqa: E402

__all__ = [
    "BiasVariance",
    "BiasVarianceComparison",
    "LabelAudit",
    "audit_labels",
    "bias_variance",
    "compare_bias_variance",
]
