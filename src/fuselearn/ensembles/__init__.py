"""Ensembles for multi-class data, and the tree that they are made of."""

from fuselearn.ensembles.bagging import BaggedClassifier
from fuselearn.ensembles.cart import CARTClassifier
from fuselearn.ensembles.kfhe import KFHEClassifier
from fuselearn.ensembles.samme import SAMMEClassifier

__all__ = ["BaggedClassifier", "CARTClassifier", "KFHEClassifier", "SAMMEClassifier"]
