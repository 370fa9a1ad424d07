"""Sensors: tables bound to a way of learning, measured many times.

:func:`bind` does the expensive work on a table once and returns a *learner*, which trains any number of *components*
on any target (classes, labels or numbers) and any sample, given as how often each sample was drawn. There is one
learner for trees, one for support vector machines and one for any other estimator. A learner with a target of classes
is a *sensor*. The learner of support vector machines is in ``fuselearn.learners.svm``: ensembles of trees need not load
it.
"""

from fuselearn.engines.draws import draw_counts, draw_covering_counts
from fuselearn.learners.binding import Sensor, answer_in_parts, are_counts, bind, bind_regressor, count_all_samples
from fuselearn.learners.estimator import EstimatorComponent, EstimatorLearner, LabelEstimators
from fuselearn.learners.fusion import WeightedSum
from fuselearn.learners.protocols import Classes, Component, Learner, Values, list_classes
from fuselearn.learners.table import TableCoder
from fuselearn.learners.tree import LabelTrees, TreeComponent, TreeLearner

__all__ = [
    "Classes",
    "Component",
    "EstimatorComponent",
    "EstimatorLearner",
    "LabelEstimators",
    "LabelTrees",
    "Learner",
    "Sensor",
    "TableCoder",
    "TreeComponent",
    "TreeLearner",
    "Values",
    "WeightedSum",
    "answer_in_parts",
    "are_counts",
    "bind",
    "bind_regressor",
    "count_all_samples",
    "draw_counts",
    "draw_covering_counts",
    "list_classes",
]
