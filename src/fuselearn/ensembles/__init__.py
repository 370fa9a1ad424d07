"""Ensembles for multi-class data and for regression, and the tree that most are made of."""

from fuselearn.ensembles.bagged_regressor import BaggedRegressor
from fuselearn.ensembles.bagging import BaggedClassifier
from fuselearn.ensembles.cart import CARTClassifier
from fuselearn.ensembles.kfhe import KFHEClassifier
from fuselearn.ensembles.samme import SAMMEClassifier

__all__ = ["BaggedClassifier", "BaggedRegressor", "CARTClassifier", "KFHEClassifier", "SAMMEClassifier"]
