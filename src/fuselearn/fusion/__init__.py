"""Fusion: the Kalman filter, KFHE's loop of two filters, and the weighted sum that every trained ensemble is."""

from fuselearn.fusion.filtering import KalmanFilter
from fuselearn.fusion.problem import Problem, Trained, WeightedSum

__all__ = ["KalmanFilter", "Problem", "Trained", "WeightedSum"]
