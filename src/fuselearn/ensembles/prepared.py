"""A classifier for tables that it could not take as they are: with missing numbers, or with too many samples."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import get_tags

from fuselearn._compat import take_rows
from fuselearn._parameters import make_generator
from fuselearn.learners.imputing import MedianImputer
from fuselearn.learners.learner import Scores, Weights


class PreparedClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of samples whose missing numbers are replaced by medians, trained on some of them if there are many.

    Parameters
    ----------
    estimator : classifier
    max_samples : float, default=1.0
        Fraction of the samples to train on, which are drawn by class.
    random_state : int, RandomState or None, default=None
        Seed of that sample.
    """

    def __init__(self, estimator: Any, max_samples: float = 1.0, random_state: Any = None) -> None:
        self.estimator = estimator
        self.max_samples = max_samples
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: those of the classifier, and missing values."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: npt.NDArray[Any], sample_weight: Weights | None = None) -> Self:
        """Learn the medians of all samples and train the classifier on some."""
        self.imputer_ = MedianImputer().fit(X)
        chosen = stratified_sample(y, round(self.max_samples * len(y)), make_generator(self.random_state))
        weights = {} if sample_weight is None else {"sample_weight": sample_weight[chosen]}
        X = self.imputer_.transform(X if len(chosen) == len(y) else take_rows(X, chosen))
        self.estimator_ = clone(self.estimator).fit(X, y[chosen], **weights)
        self.classes_ = self.estimator_.classes_
        self.n_features_in_ = len(self.imputer_.medians_)
        return self

    def predict_proba(self, X: Any) -> Scores:
        """Predict class probabilities."""
        probabilities: Scores = self.estimator_.predict_proba(self.imputer_.transform(X))
        return probabilities

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class of each sample."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def stratified_sample(y: npt.NDArray[Any], n_samples: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """Draw samples without replacement, of each class in proportion; all of them if there are no more.

    Examples
    --------
    >>> y = np.repeat(["a", "b"], [60, 30])
    >>> np.unique(y[stratified_sample(y, 9, np.random.default_rng(0))], return_counts=True)[1]
    array([6, 3])
    """
    if len(y) <= n_samples:
        return np.arange(len(y))
    order = np.lexsort((rng.random(len(y)), np.unique(y, return_inverse=True)[1]))
    places = (np.arange(n_samples) + rng.random()) * len(y) / n_samples
    return np.sort(order[places.astype(np.intp)])
