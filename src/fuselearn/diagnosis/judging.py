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
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
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
from fuselearn.fusion.members import sharpen
from fuselearn.learners import label_target
from fuselearn.learners.learner import Scores

ClassIndices = npt.NDArray[np.integer]
Flags = npt.NDArray[np.bool_]

# The members that stay close to the correct classes when labels are wrong; boosting follows the wrong ones.
MEMBERS = ("forest_leaf3", "extra_trees_leaf3", "svm")
N_ESTIMATORS = 50
N_FOLDS = 5

# By so many standard errors must a class be predicted better than by its frequency: one-sided, 5 %.
SIGNIFICANCE = 1.64
EXPONENTS = np.concatenate([np.geomspace(0.1, 1.0, 8), np.geomspace(1.0, 3.0, 7)[1:]])
# Few samples must not turn luck into wrong labels: |log b| costs so much of the logarithm of the likelihood.
COST_OF_SHARPNESS = 2.0
N_STEPS = 20


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
                folds = [make(n_folds, random_state=seed) for seed in self.seeds(rng)]
                return [one for splitter in folds for one in splitter.split(X, y, self.groups)]
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
    has_own_folds = estimator is None and folding.has_number and folding.groups is None
    if has_own_folds:
        is_judged = np.bincount(given)[given] > 1
    else:
        kind = StratifiedKFold if folding.groups is None else StratifiedGroupKFold
        splits = folding.split(X, given, partial(kind, shuffle=True), rng)
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
        members = [(one.name, one.estimator) for one in default_members(N_ESTIMATORS, seed) if one.name in MEMBERS]
        cv = (folding.cv or FUSED_FOLDS) if has_own_folds else splits
        fused = FusedClassifier(members, cv=cv, random_state=seed, n_jobs=folding.n_jobs)
        repeats.append(fused.hold_out(X, given))
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
    is_contradicted : bool array of shape (n_samples,)
        Whether that is more likely than the given one.
    is_suspect : bool array of shape (n_samples,)
        The contradicted labels that are least likely, as many as are estimated to be wrong.
    noise : array of shape (n_classes, n_classes)
        Estimated probability that a class (row) is labeled as each class (column).
    """

    own: Scores
    suggested: ClassIndices
    largest: Scores
    is_contradicted: Flags
    is_suspect: Flags
    noise: Scores


def judge(probabilities: Scores, given: ClassIndices, is_judged: Flags, is_predictable: Flags) -> Verdict:
    """Compare the given label of each sample with the most likely other one, and estimate which are wrong.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        For held-out samples.
    given : int array of shape (n_samples,)
        Class indices.
    is_judged, is_predictable : bool array of shape (n_samples,)
        Whether a sample could be judged, and whether its label can be predicted at all; others are no suspects.

    Returns
    -------
    Verdict
    """
    samples, n_classes = np.arange(len(given)), probabilities.shape[1]
    others = probabilities.copy()
    others[samples, given] = -1.0
    largest = others.max(axis=1)
    own = np.where(is_judged, probabilities[samples, given], np.nan)
    is_contradicted = largest > own
    known = np.flatnonzero(is_judged & is_predictable)
    is_suspect, noise = np.zeros(len(given), dtype=bool), np.eye(n_classes)
    if len(known):
        wrong, noise = separate_wrong_labels(probabilities[known], given[known])
        ranked = rank(own, largest)
        is_suspect[ranked[(is_contradicted & is_predictable)[ranked]][: round(wrong.sum())]] = True
    return Verdict(own, others.argmax(axis=1), largest, is_contradicted, is_suspect, noise)


def rank(own: npt.ArrayLike, largest: npt.ArrayLike) -> npt.NDArray[np.intp]:
    """Order labels by their probability, the most doubtful first, and those that could not be judged last."""
    return np.lexsort((-np.asarray(largest), np.asarray(own)))  # NaN comes last


def measure_skill(probabilities: Scores, given: ClassIndices) -> tuple[Scores, Flags]:
    """Compare the squared error of the probabilities of each class with that of its frequency.

    The frequency is what remains of any probability if labels are independent of the features.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        For held-out samples.
    given : int array of shape (n_samples,)
        Class indices.

    Returns
    -------
    skill : array of shape (n_classes,)
        1 for perfect predictions, 0 or less if they are no better than the frequency.
    is_predictable : bool array of shape (n_classes,)
        Whether they are better by more than 1.64 standard errors.

    Examples
    --------
    >>> measure_skill(np.array([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.1, 0.9]]), np.array([0, 0, 1, 1]))
    (array([0.96, 0.96]), array([ True,  True]))
    >>> measure_skill(np.array([[0.9, 0.1], [0.1, 0.9], [0.1, 0.9], [0.9, 0.1]]), np.array([0, 0, 1, 1]))
    (array([-0.64, -0.64]), array([False, False]))
    """
    truth = np.eye(probabilities.shape[1])[given]
    chance = (truth.mean(axis=0) - truth) ** 2
    gain = chance - (probabilities - truth) ** 2
    mean, error = gain.mean(axis=0), gain.std(axis=0) / np.sqrt(len(given))
    possible = chance.mean(axis=0)
    return np.where(possible > 0, mean / np.where(possible > 0, possible, 1.0), 0.0), mean > SIGNIFICANCE * error


def separate_wrong_labels(probabilities: Scores, given: ClassIndices) -> tuple[Scores, Scores]:
    """Estimate the probability that each given label is wrong, and which class is labeled as which.

    Labels are taken to follow P(label i | x) = sum_j q_j(x) T_ji, with q the probabilities of the correct classes, in
    proportion to p^b, and T the noise matrix. Samples that are hard to predict need no T: q is uncertain there. Wrong
    labels do, as they also occur where q is certain. For each b, T is fitted by expectation-maximization, with one
    sample of each class added that is labeled correctly; b is the one with the largest log-likelihood less 2 |log b|.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        For held-out samples.
    given : int array of shape (n_samples,)
        Class indices.

    Returns
    -------
    wrong : array of shape (n_samples,)
        Probability that the label is wrong.
    noise : array of shape (n_classes, n_classes)
        T.

    Examples
    --------
    Correct labels of samples many of which are hard to predict, and the same with every fifth label wrong:

    >>> rng = np.random.default_rng(0)
    >>> correct = rng.dirichlet([0.5, 0.5], 2_000)
    >>> classes = (rng.random(2_000) > correct[:, 0]).astype(int)
    >>> labels = np.where(np.arange(2_000) % 5 == 0, 1 - classes, classes)
    >>> [float(separate_wrong_labels(correct, given)[0].mean().round(2)) for given in (classes, labels)]
    [0.02, 0.19]
    """
    n_classes = probabilities.shape[1]
    truth = np.eye(n_classes)[given]
    best = -np.inf
    for exponent in EXPONENTS:
        correct = sharpen(probabilities, exponent)
        noise = np.full((n_classes, n_classes), 0.1 / n_classes) + 0.9 * np.eye(n_classes)
        for _ in range(N_STEPS):
            joint = correct * noise[:, given].T
            counts = (joint / joint.sum(axis=1, keepdims=True)).T @ truth + np.eye(n_classes)
            noise = counts / counts.sum(axis=1, keepdims=True)
        joint = correct * noise[:, given].T
        likelihood = np.log(joint.sum(axis=1)).sum() + np.log(np.diag(noise)).sum()
        likelihood -= COST_OF_SHARPNESS * abs(np.log(exponent))
        if likelihood > best:
            best = likelihood
            found = 1.0 - joint[np.arange(len(given)), given] / joint.sum(axis=1), noise
    return found
