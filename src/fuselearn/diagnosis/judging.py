"""Compare given labels with held-out probabilities, and estimate which labels are wrong."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import expit
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

# Members that are robust to wrong labels; boosting overfits them.
MEMBERS = ("forest_leaf3", "extra_trees_leaf3", "svm")
N_ESTIMATORS = 50
N_FOLDS = 5

# Standard errors by which a class must be predicted better than by its frequency: one-sided test at 5 %.
SIGNIFICANCE = 1.64
EXPONENTS = np.concatenate([np.geomspace(0.1, 1.0, 8), np.geomspace(1.0, 3.0, 7)[1:]])
# Penalty of |log b|, and of any noise, in the log-likelihood, against overfitting on few samples.
COST_OF_SHARPNESS = 8.0
COST_OF_NOISE = 5.0
N_STEPS = 20
# Weight of models trained on corrected labels. They repeat mistakes of the correction, so the models trained on
# given labels keep the remaining weight.
PART_OF_CORRECTED = 0.92
LEAST_OF_CLASS = 3


class HeldOut(NamedTuple):
    """Held-out probabilities.

    Attributes
    ----------
    probabilities : array of shape (n_samples, n_classes) or (n_samples, n_labels)
    after_correction : array of the same shape
        Held-out probabilities of models trained on corrected labels.
    is_judged : bool array of shape (n_samples,) or (n_samples, n_labels)
        False if a model cannot predict the given class, because the class has no other sample.
    """

    probabilities: Scores
    after_correction: Scores
    is_judged: Flags

    def as_classes(self) -> HeldOut:
        """Return the probabilities of 0 and 1 of each label, concatenated over the labels."""
        first, second = (
            np.column_stack([1 - one.T.ravel(), one.T.ravel()]) for one in (self.probabilities, self.after_correction)
        )
        return HeldOut(first, second, self.is_judged.T.ravel())


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
        """Validate the parameters, and convert an iterable of splits to a list."""
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
        return rng.integers(2**31, size=(self.n_repeats,)).tolist()

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
    first: Scores | None = None,
) -> HeldOut:
    """Return held-out probabilities of the classes.

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
    classes : array of shape (n_classes,)
    given : int array of shape (n_samples,)
        Class indices.
    estimator : classifier or None
        None means a fused classifier.
    folding : Folding
    rng : Generator
    first : array of shape (n_samples, n_classes), optional
        Held-out probabilities of models trained on the given labels, if available.
    """
    if estimator is None and sparse.issparse(X):
        estimator = _linear_model()
    is_fused = estimator is None or isinstance(estimator, FusedClassifier)
    has_own_folds = is_fused and folding.has_number and folding.groups is None
    if has_own_folds:
        parts: list[ClassIndices] = [np.arange(len(given))]
        is_judged = np.bincount(given)[given] > 1
    else:
        kind = StratifiedKFold if folding.groups is None else StratifiedGroupKFold
        splits = folding.split(X, given, partial(kind, shuffle=True), rng)
        parts = [inside for inside, _ in splits]
        is_judged = _is_class_inside(splits, given)
    if not is_fused:
        member = Member("estimator", seed_estimator(clone(estimator), int(rng.integers(2**31)), unset_only=True))

        def predict(labels: ClassIndices) -> Scores:
            outputs = Parallel(n_jobs=folding.n_jobs)(
                delayed(predict_outside)(member, X, classes[labels], Classes(classes).probabilities, *split)
                for split in splits
            )
            return average_held_out(outputs, splits, len(given))
    else:
        fused = [_fused_model(estimator, seed) for seed in folding.seeds(rng)]
        for one in fused:
            one.set_params(cv=(folding.cv or one.cv) if has_own_folds else splits, n_jobs=folding.n_jobs or one.n_jobs)

        def predict(labels: ClassIndices) -> Scores:
            return np.mean([one.hold_out(X, labels) for one in fused], axis=0)

    probabilities = predict(given) if first is None else first
    is_judged &= np.isfinite(probabilities).all(axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first models have raised the same warnings
        after_correction = predict(correct_labels(probabilities, given, is_judged, parts))
    return HeldOut(probabilities, after_correction, is_judged)


def _fused_model(estimator: BaseEstimator | None, seed: int) -> FusedClassifier:
    """Return a clone of a fused classifier, by default that of the audit."""
    if estimator is not None:
        return clone(estimator).set_params(random_state=seed)
    members = [(one.name, one.estimator) for one in default_members(N_ESTIMATORS, seed) if one.name in MEMBERS]
    return FusedClassifier(members, cv=FUSED_FOLDS, random_state=seed)


def hold_out_labels(
    X: Any,
    Y: npt.NDArray[np.uint8],
    estimator: BaseEstimator | None,
    folding: Folding,
    rng: np.random.Generator,
    first: Scores | None = None,
) -> HeldOut:
    """Return held-out probabilities of the labels; ``first`` are those of models trained on the given labels.

    Without an estimator, each label is a separate binary problem. Labels with fewer than two positive or negative
    samples are not audited.
    """
    positives = Y.sum(axis=0, dtype=np.intp)
    has_both = (positives > 1) & (positives < len(Y) - 1)
    is_judged = np.tile(has_both, (len(Y), 1))
    if first is not None:
        is_judged &= np.isfinite(first)
    if estimator is not None:
        from fuselearn.learners.clones import MultilabelCloneLearner
        from fuselearn.multilabel import IterativeStratifiedKFold  # slow import, needed by few audits

        splits = folding.split(X, Y, IterativeStratifiedKFold, rng)
        train = partial(train_one, seed=int(rng.integers(2**31)))
        problem = Problem(MultilabelCloneLearner(X, estimator, keep_seeds=True), label_target(Y), None, rng, X)

        def predict(labels: npt.NDArray[np.uint8]) -> Scores:
            posed = replace(problem, target=label_target(labels))
            outputs = Parallel(n_jobs=folding.n_jobs)(
                delayed(hold_out)(train, posed, [split], np.random.default_rng) for split in splits
            )
            return average_held_out([output for (output,) in outputs], splits, len(Y))

        probabilities = predict(Y) if first is None else first
        corrected = Y.copy()
        for k, positive in enumerate(probabilities.T):
            both = np.column_stack([1 - positive, positive])
            corrected[:, k] = correct_labels(both, Y[:, k], is_judged[:, k], [inside for inside, _ in splits])
        return HeldOut(probabilities, predict(corrected), is_judged)
    probabilities, after_correction = np.full((2, *Y.shape), np.nan)
    for label in np.flatnonzero(has_both):
        known = None if first is None else np.column_stack([1 - first[:, label], first[:, label]])
        found = hold_out_classes(X, np.arange(2), Y[:, label].astype(np.int32), None, folding, rng, known)
        probabilities[:, label] = found.probabilities[:, 1]
        after_correction[:, label] = found.after_correction[:, 1]
        is_judged[:, label] &= found.is_judged
    return HeldOut(probabilities, after_correction, is_judged)


def read_probabilities(probabilities: npt.ArrayLike | None, shape: tuple[int, ...]) -> Scores | None:
    """Validate held-out probabilities passed by the user."""
    if probabilities is None:
        return None
    found = np.array(probabilities, dtype=np.float64)
    if found.shape != shape:
        raise ValueError(
            f"probabilities must have the shape {shape}, one column per class or label, not {found.shape}."
        )
    if ((found < 0) | (found > 1)).any():
        raise ValueError("probabilities must be between 0 and 1.")
    return found


def correct_labels(
    probabilities: Scores, given: ClassIndices, is_judged: Flags, parts: list[ClassIndices]
) -> ClassIndices:
    """Replace labels by more likely ones, unless a class would keep fewer than three samples in a training set.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Held-out probabilities.
    given : int array of shape (n_samples,)
        Class indices.
    is_judged : bool array of shape (n_samples,)
        Labels of other samples are not replaced.
    parts : list of int arrays
        Indices of the training samples of each model.

    Returns
    -------
    int array of shape (n_samples,)

    Examples
    --------
    >>> p = np.array([[0.9, 0.1]] * 4 + [[0.2, 0.8]] * 4)
    >>> correct_labels(p, np.array([0, 0, 0, 1, 1, 1, 1, 0]), np.full(8, True), [np.arange(8)])
    array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> correct_labels(p, np.array([0, 0, 0, 1, 1, 0, 0, 0]), np.full(8, True), [np.arange(8)])
    array([0, 0, 0, 1, 1, 1, 1, 1])
    """
    likely = probabilities.argmax(axis=1)
    is_kept = (likely == given) | ~is_judged
    for inside in parts:
        n_kept = np.bincount(given[inside][is_kept[inside]], minlength=probabilities.shape[1])
        is_kept |= (n_kept < LEAST_OF_CLASS)[given]
    return np.where(is_kept, given, likely).astype(given.dtype)


def warn_of_unjudged(is_judged: Flags, labels: npt.NDArray[Any]) -> None:
    """Warn about samples that cannot be audited, and raise an error if none can be."""
    if not is_judged.any():
        raise ValueError(
            "cv must not put all samples of a class into one test set: models cannot predict a class without it."
        )
    if not is_judged.all():
        names = ", ".join(map(repr, np.unique(labels[~is_judged]).tolist()))
        warnings.warn(
            f"{np.count_nonzero(~is_judged)} of {len(labels)} samples cannot be audited, since models trained without "
            f"them have no samples of their class: {names}.",
            stacklevel=3,
        )


def _linear_model() -> BaseEstimator:
    """Return the default estimator for sparse matrices, which often have too many features for trees."""
    from sklearn.linear_model import LogisticRegression  # slow import
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler

    return make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1000))


def _is_class_inside(splits: Splits, given: ClassIndices) -> Flags:
    """Return a mask of the samples whose class is in the training samples of all splits that hold them out."""
    is_inside = np.ones(len(given), dtype=bool)
    for inside, outside in splits:
        is_inside[outside] &= np.isin(given[outside], given[inside])
    return is_inside


class Verdict(NamedTuple):
    """The result of comparing given labels with held-out probabilities.

    Attributes
    ----------
    own : array of shape (n_samples,)
        Probability of the given label; NaN for samples that cannot be audited.
    suggested : int array of shape (n_samples,)
        The most likely other label.
    largest : array of shape (n_samples,)
        Probability of the suggested label.
    is_contradicted : bool array of shape (n_samples,)
        Whether the suggested label is more likely than the given one.
    is_suspect : bool array of shape (n_samples,)
        The contradicted labels that are least likely, as many as are estimated to be wrong.
    confidence : array of shape (n_samples,)
        Probability that the suggested label is correct, given the given label and the noise matrix.
    noise : array of shape (n_classes, n_classes)
        Estimated probability that a class (row) is labeled as each class (column).
    """

    own: Scores
    suggested: ClassIndices
    largest: Scores
    is_contradicted: Flags
    is_suspect: Flags
    confidence: Scores
    noise: Scores


def judge(held_out: HeldOut, given: ClassIndices, is_predictable: Flags) -> Verdict:
    """Compare the given label of each sample with the most likely other label, and estimate which labels are wrong.

    Parameters
    ----------
    held_out : HeldOut
        Probabilities of shape (n_samples, n_classes).
    given : int array of shape (n_samples,)
        Class indices.
    is_predictable : bool array of shape (n_samples, n_classes)
        Whether a class is predictable. A sample is never a suspect if neither its given nor its suggested class is.

    Returns
    -------
    Verdict
    """
    probabilities, second, is_judged = held_out
    samples, n_classes = np.arange(len(given)), probabilities.shape[1]
    others = probabilities.copy()
    others[samples, given] = -1.0
    suggested, largest = others.argmax(axis=1), others.max(axis=1)
    own = np.where(is_judged, probabilities[samples, given], np.nan)
    is_contradicted = largest > own
    is_known = is_judged & np.isfinite(second).all(axis=1)
    is_known &= is_predictable[samples, given] | is_predictable[samples, suggested]
    known = np.flatnonzero(is_known)
    is_suspect, confidence, noise = np.zeros(len(given), dtype=bool), np.zeros(len(given)), np.eye(n_classes)
    if len(known):
        mixed = (1 - PART_OF_CORRECTED) * probabilities[known] + PART_OF_CORRECTED * second[known]
        _, _, first_gain = separate_wrong_labels(probabilities[known], given[known])
        correct, noise, gain = separate_wrong_labels(mixed, given[known])
        is_noisy = expit(first_gain + gain - COST_OF_NOISE)
        correct = is_noisy * correct + (1 - is_noisy) * np.eye(n_classes)[given[known]]
        noise = is_noisy * noise + (1 - is_noisy) * np.eye(n_classes)
        confidence[known] = correct[np.arange(len(known)), suggested[known]]
        n_wrong = len(known) - correct[np.arange(len(known)), given[known]].sum()
        ranked = rank(own, largest)
        is_suspect[ranked[(is_contradicted & is_known)[ranked]][: round(n_wrong)]] = True
    return Verdict(own, suggested, largest, is_contradicted, is_suspect, confidence, noise)


def rank(own: npt.ArrayLike, largest: npt.ArrayLike) -> npt.NDArray[np.intp]:
    """Sort labels by their probability, the most doubtful first; labels that cannot be audited are last."""
    return np.lexsort((-np.asarray(largest), np.asarray(own)))  # NaN comes last


def measure_skill(probabilities: Scores, given: ClassIndices) -> tuple[Scores, Flags]:
    """Compare the squared error of the probabilities of each class with that of its frequency.

    If labels are independent of the features, no prediction is better than the frequency.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Held-out probabilities.
    given : int array of shape (n_samples,)
        Class indices.

    Returns
    -------
    skill : array of shape (n_classes,)
        1 for perfect predictions, 0 or less for predictions no better than the frequency.
    is_predictable : bool array of shape (n_classes,)
        Whether the skill is above 0 by more than 1.64 standard errors.

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


def separate_wrong_labels(probabilities: Scores, given: ClassIndices) -> tuple[Scores, Scores, float]:
    """Estimate the probabilities of the correct classes, and the noise matrix.

    The model is P(label i | x) = sum_j q_j(x) T_ji, with q the probabilities of the correct classes, proportional to
    p^b, and T the noise matrix. Labels of samples that are hard to predict are explained by an uncertain q; wrong
    labels also occur where q is certain, and are explained by T. For each b, T is fitted by expectation-maximization,
    with one correctly labeled sample of each class added. The chosen b maximizes the log-likelihood minus 8 |log b|.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Held-out probabilities.
    given : int array of shape (n_samples,)
        Class indices.

    Returns
    -------
    correct : array of shape (n_samples, n_classes)
        Probability that each class is the correct one.
    noise : array of shape (n_classes, n_classes)
        The noise matrix T.
    gain : float
        Increase of the penalized log-likelihood compared with the best model without noise.

    Examples
    --------
    Correct labels, many of them hard to predict, and the same labels with every fifth one wrong:

    >>> rng = np.random.default_rng(0)
    >>> q, samples = rng.dirichlet([0.5, 0.5], 2_000), np.arange(2_000)
    >>> classes = (rng.random(2_000) > q[:, 0]).astype(int)
    >>> labels = np.where(samples % 5 == 0, 1 - classes, classes)
    >>> for given in (classes, labels):
    ...     correct, noise, gain = separate_wrong_labels(q, given)
    ...     print(round(1 - correct[samples, given].mean(), 2), round(gain))
    0.01 2
    0.19 27
    """
    n_classes = probabilities.shape[1]
    truth, certain = np.eye(n_classes)[given], np.eye(n_classes)
    best = without = -np.inf
    for exponent in EXPONENTS:
        q = sharpen(probabilities, exponent)
        noise = 0.1 / n_classes + 0.9 * certain
        for _ in range(N_STEPS):
            joint = q * noise[:, given].T
            counts = (joint / joint.sum(axis=1, keepdims=True)).T @ truth + certain
            noise = counts / counts.sum(axis=1, keepdims=True)
        joint = q * noise[:, given].T
        cost = COST_OF_SHARPNESS * abs(np.log(exponent))
        without = max(without, np.log((q * truth).sum(axis=1)).sum() - cost)
        likelihood = np.log(joint.sum(axis=1)).sum() + np.log(np.diag(noise)).sum() - cost
        if likelihood > best:
            best = likelihood
            found = joint / joint.sum(axis=1, keepdims=True), noise
    return *found, best - without
