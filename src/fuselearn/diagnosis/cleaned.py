"""A classifier that audits its training labels, and drops or down-weights suspects."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from fuselearn._compat import take_rows
from fuselearn._messages import show
from fuselearn._parameters import check_choice, make_generator, seed_estimator
from fuselearn.base import read_classes, read_weights, reset_on_failure, validate_rows
from fuselearn.combine import FusedClassifier
from fuselearn.diagnosis.judging import Folding, hold_out_classes, judge, measure_skill, rank, warn_of_unjudged
from fuselearn.learners.learner import Scores, Weights

# Suspects with a smaller margin are often correct labels of samples that are hard to classify.
CLEAR_MARGIN = 0.5


def _has(method: str) -> Any:
    """Return whether the estimator, fitted or to be fitted, has a method."""
    return lambda self: hasattr(self.estimator_ if hasattr(self, "estimator_") else self._base_estimator(), method)


class CleanedClassifier(ClassifierMixin, BaseEstimator):
    """Fit any classifier to the samples whose labels an audit trusts.

    The labels are audited as in :func:`~fuselearn.diagnosis.audit_labels`: models that were not trained on a sample
    estimate the probability of its label, and the n least likely labels are suspects, with n the estimated number of
    wrong labels. The classifier is then fitted without clear suspects, or with small weights for all suspects. This
    helps most for classifiers that memorize wrong labels, such as boosting. If all labels are correct, accuracy
    decreases slightly, since some suspects are only hard to classify.

    When to use: to train a classifier of your choice on noisy labels. When not to use: with
    :class:`~fuselearn.FusedClassifier` as the classifier, which corrects for wrong labels itself and trains fewer
    models.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimator : classifier or None, default=None
        The classifier to fit. None means a :class:`~fuselearn.FusedClassifier`.
    action : {"drop", "reweight"}, default="drop"
        ``"drop"`` removes suspects for which another label is more likely, with a probability of at least 0.5; each
        class keeps at least its most trusted sample. ``"reweight"`` sets the weight of a suspect to the probability of
        its label, and other weights to 1. It is the better choice for boosting. The estimator must support
        ``sample_weight``.
    auditor : classifier or None, default=None
        The classifier of the audit, any classifier with ``predict_proba``; None means the default of `audit_labels`.
    cv : int, splitter or iterable of splits, default=None
        Cross-validation of the audit, as in `audit_labels`.
    random_state : int, RandomState or None, default=None
        Seed of the audit, and of the random states of the estimator that are None.
    n_jobs : int or None, default=None
        Number of models of the audit trained in parallel. Results do not depend on it.

    Attributes
    ----------
    estimator_ : classifier
        The estimator fitted to the cleaned samples.
    classes_ : array of shape (n_classes,)
    is_suspect_ : bool array of shape (n_samples,)
        Samples with suspect labels.
    sample_weight_ : array of shape (n_samples,)
        Weight of each sample: 1, less for a suspect, and 0 for a dropped sample.
    label_probability_ : array of shape (n_samples,)
        Probability of the given label; NaN for the only sample of a class.
    suggested_ : array of shape (n_samples,)
        The most likely other label.
    noise_rate_ : float
        Estimated fraction of wrong labels.
    noise_matrix_ : array of shape (n_classes, n_classes)
        Estimated probability that a class (row) is labeled as each class (column).
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if ``X`` is a DataFrame with string column names.

    See Also
    --------
    fuselearn.diagnosis.audit_labels : The audit alone, to inspect the suspects.
    fuselearn.FusedClassifier : Learns from all samples and tolerates wrong labels.

    References
    ----------
    Brodley, C. E. and Friedl, M. A. (1999). Identifying mislabeled training data. Journal of Artificial Intelligence
    Research 11, 131-167.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from fuselearn import CleanedClassifier
    >>> from fuselearn.datasets import corrupt_labels
    >>> X, y = load_wine(return_X_y=True)
    >>> noisy = corrupt_labels(y, 0.2, random_state=0)
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> round(tree.fit(X, noisy).score(X, y), 2)
    0.8
    >>> round(CleanedClassifier(tree, random_state=0).fit(X, noisy).score(X, y), 2)
    0.94
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        action: str = "drop",
        auditor: Any = None,
        cv: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.action = action
        self.auditor = auditor
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: inputs that both the estimator and the auditor support."""
        tags = super().__sklearn_tags__()
        inner = [get_tags(one) for one in (self._base_estimator(), self.auditor) if isinstance(one, BaseEstimator)]
        tags.input_tags.allow_nan = all(one.input_tags.allow_nan for one in inner)
        tags.input_tags.sparse = all(one.input_tags.sparse for one in inner)
        tags.input_tags.categorical = all(one.input_tags.categorical for one in inner)
        return tags

    @reset_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Audit the labels, and fit the estimator to the trusted samples.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Training samples, as accepted by the estimator and the auditor.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Sample weights of the estimator; the audit does not use them.

        Returns
        -------
        self
        """
        base = self._check_settings(sample_weight)
        X = validate_rows(self, X, reset=True)
        if sparse.issparse(X) and not get_tags(base).input_tags.sparse:
            raise TypeError(f"Sparse data was passed, but {type(base).__name__} needs a dense array: use X.toarray().")
        self.classes_, given = read_classes(y, X.shape[0])
        weights = read_weights(sample_weight, X.shape[0])
        rng = make_generator(self.random_state)
        self.sample_weight_ = self._audit(X, given, rng)
        model = seed_estimator(clone(base), int(rng.integers(2**31)), unset_only=True)
        labels = self.classes_[given]
        if self.action == "reweight":
            weights = self.sample_weight_ if weights is None else self.sample_weight_ * weights
        kept = np.flatnonzero(self.sample_weight_ if self.action == "drop" else np.ones(len(given)))
        given_weights = {} if weights is None else {"sample_weight": weights[kept]}
        self.estimator_ = model.fit(take_rows(X, kept), labels[kept], **given_weights)
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict classes.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._delegate("predict", X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> Scores:
        """Predict the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return self._delegate("predict_proba", X)

    @available_if(_has("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> Scores:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return self._delegate("predict_log_proba", X)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> Scores:
        """Compute the decision function of the estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) for two classes, or (n_samples, n_classes)
        """
        return self._delegate("decision_function", X)

    def _base_estimator(self) -> Any:
        return FusedClassifier() if self.estimator is None else self.estimator

    def _check_settings(self, sample_weight: Any) -> Any:
        """Validate the parameters and return the estimator to clone."""
        check_choice("action", self.action, ("drop", "reweight"))
        base = self._base_estimator()
        if isinstance(base, type) or not (hasattr(base, "get_params") and is_classifier(base)):
            raise TypeError(f"estimator must be a classifier, or None, not {show(base)}.")
        auditor = self.auditor
        if auditor is not None and (isinstance(auditor, type) or not hasattr(auditor, "predict_proba")):
            raise TypeError(f"auditor must be a classifier with predict_proba, or None, not {show(auditor)}.")
        if (self.action == "reweight" or sample_weight is not None) and not has_fit_parameter(base, "sample_weight"):
            cause = "action='reweight'" if self.action == "reweight" else "sample_weight"
            raise ValueError(f"{cause} needs an estimator that supports sample_weight; {type(base).__name__} does not.")
        return base

    def _audit(self, X: Any, given: npt.NDArray[np.int32], rng: np.random.Generator) -> Weights:
        """Audit the given labels, and return the weight of each sample."""
        folding = Folding(self.cv, 1, None, self.n_jobs).checked()
        held_out = hold_out_classes(X, self.classes_, given, self.auditor, folding, rng)
        warn_of_unjudged(held_out.is_judged, self.classes_[given])
        _, is_predictable = measure_skill(held_out.probabilities[held_out.is_judged], given[held_out.is_judged])
        verdict = judge(held_out, given, np.broadcast_to(is_predictable, held_out.probabilities.shape))
        order = rank(verdict.own, verdict.largest)
        self.is_suspect_ = verdict.is_suspect
        self.label_probability_ = verdict.own
        self.suggested_ = self.classes_[verdict.suggested]
        self.noise_rate_ = float(verdict.is_suspect.sum() / held_out.is_judged.sum())
        self.noise_matrix_ = verdict.noise
        if self.action == "reweight":
            return np.where(self.is_suspect_, verdict.own, 1.0)
        is_kept = ~(self.is_suspect_ & (verdict.largest - verdict.own >= CLEAR_MARGIN))
        _, last = np.unique(given[order[::-1]], return_index=True)
        is_kept[order[::-1][last]] = True  # the most trusted sample of each class
        return is_kept.astype(np.float64)

    def _delegate(self, method: str, X: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.estimator_, method)(validate_rows(self, X, reset=False))
