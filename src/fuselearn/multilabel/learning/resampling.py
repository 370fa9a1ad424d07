"""Train multi-label models on random samples and features: the common part of EBR, ECC and EPS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from fuselearn._parameters import check_choice, check_verbose, check_whole_number, count_draws, count_features
from fuselearn._progress import ProgressLines
from fuselearn.learners import Learner, draw_counts
from fuselearn.multilabel.learning.fusion import LabelModel, LabelSum, OnSomeFeatures, ask, average_parts

Counts = npt.NDArray[np.int32]
Labels = npt.NDArray[np.int8]
Scores = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float64]

TrainMember = Callable[[Learner, Labels, Counts, np.random.Generator], LabelModel]
"""Trains one member on the samples drawn; a function that worker processes can import, or a partial of one."""


class Resampling(NamedTuple):
    """Number of samples and features of a member, and its type of vote."""

    n_draws: int
    n_features: int
    n_columns: int
    vote: str


class Trained(NamedTuple):
    """A member, and its votes for the samples that it has not seen."""

    model: Any
    left_out: npt.NDArray[np.intp]
    votes: Scores


class ResampledEnsemble:
    """Equally weighted models trained on random samples and features: part of a ``MultilabelClassifier``.

    Subclasses implement ``_member_trainer``.
    """

    _bind: Callable[..., Learner]
    _adopt: Callable[[LabelSum], None]
    _wants_honest_scores: Callable[[], bool]
    oob_decision_function_: Scores

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 25,
        *,
        max_samples: int | float = 1.0,
        max_features: int | float | str | None = None,
        vote: str = "probability",
        decision: Any = "cardinality",
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
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _member_trainer(self) -> TrainMember:
        """Return the function that trains a member."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        check_whole_number("n_estimators", self.n_estimators, 1)
        check_choice("vote", self.vote, ("class", "probability"))
        count_draws(self.max_samples, 1)
        count_features(self.max_features, 1)
        check_verbose(self.verbose)

    def _fit_labels(self, X: Any, Y: Labels, weights: Weights | None, rng: np.random.Generator) -> None:
        learner = self._bind(X, n_threads=1)  # members are trained in parallel instead
        n_samples, n_features = X.shape
        n_drawn, n_seen = count_draws(self.max_samples, n_samples), count_features(self.max_features, n_features)
        plan = Resampling(n_drawn, n_seen, n_features, self.vote)
        chances = np.ones(n_samples) if weights is None else weights
        wants_votes = self._wants_honest_scores()
        progress = ProgressLines(type(self).__name__, self.verbose, self.n_estimators)
        training = Parallel(n_jobs=self.n_jobs, prefer=learner.prefer, return_as="generator")(
            delayed(_train_member)(self._member_trainer(), learner, Y, chances, plan, wants_votes, seed)
            for seed in rng.integers(2**62, size=self.n_estimators)
        )
        trained: list[Trained] = list(progress.follow(training))
        if wants_votes:
            self.oob_decision_function_ = average_parts(((p.left_out, p.votes, 1.0) for p in trained), Y.shape)
        members = [part.model for part in trained]
        self._adopt(LabelSum(members, np.ones(len(members)), learner, self.vote, len(members)))


def _train_member(
    train: TrainMember, learner: Learner, Y: Labels, chances: Weights, plan: Resampling, wants_votes: bool, seed: int
) -> Trained:
    """Draw samples and features, and train one model on them."""
    rng = np.random.default_rng(seed)
    own = learner
    if plan.n_features < plan.n_columns:
        own = learner.restrict(np.sort(rng.choice(plan.n_columns, plan.n_features, replace=False)))
    counts = draw_counts(int(rng.integers(2**62)), chances, plan.n_draws)
    model = train(own, Y, counts, rng)
    left_out, votes = np.flatnonzero(counts == 0), np.empty((0, Y.shape[1]))
    if wants_votes and len(left_out):
        votes = ask(model, plan.vote, None, left_out)
    model.unbind()  # otherwise the training data would be returned from a worker process with each model
    if own is learner:
        return Trained(model, left_out, votes)
    own.unbind()
    return Trained(OnSomeFeatures(model, own), left_out, votes)
