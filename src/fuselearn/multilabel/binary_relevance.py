"""Binary relevance: one two-class model per label."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import check_is_fitted

from fuselearn.multilabel.base import Labels, ReductionClassifier, Scores, Weights


class BinaryRelevanceClassifier(ReductionClassifier):
    """One two-class model per label, each on its own.

    The probability that row x has label j is that of the j-th model,

        p_j(x) = P(y_j = 1 | x),

    so labels do not learn from each other.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base learner. None means the SVM engine, "tree" the CART engine with the settings of ``CARTClassifier()``; any
        scikit-learn classifier is cloned for each label.
    C : float, default=1.0
        Cost of the SVM engine, as are the next four.
    kernel : {"rbf", "linear"}, default="rbf"
    gamma : float or None, default=None
        None means one over the number of columns.
    probability : {"platt", "logistic", "sign"}, default="platt"
        Probabilities by Platt's method on cross-validated margins, by a logistic of the margin, or 0 and 1.
    scaling : {"standard", "minmax"} or None, default="standard"
        Whether columns are divided by their standard deviation, by their range, or not at all.
    decision : float, str or rule, default=0.5
        How probabilities become labels: a threshold, or another rule of :mod:`fuselearn.multilabel.decisions`.
    random_state : int, RandomState or None, default=None
        Seed of the base learners.
    n_jobs : int or None, default=None
        Labels learned at the same time. Results do not depend on it.

    Attributes
    ----------
    estimators_ : list of classifiers
        One for each label, unless they are machines of the SVM engine. A label that was constant has scikit-learn's
        ``DummyClassifier``, or a tree without splits.
    feature_importances_ : array of shape (n_labels, n_features_in_)
        The importances of each label's model, if the base learner has some, as trees and forests do.
    labels_ : array of shape (n_labels,)
        Names of the labels: the columns of a frame, otherwise 0, 1, ...
    n_labels_ : int
    classes_ : list of arrays
        For each label its values, 0 and 1, as scikit-learn's tools expect it.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        If fitted on a frame whose column names are text.

    References
    ----------
    Tsoumakas, G. and Katakis, I. (2007). Multi-label classification: an overview. International Journal of Data
    Warehousing and Mining 3(3), 1-13.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from fuselearn.multilabel import BinaryRelevanceClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=4, random_state=0)
    >>> model = BinaryRelevanceClassifier("tree").fit(X[:150], Y[:150])
    >>> model.predict(X[150:153])
    array([[0, 0, 0, 1],
           [0, 1, 0, 0],
           [0, 0, 1, 0]])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        C: float = 1.0,
        kernel: str = "rbf",
        gamma: float | None = None,
        probability: str = "platt",
        scaling: str | None = "standard",
        decision: Any = 0.5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.probability = probability
        self.scaling = scaling
        self.decision = decision
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit_labels(self, X: Any, Y: Labels, weights: Weights | None, rng: np.random.Generator) -> None:
        counts, weights = self._count_rows(weights, len(Y))
        self._learner_ = self._bind(X)
        self._block_ = self._learner_.train(Y, counts, int(rng.integers(2**31)), weights=weights, **self._settings())
        self._block_.unbind()
        self._learner_.unbind()

    def _label_scores(self, X: Any) -> Scores:
        return self._block_.probabilities(self._learner_.prepare(X))

    @cached_property
    def estimators_(self) -> list[Any]:
        """The fitted models of the labels, as estimators of their own."""
        check_is_fitted(self)
        return self._learner_.estimators(self._block_, getattr(self, "feature_names_in_", None))

    @cached_property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """The feature importances of the labels' models; a label that was constant has zeros."""
        check_is_fitted(self)
        nothing = np.zeros(self.n_features_in_)
        return np.array(
            [nothing if isinstance(one, DummyClassifier) else one.feature_importances_ for one in self.estimators_]
        )
