"""Ensembles that fuse classifiers with a Kalman filter, compatible with scikit-learn."""

__version__ = "0.1.0"
