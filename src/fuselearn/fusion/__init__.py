"""Fusion: the Kalman filter, KFHE's loop of two filters, and trained ensembles as weighted sums of models."""

from fuselearn.fusion.filtering import KalmanFilter
from fuselearn.fusion.problem import Problem as Problem
from fuselearn.fusion.problem import Trained as Trained
from fuselearn.fusion.problem import WeightedSum as WeightedSum

__all__ = ["KalmanFilter"]
