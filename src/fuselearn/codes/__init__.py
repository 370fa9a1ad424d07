"""Error-correcting output codes: many classes from two-class classifiers, with bits to spare for their errors."""

from fuselearn.codes.classifier import ErrorCorrectingCodeClassifier
from fuselearn.codes.codebook import distance_bound, exhaustive_code, min_distance, random_code
from fuselearn.codes.search import search_code

__all__ = [
    "ErrorCorrectingCodeClassifier",
    "distance_bound",
    "exhaustive_code",
    "min_distance",
    "random_code",
    "search_code",
]
