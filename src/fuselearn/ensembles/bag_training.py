"""Train classifiers on bags: the common part of bagging and of forests."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from fuselearn.engines.draws import MOST_TRIES
from fuselearn.ensembles.bags import BagPlan
from fuselearn.ensembles.boosted_classifier import choose_frequent, frequent_first
from fuselearn.ensembles.components import refuse_other_size
from fuselearn.ensembles.out_of_bag import read_scoring
from fuselearn.learners import Component, Sensor, TreeComponent
from fuselearn.learners.binding import count_all_samples
from fuselearn.learners.fusion import component_scores


class Trained(NamedTuple):
    """A classifier, its features, the samples that it has not seen, and its scores for those, if wanted."""

    component: Component
    features: npt.NDArray[np.intp]
    left_out: npt.NDArray[np.intp] | None
    scores: npt.NDArray[np.float64] | None


class BagTraining:
    """What a ``ComponentEnsemble`` whose members have equal votes and bags of their own has beside: its training."""

    n_estimators: int
    vote: str
    oob_score: Any
    warm_start: bool
    n_jobs: int | None
    class_order_: npt.NDArray[np.intp]
    _n_before: int
    _components_: Sequence[Component]
    _features_: npt.NDArray[np.intp]
    _oob_votes_: npt.NDArray[np.float64]
    _announcer: Callable[..., Callable[..., bool]]
    _adopt: Callable[..., None]
    _keep_out_of_bag: Callable[..., None]

    def _plan_bags(self, n_samples: int, weights: npt.NDArray[np.float64] | None, *, leave_out: bool) -> BagPlan:
        """Check how bags are drawn."""
        raise NotImplementedError

    def _fit_sensor(
        self, sensor: Sensor, X: Any, weights: npt.NDArray[np.float64] | None, rng: np.random.Generator
    ) -> None:
        scorer, n_before = read_scoring(self.oob_score, "accuracy"), self._n_before
        truth = sensor.target.numbers
        plan = self._plan_bags(sensor.n_rows, weights, leave_out=scorer is not None)
        components = list(self._components_) if n_before else []
        features = list(self._features_) if n_before else []
        votes = vars(self).get("_oob_votes_", np.zeros((sensor.n_rows, sensor.n_classes)))
        refuse_other_size(len(votes), sensor.n_rows)
        out_of_bag = None if scorer is None else self.vote
        seeds = rng.integers(2**63, size=self.n_estimators)[n_before:]
        sensor.learner.n_threads = 1  # components are trained side by side instead
        train = delayed(_train_one)
        trained = Parallel(n_jobs=self.n_jobs, prefer=sensor.learner.prefer, return_as="generator")(
            train(sensor, plan, out_of_bag, seed) for seed in seeds
        )
        announce = self._announcer(self.n_estimators, n_before)
        for part in trained:
            components.append(part.component)
            features.append(part.features)
            if scorer is not None:
                votes[part.left_out] += part.scores
            if announce(len(components), part.component):
                with warnings.catch_warnings():  # joblib counts the tasks that are given up
                    warnings.simplefilter("ignore", UserWarning)
                    trained.close()
                break
        self._features_ = np.array(features)
        self.class_order_ = frequent_first(np.bincount(truth, minlength=sensor.n_classes))
        coefficients = np.full(len(components), 1.0 / len(components))
        self._adopt(sensor.learner, components, coefficients, np.full(len(components), self.vote == "class"))
        if scorer is not None:
            self._keep_out_of_bag(scorer, votes, truth)
        if scorer is not None and self.warm_start:
            self._oob_votes_ = votes

    def _choose(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
        return choose_frequent(scores, self.class_order_)


def _train_one(sensor: Sensor, plan: BagPlan, out_of_bag: str | None, seed: int) -> Trained:
    """Draw samples and features, and train one classifier; draw again while it is a tree without a split."""
    rng = np.random.default_rng(seed)
    for _ in range(MOST_TRIES):
        features = plan.draw_features(rng)
        if plan.leaves_rows_out:
            counts, weights = plan.draw_counts(rng), None
        else:
            counts, weights = count_all_samples(plan.chances, sensor.n_rows, copies=sensor.learner.counts_copies)
        chosen = None if len(features) == plan.n_columns else features
        component = sensor.measure(counts, int(rng.integers(2**31)), weights=weights, features=chosen)
        if not isinstance(component, TreeComponent) or component.tree.n_leaves > 1:
            break
    left_out = scores = None
    if out_of_bag is not None:
        left_out = np.flatnonzero(counts == 0)
        scores = component_scores(component, out_of_bag == "class", sensor.n_classes)[left_out]
    component.unbind()  # or the training data would travel back from a worker process with each component
    return Trained(component, features, left_out, scores)
