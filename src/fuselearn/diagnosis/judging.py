"""Judge given labels by held-out probabilities: of fused classifiers, or of any classifier by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils.parallel import Parallel, delayed

from fuselearn._parameters import check_whole_number, seed_estimator
from fuselearn.base import train_one
from fuselearn.combine import FusedClassifier
from fuselearn.combine.classes import Classes
from fuselearn.combine.fused import N_FOLDS as FUSED_FOLDS
from fuselearn.combine.fused import default_members
from fuselearn.combine.members import Member, predict_outside
from fuselearn.fusion import Problem
from fuselearn.fusion.held_out import Splits, average_held_out, call_splitter, held_out_samples, hold_out
from fuselearn.learners import label_target
from fuselearn.learners.learner import Scores

ClassIndices = npt.NDArray[np.integer]
Flags = npt.NDArray[np.bool_]

# The members that stay close to the correct classes when labels are wrong; boosting follows the wrong ones.
MEMBERS = ("forest_leaf3", "extra_trees_leaf3", "svm")
N_ESTIMATORS = 50
N_FOLDS = 5


class HeldOut(NamedTuple):
    """Probabilities of samples by models that were not trained on them.

    Attributes
    ----------
    probabilities : array of shape (n_samples, n_classes) or (n_samples, n_labels)
    is_judged : bool array of shape (n_samples,) or (n_samples, n_labels)
        False where a model cannot predict the given class, because it has no other sample.
    """

    probabilities: Scores
    is_judged: Flags


class Folding(NamedTuple):
    """How samples are held out; the parameters of `audit_labels`."""

    cv: Any
    n_repeats: int
    groups: Any
    n_jobs: int | None

    @property
    def has_number(self) -> bool:
        """Whether ``cv`` is a number of folds, or None."""
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

    def split(self, X: Any, y: npt.NDArray[Any], make: Callable[..., Any], rng: np.random.Generator) -> Splits:
        """List the splits of all repeats; ``make(n_folds, random_state=seed)`` returns a splitter for a number."""
        if self.has_number:
            with warnings.catch_warnings():  # classes with fewer samples than folds
                warnings.filterwarnings("ignore", "The least populated class", UserWarning)
                n_folds = self.cv or N_FOLDS
                return [one for seed in self.seeds(rng) for one in make(n_folds, random_state=seed).split(X, y)]
        splits = call_splitter(self.cv, X, y, self.groups)
        n_missed = len(y) - len(held_out_samples(splits, len(y))[0])
        if n_missed:
            raise ValueError(f"cv must put every sample into a test set; {n_missed} are in none.")
        return splits


def hold_out_classes(
    X: Any,
    classes: npt.NDArray[Any],
    given: npt.NDArray[np.int32],
    estimator: BaseEstimator | None,
    folding: Folding,
    rng: np.random.Generator,
) -> HeldOut:
    """Return held-out probabilities of the classes.

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
    classes : array of shape (n_classes,)
    given : int array of shape (n_samples,)
        Class indices.
    estimator : classifier or None
        None means fused classifiers.
    folding : Folding
    rng : Generator
    """
    if estimator is None and sparse.issparse(X):
        estimator = _linear_model()
    if estimator is None and folding.has_number:
        is_judged = np.bincount(given)[given] > 1
    else:
        splits = folding.split(X, given, partial(StratifiedKFold, shuffle=True), rng)
        is_judged = _is_class_inside(splits, given)
    if estimator is not None:
        member = Member("estimator", seed_estimator(clone(estimator), int(rng.integers(2**31)), unset_only=True))
        parts = Parallel(n_jobs=folding.n_jobs)(
            delayed(predict_outside)(member, X, classes[given], Classes(classes).probabilities, *split)
            for split in splits
        )
        return HeldOut(average_held_out(parts, splits, len(given)), is_judged)
    repeats = []
    for seed in folding.seeds(rng):
        members = [(one.name, one.estimator) for one in default_members(N_ESTIMATORS, seed, X) if one.name in MEMBERS]
        cv = (folding.cv or FUSED_FOLDS) if folding.has_number else splits
        fused = FusedClassifier(members, cv=cv, random_state=seed, n_jobs=folding.n_jobs)
        repeats.append(fused.hold_out(X, given, groups=folding.groups))
    probabilities = np.mean(repeats, axis=0)
    return HeldOut(probabilities, is_judged & np.isfinite(probabilities).all(axis=1))


def hold_out_labels(
    X: Any, Y: npt.NDArray[np.uint8], estimator: BaseEstimator | None, folding: Folding, rng: np.random.Generator
) -> HeldOut:
    """Return held-out probabilities of the labels.

    Without an estimator, each label is a problem of two classes. A label that fewer than two samples have, or lack, is
    not judged.
    """
    positives = Y.sum(axis=0, dtype=np.intp)
    has_both = (positives > 1) & (positives < len(Y) - 1)
    is_judged = np.tile(has_both, (len(Y), 1))
    if estimator is not None:
        from fuselearn.learners.clones import MultilabelCloneLearner
        from fuselearn.multilabel import IterativeStratifiedKFold  # takes long to import, and few audits need it

        splits = folding.split(X, Y, IterativeStratifiedKFold, rng)
        train = partial(train_one, seed=int(rng.integers(2**31)))
        problem = Problem(MultilabelCloneLearner(X, estimator, keep_seeds=True), label_target(Y), None, rng, X)
        parts = Parallel(n_jobs=folding.n_jobs)(
            delayed(hold_out)(train, problem, [split], np.random.default_rng) for split in splits
        )
        return HeldOut(average_held_out([part for (part,) in parts], splits, len(Y)), is_judged)
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
            "cv must not put all samples of a class into one test set: models trained without it cannot judge them."
        )
    if not is_judged.all():
        names = ", ".join(map(repr, np.unique(labels[~is_judged]).tolist()))
        warnings.warn(
            f"{np.count_nonzero(~is_judged)} of {len(labels)} samples cannot be judged, since models trained without "
            f"them do not know their class: {names}.",
            stacklevel=3,
        )


def _linear_model() -> BaseEstimator:
    """Return the estimator for sparse matrices, which are often too wide for trees."""
    from sklearn.linear_model import LogisticRegression  # takes long to import
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler

    return make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1000))


def _is_class_inside(splits: Splits, given: ClassIndices) -> Flags:
    """Return for which samples all splits that hold them out have their class inside."""
    is_inside = np.ones(len(given), dtype=bool)
    for inside, outside in splits:
        is_inside[outside] &= np.isin(given[outside], given[inside])
    return is_inside


class Verdict(NamedTuple):
    """What held-out probabilities tell about given labels.

    Attributes
    ----------
    own : array of shape (n_samples,)
        Probability of the given label; NaN for a sample that could not be judged.
    suggested : int array of shape (n_samples,)
        The most likely other label.
    largest : array of shape (n_samples,)
        Its probability.
    counts : array of shape (n_classes, n_classes)
        Estimated number of judged samples by given and true class.
    is_doubted : bool array of shape (n_samples,)
        Whether another class is predicted confidently, and is more likely than the given one.
    """

    own: Scores
    suggested: ClassIndices
    largest: Scores
    counts: Scores
    is_doubted: npt.NDArray[np.bool_]

    @property
    def n_wrong(self) -> float:
        """Estimated number of wrong labels."""
        return float(self.counts.sum() - np.trace(self.counts))

    @property
    def noise(self) -> Scores:
        """Estimated probability that a class (row) is labeled as each class (column)."""
        truly = self.counts.sum(axis=0)[:, None]
        # Labels of a class that is never predicted confidently tell nothing.
        return np.where(truly > 0, self.counts.T / np.where(truly > 0, truly, 1.0), np.eye(len(truly)))


def judge(probabilities: Scores, given: ClassIndices, is_judged: npt.NDArray[np.bool_]) -> Verdict:
    """Compare the given label of each sample with the most likely other one, and estimate which are wrong.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        For held-out samples.
    given : int array of shape (n_samples,)
        Class indices.
    is_judged : bool array of shape (n_samples,)

    Returns
    -------
    Verdict
    """
    samples = np.arange(len(given))
    others = probabilities.copy()
    others[samples, given] = -1.0
    own, largest = probabilities[samples, given], others.max(axis=1)
    reached = _reach(probabilities[is_judged], given[is_judged])
    is_doubted = np.zeros(len(given), dtype=bool)
    is_doubted[is_judged] = (reached.max(axis=1) >= 0) & (reached.argmax(axis=1) != given[is_judged])
    return Verdict(
        own=np.where(is_judged, own, np.nan),
        suggested=others.argmax(axis=1),
        largest=largest,
        counts=count_confident(probabilities[is_judged], given[is_judged]),
        is_doubted=is_doubted & (largest > own),
    )


def rank(own: npt.ArrayLike, largest: npt.ArrayLike) -> npt.NDArray[np.intp]:
    """Order labels by their probability, the most doubtful first, and those that could not be judged last."""
    return np.lexsort((-np.asarray(largest), np.asarray(own)))  # NaN comes last


def count_confident(probabilities: Scores, given: ClassIndices) -> Scores:
    """Count samples by given and confidently predicted class, scaled to the number of samples of each given class.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        For held-out samples.
    given : int array of shape (n_samples,)
        Class indices.

    Returns
    -------
    array of shape (n_classes, n_classes)
        Entry (i, j) estimates the number of samples labeled i whose true class is j.

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.1, 0.9], [0.2, 0.8], [0.9, 0.1]])
    >>> count_confident(p, np.array([0, 0, 0, 1, 1, 1]))
    array([[2., 1.],
           [1., 2.]])
    """
    n_classes = probabilities.shape[1]
    sizes = np.bincount(given, minlength=n_classes)
    reached = _reach(probabilities, given)
    is_confident = reached.max(axis=1) >= 0
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (given[is_confident], reached.argmax(axis=1)[is_confident]), 1.0)
    # Without any confident sample there is no evidence against the labels of a class.
    counts[counts.sum(axis=1) == 0] = np.eye(n_classes)[counts.sum(axis=1) == 0]
    return counts / counts.sum(axis=1, keepdims=True) * sizes[:, None]


def _reach(probabilities: Scores, given: ClassIndices) -> Scores:
    """Return the probabilities that are at least the mean of the samples labeled with that class; -1 for others."""
    n_classes = probabilities.shape[1]
    own = probabilities[np.arange(len(given)), given]
    sizes = np.bincount(given, minlength=n_classes)
    thresholds = np.full(n_classes, np.inf)  # there is no threshold for a class without samples
    np.divide(np.bincount(given, weights=own, minlength=n_classes), sizes, out=thresholds, where=sizes > 0)
    return np.where(probabilities >= thresholds, probabilities, -1.0)
