"""Find samples whose labels are likely to be wrong, and estimate how many there are."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator

from fuselearn._messages import show
from fuselearn._random import make_generator
from fuselearn._validation import read_classes, read_table
from fuselearn.diagnosis.held_out import Folding, HeldOut, hold_out_classes, hold_out_labels
from fuselearn.multilabel.data.labels import label_names, read_labels

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class LabelAudit:
    """The result of an audit of labels.

    Attributes
    ----------
    rows : DataFrame
        All samples, the most doubtful first, with the index of ``y`` or ``X``, or numbered: the ``given`` label, the
        ``suggested`` one (the most likely other label), the ``probability`` of the given label, by which samples are
        sorted, and ``suggested_probability`` of the other one, both by models that have not seen the sample, their
        difference ``margin``, and whether the sample is a ``suspect``, one of the first ``n_wrong``. A sample that
        could not be judged, because no other sample has its label, comes last, with NaN for ``probability`` and
        ``margin``. For several labels per sample there is a line for each sample and label, and a column ``label``.
    n_wrong : int
        Estimated number of wrong labels, rounded.
    noise_matrix : DataFrame
        Estimated probability that a class (row) is labelled as each class (column), as for the ``transition`` of
        :func:`~fuselearn.datasets.corrupt_labels`. For several labels per sample there are two lines for each label, 0
        and 1.
    probabilities : DataFrame
        Probability of each class or label, by models that have not seen the sample, in the order of the data.
    """

    rows: pd.DataFrame
    n_wrong: int
    noise_matrix: pd.DataFrame
    probabilities: pd.DataFrame

    @property
    def suspects(self) -> pd.DataFrame:
        """The suspect samples."""
        return self.rows[self.rows["suspect"]]

    @property
    def noise_rate(self) -> float:
        """Estimated share of wrong labels among those that were judged."""
        return self.n_wrong / int(self.rows["probability"].notna().sum())

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
    cv: Any = None,
    n_repeats: int = 1,
    groups: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> LabelAudit:
    """Rank samples by how doubtful their label is, according to models that have not seen them.

    Each sample gets class probabilities p from models trained without it. Samples whose given label has the lowest
    probability come first. How many labels are wrong is estimated by confident learning: a sample labelled i counts as
    truly j if p(j) is at least the mean p(j) of the samples labelled j; if there are several such classes, the one with
    the largest p(j). These counts, scaled to the number of samples of each given label, estimate how often j is
    labelled i.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_labels)
        One label per sample, or a table of 0 and 1 with a column for each of several labels. The only sample of a class
        cannot be judged, which raises a warning; nor can one of several labels that fewer than two samples have, or
        lack.
    estimator : classifier or None, default=None
        Any classifier with ``predict_proba``. None means a :class:`~fuselearn.FusedClassifier` of a random forest,
        extremely randomised trees and, for up to 5,000 samples without missing values, a support vector machine: the
        sensors that follow wrong labels least. Several labels per sample are then a question each. For a sparse matrix,
        which trees do not accept, None means logistic regression on features scaled by their maximum.
    cv : int, splitter or iterable of (train, test), default=None
        Folds; an int means stratified and shuffled folds. Each sample must be in a test set. None means the folds of
        `FusedClassifier`, or five for another estimator.
    n_repeats : int, default=1
        Number of repeats with other folds, whose probabilities are averaged, unless ``cv`` is a splitter.
    groups : array of shape (n_samples,), optional
        Group labels of the samples, for splitters that keep groups together.
    random_state : int, RandomState or None, default=None
        Seed for the folds and the models.
    n_jobs : int or None, default=None
        Number of models trained in parallel. Results do not depend on it.

    Returns
    -------
    LabelAudit

    See Also
    --------
    fuselearn.CleanedClassifier : Audit, drop the suspects, and fit again.

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
    about 17 of 178 labels (9.6%) are likely to be wrong
    >>> wrong = noisy != y
    >>> int(wrong.sum()), int(wrong[audit.suspects.index].sum()), len(audit.suspects)
    (18, 17, 17)
    """
    table = read_table("X", X)
    if estimator is not None and (isinstance(estimator, type) or not hasattr(estimator, "predict_proba")):
        raise TypeError(f"estimator must be a classifier with predict_proba, or None, not {show(estimator)}.")
    folding = Folding(cv, n_repeats, groups, n_jobs).checked()
    rng = make_generator(random_state)
    index = next((data.index for data in (y, X) if isinstance(data, pd.Series | pd.DataFrame)), None)
    shape = np.shape(y)
    if len(shape) == 2 and shape[1] > 1:
        return _audit_several(table, y, estimator, folding, rng, index)
    classes, given = read_classes(y, table.shape[0])
    held_out = hold_out_classes(table, classes, given, estimator, folding, rng)
    _warn_of_unjudged(held_out, classes[given])
    counts = count_confident(held_out.probabilities[held_out.is_judged], given[held_out.is_judged])
    rows = _tabulate(held_out.probabilities, given, held_out.is_judged, classes, index)
    return LabelAudit(
        *_rank(rows, np.count_nonzero(held_out.is_judged) - np.trace(counts)),
        noise_matrix=_noise_matrix(counts, classes),
        probabilities=pd.DataFrame(held_out.probabilities, index=index, columns=classes),
    )


def _audit_several(
    X: Any, y: Any, estimator: BaseEstimator | None, folding: Folding, rng: np.random.Generator, index: Any
) -> LabelAudit:
    """Audit a table of labels, each as a question with two answers."""
    Y = read_labels(y)
    if len(Y) != X.shape[0]:
        raise ValueError(f"X and y have inconsistent numbers of samples: {X.shape[0]} and {len(Y)}.")
    names = label_names(y)
    labels = np.arange(Y.shape[1]) if names is None else names
    held_out = hold_out_labels(X, Y, estimator, folding, rng)
    if not held_out.is_judged.any():
        raise ValueError("No label of y can be judged: fewer than two samples have it, or lack it.")
    parts, matrices, n_wrong = [], {}, 0.0
    for column, label in enumerate(labels):
        positive, is_judged = held_out.probabilities[:, column], held_out.is_judged[:, column]
        both, given = np.column_stack([1 - positive, positive]), Y[:, column].astype(np.int32)
        counts = count_confident(both[is_judged], given[is_judged])
        rows = _tabulate(both, given, is_judged, np.arange(2), index)
        rows.insert(0, "label", label)
        parts.append(rows)
        matrices[label] = _noise_matrix(counts, np.arange(2))
        n_wrong += np.count_nonzero(is_judged) - np.trace(counts)
    return LabelAudit(
        *_rank(pd.concat(parts), n_wrong),
        noise_matrix=pd.concat(matrices, names=["label"]),
        probabilities=pd.DataFrame(held_out.probabilities, index=index, columns=labels),
    )


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


def _warn_of_unjudged(held_out: HeldOut, labels: npt.NDArray[Any]) -> None:
    is_judged = held_out.is_judged
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


def _tabulate(
    probabilities: Floats,
    given: npt.NDArray[np.int32],
    is_judged: npt.NDArray[np.bool_],
    classes: npt.NDArray[Any],
    index: Any,
) -> pd.DataFrame:
    """Compare the given label of each sample with the most likely other one."""
    places = np.arange(len(given))
    others = probabilities.copy()
    others[places, given] = -1.0
    own = np.where(is_judged, probabilities[places, given], np.nan)
    largest = others.max(axis=1)
    return pd.DataFrame(
        {
            "given": classes[given],
            "suggested": classes[others.argmax(axis=1)],
            "probability": own,
            "suggested_probability": largest,
            "margin": own - largest,
        },
        index=index,
    )


def _rank(rows: pd.DataFrame, n_wrong: float) -> tuple[pd.DataFrame, int]:
    """Sort the samples by the probability of their label, and mark the first ones as suspects."""
    order = np.lexsort((-rows["suggested_probability"], rows["probability"]))  # NaN comes last
    ranked = rows.iloc[order].copy()
    ranked["suspect"] = np.arange(len(ranked)) < round(n_wrong)
    return ranked, round(n_wrong)


def _noise_matrix(counts: Floats, classes: npt.NDArray[Any]) -> pd.DataFrame:
    """Turn counts by given and true class into probabilities of the given ones."""
    truly = counts.sum(axis=0)
    # Nothing is known about the labels of a class that is never predicted confidently.
    noise = np.where(truly[:, None] > 0, counts.T / np.where(truly > 0, truly, 1.0)[:, None], np.eye(len(classes)))
    return pd.DataFrame(noise, pd.Index(classes, name="class"), pd.Index(classes, name="labelled as"))
