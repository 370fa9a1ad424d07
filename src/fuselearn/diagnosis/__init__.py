"""Bias and variance of models, figures of trees, audits of labels, and a classifier that drops doubtful ones."""

from typing import Any

from fuselearn._extras import is_installed, require
from fuselearn.diagnosis.cleaned import CleanedClassifier
from fuselearn.diagnosis.tree_figure import plot_tree

if is_installed("pandas"):  # a classifier is loaded and predicts without
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
    "CleanedClassifier",
    "LabelAudit",
    "audit_labels",
    "bias_variance",
    "compare_bias_variance",
    "plot_tree",
]


def __getattr__(name: str) -> Any:
    """Say what to install for the names that are missing without pandas."""
    if name in __all__:
        require(f"fuselearn.diagnosis.{name}", "pandas")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
