"""Filters: Kalman arithmetic on arrays, knowing nothing about classifiers."""

from fuselearn.filters.kalman import KalmanFilter, gain_of

__all__ = ["KalmanFilter", "gain_of"]
