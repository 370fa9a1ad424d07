"""Ensembles of multi-label models: bagging of any method.

Members are trained in parallel, each on its own samples, features or labels, and have equal votes. A function defines
them: ``train(problem, job)`` draws samples, features or labels and returns a model and how often each sample was drawn.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fuselearn._core import draw_counts
from fuselearn._parameters import (
    check_choice,
    check_reporting,
    check_whole_number,
    count_draws,
    count_features,
)
from fuselearn._progress import make_reporter
from fuselearn.base import prepare_samples
from fuselearn.fusion import Problem, Trained, WeightedSum
from fuselearn.fusion.filtering import VARIANTS, check_weighting
from fuselearn.fusion.problem import OutOfBag, Output, never_stop, output_of
from fuselearn.learners import LabelModel, Learner
from fuselearn.learners.learner import Counts, Indices
from fuselearn.multilabel.base import Labels, MultilabelBase, Scores, Weights, fix_constants

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OUTPUTS: dict[str, Output] = {"probability": "scores", "class": "votes"}
"""Output of the members for each value of the parameter ``vote``."""

# Fitted attributes that are copied from an ensemble to its members.
SHARED = (
    "labels_",
    "n_labels_",
    "classes_",
    "n_features_in_",
    "feature_names_in_",
    "_fold_seed_",
    "_constants_",
    "_coder_",
)

SampledMethod = Callable[[Learner, Labels, Counts, np.random.Generator], LabelModel]
"""Train a model on the samples drawn; a function that worker processes can import, or a partial of one."""


def train_members(
    problem: Problem,
    train: Callable[[Problem, Any], tuple[LabelModel, Counts]],
    jobs: Sequence[Any],
    *,
    vote: str = "probability",
    n_votes: Weights | None = None,
) -> Trained:
    """Train a member for each job, in parallel, and average their outputs.

    Parameters
    ----------
    problem : Problem
    train : callable
        ``train(problem, job)`` returns a model and how often each sample was drawn for it.
    jobs : sequence
        Seeds, for example.
    vote : {"probability", "class"}
        Whether members vote with their probabilities, or with 1 for the labels they predict and 0 for others.
    n_votes : array of shape (n_labels,), optional
        Number of members that vote on each label; all members by default.
    """
    output, n_columns = OUTPUTS[vote], problem.target.n_columns
    models: list[LabelModel] = []
    out_of_bag = OutOfBag(problem.n_samples, n_columns)
    problem.learner.n_threads = 1  # members are trained in parallel instead
    on_one = replace(problem, on_iteration=never_stop, X=None)  # workers need neither the callback nor X
    members = Parallel(n_jobs=problem.n_jobs, prefer=problem.learner.prefer, return_as="generator")(
        delayed(_train_member)(train, on_one, output if problem.out_of_bag else None, job) for job in jobs
    )
    for model, left_out, scores in members:
        models.append(model)
        if scores is not None:
            out_of_bag.add(left_out, scores)
        if problem.on_iteration(len(models), model):
            with warnings.catch_warnings():  # joblib warns about canceled tasks
                warnings.simplefilter("ignore", UserWarning)
                members.close()
            break
    divisor = len(models) if n_votes is None else n_votes
    return Trained(WeightedSum(models, np.ones(len(models)), n_columns, output, divisor), out_of_bag=out_of_bag)


def _train_member(
    train: Callable[..., Any], problem: Problem, output: Output | None, job: Any
) -> tuple[LabelModel, Indices, Scores | None]:
    """Train a member; also return its out-of-bag samples and, if ``output`` is given, its output for them."""
    model, counts = train(problem, job)
    left_out, scores = np.flatnonzero(counts == 0), None
    if output is not None and len(left_out):
        scores = output_of(model, output, problem.target.n_columns, None, left_out)
    if isinstance(model, OnSomeFeatures):
        model.learner.release()  # or the Gram matrix of every member would stay in memory
    return model, left_out, scores


def train_on_bag(
    problem: Problem, seed: int, *, method: SampledMethod, n_draws: int, n_drawn_features: int, n_features: int
) -> tuple[LabelModel, Counts]:
    """Train a member with a method on samples drawn with replacement and random features."""
    rng, learner = np.random.default_rng(seed), problem.learner
    if n_drawn_features < n_features:
        learner = learner.restrict(np.sort(rng.choice(n_features, n_drawn_features, replace=False)))
    counts = draw_counts(int(rng.integers(2**62)), problem.initial_weights, n_draws)
    model = method(learner, problem.target.values, counts, rng)
    # SVMs select the features of new samples once for all models of a member; trees and clones select their own.
    chooses = learner is not problem.learner and type(learner).adapt is not Learner.adapt
    return (OnSomeFeatures(model, learner) if chooses else model), counts


class OnSomeFeatures(LabelModel):
    """A model trained on some of the features."""

    def __init__(self, model: LabelModel, learner: Learner) -> None:
        self.model = model
        self.learner = learner

    def scores(self, X: Any = None, *, appended: Any = None, only: Indices | None = None) -> Scores:
        """Return the probability of each label."""
        return self.model.scores(None if X is None else self.learner.adapt(X), only=only)

    def decisions(self, X: Any = None, *, only: Indices | None = None) -> Scores:
        """Return scores above 0.5 for the labels that the model predicts."""
        return self.model.decisions(None if X is None else self.learner.adapt(X), only=only)


def is_filtered(ensemble: MultilabelEnsemble) -> bool:
    """Return whether a Kalman filter fuses the members."""
    return hasattr(ensemble, "weighting")


class MultilabelEnsemble(MultilabelBase):
    """Base class of multi-label ensembles that train one method on random samples and features.

    Subclasses implement ``_train``, which may call ``_train_bags``, and ``_member``. Ensembles with other parameters
    define their own constructor.
    """

    weighting: str
    reset: str | None
    variant: str
    gains_: Weights

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 25,
        *,
        max_samples: int | float = 1.0,
        max_features: int | float | str | None = None,
        vote: str = "probability",
        decision: Any = "cardinality",
        callback: Callable[[int, Any], Any] | None = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.vote = vote
        self.decision = decision
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __len__(self) -> int:
        """Return the number of fitted members."""
        check_is_fitted(self)
        return len(self._fused_.models)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the fitted members."""
        return iter(self.estimators_)

    def __getitem__(self, index: Any) -> Any:
        """Return one fitted member, or several for a slice."""
        return self.estimators_[index]

    @property
    def estimator_weights_(self) -> Weights:
        """Weight of each member in the ensemble; they sum to 1."""
        check_is_fitted(self)
        return self._fused_.coefficients / self._fused_.coefficients.sum()

    @cached_property
    def estimators_(self) -> list[Any]:
        """The fitted members, as separate estimators."""
        check_is_fitted(self)
        return [self._as_estimator(model) for model in self._fused_.models]

    @available_if(is_filtered)
    def staged_predict_proba(self, X: Any) -> Iterator[Scores]:
        """Yield label scores after the first classifier and after each measurement of a Kalman filter.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Yields
        ------
        array of shape (n_samples, n_labels)
            ``n_iter_ + 1`` arrays in total; the last one equals ``predict_proba``.
        """
        outputs = self._fused_.outputs_of_models(prepare_samples(self, X), self.n_jobs)
        estimate = fix_constants(next(outputs), self._constants_)
        yield estimate
        for gain, output in zip(self.gains_, outputs, strict=True):
            estimate = fix_constants((1.0 - gain / 2) * estimate + gain / 2 * output, self._constants_)
            yield estimate

    @available_if(is_filtered)
    def plot_trace(self) -> Figure:
        """Plot gain, variance, measurement error and training error of the Kalman filter for each measurement.

        Returns
        -------
        matplotlib.figure.Figure
            Display it in a notebook, or save it with ``savefig``.
        """
        from fuselearn.ensembles.trace import draw_trace

        check_is_fitted(self)
        return draw_trace(self)

    def _member(self, model: Any) -> Any:
        """Return the classifier for the model of a member, with those fitted attributes that only the member has."""
        raise NotImplementedError

    def _as_estimator(self, model: Any) -> Any:
        """Return a model as a separate fitted estimator."""
        member = self._member(model.model if isinstance(model, OnSomeFeatures) else model)
        for name in SHARED:
            if hasattr(self, name) and not hasattr(member, name):
                setattr(member, name, getattr(self, name))
        member.rule_ = member._make_rule(member.decision)
        if not hasattr(member, "_fused_"):
            member._fused_ = WeightedSum([model], np.ones(1), member.n_labels_)
        return member

    def _check_parameters(self) -> None:
        if hasattr(self, "n_estimators"):
            check_whole_number("n_estimators", self.n_estimators, 1)
        check_reporting(self.verbose, self.callback)
        if hasattr(self, "vote"):
            check_choice("vote", self.vote, tuple(OUTPUTS))
        if hasattr(self, "max_samples"):
            count_draws(self.max_samples, 1)
        if hasattr(self, "max_features"):
            count_features(self.max_features, 1)
        if is_filtered(self):
            check_weighting(self.weighting, check_choice("variant", self.variant, VARIANTS))
            if self.reset is not None:
                check_choice("reset", self.reset, ("training",))

    def _pose(self, problem: Problem) -> Problem:
        """Add progress reports and the callback to the problem."""
        return replace(problem, on_iteration=make_reporter(self, self._n_members(), self._as_estimator))

    def _train_bags(self, problem: Problem, method: SampledMethod) -> Trained:
        """Train members with a method on random samples and features."""
        train = partial(
            train_on_bag,
            method=method,
            n_draws=count_draws(self.max_samples, problem.n_draws),
            n_drawn_features=count_features(self.max_features, self.n_features_in_),
            n_features=self.n_features_in_,
        )
        seeds = problem.rng.integers(2**62, size=self.n_estimators).tolist()
        return train_members(problem, train, seeds, vote=self.vote)

    def _n_members(self) -> int:
        """Return the number of members that will be trained."""
        return self.n_estimators
