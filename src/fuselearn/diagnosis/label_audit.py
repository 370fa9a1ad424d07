"""Find samples whose labels are likely to be wrong, and estimate how many there are."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import StratifiedKFold, check_cv

from fuselearn._compat import take_rows
from fuselearn._messages import show
from fuselearn._parameters import check_whole_number
from fuselearn._random import make_generator, seed_estimator
from fuselearn._validation import read_classes, read_table
from fuselearn.ensembles import KFHEClassifier

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class LabelAudit:
    """The result of an audit of labels.

    Attributes
    ----------
    rows : DataFrame
        All samples, the most doubtful first, with the index of ``y`` or ``X``, or numbered: the ``given`` label, the
        ``suggested`` one (the most likely other label), the out-of-fold ``probability`` of the given label and
        ``suggested_probability`` of the other one, their difference ``margin``, by which samples are sorted, and
        whether the sample is a ``suspect``, one of the first ``n_wrong``. A sample that could not be judged, because
        no other sample has its label, comes last, with NaN for ``probability`` and ``margin``.
    n_wrong : int
        Estimated number of wrong labels, rounded.
    noise_matrix : DataFrame
        Estimated probability that a class (row) is labelled as each class (column), as for the ``transition`` of
        :func:`~fuselearn.datasets.corrupt_labels`.
    probabilities : DataFrame
        Out-of-fold probability of each class, in the order of the data.
    """

    rows: pd.DataFrame
    n_wrong: int
    noise_matrix: pd.DataFrame
    probabilities: pd.DataFrame

    @property
    def suspects(self) -> pd.DataFrame:
        """The suspect samples."""
        return self.rows[self.rows["suspect"]]

    def __str__(self) -> str:
        """Return the estimate as text."""
        share = self.n_wrong / len(self.rows)
        return f"about {self.n_wrong} of {len(self.rows)} labels ({share:.1%}) are likely to be wrong"

    def __repr__(self) -> str:
        """Return the estimate as text, without the tables."""
        return f"<LabelAudit: {self}>"


def audit_labels(
    X: Any,
    y: Any,
    estimator: BaseEstimator | None = None,
    *,
    cv: Any = 5,
    n_repeats: int = 1,
    groups: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> LabelAudit:
    """Rank samples by how doubtful their label is, according to models that have not seen them.

    Each sample gets class probabilities p from a model trained without its fold. Its margin is

        p(given label) - largest p of another label,

    and samples with the lowest margin come first. How many labels are wrong is estimated by confident learning: a
    sample labelled i counts as truly j if p(j) is at least the mean p(j) of the samples labelled j; if there are
    several such classes, the one with the largest p(j). These counts, scaled to the number of samples of each given
    label, estimate how often j is labelled i.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        One label per sample. Audit multi-label data one label at a time. The only sample of a class cannot be judged,
        which raises a warning.
    estimator : classifier or None, default=None
        Any classifier with ``predict_proba``. None means ``KFHEClassifier(weighting="linear")``, which puts little
        weight on the samples that it fits worst; for a sparse matrix, which trees do not accept, it means logistic
        regression on features scaled by their maximum.
    cv : int, splitter or iterable of (train, test), default=5
        Folds; an int means stratified and shuffled folds. Each sample must be in a test set.
    n_repeats : int, default=1
        Number of repeats of cross-validation whose probabilities are averaged, if ``cv`` is an int.
    groups : array of shape (n_samples,), optional
        Group labels of the samples, for splitters that keep groups together.
    random_state : int, RandomState or None, default=None
        Seed for the folds and the models.
    n_jobs : int or None, default=None
        Number of models trained in parallel. Results do not depend on it.

    Returns
    -------
    LabelAudit

    References
    ----------
    Northcutt, C. G., Jiang, L. and Chuang, I. L. (2021). Confident learning: estimating uncertainty in dataset labels.
    Journal of Artificial Intelligence Research 70, 1373-1411.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from fuselearn.datasets import corrupt_labels
    >>> from fuselearn.diagnosis import audit_labels
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> noisy = corrupt_labels(y, 0.1, random_state=0)
    >>> audit = audit_labels(X, noisy, random_state=0)
    >>> print(audit)
    about 19 of 178 labels (10.7%) are likely to be wrong
    >>> wrong = noisy != y
    >>> int(wrong.sum()), int(wrong[audit.suspects.index].sum()), len(audit.suspects)
    (18, 17, 19)
    """
    rows = read_table("X", X)
    base = _default_estimator(rows) if estimator is None else estimator
    if isinstance(base, type) or not hasattr(base, "predict_proba"):
        raise TypeError(f"estimator must be a classifier with predict_proba, or None, not {show(base)}.")
    check_whole_number("n_repeats", n_repeats, 1)
    if np.ndim(y) == 2 and np.shape(y)[1] > 1:
        raise ValueError("y has several columns; audit multi-label data one label at a time.")
    classes, given = read_classes(y, rows.shape[0])
    rng = make_generator(random_state)
    labels = classes[given]
    splits = _split(cv, n_repeats, rows, labels, groups, rng)
    is_judged = _find_judged(splits, given, classes)
    seeds = rng.integers(2**31, size=(len(splits),)).tolist()
    parts = Parallel(n_jobs=n_jobs)(
        delayed(_predict_fold)(base, rows, labels, classes, train, test, seed)
        for (train, test), seed in zip(splits, seeds, strict=True)
    )
    probabilities = _average(parts, splits, len(given), len(classes))
    counts = count_confident(probabilities[is_judged], given[is_judged])
    index = next((data.index for data in (y, X) if isinstance(data, pd.Series | pd.DataFrame)), None)
    return _report(probabilities, given, is_judged, classes, counts, index)


def _default_estimator(rows: Any) -> BaseEstimator:
    if not sparse.issparse(rows):
        return KFHEClassifier(weighting="linear")
    from sklearn.linear_model import LogisticRegression  # takes long to import
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler

    return make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1000))


def count_confident(probabilities: Floats, given: npt.NDArray[np.integer]) -> Floats:
    """Count samples by given and confidently predicted class, scaled to the number of samples of each given class.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Probabilities by models that have not seen the samples.
    given : int array of shape (n_samples,)
        Class numbers.

    Returns
    -------
    array of shape (n_classes, n_classes)
        Entry (i, j) estimates the number of samples labelled i whose true class is j.

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.1, 0.9], [0.2, 0.8], [0.9, 0.1]])
    >>> count_confident(p, np.array([0, 0, 0, 1, 1, 1]))
    array([[2., 1.],
           [1., 2.]])
    """
    n_classes = probabilities.shape[1]
    own = probabilities[np.arange(len(given)), given]
    sizes = np.bincount(given, minlength=n_classes)
    thresholds = np.full(n_classes, np.inf)  # there is no threshold for a class without samples
    np.divide(np.bincount(given, weights=own, minlength=n_classes), sizes, out=thresholds, where=sizes > 0)
    reached = np.where(probabilities >= thresholds, probabilities, -1.0)
    is_confident = reached.max(axis=1) >= 0
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (given[is_confident], reached.argmax(axis=1)[is_confident]), 1.0)
    # Without any confident sample there is no evidence against the labels of a class.
    counts[counts.sum(axis=1) == 0] = np.eye(n_classes)[counts.sum(axis=1) == 0]
    return counts / counts.sum(axis=1, keepdims=True) * sizes[:, None]


def _split(
    cv: Any, n_repeats: int, X: Any, labels: npt.NDArray[Any], groups: Any, rng: np.random.Generator
) -> list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    """Return the training and test samples of all folds."""
    if not isinstance(cv, int | np.integer):
        if n_repeats != 1:
            raise ValueError("n_repeats applies only if cv is an int; pass a splitter that repeats instead.")
        return list(check_cv(cv, labels, classifier=True).split(X, labels, groups))
    check_whole_number("cv", cv, 2)
    with warnings.catch_warnings():  # classes with fewer samples than folds; _find_judged warns where it matters
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return [
            split
            for seed in rng.integers(2**31, size=(n_repeats,)).tolist()
            for split in StratifiedKFold(cv, shuffle=True, random_state=seed).split(X, labels)
        ]


def _find_judged(
    splits: list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]],
    given: npt.NDArray[np.int32],
    classes: npt.NDArray[Any],
) -> npt.NDArray[np.bool_]:
    """Return the samples whose class is known to every model that judges them, and warn about others."""
    is_tested, is_judged = np.zeros(len(given), dtype=bool), np.ones(len(given), dtype=bool)
    for train, test in splits:
        is_tested[test] = True
        is_judged[test] &= np.isin(given[test], given[train])
    if not is_tested.all():
        raise ValueError(f"cv must put every sample into a test set; {np.count_nonzero(~is_tested)} are in none.")
    if not is_judged.any():
        raise ValueError(
            "cv must not put all samples of a class into one test set: no model that judges a sample knows its class."
        )
    if not is_judged.all():
        names = ", ".join(map(repr, classes[np.unique(given[~is_judged])].tolist()))
        warnings.warn(
            f"{np.count_nonzero(~is_judged)} of {len(given)} samples cannot be judged, since models trained without "
            f"them do not know their class: {names}.",
            stacklevel=3,
        )
    return is_judged


def _predict_fold(
    base: Any,
    X: Any,
    labels: npt.NDArray[Any],
    classes: npt.NDArray[Any],
    train: npt.NDArray[np.intp],
    test: npt.NDArray[np.intp],
    seed: int,
) -> Floats:
    """Train without a fold and predict it; classes that the model has not seen get probability 0."""
    model = clone(base)
    seed_estimator(model, seed, unset_only=True)
    model.fit(take_rows(X, train), labels[train])
    scores = np.zeros((len(test), len(classes)))
    scores[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(take_rows(X, test))
    return scores


def _average(parts: list[Floats], splits: list[Any], n_rows: int, n_classes: int) -> Floats:
    total, number = np.zeros((n_rows, n_classes)), np.zeros(n_rows)
    for scores, (_, test) in zip(parts, splits, strict=True):
        np.add.at(total, test, scores)
        np.add.at(number, test, 1)
    return total / number[:, None]


def _report(
    probabilities: Floats,
    given: npt.NDArray[np.int32],
    is_judged: npt.NDArray[np.bool_],
    classes: npt.NDArray[Any],
    counts: Floats,
    index: Any,
) -> LabelAudit:
    own = np.where(is_judged, probabilities[np.arange(len(given)), given], np.nan)
    others = probabilities.copy()
    others[np.arange(len(given)), given] = -1.0
    suggested = others.argmax(axis=1)
    largest = others.max(axis=1)
    n_wrong = round(np.count_nonzero(is_judged) - np.trace(counts))
    order = np.lexsort([own, own - largest])  # NaN comes last
    frame = pd.DataFrame(
        {
            "given": classes[given],
            "suggested": classes[suggested],
            "probability": own,
            "suggested_probability": largest,
            "margin": own - largest,
        },
        index=index,
    ).iloc[order]
    frame["suspect"] = np.arange(len(frame)) < n_wrong
    truly = counts.sum(axis=0)
    # Nothing is known about the labels of a class that is never predicted confidently.
    noise = np.where(truly[:, None] > 0, counts.T / np.where(truly > 0, truly, 1.0)[:, None], np.eye(len(classes)))
    return LabelAudit(
        rows=frame,
        n_wrong=n_wrong,
        noise_matrix=pd.DataFrame(noise, pd.Index(classes, name="class"), pd.Index(classes, name="labelled as")),
        probabilities=pd.DataFrame(probabilities, index=index, columns=classes),
    )
