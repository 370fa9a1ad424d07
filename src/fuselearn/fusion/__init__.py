"""Fusion: the Kalman filter, KFHE's loop of two filters, and the weighted sum that every trained ensemble is."""

from fuselearn.fusion.kalman import KalmanFilter
from fuselearn.fusion.problem import OutOfBag, Problem, Trained
from fuselearn.fusion.weighted_sum import WeightedSum

__all__ = ["KalmanFilter", "OutOfBag", "Problem", "Trained", "WeightedSum"]
