"""Find samples whose labels are likely to be wrong, and estimate how many there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator

from fuselearn._messages import show
from fuselearn._parameters import check_number, make_generator
from fuselearn.base import read_classes, read_table
from fuselearn.datasets.noise import scale_features
from fuselearn.diagnosis.judging import (
    Folding,
    Verdict,
    hold_out_classes,
    hold_out_labels,
    judge,
    measure_skill,
    rank,
    read_probabilities,
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
        difference ``margin``, whether the sample is a ``suspect``, and the ``confidence``: the probability that the
        suggested label is the correct one, given the estimated noise. Suspects are first. Samples that cannot be
        audited, because no other sample has their label, are last, with NaN for ``probability`` and ``margin``. For an
        indicator matrix there is a row for each sample and label, and a column ``label``.
    n_wrong : int
        Estimated number of wrong labels, the number of suspects.
    noise_matrix : DataFrame
        Estimated probability that a class (row) is labeled as each class (column), as for the ``transition`` of
        :func:`~fuselearn.datasets.corrupt_labels`. For an indicator matrix the classes are 0 and 1 of
        all labels.
    probabilities : DataFrame
        Held-out probability of each class or label, in the order of the data.
    predictability : DataFrame
        For each class or label the number of its ``samples``; its ``skill``, the fraction by which the squared error of
        its held-out probabilities is smaller than that of its frequency; whether it is ``predictable``, that is,
        whether the skill is significant; the number of given labels that are ``contradicted``, because another one is
        more likely; and the number of ``suspects`` among them. The other contradicted labels are explained by samples
        that are hard to predict.
    order : int array of shape (n_rows,)
        Position of each row in the data; for an indicator matrix, its labels follow each other.

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
    predictability: pd.DataFrame
    order: npt.NDArray[np.intp]

    @property
    def suspects(self) -> pd.DataFrame:
        """The suspect samples."""
        return self.rows[self.rows["suspect"]]

    @property
    def pairs(self) -> pd.DataFrame:
        """The number of suspects for each given and suggested label, and their mean confidence, the most first."""
        pair = [name for name in ("label", "given", "suggested") if name in self.rows]
        found = self.suspects.groupby(pair, sort=False)["confidence"].agg(["size", "mean"]).reset_index()
        found = found.rename(columns={"size": "suspects", "mean": "confidence"})
        return found.sort_values("suspects", ascending=False, kind="stable", ignore_index=True)

    @property
    def noise_rate(self) -> float:
        """Estimated fraction of wrong labels among the audited ones."""
        return self.n_wrong / int(self.rows["probability"].notna().sum())

    def corrected_labels(self, confidence: float = 0.9) -> pd.Series | pd.DataFrame:
        """Return the labels, with suspects replaced by the suggested label if its confidence is high enough.

        Parameters
        ----------
        confidence : float, default=0.9
            Minimum probability that the suggested label is correct. Other labels are unchanged.

        Returns
        -------
        Series of shape (n_samples,) or DataFrame of shape (n_samples, n_labels)
            In the order of the data.
        """
        if check_number("confidence", confidence, 0) > 1:
            raise ValueError(f"confidence must be at most 1, not {confidence:g}.")
        is_corrected = self.rows["suspect"] & (self.rows["confidence"] >= confidence)
        labels = self.rows["given"].mask(is_corrected, self.rows["suggested"]).iloc[np.argsort(self.order)]
        if "label" not in self.rows:
            return labels.set_axis(self.probabilities.index)
        columns = labels.to_numpy().reshape(-1, len(self.probabilities))
        return pd.DataFrame(columns.T, index=self.probabilities.index, columns=self.probabilities.columns)

    def __str__(self) -> str:
        """Return the estimate as text."""
        n_all, n_unpredictable = len(self.predictability), int((~self.predictability["predictable"]).sum())
        of_what = ("labels", "label") if "label" in self.rows else ("classes", "class")
        if n_unpredictable == n_all:
            return f"nothing can be said about the labels: no {of_what[1]} is predicted better than by its frequency"
        fraction = self.n_wrong / len(self.rows)
        text = f"about {self.n_wrong} of {len(self.rows)} labels ({fraction:.1%}) are likely to be wrong"
        if n_unpredictable == 0:
            return text
        return f"{text}; nothing can be said about {n_unpredictable} of {n_all} {of_what[0]}, which cannot be predicted"

    def describe(self) -> str:
        """Describe the estimate and the contradicted labels as text, with tables of the classes and of the suspects.

        Returns
        -------
        str
        """
        n_contradicted = int(self.predictability["contradicted"].sum())
        text = f"{self}.\n{n_contradicted} labels are contradicted by the models; "
        text += f"{n_contradicted - self.n_wrong} of these are explained by samples that are hard to predict.\n"
        text = text[0].upper() + text[1:] + self.predictability.round(3).to_string()
        return f"{text}\n{self.pairs.round(3).to_string(index=False)}" if self.n_wrong else text

    def __repr__(self) -> str:
        """Return the estimate as text, without the tables."""
        return f"<LabelAudit: {self}>"


def audit_labels(
    X: Any,
    y: Any,
    estimator: BaseEstimator | None = None,
    *,
    probabilities: npt.ArrayLike | None = None,
    cv: Any = None,
    n_repeats: int = 1,
    groups: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> LabelAudit:
    """Rank samples by how doubtful their label is, and estimate how many labels are wrong.

    Class probabilities p of each sample are computed by models that were not trained on it. Samples are sorted by the
    probability of their given label. Models contradict wrong labels, but also labels of samples that are hard to
    predict. The number of wrong labels is therefore estimated:

    - If a class is not predicted significantly better than by its frequency, its labels cannot be audited. None of them
      is a suspect, unless another class that is predictable is more likely.
    - Models are trained again on corrected labels. The model of the given labels is P(label i | x) = sum_j q_j(x) T_ji,
      with q proportional to a power of the probabilities of both models, and T_ji the probability that class j is
      labeled as i; the power and T maximize the likelihood. Contradicted labels where q is uncertain are attributed to
      samples that are hard to predict; those where q is certain are attributed to T, that is, to wrong labels. If T
      does not increase the likelihood sufficiently, no label is a suspect. Wrong labels that occur only in samples that
      are hard to predict cannot be detected.

    Each column of an indicator matrix is a problem with the classes 0 and 1, with a common power and T.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_labels)
        One label per sample, or an indicator matrix. The only sample of a class cannot be audited, which raises a
        warning, and neither can a label of an indicator matrix with fewer than two positive or negative samples.
    estimator : classifier or None, default=None
        Any classifier with ``predict_proba``. None means a :class:`~fuselearn.FusedClassifier` of the members that are
        most robust to wrong labels: a random forest, extremely randomized trees and, for up to 5,000 samples without
        missing values, an SVM; each label of an indicator matrix is then a separate problem. For a sparse matrix, None
        means logistic regression on features scaled by their maximum. For a `FusedClassifier`, held-out probabilities
        are those of its method ``hold_out``, with new seeds.
    probabilities : array-like of shape (n_samples, n_classes) or (n_samples, n_labels), optional
        Existing held-out probabilities p, such as ``held_out_proba_`` of a fitted ``FusedClassifier`` or
        ``FusedMultilabelClassifier``, with the columns in the order of the sorted classes. The estimator is then only
        trained on corrected labels. Samples with NaN are not audited.
    cv : int, splitter or iterable of (train, test), default=None
        Folds; an int means stratified and shuffled folds. Each sample must be in a test set. None means the folds of
        `FusedClassifier`, or five for another estimator.
    n_repeats : int, default=1
        Number of repeats with different folds, whose probabilities are averaged; only if ``cv`` is an int or None.
    groups : array of shape (n_samples,), optional
        Group labels of the samples. Samples of a group are held out together.
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

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from fuselearn.datasets import corrupt_labels
    >>> from fuselearn.diagnosis import audit_labels
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> noisy = corrupt_labels(y, 0.1, random_state=0)
    >>> audit = audit_labels(X, noisy, random_state=0)
    >>> print(audit)
    about 16 of 178 labels (9.0%) are likely to be wrong
    >>> wrong = noisy != y
    >>> int(wrong.sum()), int(wrong[audit.suspects.index].sum()), len(audit.suspects)
    (18, 16, 16)
    >>> int((audit.corrected_labels(confidence=0.9) != y).sum())
    5
    """
    table = read_table("X", X)
    if estimator is not None and (isinstance(estimator, type) or not hasattr(estimator, "predict_proba")):
        raise TypeError(f"estimator must be a classifier with predict_proba, or None, not {show(estimator)}.")
    folding = Folding(cv, n_repeats, groups, n_jobs).checked()
    rng = make_generator(random_state)
    index = next((data.index for data in (y, X) if isinstance(data, pd.Series | pd.DataFrame)), None)
    shape = np.shape(y)
    if len(shape) == 2 and shape[1] > 1:
        return _audit_labels(table, y, estimator, probabilities, folding, rng, index)
    classes, given = read_classes(y, table.shape[0])
    first = read_probabilities(probabilities, (len(given), len(classes)))
    held_out = hold_out_classes(table, classes, given, estimator, folding, rng, first)
    warn_of_unjudged(held_out.is_judged, classes[given])
    skill, is_predictable = measure_skill(held_out.probabilities[held_out.is_judged], given[held_out.is_judged])
    verdict = judge(held_out, given, np.broadcast_to(is_predictable, held_out.probabilities.shape))
    order = _order(verdict)
    return LabelAudit(
        rows=_tabulate(verdict, given, classes, index).iloc[order],
        n_wrong=int(verdict.is_suspect.sum()),
        noise_matrix=_noise_matrix(verdict, classes),
        probabilities=pd.DataFrame(held_out.probabilities, index=index, columns=classes),
        predictability=pd.DataFrame(
            {
                "samples": np.bincount(given, minlength=len(classes)),
                "skill": skill,
                "predictable": is_predictable,
                "contradicted": np.bincount(given[verdict.is_contradicted], minlength=len(classes)),
                "suspects": np.bincount(given[verdict.is_suspect], minlength=len(classes)),
            },
            index=pd.Index(classes, name="class"),
        ),
        order=order,
    )


def _audit_labels(
    X: Any,
    y: Any,
    estimator: BaseEstimator | None,
    probabilities: npt.ArrayLike | None,
    folding: Folding,
    rng: np.random.Generator,
    index: Any,
) -> LabelAudit:
    """Audit an indicator matrix, whose labels are problems of two classes."""
    from fuselearn.multilabel.labels import label_names, read_labels  # slow import

    Y = read_labels(y)
    if len(Y) != X.shape[0]:
        raise ValueError(f"X and y have inconsistent numbers of samples: {X.shape[0]} and {len(Y)}.")
    names = label_names(y)
    labels = np.arange(Y.shape[1]) if names is None else names
    held_out = hold_out_labels(X, Y, estimator, folding, rng, read_probabilities(probabilities, Y.shape))
    if not held_out.is_judged.any():
        raise ValueError("No label of y can be audited: each has fewer than two positive or negative samples.")
    n_samples, n_labels = Y.shape
    given, each = Y.T.ravel().astype(np.int32), held_out.as_classes()
    skill, is_predictable = np.zeros(n_labels), np.zeros(n_labels, dtype=bool)
    for label in np.flatnonzero(held_out.is_judged.any(axis=0)):
        own = np.arange(label * n_samples, (label + 1) * n_samples)[held_out.is_judged[:, label]]
        skills, are_predictable = measure_skill(each.probabilities[own], given[own])
        skill[label], is_predictable[label] = skills[1], are_predictable[1]
    verdict = judge(each, given, np.repeat(is_predictable, n_samples)[:, None].repeat(2, axis=1))
    rows = _tabulate(verdict, given, np.arange(2), np.tile(np.arange(n_samples) if index is None else index, n_labels))
    rows.insert(0, "label", np.repeat(labels, n_samples))
    order = _order(verdict)
    return LabelAudit(
        rows=rows.iloc[order],
        n_wrong=int(verdict.is_suspect.sum()),
        noise_matrix=_noise_matrix(verdict, np.arange(2)),
        probabilities=pd.DataFrame(held_out.probabilities, index=index, columns=labels),
        predictability=pd.DataFrame(
            {
                "samples": Y.sum(axis=0, dtype=np.intp),
                "skill": skill,
                "predictable": is_predictable,
                "contradicted": verdict.is_contradicted.reshape(n_labels, n_samples).sum(axis=1),
                "suspects": verdict.is_suspect.reshape(n_labels, n_samples).sum(axis=1),
            },
            index=pd.Index(labels, name="label"),
        ),
        order=order,
    )


def _tabulate(verdict: Verdict, given: npt.NDArray[np.int32], classes: npt.NDArray[Any], index: Any) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "given": classes[given],
            "suggested": classes[verdict.suggested],
            "probability": verdict.own,
            "suggested_probability": verdict.largest,
            "margin": verdict.own - verdict.largest,
            "suspect": verdict.is_suspect,
            "confidence": verdict.confidence,
        },
        index=index,
    )


def _order(verdict: Verdict) -> npt.NDArray[np.intp]:
    """Return suspects first, and the most doubtful labels first among these and among the others."""
    ranked = rank(verdict.own, verdict.largest)
    return ranked[np.argsort(~verdict.is_suspect[ranked], kind="stable")]


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
    from sklearn.neighbors import NearestNeighbors  # slow import

    features = scale_features(X)
    trusted = np.flatnonzero(~is_suspect)
    search = NearestNeighbors(n_neighbors=min(n_neighbors, len(trusted))).fit(features[trusted])
    return trusted[search.kneighbors(features[samples], return_distance=False)]
