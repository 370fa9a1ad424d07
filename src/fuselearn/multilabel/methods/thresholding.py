"""Combine any multi-label classifier with a decision rule."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from fuselearn._messages import show
from fuselearn._parameters import check_whole_number, make_generator
from fuselearn.base import train_one
from fuselearn.fusion import Problem, Trained
from fuselearn.fusion.held_out import Splits, list_splits
from fuselearn.fusion.problem import OutOfBag
from fuselearn.learners import Learner, count_all_samples
from fuselearn.learners.clones import MultilabelClone, MultilabelCloneLearner
from fuselearn.multilabel.base import N_FOLDS, MultilabelBase, Scores, hold_out_folds, single
from fuselearn.multilabel.stratification import IterativeStratifiedKFold


class ThresholdedClassifier(MultilabelBase):
    """Combine any multi-label classifier with a decision rule, such as learned thresholds.

    Most classifiers predict a label if its probability is above 0.5, which rare labels seldom reach. This classifier
    learns a threshold t_j for each label, or uses another rule of :mod:`fuselearn.multilabel.decisions`::

        label j of sample x is predicted  if  p_j(x) > t_j

    Rules are fitted to out-of-fold probabilities, or to out-of-bag probabilities, which need no additional fits.

    Parameters
    ----------
    estimator : multi-label classifier
        Any with ``predict_proba``, in any of scikit-learn's forms: a random forest, ``MultiOutputClassifier``,
        ``OneVsRestClassifier``, ``ClassifierChain``, or one of this package.
    decision : str, float or DecisionRule, default="per_label"
        The rule: a threshold, or another one of :mod:`fuselearn.multilabel.decisions`.
    cv : int, splitter, iterable of splits, or "oob", default=5
        Source of the held-out probabilities: a number of iteratively stratified folds, other folds, or "oob", the
        out-of-bag probabilities of the estimator, whose ``oob_score`` is then set. Probabilities of a sample in several
        test sets are averaged; a sample in none is ignored. Ignored by rules that need no fitting.
    random_state : int, RandomState or None, default=None
        Seed of the folds, and of random states of the estimator that are None.
    n_jobs : int or None, default=None
        Number of folds trained in parallel.

    Attributes
    ----------
    estimator_ : multi-label classifier
        The classifier fitted on all samples and all labels that are not constant; None if all labels are constant.
    rule_ : DecisionRule
        The fitted rule, with ``rule_.thresholds_`` for ``"per_label"`` and ``rule_.threshold_`` for ``"cardinality"``.
    oob_decision_function_ : array of shape (n_samples, n_labels)
        Out-of-bag probabilities, NaN for samples without any; with ``cv="oob"`` and a rule that must be fitted.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels; the classes 0 and 1 of each label; number of the features; their names, if ``X``
        is a DataFrame.

    See Also
    --------
    fuselearn.multilabel.decisions : The decision rules.
    sklearn.model_selection.TunedThresholdClassifierCV : A tuned threshold for binary classification.

    References
    ----------
    Fan, R.-E., Lin, C.-J. (2007). A study on threshold selection for multi-label classification. Technical report,
    National Taiwan University.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.metrics import f1_score
    >>> from fuselearn.datasets import make_digit_pairs
    >>> from fuselearn.multilabel import ThresholdedClassifier, iterative_train_test_split
    >>> X, Y = make_digit_pairs(400, "overlaid", random_state=0)
    >>> X_train, X_test, Y_train, Y_test = iterative_train_test_split(X, Y, random_state=0)
    >>> forest = RandomForestClassifier(random_state=0)
    >>> round(f1_score(Y_test, forest.fit(X_train, Y_train).predict(X_test), average="macro"), 2)
    0.37
    >>> model = ThresholdedClassifier(forest, "per_label", cv="oob").fit(X_train, Y_train)
    >>> round(f1_score(Y_test, model.predict(X_test), average="macro"), 2)
    0.71
    """

    def __init__(
        self,
        estimator: Any,
        decision: Any = "per_label",
        *,
        cv: Any = 5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.decision = decision
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags of the estimator."""
        tags = super().__sklearn_tags__()
        if isinstance(self.estimator, BaseEstimator):  # fit raises an error for anything else
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def _base_estimator(self) -> Any:
        return self.estimator

    def _check_parameters(self) -> None:
        if isinstance(self.cv, str) and self.cv != "oob":
            raise ValueError(
                f"cv must be 'oob', a number of folds, a splitter or a list of splits, not {show(self.cv)}."
            )
        if isinstance(self.cv, int):
            check_whole_number("cv", self.cv, 2)

    def _check_base(self) -> None:
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "get_params"):
            raise TypeError(f"estimator must be a multi-label classifier, not {show(self.estimator)}.")
        if not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                f"estimator must have predict_proba, which {type(self.estimator).__name__} does not have: decision "
                "rules need probabilities."
            )

    def _make_learner(self, X: Any, n_threads: int) -> Learner:
        return MultilabelCloneLearner(X, self.estimator, keep_seeds=True)

    def _train(self, problem: Problem) -> Trained:
        seed = int(problem.rng.integers(2**31))
        if not (problem.out_of_bag and isinstance(self.cv, str)):
            return train_one(problem, seed)
        return train_with_bags(problem, seed)

    def _hold_out(self, problem: Problem, seed: int) -> Scores:
        """Return out-of-fold scores by clones with the same seed."""
        splits = self._split(problem, seed)
        train = partial(train_one, seed=seed)
        return hold_out_folds(train, problem, splits, lambda: make_generator(seed), self.n_jobs)

    def _split(self, problem: Problem, seed: int) -> Splits:
        n_samples, Y = problem.n_samples, problem.target.values
        if not isinstance(self.cv, int | str):
            return list_splits(self.cv, n_samples, Y)
        # With cv="oob", a rule set by with_decision needs folds if fit did not store out-of-bag probabilities.
        n_folds = min(N_FOLDS, n_samples) if isinstance(self.cv, str) else self.cv
        if n_samples < n_folds:
            raise ValueError(f"cv={self.cv} needs at least {self.cv} samples, but n_samples = {n_samples}.")
        return list(IterativeStratifiedKFold(n_folds, random_state=seed).split(Y, Y))

    @property
    def estimator_(self) -> Any:
        """The classifier fitted on all samples; None if all labels are constant."""
        check_is_fitted(self)
        return self._fused_.models[0].estimator


def train_with_bags(problem: Problem, seed: int) -> Trained:
    """Train a clone that stores its out-of-bag probabilities."""
    learner: Any = problem.learner
    if problem.weights is not None and not learner.takes_weights:
        raise ValueError(
            f"{type(learner.estimator).__name__} does not support sample_weight and would be fitted to samples drawn "
            "by weight, for which out-of-bag probabilities are invalid; use folds instead, such as cv=5."
        )
    learner = learner.with_estimator(_with_out_of_bag(learner.estimator))
    counts, weights = count_all_samples(problem.weights, problem.n_samples)
    model: MultilabelClone = learner.train(problem.target, counts, seed, weights=weights)
    out_of_bag = OutOfBag(problem.n_samples, problem.target.n_columns)
    if model.estimator is None:
        out_of_bag.add(np.arange(problem.n_samples), np.tile(model.constants, (problem.n_samples, 1)))
    else:
        out_of_bag.add(np.flatnonzero(counts), model.complete(_find_out_of_bag(model.estimator)))
    return replace(single(model, problem), out_of_bag=out_of_bag)


def _with_out_of_bag(estimator: Any) -> Any:
    """Return a clone that stores its out-of-bag probabilities; raise an error if the estimator has none."""
    copy = clone(estimator)
    names = [name for name in copy.get_params() if name.split("__")[-1] == "oob_score"]
    if not names:
        raise ValueError(
            f"{type(estimator).__name__} has no parameter oob_score for out-of-bag probabilities; use folds instead, "
            "such as cv=5."
        )
    return copy.set_params(**dict.fromkeys(names, True))


def _find_out_of_bag(model: Any) -> Any:
    if isinstance(model, Pipeline):
        return _find_out_of_bag(model[-1])
    if isinstance(model, MultiOutputClassifier | OneVsRestClassifier):
        return [_find_out_of_bag(one) for one in model.estimators_]
    if not hasattr(model, "oob_decision_function_"):
        raise ValueError(
            f"{type(model).__name__} did not compute out-of-bag probabilities; use folds instead, such as cv=5."
        )
    return model.oob_decision_function_
