"""The weighted sum of components' label scores, and the classifiers that it is the trained form of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.utils import gen_batches

from fuselearn._compat import take_rows
from fuselearn.ensembles.base import count_threads
from fuselearn.multilabel.base import Labels, MultilabelClassifier, Scores, Weights

# Kernel values between new rows and training rows are made for this many pairs at once, but for 1024 rows at least.
PAIRS_AT_ONCE = 2**23
FEWEST_ROWS = 1024

Indices = npt.NDArray[np.int64]


class LabelComponent(Protocol):
    """A trained multi-label model."""

    def scores(self, rows: Any = None, only: Indices | None = None) -> Scores:
        """Give label scores: of the training rows, or of new ones that the sensor has prepared."""
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

    n_rows: int

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
    by_vote : bool
        Whether a component counts with 1 for each score above 0.5 and 0 for others, or with the scores themselves.
    """

    def __init__(
        self, components: Sequence[Any], coefficients: Weights, sensor: LabelSensor, *, by_vote: bool = False
    ) -> None:
        self.components = components
        self.coefficients = coefficients
        self.sensor = sensor
        self.by_vote = by_vote

    def scores(self, X: Any, n_threads: int = 1) -> Scores:
        """Give the sum for each row of a checked table."""
        batches = self._batches(X)
        if n_threads > 1 and len(batches) > 1:
            with ThreadPoolExecutor(n_threads) as pool:
                return np.concatenate(list(pool.map(self._sum, batches)))
        return np.concatenate([self._sum(batch) for batch in batches])

    def each(self, X: Any) -> Iterator[Scores]:
        """Give what one component after the other says about all rows of a checked table."""
        prepared = [(self.sensor.prepare(batch), np.arange(batch.shape[0])) for batch in self._batches(X)]
        for component in self.components:
            yield np.concatenate([answer(component, rows, only, self.by_vote) for rows, only in prepared])

    def left_out_scores(self, n_rows: int) -> Scores:
        """Sum up for each training row what the components say that have not seen it; NaN if all have.

        The coefficients of the components that answer are brought to a sum of one.
        """
        totals, weights = [], np.zeros(n_rows)
        for component, coefficient in zip(self.components, self.coefficients, strict=True):
            rows = component.left_out
            weights[rows] += coefficient
            totals.append((rows, coefficient * answer(component, None, rows, self.by_vote)))
        scores = np.zeros((n_rows, totals[0][1].shape[1]))
        for rows, part in totals:
            scores[rows] += part
        return scores / np.where(weights > 0.0, weights, np.nan)[:, None]

    def _batches(self, X: Any) -> list[Any]:
        size = max(FEWEST_ROWS, PAIRS_AT_ONCE // self.sensor.n_rows)
        if X.shape[0] <= size:
            return [X]
        return [take_rows(X, batch) for batch in gen_batches(X.shape[0], size)]

    def _sum(self, X: Any) -> Scores:
        rows, only = self.sensor.prepare(X), np.arange(X.shape[0])
        parts = zip(self.components, self.coefficients, strict=True)
        return np.asarray(sum(coefficient * answer(part, rows, only, self.by_vote) for part, coefficient in parts))


def answer(component: LabelComponent, rows: Any, only: Indices | None, by_vote: bool) -> Scores:
    """Give a component's scores, or its votes: 1 for scores above 0.5, 0 for others."""
    scores = component.scores(rows, only)
    return (scores > 0.5).astype(np.float64) if by_vote else scores


class FusedClassifier(MultilabelClassifier):
    """A multi-label classifier that is a weighted sum of components.

    Subclasses train components and hand them to ``_adopt``; ensembles that leave rows out hand the sum to
    ``_keep_left_out`` before.
    """

    n_jobs: int | None
    oob_decision_function_: Scores
    _fused_: LabelSum

    def _keep_left_out(self, fused: LabelSum, n_rows: int) -> None:
        """Keep what components say about rows that they have not seen, if the decision rule wants to know."""
        if self._wants_honest_scores():
            self.oob_decision_function_ = fused.left_out_scores(n_rows)

    def _adopt(self, fused: LabelSum) -> None:
        """Keep trained components without the training data."""
        for component in fused.components:
            component.unbind()
        fused.sensor.unbind()
        self._fused_ = fused

    def _label_scores(self, X: Any) -> Scores:
        return self._fused_.scores(X, count_threads(self.n_jobs))

    def _honest_scores(self, X: Any, Y: Labels, weights: Weights | None, seed: int) -> Scores:
        if hasattr(self, "oob_decision_function_"):
            return self.oob_decision_function_
        return super()._honest_scores(X, Y, weights, seed)
