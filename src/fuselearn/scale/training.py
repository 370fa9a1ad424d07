"""KFHE, SAMME, bagging and forests on partitioned data, with the same loops as in memory.

The estimates of samples are stored with their parts; gains, errors and coefficients are scalars, computed from exact
sums. The models therefore equal those trained in memory with ``sampling="poisson"``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._core import TreeSettings, measure_weights, pull, sum_units
from fuselearn.ensembles.bagging import BagPlan
from fuselearn.ensembles.ensemble import OutOfBagVotes
from fuselearn.ensembles.kfhe import ClassTruth, reset_rule
from fuselearn.ensembles.samme import BoostRun, SAMMEWeights, boost
from fuselearn.fusion import Trained, WeightedSum
from fuselearn.fusion.filtering import WEIGHTINGS, Errors, FilterRun, Measurement, closed_form_coefficients, run_filters
from fuselearn.fusion.problem import MOST_TRIES, Output
from fuselearn.learners import TreeModel
from fuselearn.learners.learner import Scores, Weights
from fuselearn.scale.table import KeptWeights, TableInParts, TreeOrder
from fuselearn.scale.tasks import Draw, Part, bind_tree, divide_weights, draw_counts, from_units

# Number of trees of a bagged ensemble that are grown together, which saves round trips.
TREES_AT_ONCE = 16
OUTPUTS: dict[str, Output] = {"class": "votes", "probability": "scores"}


@dataclass(frozen=True)
class ProblemInParts:
    """The input of an algorithm: a table in parts, and options of the fit."""

    table: TableInParts
    settings: Callable[[int], TreeSettings]
    """Returns the settings of trees for a number of features."""
    rng: np.random.Generator
    on_iteration: Callable[..., bool]
    """As in :class:`~fuselearn.fusion.Problem`."""

    @property
    def frequent_first(self) -> npt.NDArray[np.intp]:
        """The classes in descending order of their numbers of training samples."""
        return np.argsort(-self.table.class_counts, kind="stable")

    def train(self, draw: Draw, seed: int, weights: KeptWeights, *, cover: bool = False) -> TreeModel:
        """Grow a tree on samples drawn with the weights."""
        table = self.table
        order = TreeOrder(np.arange(table.n_features), draw, self.settings(table.n_features), seed, cover)
        (model,) = table.grow([order], weights)
        return model

    def draw(self, seed: int) -> Draw:
        """Return a draw of n_samples samples with weights that sum to 1."""
        return Draw(seed, float(self.table.n_samples))

    def fetch(self, weights: KeptWeights) -> Weights:
        """Return the weights of all samples."""
        session = self.table.session
        return np.concatenate(session.fetch(session.map(divide_weights, weights.kept, given=(weights.divisor,))))


def train_kfhe(problem: ProblemInParts, n_estimators: int, *, weighting: str, vote: str, reset: str | None) -> Trained:
    """Train KFHE; the parameters are those of :class:`~fuselearn.KFHEClassifier`."""
    seeds = problem.rng.integers(2**62, size=n_estimators + 1).tolist()
    states = StatesInParts(problem, seeds[0], vote=vote, weighting=weighting)
    run = run_filters(
        states,
        FilterRun([states.first]),
        seeds[1:],
        reset=reset_rule(reset, "program", problem.table.n_classes),
        on_iteration=problem.on_iteration,
    )
    outputs: list[Output] = ["scores", *[OUTPUTS[vote]] * (len(run.models) - 1)]
    fused = WeightedSum(run.models, closed_form_coefficients(np.array(run.gains)), problem.table.n_classes, outputs)
    return Trained(fused, run.trace(states.error(), problem.fetch(states.weights)))


def train_samme(problem: ProblemInParts, n_estimators: int) -> Trained:
    """Train AdaBoost.SAMME; the parameters are those of :class:`~fuselearn.SAMMEClassifier`."""
    rule, run = SAMMEWeightsInParts(problem), BoostRun()
    boost(rule, run, problem.rng, n_estimators, problem.on_iteration)
    alphas = np.array(run.alphas)
    fused = WeightedSum(run.models, alphas, problem.table.n_classes, "votes", divisor=alphas.sum())
    trace = run.trace(problem.fetch(rule.kept_weights))
    return Trained(fused, {**trace, "class_order_": problem.frequent_first})


def train_bags(problem: ProblemInParts, plan: BagPlan, n_estimators: int, *, vote: str) -> Trained:
    """Train trees of equal weight, each on its own bag.

    Parameters
    ----------
    problem : ProblemInParts
    plan : BagPlan
    n_estimators : int
    vote : {"class", "probability"}
        Whether trees vote with their predicted class or with their scores.
    """
    if not plan.bootstrap and not problem.table.has_whole_weights:
        raise ValueError("With bootstrap=False, sample weights must be integers; set bootstrap=True.")
    models: list[TreeModel] = []
    features = []
    for order, model in _grow_bags(problem, plan, problem.rng.integers(2**63, size=n_estimators)):
        models.append(model)
        features.append(order.features)
        if problem.on_iteration(len(models), model):
            break
    fused = WeightedSum(models, np.full(len(models), 1.0 / len(models)), problem.table.n_classes, OUTPUTS[vote])
    return Trained(fused, {"_features_": np.array(features), "class_order_": problem.frequent_first})


def _grow_bags(
    problem: ProblemInParts, plan: BagPlan, seeds: npt.NDArray[np.int64]
) -> Iterator[tuple[TreeOrder, TreeModel]]:
    """Draw samples and features for each tree, and grow several together; repeat the draw for trees without a split."""
    table = problem.table

    def draw(rng: np.random.Generator) -> TreeOrder:
        features = plan.draw_features(rng)
        drawn = Draw(None)
        if plan.bootstrap:
            drawn = Draw(int(rng.integers(2**62)), plan.n_draws / table.total_weight)
        return TreeOrder(features, drawn, problem.settings(len(features)), int(rng.integers(2**31)))

    for start in range(0, len(seeds), TREES_AT_ONCE):
        rngs = [np.random.default_rng(seed) for seed in seeds[start : start + TREES_AT_ONCE]]
        orders = [draw(rng) for rng in rngs]
        models = table.grow(orders)
        for _ in range(MOST_TRIES - 1):
            again = [k for k, model in enumerate(models) if model.tree.n_leaves == 1]
            if not again:
                break
            for k in again:
                orders[k] = draw(rngs[k])
            for k, model in zip(again, table.grow([orders[k] for k in again]), strict=True):
                models[k] = model
        yield from zip(orders, models, strict=True)


class Estimate(NamedTuple):
    """The estimates of KFHE's filters for the samples of a part; the weights are not normalized."""

    scores: Scores
    weights: Weights


class Step(NamedTuple):
    """The arguments of a measurement update of a part."""

    gain: float
    weights_gain: float
    n_samples: int
    weighting: int
    total: float | None = None
    """Divisor of the measured weights, or None."""


class StatesInParts:
    """The states of kf-m and kf-w, see :class:`~fuselearn.fusion.filtering.States`; the constructor trains h_0.

    Parameters
    ----------
    problem : ProblemInParts
    seed : int
        Seed of h_0, which is trained on all samples, or on drawn samples if weights are not integers.
    vote, weighting : str
        As in :class:`~fuselearn.KFHEClassifier`.
    """

    def __init__(self, problem: ProblemInParts, seed: int, *, vote: str, weighting: str) -> None:
        self.problem, self.weighting = problem, WEIGHTINGS.index(weighting)
        self.table, self.session = problem.table, problem.table.session
        parts, total = self.table.parts, self.table.total_weight
        if self.table.has_whole_weights:
            self.first = problem.train(Draw(None), seed, KeptWeights(parts))
        else:
            self.first = problem.train(problem.draw(seed), seed, KeptWeights(parts, total), cover=True)
        self.truths = self.session.map(make_truth, parts, given=(total, vote))
        self.estimates = self.session.map(begin_estimate, parts, self.truths, given=(self.first,))
        self.divisor: Any = None
        _, units = self.session.advance(sum_classes, add_units, self.truths, given=(self.table.n_classes,))
        self.votes = self.session.map(begin_votes, parts, given=(np.array([from_units(own) for own in units]),))

    @property
    def weights(self) -> KeptWeights:
        """The weights for drawing samples."""
        return KeptWeights(self.estimates, self.divisor)

    def train(self, seed: int) -> TreeModel:
        """Grow a tree on samples drawn with the weights."""
        self.drawn = self.problem.draw(seed)
        return self.problem.train(self.drawn, seed, self.weights, cover=True)

    def out_of_bag_error(self) -> float:
        """Add the votes of the last measured tree, and return the weighted error of the out-of-bag votes."""
        given = (self.divisor, self.table.covering_draw(self.drawn, self.weights), self.model)
        kept = (self.table.parts, self.truths, self.estimates, self.votes)
        self.votes, units = self.session.advance(count_votes, sum, *kept, given=given)
        return from_units(units)

    def measure(self, h: TreeModel) -> Errors:
        """Compute the errors of the measurement z = (y + h) / 2."""
        self.model = h
        self.measured, units = self.session.advance(
            measure_part, add_units, self.table.parts, self.truths, self.estimates, given=(h,)
        )
        return Errors(*map(from_units, units))

    def reset(self) -> None:
        """Reset the weights to their initial values."""
        self.estimates, self.divisor = self.session.map(reset_weights, self.truths, self.estimates), None

    def update(self, h: TreeModel, gain: float, weights_gain: float) -> None:
        """Update the estimate and the weights with the last measurement."""
        step = Step(gain, weights_gain, self.table.n_samples, self.weighting)
        kept = (self.truths, self.estimates, self.measured)
        if self.weighting != WEIGHTINGS.index("exponential"):
            total = self.table.sum_exactly(sum_measured, *kept, given=(self.divisor, step))
            step = step._replace(total=total)
        self.estimates, self.divisor = self.session.advance(
            update_estimate, sum, *kept, given=(self.divisor, step), later=from_units
        )

    def error(self) -> float:
        """Return the error of the estimate."""
        return self.table.sum_exactly(sum_wrong, self.truths, self.estimates)


def make_truth(part: Part, total: float, vote: str) -> ClassTruth:
    """Return the true classes of a part."""
    return ClassTruth(divide_weights(part, total), part.target, vote, is_exact=True)


def begin_estimate(part: Part, truth: ClassTruth, h: TreeModel) -> Estimate:
    """Return the scores of the first model and the initial weights."""
    return Estimate(np.ascontiguousarray(bind_tree(h, part).scores()), truth.shares)


def sum_classes(truth: ClassTruth, n_classes: int) -> tuple[None, tuple[int, ...]]:
    """Add the initial weights of each class."""
    return None, tuple(truth.units(truth.classes == c) for c in range(n_classes))


def begin_votes(part: Part, fractions: Weights) -> OutOfBagVotes:
    """Return out-of-bag votes without any vote."""
    return OutOfBagVotes(part.target, fractions)


def count_votes(
    part: Part,
    truth: ClassTruth,
    estimate: Estimate,
    votes: OutOfBagVotes,
    divisor: float | None,
    draw: Draw,
    h: TreeModel,
) -> tuple[OutOfBagVotes, int]:
    """Add the votes of a tree for its out-of-bag samples, and sum the weights of the wrong out-of-bag votes."""
    weights = divide_weights(estimate, divisor)
    counted = deepcopy(votes)
    counted.add(bind_tree(h, part).votes(), draw_counts(draw, weights, part.first) == 0)
    return counted, sum_units(weights * counted.losses())


def reset_weights(truth: ClassTruth, estimate: Estimate) -> Estimate:
    """Return the estimate with initial weights."""
    return estimate._replace(weights=truth.shares)


def measure_part(
    part: Part, truth: ClassTruth, estimate: Estimate, h: TreeModel
) -> tuple[Measurement, tuple[int, int, int]]:
    """Compute the measurement of a model, and sum the weights of wrong samples."""
    model: Any = bind_tree(h, part)  # a model of these samples only
    measured = truth.compare_in_units(estimate.scores, model)
    return measured, measured.errors


def add_units(parts: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Add exact sums."""
    return tuple(sum(units) for units in zip(*parts, strict=True))


def sum_measured(
    truth: ClassTruth, estimate: Estimate, measured: Measurement, divisor: float | None, step: Step
) -> tuple[None, int]:
    """Sum the measured weights."""
    weights = divide_weights(estimate, divisor)
    return None, sum_units(measure_weights(weights, measured.loss, truth.shares, step.n_samples, step.weighting))


def update_estimate(
    truth: ClassTruth, estimate: Estimate, measured: Measurement, divisor: float | None, step: Step
) -> tuple[Estimate, int]:
    """Update scores and weights with the measurement; also sum the weights, which are not normalized yet."""
    scores = estimate.scores.copy()
    measured.pull(scores, step.gain)
    weights = estimate.weights.copy() if divisor is None else estimate.weights / divisor
    wanted = measure_weights(weights, measured.loss, truth.shares, step.n_samples, step.weighting)
    if step.total is not None:
        wanted /= step.total
    pull(weights, wanted, step.weights_gain)
    return Estimate(scores, weights), sum_units(weights)


def sum_wrong(truth: ClassTruth, estimate: Estimate) -> tuple[None, int]:
    """Sum the weights of the samples for which the estimate is wrong."""
    return None, truth.units(truth.losses(estimate.scores))


class RaisedWeights(NamedTuple):
    """The unnormalized weights of SAMME for the samples of a part."""

    weights: Weights


class SAMMEWeightsInParts(SAMMEWeights):
    """The weights of AdaBoost.SAMME, stored with the parts."""

    kept_weights: KeptWeights

    def __init__(self, problem: ProblemInParts) -> None:
        self.in_parts, self.n_classes = problem, problem.table.n_classes
        self.reset()

    def train(self, seed: int) -> TreeModel:
        """Grow a tree on samples drawn with the weights."""
        return self.in_parts.train(self.in_parts.draw(seed), seed, self.kept_weights)

    def measure(self, model: TreeModel) -> float:
        """Return the weight of the samples that a tree misclassifies."""
        (kept, divisor), table = self.kept_weights, self.in_parts.table
        self.kept_wrong, units = table.session.advance(find_wrong, sum, table.parts, kept, given=(divisor, model))
        return from_units(units)

    def raise_wrong(self, factor: float) -> None:
        """Multiply the weights of the samples that the last tree misclassifies, and normalize all weights."""
        (kept, divisor), session = self.kept_weights, self.in_parts.table.session
        self.kept_weights = KeptWeights(
            *session.advance(raise_weights, sum, kept, self.kept_wrong, given=(divisor, factor), later=from_units)
        )

    def reset(self) -> None:
        """Reset the weights to their initial values."""
        self.kept_weights = KeptWeights(self.in_parts.table.parts, self.in_parts.table.total_weight)


def find_wrong(part: Part, source: Any, divisor: float, h: TreeModel) -> tuple[npt.NDArray[np.bool_], int]:
    """Return a mask of the samples of a part that a tree misclassifies, and the sum of their weights."""
    wrong = bind_tree(h, part).votes() != part.target
    return wrong, sum_units(divide_weights(source, divisor)[wrong])


def raise_weights(
    source: Any, wrong: npt.NDArray[np.bool_], divisor: float, factor: float
) -> tuple[RaisedWeights, int]:
    """Multiply the weights of misclassified samples, and sum all weights."""
    weights = divide_weights(source, divisor) * np.where(wrong, factor, 1.0)
    return RaisedWeights(weights), sum_units(weights)
