"""Rotation Forest: trees on features rotated by the principal components of random subsets."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from fuselearn._parameters import check_whole_number
from fuselearn.base import as_estimator
from fuselearn.ensembles.cart import CARTClassifier
from fuselearn.ensembles.ensemble import EnsembleClassifier
from fuselearn.fusion import Problem, Trained, WeightedSum
from fuselearn.learners import Model, Target, bind, count_all_samples

Numbers = npt.NDArray[np.float64]

# Fraction of the samples of the chosen classes used for principal components, as in the paper.
DRAWN_FRACTION = 0.75


class RotatedModel(Model):
    """A model on rotated features, with its rotation."""

    def __init__(self, model: Model, coder: Any, ranges: Numbers, rotation: Numbers) -> None:
        self.model = model
        self.coder = coder
        self.ranges = ranges
        self.rotation = rotation

    def scores(self, X: Any = None, *, appended: Any = None, only: Any = None) -> Numbers:
        """Return the class scores of new samples."""
        return self.model.scores(self._rotate(X if only is None else X[only]))

    def votes(self, X: Any = None) -> npt.NDArray[np.int32]:
        """Return the indices of the predicted classes of new samples."""
        return self.model.votes(self._rotate(X))

    def _rotate(self, X: Any) -> Any:
        rotated = X / self.ranges @ self.rotation
        return rotated if self.coder is None else self.coder.transform(rotated)


def train_rotation_forest(problem: Problem, n_estimators: int = 100, *, features_per_subset: int = 3) -> Trained:
    """Train classifiers on differently rotated features of all samples; their scores have equal weights."""
    X, weights, learner = problem.X, problem.weights, problem.learner
    used = np.ones(len(X), dtype=bool) if weights is None else weights > 0
    ranges = np.ptp(X[used], axis=0)
    ranges = np.where(ranges > 0, ranges, 1.0)
    train = delayed(_train_rotated)
    models = Parallel(n_jobs=problem.n_jobs, prefer=learner.prefer)(
        train(learner.estimator, X, ranges, problem.target, weights, features_per_subset, seed)
        for seed in problem.rng.integers(2**62, size=n_estimators).tolist()
    )
    fused = WeightedSum(models, np.full(len(models), 1.0 / len(models)), problem.target.n_columns)
    return Trained(fused, {"ranges_": ranges, "_coder_": None})  # each model has its own coder


def _train_rotated(
    base: Any, X: Numbers, ranges: Numbers, target: Target, weights: Numbers | None, subset_size: int, seed: int
) -> RotatedModel:
    """Draw a rotation and train a classifier on the rotated samples."""
    scaled, used = X / ranges, slice(None) if weights is None else weights > 0
    rotation = draw_rotation(scaled[used], target.values[used], subset_size, np.random.default_rng(seed))
    learner = bind(base, scaled @ rotation)
    counts, weights = count_all_samples(weights, len(X), copies=learner.counts_copies)
    model = learner.train(target, counts, seed, weights=weights)
    learner.release()
    return RotatedModel(model, learner.coder, ranges, rotation)


class RotationForestClassifier(EnsembleClassifier):
    """Rotation Forest: classifiers trained on all samples, each with its own rotation of the features.

    Experimental: parameters, defaults and results may change in any minor release.

    For each classifier, the features are divided at random into subsets of ``features_per_subset``. The principal
    components of each subset are computed from a bootstrap sample of some randomly chosen classes, with three quarters
    of their samples. All components are kept, so the features are only rotated and no information is lost; the trees
    split along other directions. The ensemble predicts the mean of the class scores.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimator : classifier or None, default=None
        Base estimator: any scikit-learn classifier that depends on the rotation of the features, as trees do. None
        means ``CARTClassifier(min_samples_split=4, min_samples_leaf=2, complexity=None)``.
    n_estimators : int, default=100
        Number of classifiers.
    features_per_subset : int, default=3
        Number of features that are rotated together; the last subset may have fewer.
    class_weight : dict, "balanced" or None, default=None
        Class weights, multiplied by the sample weights; "balanced" as in scikit-learn.
    random_state : int, RandomState or None, default=None
        Seed of the rotations and of the base estimators.
    n_jobs : int or None, default=None
        Number of classifiers trained in parallel. Results do not depend on it.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        The classes; the number of features; their names, if ``X`` is a DataFrame with string column names.
    estimators_ : list of classifiers
        Each expects samples divided by ``ranges_`` and multiplied by its rotation.
    rotations_ : list of square arrays
    ranges_ : array of shape (n_features,)
        Range of each feature, maximum minus minimum. Features are divided by it because principal components depend on
        units.
    estimator_weights_ : array of shape (n_estimators,)
        The same weight for all classifiers.
    feature_importances_ : array of shape (n_features,)
        Mean of the classifiers' importances, distributed over the features of each direction, if the base estimator has
        importances.

    See Also
    --------
    ForestClassifier : Forests of trees that split along the features.

    Notes
    -----
    Features must be numeric, without missing values; encode categories and impute missing values first, in a pipeline.
    Sample weights are passed to the base estimators; samples with weight 0 are ignored.

    References
    ----------
    Rodriguez, J. J., Kuncheva, L. I. and Alonso, C. J. (2006). Rotation Forest: a new classifier ensemble method. IEEE
    Transactions on Pattern Analysis and Machine Intelligence 28(10), 1619-1630.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from fuselearn.ensembles import RotationForestClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = RotationForestClassifier(n_estimators=20, random_state=0)
    >>> bool(cross_val_score(model, X, y, cv=5).mean() > 0.95)
    True
    """

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        n_estimators: int = 100,
        *,
        features_per_subset: int = 3,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.features_per_subset = features_per_subset
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    _shares_table = False  # each member has its own table

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: missing values are not supported."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.input_tags.sparse = False
        return tags

    def _default_estimator(self) -> CARTClassifier:
        return CARTClassifier(min_samples_split=4, min_samples_leaf=2, complexity=None)

    def _check_parameters(self) -> None:
        check_whole_number("features_per_subset", self.features_per_subset, 1)
        self._check_ensemble(check_whole_number("n_estimators", self.n_estimators, 1))

    def _check_table(self, X: Any, *, reset: bool) -> Numbers:
        return validate_data(self, X, reset=reset, dtype=np.float64)

    def _train(self, problem: Problem) -> Trained:
        return train_rotation_forest(problem, self.n_estimators, features_per_subset=self.features_per_subset)

    @property
    def rotations_(self) -> list[Numbers]:
        """Rotation of each classifier."""
        return [model.rotation for model in self._fused_.models]

    def _importances(self, model: Any) -> Numbers:
        return model.rotation**2 @ super()._importances(model.model)

    def _as_estimator(self, model: Any, base: Any) -> Any:
        return as_estimator(model.model, base, model.coder, self.classes_, None)


def draw_rotation(X: Numbers, classes: npt.NDArray[np.int32], subset_size: int, rng: np.random.Generator) -> Numbers:
    """Draw subsets of the features, and return their principal components as one matrix.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    classes : int32 array of shape (n_samples,)
    subset_size : int
    rng : Generator

    Returns
    -------
    array of shape (n_features, n_features)
        Each column is a direction of length one, and 0 outside the features of its subset.

    Examples
    --------
    >>> X, classes = np.arange(12.0).reshape(4, 3), np.array([0, 0, 1, 1], dtype=np.int32)
    >>> np.abs(draw_rotation(X, classes, 1, np.random.default_rng(0)))
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    n_features, present = X.shape[1], np.unique(classes)
    rotation = np.zeros((n_features, n_features))
    order = rng.permutation(n_features)
    for start in range(0, n_features, subset_size):
        subset = order[start : start + subset_size]
        chosen = present[rng.random(len(present)) < 0.5]
        if len(chosen) == 0:
            chosen = rng.choice(present, 1)
        rows = np.flatnonzero(np.isin(classes, chosen))
        rows = rng.choice(rows, max(1, round(DRAWN_FRACTION * len(rows))))
        part = X[np.ix_(rows, subset)]
        part = part - part.mean(axis=0)
        rotation[np.ix_(subset, subset)] = np.linalg.eigh(part.T @ part)[1]
    return rotation
