"""Any multi-label classifier with a decision rule of choice."""

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
    """Another multi-label classifier, whose probabilities become labels by a rule that is learned if need be.

    Most classifiers predict a label if its probability is above 0.5, and so hardly ever a rare one. This one learns a
    threshold t_j for each label, or follows another of the rules of :mod:`fuselearn.multilabel.decisions`::

        label j of sample x is predicted  if  p_j(x) > t_j

    from probabilities of training samples by models that were not trained on them: out-of-fold, or out-of-bag, which
    costs no further fit.

    Parameters
    ----------
    estimator : multi-label classifier
        Any with ``predict_proba``, in any of scikit-learn's forms: a random forest, ``MultiOutputClassifier``,
        ``OneVsRestClassifier``, ``ClassifierChain``, or one of this package.
    decision : str, float or DecisionRule, default="per_label"
        The rule: a threshold, or another one of :mod:`fuselearn.multilabel.decisions`.
    cv : int, splitter, iterable of splits, or "oob", default=5
        Where held-out probabilities come from: that many iteratively stratified folds, other folds, or the
        out-of-bag probabilities of the estimator, whose ``oob_score`` is then set. A sample in several test sets gets
        the mean; one in none does not count. Not used by rules that learn nothing.
    random_state : int, RandomState or None, default=None
        Seed of the folds, and of those random states of the estimator that are None.
    n_jobs : int or None, default=None
        Folds at the same time.

    Attributes
    ----------
    estimator_ : multi-label classifier
        Fitted on all samples, but not on labels that are constant there, whose probability is the constant; None if all
        are.
    rule_ : DecisionRule
        Fitted, if it learns: ``rule_.thresholds_`` for ``"per_label"``, ``rule_.threshold_`` for ``"cardinality"``.
    oob_decision_function_ : array of shape (n_samples, n_labels)
        Out-of-bag probabilities, NaN for samples without any; with ``cv="oob"`` and a rule that learns.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels; the classes 0 and 1 of each label; number of the features; their names, if ``X``
        is a DataFrame.

    See Also
    --------
    fuselearn.multilabel.decisions : The decision rules.
    sklearn.model_selection.TunedThresholdClassifierCV : A threshold for two classes, in scikit-learn.

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
        if isinstance(self.estimator, BaseEstimator):  # anything else is refused by fit
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
                f"estimator must have predict_proba, which {type(self.estimator).__name__} has not: rules decide by "
                "probabilities."
            )

    def _make_learner(self, X: Any, n_threads: int) -> Learner:
        return MultilabelCloneLearner(X, self.estimator, keep_seeds=True)

    def _train(self, problem: Problem) -> Trained:
        seed = int(problem.rng.integers(2**31))
        if not (problem.out_of_bag and isinstance(self.cv, str)):
            return train_one(problem, seed)
        return train_with_bags(problem, seed)

    def _hold_out(self, problem: Problem, seed: int) -> Scores:
        """Return the scores of each split's outside by clones that are fitted to its inside, all with one seed."""
        splits = self._split(problem, seed)
        train = partial(train_one, seed=seed)
        return hold_out_folds(train, problem, splits, lambda: make_generator(seed), self.n_jobs)

    def _split(self, problem: Problem, seed: int) -> Splits:
        n_samples, Y = problem.n_samples, problem.target.values
        if not isinstance(self.cv, int | str):
            return list_splits(self.cv, n_samples, Y)
        # A rule chosen after a fit that kept no out-of-bag probabilities needs folds, too.
        n_folds = min(N_FOLDS, n_samples) if isinstance(self.cv, str) else self.cv
        if n_samples < n_folds:
            raise ValueError(f"cv={self.cv} needs at least {self.cv} samples, but n_samples = {n_samples}.")
        return list(IterativeStratifiedKFold(n_folds, random_state=seed).split(Y, Y))

    @property
    def estimator_(self) -> Any:
        """The classifier fitted on all samples; None if all labels are constant there."""
        check_is_fitted(self)
        return self._fused_.models[0].estimator


def train_with_bags(problem: Problem, seed: int) -> Trained:
    """Train a clone that keeps its out-of-bag probabilities."""
    learner: Any = problem.learner
    if problem.weights is not None and not learner.takes_weights:
        raise ValueError(
            f"{type(learner.estimator).__name__} does not take sample_weight, so weighted samples must be drawn, "
            "and samples left out of bags may be among the drawn ones; use folds instead, such as cv=5."
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
    """Return a clone that will keep its out-of-bag probabilities, or refuse an estimator that has none."""
    copy = clone(estimator)
    names = [name for name in copy.get_params() if name.split("__")[-1] == "oob_score"]
    if not names:
        raise ValueError(
            f"{type(estimator).__name__} has no out-of-bag probabilities (no parameter oob_score), as a random forest "
            "has; use folds instead, such as cv=5."
        )
    return copy.set_params(**dict.fromkeys(names, True))


def _find_out_of_bag(model: Any) -> Any:
    if isinstance(model, Pipeline):
        return _find_out_of_bag(model[-1])
    if isinstance(model, MultiOutputClassifier | OneVsRestClassifier):
        return [_find_out_of_bag(one) for one in model.estimators_]
    if not hasattr(model, "oob_decision_function_"):
        raise ValueError(
            f"{type(model).__name__} has kept no out-of-bag probabilities; use folds instead, such as cv=5."
        )
    return model.oob_decision_function_
