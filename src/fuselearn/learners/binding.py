"""Bind tables to estimators, and learners to targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import get_tags

from fuselearn._compat import take_rows
from fuselearn._messages import show
from fuselearn.engines.draws import draw_covering_counts
from fuselearn.learners.estimator import EstimatorLearner
from fuselearn.learners.protocols import Classes, Component, Counts, Learner, Weights


def bind(estimator: Any, X: Any, n_threads: int = 1) -> Learner:
    """Bind a table to a classifier, of which any number of models are then trained.

    Parameters
    ----------
    estimator : classifier
        A ``CARTClassifier`` means the tree engine, an ``SVMClassifier`` the SVM engine: they bind tables by themselves.
        Any other scikit-learn classifier is cloned for each model.
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        Checked for its shape already.
    n_threads : int, default=1
        Threads (processes for other classifiers) that train and predict labels side by side.

    Returns
    -------
    Learner

    Examples
    --------
    >>> from fuselearn import CARTClassifier
    >>> X, Y = np.arange(40.0)[:, None], np.repeat([[0, 1], [1, 1]], 20, axis=0)
    >>> learner = bind(CARTClassifier(), X)
    >>> component = learner.train(Y, np.ones(40, dtype=np.int32), seed=0)
    >>> component.scores(learner.prepare(np.array([[5.0], [35.0]])))
    array([[0., 1.],
           [1., 1.]])
    """
    _require_kind(estimator, "classifier", is_classifier)
    if not get_tags(estimator).target_tags.single_output:
        raise TypeError(
            f"estimator must be a classifier of a single column of classes; {type(estimator).__name__} is a "
            "multi-label classifier, which KFHEMultilabelClassifier and ThresholdedClassifier take."
        )
    return _bind(estimator, X, n_threads)


def bind_regressor(estimator: Any, X: Any, n_threads: int = 1) -> Learner:
    """Bind a table to a regressor, as :func:`bind` does to a classifier; a ``CARTRegressor`` means the tree engine.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from fuselearn.learners import Values, bind_regressor
    >>> learner = bind_regressor(LinearRegression(), np.arange(3.0)[:, None])
    >>> component = learner.train(Values(np.array([1.0, 3.0, 5.0])), np.ones(3, dtype=np.int32), seed=0)
    >>> component.scores(np.array([[10.0]])).round(6)
    array([[21.]])
    """
    _require_kind(estimator, "regressor", is_regressor)
    return _bind(estimator, X, n_threads)


def _require_kind(estimator: Any, kind: str, is_kind: Callable[[Any], bool]) -> None:
    if isinstance(estimator, type) or not (hasattr(estimator, "get_params") and is_kind(estimator)):
        raise TypeError(f"estimator must be a {kind} or None, not {show(estimator)}.")


def _bind(estimator: Any, X: Any, n_threads: int) -> Learner:
    if hasattr(estimator, "_bind_table"):
        learner: Learner = estimator._bind_table(X, n_threads)
        return learner
    return EstimatorLearner(X, estimator, n_threads)


class Sensor:
    """A learner with a target of classes: what the ensembles of classes measure.

    Parameters
    ----------
    learner : Learner
    target : Classes

    Examples
    --------
    >>> from fuselearn import CARTClassifier
    >>> learner = bind(CARTClassifier(min_samples_split=2), np.arange(6.0)[:, None])
    >>> sensor = Sensor(learner, Classes(np.array([0, 0, 1, 1, 2, 2], dtype=np.int32), 3))
    >>> sensor.measure_all(None, seed=0).votes()
    array([0, 0, 1, 1, 2, 2], dtype=int32)
    >>> sensor.regroup(np.array([0, 0, 1], dtype=np.int8)).measure_all(None, seed=0).votes()
    array([0, 0, 0, 0, 1, 1], dtype=int32)
    """

    def __init__(self, learner: Learner, target: Classes) -> None:
        self.learner = learner
        self.target = target
        self.n_rows = learner.n_samples
        self.n_classes = target.n_classes

    def measure(
        self, counts: Counts, seed: int, *, weights: Weights | None = None, features: npt.NDArray[np.intp] | None = None
    ) -> Component:
        """Train a component on the samples drawn, as :meth:`Learner.train` does, and on some of the features."""
        learner = self.learner if features is None else self.learner.restrict(features)
        component: Component = learner.train(self.target, counts, seed, weights=weights)
        return component

    def measure_sample(self, weights: Weights, seed: int) -> Component:
        """Draw as many samples as there are, with replacement and by their weights, and train a component on them.

        Parameters
        ----------
        weights : array of shape (n_samples,)
            Chances of the samples; they need not sum to one.
        seed : int
            Seed of the draw and of the component's own random choices, from 0 to 2**63 - 1.
        """
        counts = draw_covering_counts(seed, weights, self.n_rows, self.target.numbers, self.n_classes, max_tries=1)
        return self.measure(counts, seed)

    def measure_all(self, sample_weight: Weights | None, seed: int) -> Component:
        """Train a component on all samples as they are, or as their weights say."""
        counts, weights = count_all_samples(sample_weight, self.n_rows, copies=self.learner.counts_copies)
        return self.measure(counts, seed, weights=weights)

    def regroup(self, groups: npt.NDArray[np.int8]) -> Sensor:
        """Ask another question about the same table: to which of two groups a sample's class belongs.

        Parameters
        ----------
        groups : int8 array of shape (n_classes,)
            0 or 1 for each class.
        """
        return Sensor(self.learner, Classes(groups[self.target.numbers].astype(np.int32), 2))


def count_all_samples(weights: Weights | None, n_samples: int, *, copies: bool = True) -> tuple[Counts, Weights | None]:
    """Turn sample weights into counts, and weights where whole numbers cannot say it.

    Parameters
    ----------
    weights : array of shape (n_samples,), optional
    n_samples : int
    copies : bool
        Whether weights that are whole numbers mean copies of samples.

    Examples
    --------
    >>> count_all_samples(np.array([0.0, 3.0, 1.0]), 3)
    (array([0, 3, 1], dtype=int32), None)
    >>> count_all_samples(np.array([0.0, 0.5, 1.0]), 3)
    (array([0, 1, 1], dtype=int32), array([0. , 0.5, 1. ]))
    """
    if weights is None:
        return np.ones(n_samples, dtype=np.int32), None
    if copies and are_counts(weights):
        return weights.astype(np.int32), None
    return (weights > 0).astype(np.int32), weights


def are_counts(weights: Weights) -> bool:
    """Return whether weights are whole numbers, which then say how often each sample is there.

    Examples
    --------
    >>> are_counts(np.array([0.0, 3.0])), are_counts(np.array([0.5, 3.0]))
    (True, False)
    """
    return bool((weights == np.rint(weights)).all() and weights.sum() < 2**31)


def answer_in_parts(X: Any, at_once: int, answer: Callable[[Any], npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Let a function answer for the samples of a table, in parts if there are many.

    Examples
    --------
    >>> answer_in_parts(np.arange(5), 2, lambda part: part * len(part))
    array([0, 2, 4, 6, 4])
    """
    n_samples = X.shape[0]
    if n_samples <= at_once:
        return answer(X)
    parts = (np.arange(start, min(start + at_once, n_samples)) for start in range(0, n_samples, at_once))
    return np.concatenate([answer(take_rows(X, part)) for part in parts])
