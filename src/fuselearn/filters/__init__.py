"""Filters: Kalman arithmetic on arrays, knowing nothing about classifiers."""

from fuselearn.filters.kalman import KalmanFilter

__all__ = ["KalmanFilter"]
