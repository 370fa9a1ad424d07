"""A learner that trains clones of any multi-label classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone
from sklearn.multioutput import MultiOutputClassifier
from sklearn.utils.validation import has_fit_parameter

from fuselearn._compat import take_rows
from fuselearn._random import seed_estimator
from fuselearn.engines.draws import draw_counts
from fuselearn.learners import Learner
from fuselearn.multilabel.data.labels import read_probabilities
from fuselearn.multilabel.learning.fusion import average_parts

Counts = npt.NDArray[np.int32]
Scores = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float64]


class MultilabelLearner(Learner):
    """Train clones of a multi-label classifier on samples of a table.

    If the classifier supports ``sample_weight``, it is fitted on the drawn samples weighted by their counts; otherwise
    on every drawn sample as often as it was drawn. Labels that are constant on the drawn samples, which many
    classifiers reject, are left out.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame}
        Passed to the classifier unchanged.
    estimator : classifier
    keep_seeds : bool, default=False
        Whether all clones keep a ``random_state`` of the classifier that is not None.
    """

    prefer = "processes"

    def __init__(self, X: Any, estimator: BaseEstimator, *, keep_seeds: bool = False) -> None:
        self.n_samples = X.shape[0]
        self.X = X
        self.estimator = estimator
        self.keep_seeds = keep_seeds
        self.takes_weights = has_fit_parameter(estimator, "sample_weight") and not (
            isinstance(estimator, MultiOutputClassifier) and not has_fit_parameter(estimator.estimator, "sample_weight")
        )

    def train(self, target: Any, counts: Counts, seed: int, *, weights: Weights | None = None) -> MultilabelComponent:
        """Train a clone on the labels of the samples drawn."""
        self._check_sample(target, counts)
        if weights is not None and not self.takes_weights:
            counts, weights = draw_counts(seed, np.where(counts > 0, weights, 0.0), self.n_samples), None
        rows = np.flatnonzero(counts)
        shares = target[rows].mean(axis=0)
        shown = np.flatnonzero((shares > 0.0) & (shares < 1.0))
        if len(shown) == 0:
            return MultilabelComponent(None, shown, shares.round(), counts, self.X)
        model = seed_estimator(clone(self.estimator), seed, unset_only=self.keep_seeds)
        given = {}
        if not self.takes_weights:
            rows = np.repeat(rows, counts[rows])
        elif (
            weights is not None or counts.max() > 1
        ):  # with weights of 1, a forest would draw other samples than without
            given["sample_weight"] = (counts if weights is None else weights)[rows].astype(np.float64)
        # scikit-learn treats a single label column as classes.
        columns = np.repeat(shown, 2) if len(shown) == 1 else shown
        model.fit(take_rows(self.X, rows), target[rows[:, None], columns].astype(np.int64), **given)
        return MultilabelComponent(model, shown, shares.round(), counts, self.X)

    def unbind(self) -> None:
        """Release the training data."""
        del self.X


class MultilabelComponent:
    """One fitted multi-label classifier.

    Parameters
    ----------
    model : classifier or None
        None if all labels were constant.
    columns : int array
        The labels that the model knows, in its order.
    constants : array of shape (n_labels,)
        The values of the other labels.
    counts : int32 array of shape (n_samples,)
        How often each training sample was drawn.
    X : {array-like, sparse matrix, DataFrame}
        The training samples.
    """

    def __init__(
        self, model: Any, columns: npt.NDArray[np.int64], constants: npt.NDArray[np.float64], counts: Counts, X: Any
    ) -> None:
        self.model = model
        self.columns = columns
        self.constants = constants
        self.bound: tuple[Counts, Any] | None = (counts, X)

    def scores(self, rows: Any = None, only: npt.NDArray[np.integer] | None = None) -> Scores:
        """Return the model's probabilities of the labels, or its predicted labels if it has none."""
        if rows is None:
            rows = self._training_data[1]
        if only is not None:
            rows = take_rows(rows, only)
        if self.model is None:
            return np.tile(self.constants, (rows.shape[0], 1))
        if hasattr(self.model, "predict_proba"):
            return self.complete(self.model.predict_proba(rows))
        return self.complete(self.model.predict(rows))

    def probabilities(self, rows: Any = None, only: npt.NDArray[np.integer] | None = None) -> Scores:
        """Return the scores, which are probabilities already."""
        return self.scores(rows, only)

    def complete(self, answer: Any) -> Scores:
        """Convert the model's output, in any form of ``predict_proba``, to scores of all labels."""
        known = read_probabilities(answer, max(2, len(self.columns)))
        scores = np.tile(self.constants, (len(known), 1))
        scores[:, self.columns] = known[:, : len(self.columns)]
        return scores

    @property
    def left_out(self) -> npt.NDArray[np.int64]:
        """The training samples that the component has not seen."""
        return np.flatnonzero(self._training_data[0] == 0)

    @property
    def _training_data(self) -> tuple[Counts, Any]:
        if self.bound is None:
            raise RuntimeError("The component no longer has its training data; pass prepared samples.")
        return self.bound

    def unbind(self) -> None:
        """Release the training data."""
        self.bound = None


def score_folds(
    learner: MultilabelLearner,
    Y: npt.NDArray[Any],
    splits: Sequence[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]],
    seed: int,
    *,
    counts: Counts | None = None,
    weights: Weights | None = None,
    n_jobs: int | None = None,
) -> Scores:
    """Score the samples outside of each split by a model that is trained on those inside.

    Parameters
    ----------
    learner : MultilabelLearner
    Y : array of shape (n_samples, n_labels)
    splits : sequence of pairs of sample numbers
        Those inside and those outside of each split.
    seed, weights
        As in ``Learner.train``.
    counts : int32 array of shape (n_samples,), optional
        How often each sample counts; once by default.
    n_jobs : int or None
        Models trained at the same time.

    Returns
    -------
    array of shape (n_samples, n_labels)
        The mean for samples that are outside of several splits, NaN for those that are outside of none.
    """
    counts = np.ones(len(Y), dtype=np.int32) if counts is None else counts
    answers = Parallel(n_jobs=n_jobs)(
        delayed(_score_fold)(learner, Y, counts, weights, inside, outside, seed) for inside, outside in splits
    )
    parts = ((outside, answer, 1.0) for (_, outside), answer in zip(splits, answers, strict=True))
    return average_parts(parts, Y.shape)


def _score_fold(
    learner: MultilabelLearner,
    Y: npt.NDArray[Any],
    counts: Counts,
    weights: Weights | None,
    inside: npt.NDArray[np.intp],
    outside: npt.NDArray[np.intp],
    seed: int,
) -> Scores:
    drawn = np.zeros_like(counts)
    drawn[inside] = counts[inside]
    if not drawn.any():  # all samples with a weight are outside
        return np.full((len(outside), Y.shape[1]), np.nan)
    return learner.train(Y, drawn, seed, weights=weights).scores(only=outside)
