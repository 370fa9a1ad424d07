"""The common part of the classifiers that boost: weighted votes of classifiers on samples drawn by weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from fuselearn._parameters import check_whole_number
from fuselearn.ensembles.boosting import ArrayBoosted, BoostRun, boost
from fuselearn.ensembles.components import ComponentEnsemble, refuse_other_size
from fuselearn.ensembles.out_of_bag import read_scoring
from fuselearn.ensembles.table_classifier import TableClassifier
from fuselearn.learners import Component, Sensor
from fuselearn.learners.fusion import component_scores

Weights = npt.NDArray[np.float64]


class BoostedClassifier(ComponentEnsemble, TableClassifier):
    """A classifier that boosts. Subclasses write ``_make_boosted``, and ``_boost`` if their loop is not SAMME's.

    The ensemble predicts the class with the largest sum of coefficients over the votes; of equal ones, the class with
    most training samples.
    """

    n_estimators: int
    class_order_: npt.NDArray[np.intp]
    estimator_errors_: Weights
    resets_: npt.NDArray[np.int64]
    weights_: Weights
    _state_: tuple[np.random.Generator, Any]

    def _check_parameters(self) -> None:
        self._check_ensemble(check_whole_number("n_estimators", self.n_estimators, 1), "_state_")

    def _make_boosted(self, sensor: Sensor, initial: Weights) -> ArrayBoosted:
        """Return the sample weights, which are at first in proportion to ``initial``."""
        raise NotImplementedError

    def _boost(
        self,
        boosted: Any,
        run: BoostRun,
        rng: np.random.Generator,
        announce: Callable[..., bool],
    ) -> None:
        """Train the classifiers that are still missing."""
        boost(boosted, run, rng, self.n_estimators, boosted.sensor.n_classes, announce)

    def _fit_sensor(self, sensor: Sensor, X: Any, weights: Weights | None, rng: np.random.Generator) -> None:
        scorer, n_before = read_scoring(self.oob_score, "accuracy"), self._n_before
        boosted, run = self._make_boosted(sensor, np.ones(sensor.n_rows) if weights is None else weights), BoostRun()
        left_out: dict[int, npt.NDArray[np.intp]] = {}
        if n_before:
            refuse_other_size(len(self.weights_), sensor.n_rows)
            rng, boosted.state = self._state_
            run = BoostRun(
                list(self._components_),
                self.coefficients_.tolist(),
                self.estimator_errors_.tolist(),
                self.resets_.tolist(),
            )
        announce = self._announcer(self.n_estimators, n_before)

        def note(t: int, component: Component, **facts: float) -> bool:
            if scorer is not None:
                left_out[t - 1] = np.flatnonzero(boosted.counts == 0)
            return announce(t, component, **facts)

        self._boost(boosted, run, rng, note)
        self.estimator_errors_ = np.array(run.errors)
        self.resets_ = np.array(run.resets, dtype=np.int64)
        self.weights_ = boosted.weights
        self.class_order_ = frequent_first(np.bincount(boosted.truth, minlength=sensor.n_classes))
        n_components = len(run.components)
        self._adopt(sensor.learner, run.components, np.array(run.alphas), np.ones(n_components, dtype=bool))
        if scorer is not None:
            self._score_left_out(scorer, X, boosted.truth, left_out)
        if self.warm_start:
            self._state_ = rng, boosted.state

    def _class_scores(self, X: Any) -> Weights:
        return super()._class_scores(X) / self.coefficients_.sum()

    def _choose(self, scores: Weights) -> npt.NDArray[np.intp]:
        return choose_frequent(scores, self.class_order_)

    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Predict classes with the first classifier, the first two, and so on.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        rows = self._read_rows(X)
        scores = np.zeros((rows.shape[0], len(self.classes_)))
        for component, alpha in zip(self._components_, self.coefficients_, strict=True):
            scores += alpha * component_scores(component, True, len(self.classes_), rows)
            yield self.classes_[self._choose(scores)]


def frequent_first(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
    """Order the classes by how many training samples they have, most first."""
    return np.argsort(-counts, kind="stable")


def choose_frequent(scores: Weights, class_order: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Choose the class with the largest score; of equal ones, the one with most training samples."""
    return class_order[scores[:, class_order].argmax(axis=1)]
