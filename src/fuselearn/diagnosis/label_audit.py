"""Find samples whose labels are likely to be wrong, and estimate how many there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator

from fuselearn._messages import show
from fuselearn._parameters import make_generator
from fuselearn.base import read_classes, read_table
from fuselearn.datasets.noise import scale_features
from fuselearn.diagnosis.judging import (
    Folding,
    Verdict,
    hold_out_classes,
    hold_out_labels,
    judge,
    rank,
    warn_of_unjudged,
)


@dataclass(frozen=True, eq=False, repr=False)
class LabelAudit:
    """The result of an audit of labels.

    Attributes
    ----------
    rows : DataFrame
        All samples, the most doubtful first, with the index of ``y`` or ``X``, or numbered: the ``given`` label, the
        ``suggested`` one (the most likely other label), the ``probability`` of the given label, by which samples are
        sorted, and ``suggested_probability`` of the other one, both held-out, their
        difference ``margin``, and whether the sample is a ``suspect``, one of the first ``n_wrong``. A sample that
        could not be judged, because no other sample has its label, comes last, with NaN for ``probability`` and
        ``margin``. For an indicator matrix there is a row for each sample and label, and a column ``label``;
        suspects come first.
    n_wrong : int
        Estimated number of wrong labels, rounded; for an indicator matrix, the number of suspects.
    noise_matrix : DataFrame
        Estimated probability that a class (row) is labeled as each class (column), as for the ``transition`` of
        :func:`~fuselearn.datasets.corrupt_labels`. For an indicator matrix there are two rows for each label, 0 and 1.
    probabilities : DataFrame
        Held-out probability of each class or label, in the order of the data.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fuselearn.diagnosis import audit_labels
    >>> X, y = load_iris(return_X_y=True)
    >>> y[0] = 2
    >>> audit = audit_labels(X, y, GaussianNB(), random_state=0)
    >>> int(audit.rows.index[0]), audit.rows[["given", "suggested"]].iloc[0].tolist()
    (0, [2, 0])
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
        """Estimated fraction of wrong labels among those that were judged."""
        return self.n_wrong / int(self.rows["probability"].notna().sum())

    def __str__(self) -> str:
        """Return the estimate as text."""
        fraction = self.n_wrong / len(self.rows)
        return f"about {self.n_wrong} of {len(self.rows)} labels ({fraction:.1%}) are likely to be wrong"

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
    """Rank samples by how doubtful their label is, according to models that were not trained on them.

    Each sample gets class probabilities p from models trained without it. Samples whose given label has the lowest
    probability come first. How many labels are wrong is estimated by confident learning: a sample labeled i counts as
    truly j if p(j) is at least the mean p(j) of the samples labeled j; if there are several such classes, the one with
    the largest p(j). These counts, scaled to the number of samples of each given label, estimate how often j is
    labeled i.

    Each column of an indicator matrix is judged as a problem with the classes 0 and 1. A label is a suspect if the
    other class is predicted as confidently as that, and is the more likely one: labels differ so much in how well they
    can be predicted that the least likely ones would mostly be labels that are hard to predict.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_labels)
        One label per sample, or an indicator matrix. The only sample of a class cannot be judged, which raises a
        warning; nor can a label of an indicator matrix that fewer than two samples have, or lack.
    estimator : classifier or None, default=None
        Any classifier with ``predict_proba``. None means a :class:`~fuselearn.FusedClassifier` of a random forest,
        extremely randomised trees and, for up to 5,000 samples without missing values, a support vector machine: the
        members that follow wrong labels least; each label of an indicator matrix is then a problem of its own. For a
        sparse matrix, None means logistic regression on features scaled by their maximum.
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
        return _audit_labels(table, y, estimator, folding, rng, index)
    classes, given = read_classes(y, table.shape[0])
    held_out = hold_out_classes(table, classes, given, estimator, folding, rng)
    warn_of_unjudged(held_out.is_judged, classes[given])
    verdict = judge(held_out.probabilities, given, held_out.is_judged)
    n_wrong = round(verdict.n_wrong)
    return LabelAudit(
        rows=_sort(_tabulate(verdict, given, classes, index), n_wrong),
        n_wrong=n_wrong,
        noise_matrix=_noise_matrix(verdict, classes),
        probabilities=pd.DataFrame(held_out.probabilities, index=index, columns=classes),
    )


def _audit_labels(
    X: Any, y: Any, estimator: BaseEstimator | None, folding: Folding, rng: np.random.Generator, index: Any
) -> LabelAudit:
    """Audit an indicator matrix, each label as a problem of two classes."""
    from fuselearn.multilabel.labels import label_names, read_labels  # takes long to import

    Y = read_labels(y)
    if len(Y) != X.shape[0]:
        raise ValueError(f"X and y have inconsistent numbers of samples: {X.shape[0]} and {len(Y)}.")
    names = label_names(y)
    labels = np.arange(Y.shape[1]) if names is None else names
    held_out = hold_out_labels(X, Y, estimator, folding, rng)
    if not held_out.is_judged.any():
        raise ValueError("No label of y can be judged: fewer than two samples have it, or lack it.")
    parts, matrices = [], {}
    for column, label in enumerate(labels):
        positive, given = held_out.probabilities[:, column], Y[:, column].astype(np.int32)
        verdict = judge(np.column_stack([1 - positive, positive]), given, held_out.is_judged[:, column])
        rows = _tabulate(verdict, given, np.arange(2), index)
        rows.insert(0, "label", label)
        parts.append(rows.assign(suspect=verdict.is_doubted))
        matrices[label] = _noise_matrix(verdict, np.arange(2))
    rows = pd.concat(parts)
    rows = rows.iloc[rank(rows["probability"], rows["suggested_probability"])]
    return LabelAudit(
        rows=pd.concat([rows[rows["suspect"]], rows[~rows["suspect"]]]),
        n_wrong=int(rows["suspect"].sum()),
        noise_matrix=pd.concat(matrices, names=["label"]),
        probabilities=pd.DataFrame(held_out.probabilities, index=index, columns=labels),
    )


def _tabulate(verdict: Verdict, given: npt.NDArray[np.int32], classes: npt.NDArray[Any], index: Any) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "given": classes[given],
            "suggested": classes[verdict.suggested],
            "probability": verdict.own,
            "suggested_probability": verdict.largest,
            "margin": verdict.own - verdict.largest,
        },
        index=index,
    )


def _sort(rows: pd.DataFrame, n_wrong: int) -> pd.DataFrame:
    """Put the most doubtful labels first, and mark them as suspects."""
    ranked = rows.iloc[rank(rows["probability"], rows["suggested_probability"])].copy()
    ranked["suspect"] = np.arange(len(ranked)) < n_wrong
    return ranked


def _noise_matrix(verdict: Verdict, classes: npt.NDArray[Any]) -> pd.DataFrame:
    return pd.DataFrame(verdict.noise, pd.Index(classes, name="class"), pd.Index(classes, name="labeled as"))


def find_trusted_neighbors(
    X: Any, is_suspect: npt.NDArray[np.bool_], samples: npt.NDArray[np.intp], n_neighbors: int = 3
) -> npt.NDArray[np.intp]:
    """Find the nearest samples that are not suspects, after scaling the features.

    Parameters
    ----------
    X : {array-like, DataFrame} of shape (n_samples, n_features)
    is_suspect : bool array of shape (n_samples,)
    samples : int array of shape (n_wanted,)
        The samples whose neighbors are wanted.
    n_neighbors : int, default=3

    Returns
    -------
    int array of shape (n_wanted, n_found)
        Sample indices, the nearest first; fewer than ``n_neighbors`` if there are not as many.

    Examples
    --------
    >>> X = [[0.0], [1.0], [1.1], [5.0]]
    >>> find_trusted_neighbors(X, np.array([False, True, False, False]), np.array([1]), 2)
    array([[2, 0]])
    """
    from sklearn.neighbors import NearestNeighbors  # takes long to import

    features = scale_features(X)
    trusted = np.flatnonzero(~is_suspect)
    search = NearestNeighbors(n_neighbors=min(n_neighbors, len(trusted))).fit(features[trusted])
    found: npt.NDArray[np.intp] = trusted[search.kneighbors(features[samples], return_distance=False)]
    return found
