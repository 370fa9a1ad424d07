"""Held-out scores: predictions of an algorithm for samples that it was not trained on.

The held-out samples of a fold have the weight 0, so all folds share one learner: the training function runs once per
fold, and its models predict the held-out samples.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv
from sklearn.utils.validation import check_consistent_length

from fuselearn._messages import show
from fuselearn.fusion.problem import Problem, Trained, never_stop
from fuselearn.learners.learner import Indices, Scores

# As in scikit-learn.
N_FOLDS = 5

Splits = Sequence[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]


def deal_folds(target: npt.NDArray[np.integer], n_folds: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """Assign samples to stratified folds, where samples of rare classes are also distributed evenly.

    Examples
    --------
    >>> folds = deal_folds(np.array([0, 0, 0, 0, 1, 1]), 2, np.random.default_rng(0))
    >>> np.bincount(folds), np.bincount(folds[:4]), np.bincount(folds[4:])
    (array([3, 3]), array([2, 2]), array([1, 1]))
    """
    order = np.lexsort((rng.random(len(target)), target))
    folds = np.empty(len(target), dtype=np.intp)
    folds[order] = np.arange(len(target)) % n_folds
    return folds


def deal_splits(target: npt.NDArray[np.integer], n_folds: int, rng: np.random.Generator, groups: Any = None) -> Splits:
    """Return stratified folds as pairs of training and test samples; samples of a group stay together.

    Folds with fewer than two classes in the training samples are dropped.

    Examples
    --------
    >>> groups = ["a", "a", "b", "b", "c", "c"]
    >>> splits = deal_splits(np.array([0, 1, 0, 1, 0, 1]), 3, np.random.default_rng(0), groups)
    >>> sorted(outside.tolist() for _, outside in splits)
    [[0, 1], [2, 3], [4, 5]]
    """
    if groups is None:
        folds = deal_folds(target, n_folds, rng)
        splits: Splits = [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in np.unique(folds)]
    else:
        splits = _split_groups(target, n_folds, groups, stratified=True, seed=int(rng.integers(2**31)))
    splits = [(inside, outside) for inside, outside in splits if len(np.unique(target[inside])) > 1]
    if not splits:
        raise ValueError(
            "There are too few samples or groups to compute held-out scores: no fold has two classes in its training "
            "samples. Train a single model instead, such as KFHEClassifier (--method kfhe on the command line)."
        )
    return splits


def _split_groups(y: npt.NDArray[Any], n_folds: int, groups: Any, *, stratified: bool, seed: int | None) -> Splits:
    """Return folds that keep groups together, at most as many as groups."""
    check_consistent_length(y, groups)
    n_folds = min(n_folds, len(np.unique(np.asarray(groups))))
    if n_folds < 2:
        raise ValueError("groups must contain at least two different groups; all samples are in the same group.")
    settings: dict[str, Any] = {"shuffle": seed is not None, "random_state": seed}
    if not stratified:
        return list(GroupKFold(n_folds, **settings).split(y, y, groups))
    n_folds = max(2, min(n_folds, int(np.unique(y, return_counts=True)[1].max())))
    with warnings.catch_warnings():  # classes with fewer samples than folds
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        splits = StratifiedGroupKFold(n_folds, **settings).split(y, y, groups)
        return [(inside, outside) for inside, outside in splits if len(outside)]


def list_splits(cv: Any, n_samples: int, y: npt.NDArray[Any], groups: Any = None, *, classifier: bool = True) -> Splits:
    """List the splits of a splitter, of a number of folds, or of an iterable, as pairs of sample indices.

    A number of folds means stratified folds, which keep groups together if ``groups`` is given.

    Examples
    --------
    >>> list_splits([(np.array([True, False]), [1])], 2, np.array([0, 1]))
    [(array([0]), array([1]))]
    """
    if groups is not None and (cv is None or isinstance(cv, int | np.integer)):
        return _split_groups(y, int(cv or N_FOLDS), groups, stratified=classifier and y.ndim == 1, seed=None)
    splits = call_splitter(check_cv(cv, y, classifier=classifier), np.empty((n_samples, 0)), y, groups)
    pairs = [(_as_indices(inside, n_samples), _as_indices(outside, n_samples)) for inside, outside in splits]
    if not any(len(outside) for _, outside in pairs):
        raise ValueError(f"cv holds out no samples: {show(cv)}.")
    return pairs


def call_splitter(splitter: Any, X: Any, y: npt.NDArray[Any], groups: Any) -> list[Any]:
    """List the splits of a splitter; if it needs groups, the error explains how to pass them."""
    try:
        return list(splitter.split(X, y, groups))
    except ValueError as error:
        if groups is None and "groups" in str(error):
            raise ValueError(
                f"cv={show(splitter)} needs the group of each sample: pass groups=, as in fit(X, y, groups=groups), or "
                "the splits as cv=list(splitter.split(X, y, groups))."
            ) from error
        raise


def _as_indices(samples: Any, n_samples: int) -> npt.NDArray[np.intp]:
    samples = np.asarray(samples)
    return np.flatnonzero(samples) if samples.dtype.kind == "b" else np.arange(n_samples)[samples]


def held_out_samples(splits: Splits, n_samples: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the samples that are held out by at least one split, and the first such split of each.

    Some samples may never be held out, such as the earliest ones with time-ordered splits.

    Examples
    --------
    >>> samples = np.arange
    >>> held_out_samples([(samples(2), samples(2, 4)), (samples(4), samples(4, 6))], 6)
    (array([2, 3, 4, 5]), array([0, 0, 1, 1]))
    """
    first = np.full(n_samples, -1)
    for number in reversed(range(len(splits))):
        first[splits[number][1]] = number
    samples = np.flatnonzero(first >= 0)
    return samples, first[samples]


def average_held_out(parts: Sequence[Scores], splits: Splits, n_samples: int) -> Scores:
    """Average the held-out scores of each sample over the splits; NaN for samples that are never held out.

    Examples
    --------
    >>> splits = [(np.array([2]), np.array([0, 1])), (np.array([0]), np.array([1]))]
    >>> average_held_out([np.array([[1.0], [2.0]]), np.array([[4.0]])], splits, 3)
    array([[ 1.],
           [ 3.],
           [nan]])
    """
    sums, times = np.zeros((n_samples, *parts[0].shape[1:])), np.zeros(n_samples)
    for part, (_, outside) in zip(parts, splits, strict=True):
        sums[outside] += part
        times[outside] += 1
    divisors = np.where(times > 0, times, np.nan).reshape(-1, *[1] * (sums.ndim - 1))
    means: Scores = sums / divisors
    return means


def hold_out(
    train: Callable[[Problem], Trained],
    problem: Problem,
    splits: Splits,
    make_rng: Callable[[], np.random.Generator],
    n_jobs: int | None = None,
) -> list[Scores]:
    """Train on the training samples of each split, and return the scores of its test samples.

    Parameters
    ----------
    train : callable
        The algorithm with its parameters.
    problem : Problem
        The problem with all samples.
    splits : sequence of pairs of int arrays
        The training and test samples of each split.
    make_rng : callable
        Returns the random generator for each split.
    n_jobs : int, optional
        Number of splits processed in parallel, for estimators that train their models sequentially.
    """
    found: list[Scores] = Parallel(n_jobs=n_jobs)(
        delayed(_score_outside)(train, problem, inside, outside, make_rng()) for inside, outside in splits
    )
    return found


def _score_outside(
    train: Callable[[Problem], Trained],
    problem: Problem,
    inside: Indices,
    outside: Indices,
    rng: np.random.Generator,
) -> Scores:
    trained = train(restrict_problem(problem, inside, rng))
    return trained.fused.scores(problem.samples, only=outside)


def restrict_problem(problem: Problem, inside: Indices, rng: np.random.Generator) -> Problem:
    """Return the problem restricted to some samples; the weight of all others is 0."""
    weights = np.zeros(problem.n_samples)
    weights[inside] = problem.initial_weights[inside]
    if not weights.any():
        raise ValueError("A fold holds out all samples with a positive sample_weight; none remain for training.")
    return replace(
        problem, weights=weights, n_used=len(inside), rng=rng, on_iteration=never_stop, out_of_bag=False, previous=None
    )


def stratified_sample(y: npt.NDArray[Any], n_samples: int, rng: np.random.Generator) -> Indices:
    """Draw samples without replacement, of each class in proportion.

    Examples
    --------
    >>> y = np.repeat(["a", "b"], [60, 30])
    >>> np.unique(y[stratified_sample(y, 9, np.random.default_rng(0))], return_counts=True)[1]
    array([6, 3])
    """
    order = np.lexsort((rng.random(len(y)), np.unique(y, return_inverse=True)[1]))
    positions = (np.arange(n_samples) + rng.random()) * len(y) / n_samples
    return np.sort(order[positions.astype(np.intp)])
