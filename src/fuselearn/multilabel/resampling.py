"""Ensembles whose members are trained on random rows and columns of one table: what ECC and EBR share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from fuselearn._parameters import check_choice, check_whole_number, count_draws, count_features
from fuselearn.multilabel.base import Labels, ReductionClassifier, Scores, Weights
from fuselearn.multilabel.learners import EstimatorLearner, Learner
from fuselearn.sensors import draw_counts

Counts = npt.NDArray[np.int32]
Indices = npt.NDArray[np.integer]


class Model(Protocol):
    """A multi-label model, such as a block of a learner or a chain."""

    def probabilities(self, rows: Any = None, *, only: Indices | None = None) -> Scores:
        """Give the probability of each label for prepared rows, by default for the bound ones, or for some of them."""
        ...

    def unbind(self) -> None:
        """Let go of the training rows."""
        ...


class Member(NamedTuple):
    """A trained model, the learner on the columns that it sees, and its votes for the rows that it has not seen."""

    learner: Learner
    model: Model
    left_out: Indices
    votes: Scores


class TrainModel(Protocol):
    """How one member is trained."""

    def __call__(
        self, learner: Learner, Y: Labels, counts: Counts, rng: np.random.Generator, settings: dict[str, Any]
    ) -> Model:
        """Train a model on the rows drawn."""
        ...


class Ask(Protocol):
    """How the votes of a model are got."""

    def __call__(self, model: Any, /, rows: Any = None, *, only: Indices | None = None) -> Scores:
        """Give a model's votes for prepared rows, by default for the bound ones, or for some of them."""
        ...


def ask_probabilities(model: Model, rows: Any = None, *, only: Indices | None = None) -> Scores:
    """Take a model's probabilities for its votes."""
    return model.probabilities(rows, only=only)


def ask_labels(model: Model, rows: Any = None, *, only: Indices | None = None) -> Scores:
    """Let a model vote for the labels that are more probable than not."""
    return count_votes(model.probabilities(rows, only=only), "class")


class ResampledClassifier(ReductionClassifier):
    """Equal votes of multi-label models that are trained on random rows and columns.

    Subclasses have the parameters below, and ``_train`` as a function that worker processes can import; so is
    ``_ask_labels``, where a model has another way to choose labels.
    """

    n_estimators: int
    max_samples: int | float
    max_features: int | float | str | None
    vote: str
    _train: TrainModel
    _ask_labels: Ask = staticmethod(ask_labels)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole_number("n_estimators", self.n_estimators, 1)
        check_choice("vote", self.vote, ("class", "probability"))
        count_draws(self.max_samples, 1)
        count_features(self.max_features, 1)

    def _fit_labels(self, X: Any, Y: Labels, weights: Weights | None, rng: np.random.Generator) -> None:
        learner = self._bind(X, n_threads=1)  # members are trained side by side instead
        n_rows, n_columns = X.shape
        sampling = (
            np.ones(n_rows) if weights is None else weights,
            count_draws(self.max_samples, n_rows),
            count_features(self.max_features, n_columns),
            n_columns,
        )
        wants_votes = self._wants_honest_scores()
        ask = self._ask() if wants_votes else None
        prefer = "processes" if isinstance(learner, EstimatorLearner) else "threads"
        members = Parallel(n_jobs=self.n_jobs, prefer=prefer)(
            delayed(_train_member)(type(self)._train, learner, Y, *sampling, self._settings(), ask, seed)
            for seed in rng.integers(2**62, size=self.n_estimators)
        )
        if wants_votes:
            self.oob_decision_function_ = _average_votes(members, Y.shape)
        learner.unbind()
        self._learner_ = learner
        self._members_ = [member._replace(left_out=np.empty(0, np.intp), votes=np.empty((0, 0))) for member in members]

    def _ask(self) -> Ask:
        """Give the way to get the votes of a member."""
        return ask_probabilities if self.vote == "probability" else type(self)._ask_labels

    def _label_scores(self, X: Any) -> Scores:
        ask = self._ask()
        rows = self._learner_.prepare(X)
        votes: Iterable[Scores] = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(
            delayed(ask)(member.model, member.learner.adapt(rows)) for member in self._members_
        )
        total = np.zeros((X.shape[0], self.n_labels_))
        for vote in votes:
            total += vote
        return total / len(self._members_)


def _train_member(
    train: TrainModel,
    learner: Learner,
    Y: Labels,
    chances: Weights,
    n_draws: int,
    n_features: int,
    n_columns: int,
    settings: dict[str, Any],
    ask: Ask | None,
    seed: int,
) -> Member:
    """Draw rows and columns, and train one model on them."""
    rng = np.random.default_rng(seed)
    if n_features < n_columns:
        learner = learner.restrict(np.sort(rng.choice(n_columns, n_features, replace=False)))
    counts = draw_counts(int(rng.integers(2**62)), chances, n_draws)
    model = train(learner, Y, counts, rng, settings)
    left_out, votes = np.flatnonzero(counts == 0), np.empty((0, Y.shape[1]))
    if ask is not None and len(left_out):
        votes = ask(model, only=left_out)
    model.unbind()  # or the training data would travel back from a worker process with each model
    if n_features < n_columns:
        learner.unbind()
    return Member(learner, model, left_out, votes)


def count_votes(probabilities: Scores, vote: str) -> Scores:
    """Turn probabilities into votes for labels, unless they are votes themselves."""
    return (probabilities > 0.5).astype(np.float64) if vote == "class" else probabilities


def _average_votes(members: list[Member], shape: tuple[int, ...]) -> Scores:
    """Average the votes for each row over the models that have not seen it; NaN if all have."""
    total, n_votes = np.zeros(shape), np.zeros(shape[0])
    for member in members:
        total[member.left_out] += member.votes
        n_votes[member.left_out] += 1
    return np.divide(total, n_votes[:, None], out=np.full(shape, np.nan), where=n_votes[:, None] > 0)
