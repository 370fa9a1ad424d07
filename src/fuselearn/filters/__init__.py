"""The Kalman filter: time update, measurement update. Knows arrays, nothing about classifiers."""

from fuselearn.filters.kalman import Halfway, KalmanFilter

__all__ = ["Halfway", "KalmanFilter"]
