"""Ensembles that fuse classifiers with a Kalman filter, compatible with scikit-learn."""

from fuselearn.ensembles import BaggedClassifier, CARTClassifier, KFHEClassifier, SAMMEClassifier

__version__ = "0.1.0"

__all__ = ["BaggedClassifier", "CARTClassifier", "KFHEClassifier", "SAMMEClassifier", "__version__"]
