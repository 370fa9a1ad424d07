"""Train multi-label models on random samples and features of one table: what EBR, ECC and EPS share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from fuselearn._parameters import check_choice, check_whole_number, count_draws, count_features
from fuselearn.multilabel.learning.fusion import LabelModel, LabelSum, OnSomeFeatures, ask
from fuselearn.sensors import Learner, draw_counts

Counts = npt.NDArray[np.int32]
Labels = npt.NDArray[np.int8]
Scores = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float64]

TrainMember = Callable[[Learner, Labels, Counts, np.random.Generator], LabelModel]
"""How one member is trained on the samples drawn; a function that worker processes can import, or a partial of one."""


class Resampling(NamedTuple):
    """How many samples and features a member gets, and how it votes."""

    n_draws: int
    n_features: int
    n_columns: int
    vote: str


class Trained(NamedTuple):
    """A member, and its votes for the samples that it has not seen."""

    model: Any
    left_out: npt.NDArray[np.intp]
    votes: Scores


def check_resampling(estimator: Any) -> None:
    """Refuse parameters with which no members can be drawn."""
    check_whole_number("n_estimators", estimator.n_estimators, 1)
    check_choice("vote", estimator.vote, ("class", "probability"))
    count_draws(estimator.max_samples, 1)
    count_features(estimator.max_features, 1)


def fit_resampled(
    estimator: Any, train: TrainMember, X: Any, Y: Labels, weights: Weights | None, rng: np.random.Generator
) -> None:
    """Fit an ensemble of equal votes of models that are trained on random samples and features.

    Parameters
    ----------
    estimator : MultilabelClassifier
        With the parameters ``n_estimators``, ``max_samples``, ``max_features``, ``vote`` and ``n_jobs``.
    train : callable
        How a member is trained.
    X, Y, weights, rng
        As ``MultilabelClassifier._fit_labels`` gets them.
    """
    learner = estimator._bind(X, n_threads=1)  # members are trained side by side instead
    n_rows, n_columns = X.shape
    plan = Resampling(
        count_draws(estimator.max_samples, n_rows),
        count_features(estimator.max_features, n_columns),
        n_columns,
        estimator.vote,
    )
    chances = np.ones(n_rows) if weights is None else weights
    wants_votes = estimator._wants_honest_scores()
    trained: list[Trained] = Parallel(n_jobs=estimator.n_jobs, prefer=learner.prefer)(
        delayed(_train_member)(train, learner, Y, chances, plan, wants_votes, seed)
        for seed in rng.integers(2**62, size=estimator.n_estimators)
    )
    if wants_votes:
        estimator.oob_decision_function_ = _average_votes(trained, Y.shape)
    members = [part.model for part in trained]
    estimator._adopt(LabelSum(members, np.ones(len(members)), learner, estimator.vote, len(members)))


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
    model.unbind()  # or the training data would travel back from a worker process with each model
    if own is learner:
        return Trained(model, left_out, votes)
    own.unbind()
    return Trained(OnSomeFeatures(model, own), left_out, votes)


def _average_votes(trained: list[Trained], shape: tuple[int, ...]) -> Scores:
    """Average the votes for each sample over the models that have not seen it; NaN if all have."""
    total, n_votes = np.zeros(shape), np.zeros(shape[0])
    for part in trained:
        total[part.left_out] += part.votes
        n_votes[part.left_out] += 1
    return np.divide(total, n_votes[:, None], out=np.full(shape, np.nan), where=n_votes[:, None] > 0)
