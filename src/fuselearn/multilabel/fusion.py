"""The weighted sum of components' label scores, and the classifiers that it is the trained form of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from fuselearn.multilabel.base import MultilabelClassifier, Scores, Weights
from fuselearn.multilabel.resampling import count_votes

Indices = npt.NDArray[np.int64]


class LabelComponent(Protocol):
    """A trained multi-label model."""

    def scores(self, rows: Any = None, only: Indices | None = None) -> Scores:
        """Return what filters blend: scores above 0.5 for the labels that the model chooses.

        They are those of the training samples, or of new ones that the sensor has prepared.
        """
        ...

    def probabilities(self, rows: Any = None, only: Indices | None = None) -> Scores:
        """Return the probabilities of the labels, for the same samples."""
        ...

    @property
    def left_out(self) -> Indices:
        """The training rows that the component has not seen."""
        ...

    def unbind(self) -> None:
        """Let go of the training data."""
        ...


class LabelSensor(Protocol):
    """Rows and their labels bound to a way of learning; how it is measured differs."""

    def prepare(self, X: Any) -> Any:
        """Check new rows and bring them into the form that components take."""
        ...

    def unbind(self) -> None:
        """Let go of the training data."""
        ...


class LabelSum:
    """Sum the label scores of components, each times its coefficient.

    Parameters
    ----------
    components : sequence of LabelComponent
    coefficients : array of shape (n_components,)
    sensor : LabelSensor
        What the components come from.
    vote : {"probability", "score", "class"}
        Whether a component counts with its probabilities, with its scores, or with 1 for each score above 0.5 and 0 for
        others.
    """

    def __init__(
        self, components: Sequence[Any], coefficients: Weights, sensor: LabelSensor, vote: str = "probability"
    ) -> None:
        self.components = components
        self.coefficients = coefficients
        self.sensor = sensor
        self.vote = vote

    def voting(self, vote: str) -> LabelSum:
        """Return the sum of the same components with another kind of vote."""
        return LabelSum(self.components, self.coefficients, self.sensor, vote)

    def scores(self, X: Any, n_jobs: int | None = None) -> Scores:
        """Give the sum for each row of a checked table."""
        answers = self.answers(X, n_jobs)
        total = self.coefficients[0] * next(answers)
        for coefficient, scores in zip(self.coefficients[1:], answers, strict=True):
            total += coefficient * scores
        return total

    def answers(self, X: Any, n_jobs: int | None = None) -> Iterator[Scores]:
        """Give what one component after the other says about the rows of a checked table."""
        rows, only = self.sensor.prepare(X), np.arange(X.shape[0])
        answers: Iterator[Scores] = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
            delayed(self._ask)(component, rows, only) for component in self.components
        )
        return answers

    def _ask(self, component: LabelComponent, rows: Any, only: Indices) -> Scores:
        if self.vote == "probability":
            return component.probabilities(rows, only)
        return count_votes(component.scores(rows, only), self.vote)

    def left_out_scores(self, shape: tuple[int, ...]) -> Scores:
        """Sum up for each training row what the components say that have not seen it; NaN if all have.

        The coefficients of the components that answer are brought to a sum of one.
        """
        total, weights = np.zeros(shape), np.zeros(shape[0])
        for component, coefficient in zip(self.components, self.coefficients, strict=True):
            rows = component.left_out
            total[rows] += coefficient * self._ask(component, None, rows)
            weights[rows] += coefficient
        # The quotient may leave the interval from 0 to 1 by a rounding error.
        return np.clip(total / np.where(weights > 0.0, weights, np.nan)[:, None], 0.0, 1.0)


class FusedClassifier(MultilabelClassifier):
    """A multi-label classifier that is a weighted sum of components.

    Subclasses train components and hand them to ``_adopt``; ensembles that leave rows out hand the sum to
    ``_keep_left_out`` before.
    """

    n_jobs: int | None
    _fused_: LabelSum

    def _keep_left_out(self, fused: LabelSum, shape: tuple[int, ...]) -> None:
        """Keep what components say about rows that they have not seen, if the decision rule wants to know."""
        if self._wants_honest_scores():
            self.oob_decision_function_ = fused.left_out_scores(shape)

    def _adopt(self, fused: LabelSum) -> None:
        """Keep trained components without the training data."""
        for component in fused.components:
            component.unbind()
        fused.sensor.unbind()
        self._fused_ = fused

    def _label_scores(self, X: Any) -> Scores:
        return self._fused_.scores(X, self.n_jobs)
