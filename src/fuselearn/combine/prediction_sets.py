"""Prediction sets: sets of classes that contain the correct class with a given probability.

A set contains the classes whose probability is at least a threshold. The threshold is the largest one with which the
sets of held-out samples contain the correct class often enough: split conformal prediction with the score 1 - p, which
has the smallest sets on average (least ambiguous classification).

If a fraction e of the labels is replaced by random ones of K classes, a set contains the given label of a sample either
because it contains the correct class, or by chance::

    P(given label in set) = (1 - e) P(correct class in set) + e E[size of the set] / K

This equation is solved for the coverage of the correct class. It only needs e, not a model of the correct classes.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from fuselearn._messages import show
from fuselearn._parameters import check_flag, check_number
from fuselearn.base import read_weights, reset_on_failure
from fuselearn.combine.classes import Classes, read_classes_of, require_method
from fuselearn.combine.members import Member, fit_member, predict_outside, read_samples, weight_argument
from fuselearn.fusion.held_out import average_held_out, list_splits
from fuselearn.learners.learner import Scores, Weights

ClassIndices = npt.NDArray[np.integer]
Flags = npt.NDArray[np.bool_]


class Calibration(NamedTuple):
    """The data for calibrating thresholds.

    Attributes
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Held-out probabilities; NaN for samples that were never held out, which are ignored.
    given : int array of shape (n_samples,)
        Class indices of the given labels.
    weights : array of shape (n_samples,) or None
        Sample weights.
    """

    probabilities: Scores
    given: ClassIndices
    weights: Weights | None = None

    def usable(self) -> Calibration:
        """Return the held-out samples with a positive weight; weights are scaled to a mean of 1."""
        weights = np.ones(len(self.given)) if self.weights is None else self.weights
        used = np.isfinite(self.probabilities).all(axis=1) & (weights > 0)
        weights = weights[used] / weights[used].mean()
        return Calibration(self.probabilities[used], self.given[used], weights)


def find_thresholds(
    calibration: Calibration,
    coverage: float = 0.9,
    *,
    per_class: bool = False,
    allow_empty: bool = False,
    noise_rate: float = 0.0,
) -> Scores:
    """Return the minimum probability of each class to be in the set of a sample.

    Parameters
    ----------
    calibration : Calibration
    coverage, per_class, allow_empty, noise_rate
        As for :meth:`PredictionSetClassifier.predict_set`.

    Returns
    -------
    array of shape (n_classes,)
        All equal unless ``per_class``; 0 if there are too few samples to exclude a class.

    Examples
    --------
    The given class has the probabilities 0.05, 0.10, ... 0.95; the 18 largest of these 19 are the fraction 0.9 of 19 +
    1:

    >>> p = np.arange(0.05, 0.96, 0.05)
    >>> calibration = Calibration(np.column_stack([p, 1 - p]), np.zeros(19, dtype=int))
    >>> find_thresholds(calibration, 0.9, allow_empty=True).round(2)
    array([0.1, 0.1])
    """
    if not 0 < check_number("coverage", coverage, 0) < 1:
        raise ValueError(f"coverage must be above 0 and below 1, not {show(coverage)}.")
    check_flag("per_class", per_class)
    check_flag("allow_empty", allow_empty)
    probabilities, given, weights = calibration.usable()
    assert weights is not None, "usable() sets weights of 1"
    n_classes = probabilities.shape[1]
    parts = _count_correct(given, n_classes, noise_rate) * weights[:, None]
    scores = probabilities if allow_empty else _admit(probabilities)
    if per_class:
        return np.array([_threshold(scores[:, k], parts[:, k], coverage) for k in range(n_classes)])
    return np.full(n_classes, _threshold(scores.ravel(), parts.ravel(), coverage))


def select_classes(
    probabilities: Scores, thresholds: Scores, *, allow_empty: bool = False, predicted: ClassIndices | None = None
) -> Flags:
    """Return the set of each sample as an indicator matrix of classes.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
    thresholds : array of shape (n_classes,)
    allow_empty : bool, default=False
    predicted : int array of shape (n_samples,), optional
        Indices of the classes to include unless ``allow_empty``; by default the most likely ones.

    Examples
    --------
    >>> select_classes(np.array([[0.6, 0.3, 0.1], [0.4, 0.3, 0.3]]), np.full(3, 0.5))
    array([[ True, False, False],
           [ True, False, False]])
    """
    scores = probabilities if allow_empty else _admit(probabilities, predicted)
    selected: Flags = scores >= thresholds
    return selected


def _count_correct(given: ClassIndices, n_classes: int, noise_rate: float) -> Scores:
    """Return unbiased estimates of the correct classes: the rows of the inverse noise matrix for the given classes.

    Rows sum to one. Without noise they are the one-hot encoded given classes.
    """
    most = (n_classes - 1) / n_classes
    if not check_number("noise_rate", noise_rate, 0) < most:
        raise ValueError(
            f"noise_rate must be less than {most:.3g}, the fraction of wrong labels if all labels were random, not "
            f"{show(noise_rate)}."
        )
    random = noise_rate * n_classes / (n_classes - 1)
    counts: Scores = (np.eye(n_classes)[given] - random / n_classes) / (1 - random)
    return counts


def _admit(probabilities: Scores, predicted: ClassIndices | None = None) -> Scores:
    """Return scores with which the predicted, or the most likely, class is in every set."""
    scores = probabilities.copy()
    scores[np.arange(len(scores)), probabilities.argmax(axis=1) if predicted is None else predicted] = 1.0
    return scores


def _threshold(scores: Scores, parts: Scores, coverage: float) -> float:
    """Return the largest score with the required coverage of the samples plus one; 0 if there is none."""
    order = np.argsort(-scores, kind="stable")
    ends = np.flatnonzero(np.diff(scores[order], append=-np.inf))  # equal scores are included together
    enough = np.cumsum(parts[order])[ends] >= coverage * (parts.sum() + 1) - 1e-9
    return float(scores[order][ends[enough.argmax()]]) if enough.any() else 0.0


class PredictionSetClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Add prediction sets to any classifier with probabilities.

    ``predict_set`` returns the classes whose probability is at least a threshold. The threshold is calibrated on
    held-out probabilities of the training samples: with ``coverage=0.9``, about 90 of 100 sets contain the correct
    class. ``predict`` and ``predict_proba`` are those of the estimator, fitted to all samples.

    :class:`~fuselearn.FusedClassifier` has the method ``predict_set`` and needs no wrapper.

    .. versionadded:: 0.3

    Parameters
    ----------
    estimator : classifier
        Any classifier with ``predict_proba``. To use a fitted classifier, wrap it in scikit-learn's
        ``FrozenEstimator``, and fit on samples that it was not trained on.
    cv : int, splitter or iterable of splits, default=None
        How samples are held out. None means five folds. Samples that are never held out are not used for calibration.
    n_jobs : int or None, default=None
        Number of folds fitted in parallel, in processes.

    Attributes
    ----------
    estimator_ : classifier
        The estimator fitted to all samples.
    classes_ : array of shape (n_classes,)
    held_out_proba_ : array of shape (n_samples, n_classes)
        Held-out probabilities of the training samples; NaN for samples that ``cv`` never holds out.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        If fitted on a DataFrame whose column names are strings.

    See Also
    --------
    fuselearn.FusedClassifier : Prediction sets that are corrected for estimated label noise.

    Notes
    -----
    With a frozen estimator, this is split conformal prediction: for any estimator, the expected coverage is at least
    ``coverage``, if new samples have the same distribution as those passed to ``fit``. With folds, held-out
    probabilities come from models trained on parts of the samples, so the coverage is approximate, and usually slightly
    larger. The coverage is an average over samples: for samples that are hard to classify, sets contain the correct
    class less often than for others.

    References
    ----------
    .. [1] M. Sadinle, J. Lei and L. Wasserman (2019). Least ambiguous set-valued classifiers with bounded error levels.
       Journal of the American Statistical Association 114(525), 223-234.
    .. [2] B.-S. Einbinder et al. (2022). Conformal prediction is robust to dispersive label noise. arXiv:2209.14295.
    .. [3] M. Sesia, Y. X. R. Wang and X. Tong (2025). Adaptive conformal classification with noisy labels. Journal of
       the Royal Statistical Society B 87(3), 796-815.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fuselearn.combine import PredictionSetClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = PredictionSetClassifier(GaussianNB()).fit(X[::2], y[::2])
    >>> sets = model.predict_set(X[1::2], coverage=0.98)
    >>> sets[35:38]
    array([[False,  True, False],
           [ True,  True, False],
           [False,  True, False]])
    >>> model.classes_[sets[36]]
    array([0, 1])
    """

    def __init__(self, estimator: Any, *, cv: Any = None, n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.cv = cv
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: those of the estimator, without multi-label targets."""
        tags = super().__sklearn_tags__()
        if isinstance(self.estimator, BaseEstimator):
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    @reset_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Compute held-out probabilities of the samples, and fit the estimator to all of them.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Any table that the estimator supports, or a list of strings.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Sample weights, for the calibration and for an estimator that supports them.
        groups : array-like of shape (n_samples,), optional
            Groups of samples, which are held out together.

        Returns
        -------
        self
        """
        estimator = self.estimator
        if isinstance(estimator, type) or not (hasattr(estimator, "get_params") and is_classifier(estimator)):
            raise TypeError(f"estimator must be a classifier, not {show(estimator)}.")
        X = read_samples(self, X, reset=True)
        weights = read_weights(sample_weight, X.shape[0])
        argument = None if weights is None else weight_argument(estimator)
        member = Member("estimator", estimator, None, {} if argument is None else {argument: weights})
        require_method([member], ("predict_proba",), "predict_set")
        classes, target = read_classes_of([member], X, y, prefit=isinstance(estimator, FrozenEstimator))
        if classes.n_labels is not None or target is None:
            raise ValueError("PredictionSetClassifier does not support multi-label y.")
        self.classes_ = classes.values
        given = classes.encode(target)
        splits = list_splits(self.cv, X.shape[0], given, groups)
        parts = Parallel(n_jobs=self.n_jobs)(
            delayed(predict_outside)(member, X, target, classes.probabilities, *split) for split in splits
        )
        self.held_out_proba_ = average_held_out(parts, splits, X.shape[0])
        self._calibration_ = Calibration(self.held_out_proba_, given, weights)
        self.estimator_ = fit_member(member, X, target).model
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
        check_is_fitted(self)
        predicted: npt.NDArray[Any] = self.estimator_.predict(read_samples(self, X, reset=False))
        return predicted

    def predict_proba(self, X: Any) -> Scores:
        """Predict the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return Classes(self.classes_).probabilities(self.estimator_, read_samples(self, X, reset=False))

    def predict_set(
        self,
        X: Any,
        coverage: float = 0.9,
        *,
        per_class: bool = False,
        allow_empty: bool = False,
        noise_rate: float = 0.0,
    ) -> Flags:
        """Predict a set of classes for each sample that contains the correct class with the given probability.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        coverage : float, default=0.9
            Required fraction of sets that contain the correct class.
        per_class : bool, default=False
            Whether each class has this coverage, with its own threshold, rather than all samples on average. With
            ``coverage=0.9``, a class with fewer than nine samples is in every set.
        allow_empty : bool, default=False
            Whether a set may be empty or lack the most likely class. By default it always contains the most likely
            class, so the coverage is at least the accuracy.
        noise_rate : float, default=0.0
            Fraction of wrong labels among those passed to ``fit``, spread evenly over samples and classes. The coverage
            then refers to the correct classes.

        Returns
        -------
        bool array of shape (n_samples, n_classes)
            Columns are in the order of ``classes_``: ``classes_[sets[0]]`` are the classes of the first sample.
        """
        check_is_fitted(self)
        thresholds = find_thresholds(
            self._calibration_, coverage, per_class=per_class, allow_empty=allow_empty, noise_rate=noise_rate
        )
        return select_classes(self.predict_proba(X), thresholds, allow_empty=allow_empty)
