"""Probabilities of training samples by models that have not seen them: fused sensors, or any classifier by folds."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import StratifiedKFold, check_cv

from fuselearn._parameters import check_whole_number
from fuselearn._random import seed_estimator
from fuselearn.combine import FusedClassifier
from fuselearn.combine.answers import Classes
from fuselearn.combine.measuring import default_sensors, suitable
from fuselearn.combine.members import Member
from fuselearn.combine.out_of_fold import Splits, answer_out_of_fold, covered_rows
from fuselearn.multilabel import IterativeStratifiedKFold
from fuselearn.multilabel.learning.label_learner import MultilabelLearner, score_folds

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

# The sensors that stay close to the true classes when labels are wrong; boosting follows the wrong ones.
SENSORS = ("forest_leaf3", "extra_trees_leaf3", "svm")
N_COMPONENTS = 50
N_FOLDS = 5


class HeldOut(NamedTuple):
    """What models say about samples that they have not seen.

    Attributes
    ----------
    probabilities : array of shape (n_samples, n_classes), or (n_samples, n_labels) for several labels per sample
    is_judged : bool array of shape (n_samples,) or (n_samples, n_labels)
        False where the models cannot know the given class, because it has no other sample.
    """

    probabilities: Floats
    is_judged: Flags


class Folding(NamedTuple):
    """How samples are held out, as for `audit_labels`."""

    cv: Any
    n_repeats: int
    groups: Any
    n_jobs: int | None

    @property
    def has_number(self) -> bool:
        """Whether folds are dealt here rather than by the user's splitter."""
        return self.cv is None or isinstance(self.cv, int | np.integer)

    def checked(self) -> Folding:
        """Refuse numbers that make no sense, and keep the splits of an iterable."""
        check_whole_number("n_repeats", self.n_repeats, 1)
        if not self.has_number:
            if self.n_repeats != 1:
                raise ValueError("n_repeats applies only if cv is an int; pass a splitter that repeats instead.")
            return self._replace(cv=check_cv(self.cv))
        if self.cv is not None:
            check_whole_number("cv", self.cv, 2)
        return self

    def seeds(self, rng: np.random.Generator) -> list[int]:
        """Draw a seed for each repeat."""
        seeds: list[int] = rng.integers(2**31, size=(self.n_repeats,)).tolist()
        return seeds


def hold_out_classes(
    X: Any,
    classes: npt.NDArray[Any],
    given: Codes,
    estimator: BaseEstimator | None,
    folding: Folding,
    rng: np.random.Generator,
) -> HeldOut:
    """Return the probabilities of the classes for samples with one class each.

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
    classes : array of shape (n_classes,)
    given : int array of shape (n_samples,)
        The number of the class of each sample.
    estimator : classifier or None
        None for fused sensors.
    folding : Folding
    rng : Generator
    """
    if estimator is None and sparse.issparse(X):
        estimator = _linear_model()
    if estimator is not None:
        splits = _split(folding, X, given, _stratified, rng)
        seeded = seed_estimator(clone(estimator), int(rng.integers(2**31)), unset_only=True)
        found = answer_out_of_fold(
            [Member("estimator", seeded)], X, classes[given], Classes(classes).probabilities, splits, folding.n_jobs
        )
        return HeldOut(found.answers[0], _find_known(splits, given))
    if folding.has_number:
        is_judged = np.bincount(given)[given] > 1
    else:
        splits = _split(folding, X, given, _stratified, rng)
        is_judged = _find_known(splits, given)
        folding = folding._replace(cv=splits)
    repeats = [_fuse(X, given, folding, seed) for seed in folding.seeds(rng)]
    probabilities = np.mean(repeats, axis=0)
    return HeldOut(probabilities, is_judged & np.isfinite(probabilities).all(axis=1))


def hold_out_labels(
    X: Any, Y: npt.NDArray[np.uint8], estimator: BaseEstimator | None, folding: Folding, rng: np.random.Generator
) -> HeldOut:
    """Return the probabilities of the labels for samples with several labels each.

    Without an estimator, each label is a question of its own. A label that fewer than two samples have, or lack, is not
    judged.
    """
    positives = Y.sum(axis=0, dtype=np.intp)
    has_both = (positives > 1) & (positives < len(Y) - 1)
    is_judged = np.tile(has_both, (len(Y), 1))
    if estimator is not None:
        splits = _split(folding, X, Y, IterativeStratifiedKFold, rng)
        learner = MultilabelLearner(X, estimator, keep_seeds=True)
        scores = score_folds(learner, Y, splits, int(rng.integers(2**31)), n_jobs=folding.n_jobs)
        return HeldOut(scores, is_judged)
    probabilities = np.full(Y.shape, np.nan)
    for label in np.flatnonzero(has_both):
        found = hold_out_classes(X, np.arange(2), Y[:, label].astype(np.int32), None, folding, rng)
        probabilities[:, label] = found.probabilities[:, 1]
        is_judged[:, label] &= found.is_judged
    return HeldOut(probabilities, is_judged)


def warn_of_unjudged(is_judged: Flags, labels: npt.NDArray[Any]) -> None:
    """Warn of samples that could not be judged, and refuse data of which none could."""
    if not is_judged.any():
        raise ValueError(
            "cv must not put all samples of a class into one test set: no model that judges a sample knows its class."
        )
    if not is_judged.all():
        names = ", ".join(map(repr, np.unique(labels[~is_judged]).tolist()))
        warnings.warn(
            f"{np.count_nonzero(~is_judged)} of {len(labels)} samples cannot be judged, since models trained without "
            f"them do not know their class: {names}.",
            stacklevel=3,
        )


def _fuse(X: Any, given: Codes, folding: Folding, seed: int) -> Floats:
    sensors = [one for one in default_sensors(N_COMPONENTS, seed) if one[0] in SENSORS]
    fused = FusedClassifier(suitable(sensors, X), cv=folding.cv, random_state=seed, n_jobs=folding.n_jobs)
    return fused.hold_out(X, given, groups=folding.groups)


def _linear_model() -> BaseEstimator:
    """Return the estimator for sparse matrices, which are often too wide for trees."""
    from sklearn.linear_model import LogisticRegression  # takes long to import
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler

    return make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1000))


_stratified = partial(StratifiedKFold, shuffle=True)


def _split(folding: Folding, X: Any, target: npt.NDArray[Any], deal: Any, rng: np.random.Generator) -> Splits:
    """Return the training and test samples of all folds; ``deal(n_folds, random_state=seed)`` makes a splitter."""
    if folding.has_number:
        with warnings.catch_warnings():  # classes with fewer samples than folds
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            return [
                split
                for seed in folding.seeds(rng)
                for split in deal(folding.cv or N_FOLDS, random_state=seed).split(X, target)
            ]
    splits = list(folding.cv.split(X, target, folding.groups))
    n_missed = len(target) - len(covered_rows(splits, len(target))[0])
    if n_missed:
        raise ValueError(f"cv must put every sample into a test set; {n_missed} are in none.")
    return splits


def _find_known(splits: Splits, given: Codes) -> Flags:
    """Return the samples whose class is known to every model that judges them."""
    is_known = np.ones(len(given), dtype=bool)
    for train, test in splits:
        is_known[test] &= np.isin(given[test], given[train])
    return is_known
