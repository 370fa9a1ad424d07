"""The learner of multi-label clones: any multi-label classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.multioutput import MultiOutputClassifier
from sklearn.utils.validation import has_fit_parameter

from fuselearn._compat import take_rows
from fuselearn._core import draw_counts
from fuselearn._random import seed_estimator
from fuselearn.learners.clones import CloneLearner
from fuselearn.learners.learner import Bound, LabelModel
from fuselearn.learners.target import Counts, Indices, Scores, Target, Weights


class MultilabelCloneLearner(CloneLearner):
    """Train clones of a multi-label classifier on samples of a table.

    If the classifier takes ``sample_weight``, it is fitted on the drawn samples weighted by their counts; otherwise on
    every drawn sample as often as it was drawn. Labels that are constant on the drawn samples, which many classifiers
    reject, are left out.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame}
        Passed to the classifier unchanged.
    estimator : classifier
    keep_seeds : bool, default=False
        Whether all clones keep a ``random_state`` of the classifier that is not None.
    """

    def __init__(self, X: Any, estimator: BaseEstimator, *, keep_seeds: bool = False) -> None:
        super().__init__(X, estimator, n_threads=1)
        self.keep_seeds = keep_seeds

    @property
    def takes_weights(self) -> bool:
        """Whether the classifier takes sample weights."""
        each = getattr(self.estimator, "estimator", None)
        return has_fit_parameter(self.estimator, "sample_weight") and not (
            isinstance(self.estimator, MultiOutputClassifier) and not has_fit_parameter(each, "sample_weight")
        )

    def train(  # type: ignore[override]
        self, target: Target, counts: Counts, seed: int, *, weights: Weights | None = None
    ) -> MultilabelClone:
        """Train a clone on the labels of the samples drawn."""
        self._check_sample(target, counts)
        if weights is not None and not self.takes_weights:
            counts, weights = draw_counts(seed, np.where(counts > 0, weights, 0.0), self.n_samples), None
        samples = np.flatnonzero(counts)
        means = target.values[samples].mean(axis=0)
        labels = np.flatnonzero((means > 0.0) & (means < 1.0))
        if len(labels) == 0:
            return MultilabelClone(None, labels, means.round(), self.bound)
        model = seed_estimator(clone(self.estimator), seed, unset_only=self.keep_seeds)
        given = {}
        if not self.takes_weights:
            samples = np.repeat(samples, counts[samples])
        elif (
            weights is not None or counts.max() > 1
        ):  # with weights of 1, a forest would draw other samples than without
            given["sample_weight"] = (counts if weights is None else weights)[samples].astype(np.float64)
        # scikit-learn treats a single label column as classes.
        columns = np.repeat(labels, 2) if len(labels) == 1 else labels
        Y = target.values[samples[:, None], columns].astype(np.int64)
        model.fit(take_rows(self.bound.table, samples), Y, **given)
        return MultilabelClone(model, labels, means.round(), self.bound)


class MultilabelClone(LabelModel):
    """One fitted multi-label classifier.

    Parameters
    ----------
    estimator : classifier or None
        None if all labels were constant.
    labels : int array
        Indices of the labels that it was fitted on.
    constants : array of shape (n_labels,)
        The values of the other labels.
    bound : Bound, optional
        The training samples.
    """

    def __init__(
        self,
        estimator: Any,
        labels: npt.NDArray[np.intp],
        constants: npt.NDArray[np.float64],
        bound: Bound | None = None,
    ) -> None:
        self.estimator = estimator
        self.labels = labels
        self.constants = constants
        self.bound = Bound() if bound is None else bound

    def scores(self, X: Any = None, *, appended: Any = None, only: Indices | None = None) -> Scores:
        """Return the classifier's probabilities of the labels, or its predicted labels if it has none."""
        X = self.bound.table if X is None else X
        X = X if only is None else take_rows(X, only)
        if self.estimator is None:
            return np.tile(self.constants, (X.shape[0], 1))
        if hasattr(self.estimator, "predict_proba"):
            return self.complete(self.estimator.predict_proba(X))
        return self.complete(self.estimator.predict(X))

    def complete(self, output: Any) -> Scores:
        """Convert the classifier's output, in any form of ``predict_proba``, to scores of all labels."""
        found = read_probabilities(output, max(2, len(self.labels)))
        scores = np.tile(self.constants, (len(found), 1))
        scores[:, self.labels] = found[:, : len(self.labels)]
        return scores


def read_probabilities(output: Any, n_labels: int) -> npt.NDArray[np.float64]:
    """Return the probabilities of the labels as one array, whatever their form.

    Parameters
    ----------
    output : array or list of arrays
        The output of ``predict_proba``: an (n_samples, n_labels) array, or scikit-learn's list with an (n_samples, 2)
        array per label; or an ``oob_decision_function_`` of shape (n_samples, 2, n_labels). Every label has had both
        values in training.
    n_labels : int

    Returns
    -------
    array of shape (n_samples, n_labels)
        NaN for samples without out-of-bag votes.

    Examples
    --------
    >>> read_probabilities([[[0.3, 0.7]], [[1.0, 0.0]]], n_labels=2)
    array([[0.7, 0. ]])
    """
    if isinstance(output, Sequence) and np.ndim(output[0]) == 2:
        if len(output) != n_labels:
            raise ValueError(f"Expected probabilities of {n_labels} labels, but the list has {len(output)} arrays.")
        output = np.stack([np.asarray(one, dtype=np.float64) for one in output], axis=-1)
    table = np.asarray(output, dtype=np.float64)
    if table.ndim == 2 and n_labels == 1 and table.shape[1] == 2:
        table = table[:, :, None]
    if table.ndim == 3 and table.shape[1:] == (2, n_labels):
        # Samples in every bag have no votes, which must not be read as probabilities of 0.
        return np.where(table.any(axis=1), table[:, 1, :], np.nan)
    if table.ndim == 2 and table.shape[1] == n_labels:
        return table
    raise ValueError(f"Expected probabilities of {n_labels} labels, but their shape is {table.shape}.")
