"""The weighted sum of multi-label models, to which every trained multi-label ensemble reduces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from fuselearn.learners import Learner

Indices = npt.NDArray[np.integer]
Scores = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float64]


class LabelModel(Protocol):
    """A trained multi-label model, such as a chain, a label powerset or a hierarchy."""

    def probabilities(self, rows: Any = None, only: Indices | None = None) -> Scores:
        """Return the probability of each label.

        Parameters
        ----------
        rows : what ``Learner.prepare`` returned, optional
            The training samples by default.
        only : int array of shape (n_asked,), optional
            Indices of the samples to predict; all by default.

        Returns
        -------
        array of shape (n_asked, n_labels)
        """
        ...

    def scores(self, rows: Any = None, only: Indices | None = None) -> Scores:
        """Return scores above 0.5 for the labels that the model chooses, for the same samples."""
        ...

    def unbind(self) -> None:
        """Release the training data."""
        ...


class LabelSum:
    """The weighted sum of the outputs of multi-label models.

    Parameters
    ----------
    members : sequence of LabelModel
    coefficients : array of shape (n_members,)
    learner : Learner
        The learner that prepares new samples.
    vote : {"probability", "score", "class"}
        Whether a member contributes its probabilities, its scores, or 1 for each score above 0.5 and 0 for
        others.
    divisor : float or array of shape (n_labels,)
        Divisor of the sum: with coefficients of 1, the number of votes makes it a mean with exact ties.
    """

    def __init__(
        self,
        members: Sequence[Any],
        coefficients: Weights,
        learner: Learner,
        vote: str = "probability",
        divisor: float | Weights = 1.0,
    ) -> None:
        self.members = members
        self.coefficients = coefficients
        self.learner = learner
        self.vote = vote
        self.divisor = divisor

    @classmethod
    def of_one(cls, model: LabelModel, learner: Learner) -> LabelSum:
        """Return the sum of a single model."""
        return cls([model], np.ones(1), learner)

    def voting(self, vote: str) -> LabelSum:
        """Return the sum of the same members with another type of vote."""
        return LabelSum(self.members, self.coefficients, self.learner, vote, self.divisor)

    def deciding(self) -> LabelSum:
        """Return the sum of the labels that the members choose by themselves."""
        return self.voting("score") if self.vote == "probability" else self

    def scores(self, X: Any, n_jobs: int | None = None) -> Scores:
        """Return the sum for each sample of a validated X."""
        answers = self.answers(X, n_jobs)
        total = self.coefficients[0] * next(answers)
        for coefficient, scores in zip(self.coefficients[1:], answers, strict=True):
            total += coefficient * scores
        return total / self.divisor

    def answers(self, X: Any, n_jobs: int | None = None) -> Iterator[Scores]:
        """Yield the outputs of the members for the samples of a validated X."""
        rows = self.learner.prepare(X)
        if len(self.members) == 1:
            return iter([ask(self.members[0], self.vote, rows)])
        answers: Iterator[Scores] = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
            delayed(ask)(member, self.vote, rows) for member in self.members
        )
        return answers

    def left_out_scores(self, shape: tuple[int, ...]) -> Scores:
        """Return the sum for each training sample over the members that have not seen it; NaN if all have.

        The coefficients of these members are normalised to a sum of one.
        """
        parts = (
            (member.left_out, ask(member, self.vote, None, member.left_out), coefficient)
            for member, coefficient in zip(self.members, self.coefficients, strict=True)
        )
        return np.clip(average_parts(parts, shape), 0.0, 1.0)  # a quotient may be outside by a rounding error

    def unbind(self) -> None:
        """Release the training data."""
        for member in self.members:
            member.unbind()
        self.learner.unbind()


def average_parts(parts: Iterable[tuple[Indices, Scores, float]], shape: tuple[int, ...]) -> Scores:
    """Average the scores of some samples each, given with their weights; NaN for samples that are in no part."""
    total, weights = np.zeros(shape), np.zeros(shape[0])
    for samples, scores, weight in parts:
        total[samples] += weight * scores
        weights[samples] += weight
    return total / np.where(weights > 0.0, weights, np.nan)[:, None]


def ask(model: LabelModel, vote: str, rows: Any = None, only: Indices | None = None) -> Scores:
    """Return a model's probabilities, its scores, or its votes."""
    if vote == "probability":
        return model.probabilities(rows, only)
    scores = model.scores(rows, only)
    return (scores > 0.5).astype(np.float64) if vote == "class" else scores


class OnSomeFeatures(NamedTuple):
    """A model of a subset of the features."""

    model: Any
    learner: Learner
    """The selection of features from prepared samples."""

    def probabilities(self, rows: Any = None, only: Indices | None = None) -> Scores:
        """Return the probability of each label."""
        return self.model.probabilities(None if rows is None else self.learner.adapt(rows), only)

    def scores(self, rows: Any = None, only: Indices | None = None) -> Scores:
        """Return scores above 0.5 for the labels that the model chooses."""
        return self.model.scores(None if rows is None else self.learner.adapt(rows), only)

    def unbind(self) -> None:
        """Release the training data."""
        self.model.unbind()


class OfSomeLabels(NamedTuple):
    """A model of a subset of the labels; the others are 0."""

    model: Any
    labels: Indices
    n_labels: int

    def probabilities(self, rows: Any = None, only: Indices | None = None) -> Scores:
        """Return the probability of each label."""
        return self._spread(self.model.probabilities(rows, only))

    def scores(self, rows: Any = None, only: Indices | None = None) -> Scores:
        """Return scores above 0.5 for the labels that the model chooses."""
        return self._spread(self.model.scores(rows, only))

    def unbind(self) -> None:
        """Release the training data."""
        self.model.unbind()

    def _spread(self, scores: Scores) -> Scores:
        spread = np.zeros((len(scores), self.n_labels))
        spread[:, self.labels] = scores
        return spread
