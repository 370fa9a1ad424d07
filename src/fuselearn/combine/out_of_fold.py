"""Out-of-fold answers: what members say about samples that they were not fitted on.

Weights learned from the samples that members were fitted on favour the member that has learned them by heart. Here
each member is fitted once per split, and answers for the samples that the split holds out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import Parallel, delayed

from fuselearn._compat import take_rows
from fuselearn._messages import show
from fuselearn.combine.members import Answer, FittedMember, Member, ask_members, resolve_columns, take_columns
from fuselearn.combine.routing import take_passed

Splits = list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]


class OutOfFold(NamedTuple):
    """Answers about samples that were held out.

    Attributes
    ----------
    answers : array of shape (n_members, n_covered, ...)
        Of a sample that is held out more than once, the mean.
    rows : array of shape (n_covered,)
        The samples that are held out at least once. Time-ordered splits, for one, never hold out the earliest samples.
    folds : array of shape (n_covered,)
        The number of the first split that holds out each of these samples.
    """

    answers: npt.NDArray[np.float64]
    rows: npt.NDArray[np.intp]
    folds: npt.NDArray[np.intp]

    def sample_counts(self, weights: npt.NDArray[np.float64] | None) -> npt.NDArray[np.float64]:
        """Return how much each of the samples counts, by the weights of all samples."""
        return np.ones(len(self.rows)) if weights is None else weights[self.rows]


def make_splits(cv: Any, X: Any, y: npt.NDArray[Any], groups: Any, *, classifier: bool) -> Splits:
    """List the splits of a splitter, of a number of folds, or of an iterable, as pairs of sample numbers."""
    splits = list(check_cv(cv, y, classifier=classifier).split(np.empty((X.shape[0], 0)), y, groups))
    pairs = [(_row_numbers(inside, X.shape[0]), _row_numbers(outside, X.shape[0])) for inside, outside in splits]
    if not any(len(outside) for _, outside in pairs):
        raise ValueError(f"cv holds out no samples: {show(cv)}.")
    return pairs


def _row_numbers(rows: Any, n_rows: int) -> npt.NDArray[np.intp]:
    rows = np.asarray(rows)
    return np.flatnonzero(rows) if rows.dtype.kind == "b" else np.arange(n_rows)[rows]


def answer_out_of_fold(
    members: Sequence[Member], X: Any, y: npt.NDArray[Any], answer: Answer, splits: Splits, n_jobs: int | None = None
) -> OutOfFold:
    """Fit clones of the members on the inside of each split and ask them about its outside.

    Parameters
    ----------
    members : sequence of Member
    X : table of shape (n_samples, n_features)
    y : array of shape (n_samples, ...)
    answer : callable
        ``answer(model, X)`` gives an array of shape (n_samples, ...).
    splits : sequence of pairs of sample numbers
        Those inside and those outside of each split.
    n_jobs : int or None
        Fits at the same time.

    Returns
    -------
    OutOfFold
    """
    columns = [resolve_columns(member, X) for member in members]
    parts = Parallel(n_jobs=n_jobs)(
        delayed(_answer_one)(member, take_columns(X, seen), y, answer, inside, outside)
        for member, seen in zip(members, columns, strict=True)
        for inside, outside in splits
    )
    rows, folds = covered_rows(splits, X.shape[0])
    n_splits = len(splits)
    answers = [
        average_answers(parts[k * n_splits : (k + 1) * n_splits], splits, X.shape[0])[rows] for k in range(len(members))
    ]
    return OutOfFold(np.stack(answers), rows, folds)


def average_answers(parts: Sequence[npt.NDArray[np.float64]], splits: Splits, n_rows: int) -> npt.NDArray[np.float64]:
    """Average what was answered about the outside of each split; 0 for samples that no split holds out."""
    sums, times = np.zeros((n_rows, *parts[0].shape[1:])), np.zeros(n_rows)
    for part, (_, outside) in zip(parts, splits, strict=True):
        sums[outside] += part
        times[outside] += 1
    means: npt.NDArray[np.float64] = sums / np.maximum(times, 1).reshape(-1, *[1] * (sums.ndim - 1))
    return means


def covered_rows(splits: Splits, n_rows: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the samples that any split holds out, and the first split that does.

    Examples
    --------
    >>> rows = np.arange
    >>> covered_rows([(rows(2), rows(2, 4)), (rows(4), rows(4, 6))], 6)
    (array([2, 3, 4, 5]), array([0, 0, 1, 1]))
    """
    first = np.full(n_rows, -1)
    for number in reversed(range(len(splits))):
        first[splits[number][1]] = number
    rows = np.flatnonzero(first >= 0)
    return rows, first[rows]


def _answer_one(
    member: Member,
    X: Any,
    y: npt.NDArray[Any],
    answer: Answer,
    inside: npt.NDArray[np.intp],
    outside: npt.NDArray[np.intp],
) -> npt.NDArray[np.float64]:
    passed = take_passed(member, inside, len(y))
    model = clone(member.estimator).fit(take_rows(X, inside), y[inside], **passed)
    return answer(model, take_rows(X, outside))


def held_out_answers(
    members: Sequence[Member],
    X: Any,
    y: npt.NDArray[Any],
    answer: Answer,
    cv: Any,
    groups: Any,
    *,
    classifier: bool,
    prefit: bool,
    n_jobs: int | None,
) -> OutOfFold:
    """Return out-of-fold answers or, of members that are fitted already, those about all samples."""
    splits = make_splits(cv, X, y, groups, classifier=classifier)
    if not prefit:
        return answer_out_of_fold(members, X, y, answer, splits, n_jobs)
    fitted = [FittedMember(member.name, member.estimator, resolve_columns(member, X)) for member in members]
    folds = np.zeros(X.shape[0], dtype=np.intp)
    rows, first = covered_rows(splits, X.shape[0])
    folds[rows] = first
    return OutOfFold(np.stack(ask_members(fitted, X, answer, n_jobs)), np.arange(X.shape[0]), folds)
