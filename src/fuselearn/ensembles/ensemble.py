"""The base of ensembles of classifiers: base estimator, members, warm starts, progress and out-of-bag scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import check_is_fitted

from fuselearn._messages import show
from fuselearn._parameters import check_class_weight, check_flag, check_reporting
from fuselearn._progress import make_reporter
from fuselearn.base import ClassifierBase, as_estimator, clip_probabilities
from fuselearn.ensembles.cart import CARTClassifier
from fuselearn.ensembles.tree_description import tree_importances
from fuselearn.fusion import Problem, Trained
from fuselearn.learners import TreeModel
from fuselearn.learners.learner import Scores, Weights


class EnsembleClassifier(ClassifierBase):
    """Base class of ensembles of classifiers. Subclasses implement ``_train`` and ``_check_parameters``."""

    estimator: Any
    n_estimators: int
    oob_score: Any = False
    warm_start: bool = False
    verbose: int = 0
    callback: Callable[[int, Any], Any] | None = None
    class_order_: npt.NDArray[np.intp]
    oob_score_: float
    oob_decision_function_: Scores
    oob_prediction_: npt.NDArray[Any]
    _trained_: Trained

    def __len__(self) -> int:
        """Return the number of fitted members."""
        check_is_fitted(self)
        return len(self._fused_.models)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the fitted members."""
        return iter(self.estimators_)

    def __getitem__(self, index: Any) -> Any:
        """Return one fitted member, or several by a slice."""
        return self.estimators_[index]

    @property
    def estimator_weights_(self) -> Weights:
        """Weight of each member in the ensemble."""
        return self._fused_.coefficients

    @cached_property
    def estimators_(self) -> list[Any]:
        """The fitted members, as fitted estimators."""
        check_is_fitted(self)
        bases = self._base_estimators()
        return [self._as_estimator(model, bases[t % len(bases)]) for t, model in enumerate(self._fused_.models)]

    @property
    def feature_importances_(self) -> Weights:
        """Mean of the members' importances, weighted by ``estimator_weights_`` and normalized to sum to one.

        Available only if the members have importances, as trees do.
        """
        check_is_fitted(self)
        total = np.zeros(self.n_features_in_)
        for model, weight in zip(self._fused_.models, self._fused_.coefficients, strict=True):
            total += weight * self._importances(model)
        return total / total.sum() if total.any() else total

    def decision_function(self, X: Any) -> Scores:
        """Compute the class scores; for two classes, the score of the second class minus that of the first.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            The class with the largest score is predicted; of two classes, the second if the score is above 0.
        """
        scores = self._decision_scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _decision_scores(self, X: Any) -> Scores:
        """Return the class scores that ``decision_function`` compares."""
        return self.predict_proba(X)

    def _choose(self, scores: Scores) -> npt.NDArray[np.intp]:
        """Return the class with the largest score; ties are broken by ``class_order_``."""
        order = vars(self).get("class_order_")
        return super()._choose(scores) if order is None else order[scores[:, order].argmax(axis=1)]

    def _default_estimator(self) -> Any:
        """Return the base estimator that ``estimator=None`` stands for."""
        return CARTClassifier()

    def _base_estimator(self) -> Any:
        return self._default_estimator() if self.estimator is None else self.estimator

    def _base_estimators(self) -> Sequence[Any]:
        """Return the base estimators that are trained in turn."""
        return [self._base_estimator()]

    def _check_ensemble(self, n_members: int) -> None:
        """Raise an error for invalid parameters, and for a warm start from a fit that does not allow it."""
        check_oob_score(self.oob_score)
        check_class_weight(self.class_weight)
        check_flag("warm_start", self.warm_start)
        check_reporting(self.verbose, self.callback)
        n_before = len(self) if hasattr(self, "_fused_") else 0
        if n_before and not hasattr(self, "_trained_"):
            raise ValueError("warm_start=True continues a fit with warm_start=True only: set it before the first fit.")
        if n_members < n_before:
            raise ValueError(
                f"n_estimators is {n_members}, but with warm_start=True the ensemble has {n_before} members already."
            )

    def _pose(self, problem: Problem) -> Problem:
        """Pass on the progress report, the callback and the state of a warm start."""
        previous = replace(self._trained_, fused=self._fused_) if hasattr(self, "_trained_") else None
        return replace(
            problem,
            previous=previous,
            out_of_bag=bool(self.oob_score),
            on_iteration=self._reporter(0 if previous is None else len(self)),
        )

    def _reporter(self, n_before: int) -> Callable[..., bool]:
        """Return the function to call after each member."""
        bases = self._base_estimators()
        report = make_reporter(self, self.n_estimators, lambda pair: self._as_estimator(*pair), n_before)
        return lambda number, model, **facts: report(number, (model, bases[number % len(bases)]), **facts)

    def _keep(self, trained: Trained, problem: Problem) -> None:
        """Set the fitted attributes, including out-of-bag scores."""
        super()._keep(trained, problem)
        if self.warm_start:
            self._trained_ = replace(trained, fused=None, trace={})  # type: ignore[arg-type]
        if not self.oob_score:
            return
        assert trained.out_of_bag is not None, "the problem requires out-of-bag scores"
        classes, means = problem.target.values, trained.out_of_bag.mean()
        covered = ~np.isnan(means[:, 0])
        self.oob_decision_function_ = clip_probabilities(means)
        self.oob_prediction_ = self.classes_[self._choose(trained.out_of_bag.total)]
        self.oob_score_ = score_out_of_bag(
            self.oob_score, measure_accuracy, self.classes_[classes[covered]], self.oob_prediction_[covered]
        )

    def _importances(self, model: Any) -> Weights:
        if isinstance(model, TreeModel):
            return tree_importances(model.tree, self.n_features_in_)
        importances = np.zeros(self.n_features_in_)
        if not isinstance(model.estimator, DummyClassifier):  # that of a sample with a single class
            features = slice(None) if model.features is None else model.features
            importances[features] = model.estimator.feature_importances_
        return importances

    def _as_estimator(self, model: Any, base: Any) -> Any:
        """Return a model as a fitted estimator."""
        return as_estimator(model, base, self._coder_, self.classes_, vars(self).get("feature_names_in_"))


def check_oob_score(oob_score: Any) -> None:
    """Check the parameter ``oob_score``."""
    if not isinstance(oob_score, bool | np.bool_) and (isinstance(oob_score, type) or not callable(oob_score)):
        raise TypeError(
            f"oob_score must be True, False or a metric, a function metric(y_true, y_pred), not {show(oob_score)}."
        )


def score_out_of_bag(
    oob_score: Any, default: Callable[..., float], truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
) -> float:
    """Score out-of-bag predictions by ``oob_score``, or by the default if it is True; NaN without predictions."""
    metric = oob_score if callable(oob_score) else default
    return float(metric(truth, predictions)) if len(truth) else np.nan


def measure_accuracy(truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> float:
    """Return the fraction of samples predicted correctly."""
    return float(np.mean(truth == predictions))


class OutOfBagVotes:
    """Fraction of out-of-bag votes for the true class of each sample.

    One prior vote is added for each sample, which is correct with the frequency of its class, so a sample without
    out-of-bag votes has the loss of a guess.

    Examples
    --------
    >>> votes = OutOfBagVotes(np.array([0, 0, 1]), np.array([2 / 3, 1 / 3]))
    >>> votes.add(np.array([0, 1, 1]), is_out=np.array([True, True, False]))
    >>> votes.losses().round(2)  # 1 - (2/3 + 1)/2, 1 - (2/3 + 0)/2, 1 - 1/3
    array([0.17, 0.67, 0.67])
    """

    def __init__(self, classes: npt.NDArray[np.integer], fractions: Weights) -> None:
        self.classes, self.priors = classes, fractions[classes]
        self.n_votes, self.n_right = (np.zeros(len(classes), dtype=np.int32) for _ in range(2))

    def add(self, votes: npt.NDArray[np.integer], is_out: npt.NDArray[np.bool_]) -> None:
        """Count the out-of-bag votes of a model."""
        self.n_votes += is_out
        self.n_right += is_out & (votes == self.classes)

    def losses(self) -> Weights:
        """Return the fraction of wrong votes for each sample."""
        return 1.0 - (self.priors + self.n_right) / (1.0 + self.n_votes)


def refuse_other_size(n_before: int, n_samples: int) -> None:
    """Raise an error if a warm start has a different number of samples."""
    if n_before != n_samples:
        raise ValueError(f"With warm_start=True, X must have the {n_before} samples of the last fit, not {n_samples}.")


def guessing_error(n_classes: int) -> float:
    """Return the error above which a classifier is no better than guessing, with a tolerance for rounding."""
    return 1.0 - 1.0 / n_classes - 1e-12


def frequent_first(problem: Problem) -> npt.NDArray[np.intp]:
    """Order the classes by their number of training samples, largest first."""
    classes = problem.target.values if problem.n_used is None else problem.target.values[problem.initial_weights > 0]
    return np.argsort(-np.bincount(classes, minlength=problem.target.n_columns), kind="stable")
