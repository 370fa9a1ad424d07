"""Sensors: datasets bound to a way of learning, measured many times.

A sensor does the expensive work on a dataset once. Each call of ``measure`` then trains one component on a
sample, given as how often each row was drawn. The sensor of support vector machines is in
``fuselearn.sensors.svm``: ensembles of trees need not load it.
"""

from fuselearn.sensors.estimator import EstimatorComponent, EstimatorSensor
from fuselearn.sensors.fusion import WeightedSum
from fuselearn.sensors.protocols import Component, Sensor
from fuselearn.sensors.sampling import draw_counts, draw_covering_counts
from fuselearn.sensors.table import TableCoder
from fuselearn.sensors.tree import TreeComponent, TreeSensor

__all__ = [
    "Component",
    "EstimatorComponent",
    "EstimatorSensor",
    "Sensor",
    "TableCoder",
    "TreeComponent",
    "TreeSensor",
    "WeightedSum",
    "draw_counts",
    "draw_covering_counts",
]
