"""Diagnosis: bias and variance, SHAP values, figures of trees, label audits, and training without doubtful labels."""

from fuselearn.diagnosis.bias_variance import (
    BiasVariance,
    bias_variance,
    compare_bias_variance,
)
from fuselearn.diagnosis.cleaned import CleanedClassifier
from fuselearn.diagnosis.explaining import explain
from fuselearn.diagnosis.label_audit import LabelAudit, audit_labels
from fuselearn.diagnosis.tree_figure import plot_tree

__all__ = [
    "BiasVariance",
    "CleanedClassifier",
    "LabelAudit",
    "audit_labels",
    "bias_variance",
    "compare_bias_variance",
    "explain",
    "plot_tree",
]
