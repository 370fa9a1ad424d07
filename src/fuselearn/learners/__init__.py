"""Learners: tables prepared once, on which any number of models are trained.

:func:`bind` does the expensive work on a table once and returns a *learner*. It trains any number of *models* on any
target (classes, labels or values) and any draw of samples, given as the number of times that each sample was drawn.
There is one learner for trees, one for SVMs and one for clones of any other estimator. The learner of SVMs is in
``fuselearn.learners.svm``, so that ensembles of trees do not import it.
"""

from fuselearn.learners.clones import CloneLearner, CloneModel, LabelClones
from fuselearn.learners.learner import (
    Bound,
    LabelModel,
    Learner,
    Model,
    Target,
    are_counts,
    bind,
    class_list_target,
    class_target,
    count_all_samples,
    label_target,
    value_target,
)
from fuselearn.learners.table import TableCoder
from fuselearn.learners.trees import LabelTrees, TreeLearner, TreeModel

__all__ = [
    "Bound",
    "CloneLearner",
    "CloneModel",
    "LabelClones",
    "LabelModel",
    "LabelTrees",
    "Learner",
    "Model",
    "TableCoder",
    "Target",
    "TreeLearner",
    "TreeModel",
    "are_counts",
    "bind",
    "class_list_target",
    "class_target",
    "count_all_samples",
    "label_target",
    "value_target",
]
