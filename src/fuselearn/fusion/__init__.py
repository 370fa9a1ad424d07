"""The Kalman filter on arrays: time update and measurement update."""

from fuselearn.fusion.kalman import Halfway, ImplicitMeasurement, KalmanFilter

__all__ = ["Halfway", "ImplicitMeasurement", "KalmanFilter"]
