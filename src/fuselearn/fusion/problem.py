"""What ``fit`` hands to an algorithm, and what the algorithm hands back: a weighted sum of models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from fuselearn.learners import LabelModel, Learner, Model, Target, TreeModel, count_all_samples
from fuselearn.learners.forests import PackedTrees, restore_trees, store_trees
from fuselearn.learners.learner import Counts, Indices, Scores, Weights

# A loop over models takes longer than their sums for so few new samples.
FEW_SAMPLES = 32
NOT_PACKED = object()
"""Stands for models that cannot be packed."""

Output = Literal["scores", "decisions", "votes"]

MOST_TRIES = 100
"""Maximum number of draws until every class is among the samples drawn, or a tree has a split."""


def never_stop(number: int, model: Model, **facts: float) -> bool:
    """Train on."""
    return False


@dataclass(frozen=True)
class Problem:
    """A bound table, the target, and how the fit goes on.

    An algorithm is a function ``train_x(problem, **settings)`` that returns :class:`Trained`.
    """

    learner: Learner
    target: Target
    weights: Weights | None
    """Sample weights; None means that all samples weigh the same. A fold is held out by weights of 0."""
    rng: np.random.Generator
    X: Any
    """The table as ``fit`` has checked it."""
    on_iteration: Callable[..., bool] = never_stop
    """``on_iteration(number, model, **facts)`` is called after each member, counted from 1; True ends training."""
    out_of_bag: bool = False
    """Whether out-of-bag scores are wanted."""
    n_jobs: int | None = None
    previous: Trained | None = None
    """What an earlier fit returned, if this one continues it."""
    n_used: int | None = None
    """Number of samples that take part, if some are held out."""

    @property
    def n_samples(self) -> int:
        """Number of samples of the bound table."""
        return self.learner.n_samples

    @property
    def n_draws(self) -> int:
        """Number of samples that a sample of the whole size has."""
        return self.learner.n_samples if self.n_used is None else self.n_used

    @property
    def initial_weights(self) -> Weights:
        """Sample weights, in proportion; all 1 if there are none."""
        return np.ones(self.n_samples) if self.weights is None else self.weights

    @cached_property
    def samples(self) -> Any:
        """The training samples as models take new ones."""
        return self.learner.training_samples(self.X)

    def train(
        self, counts: Counts, seed: int, *, weights: Weights | None = None, features: npt.NDArray[np.intp] | None = None
    ) -> Any:
        """Train a model on the samples drawn, and on all or some of the features."""
        learner = self.learner if features is None else self.learner.restrict(features)
        return learner.train(self.target, counts, seed, weights=weights)

    def train_on_all(self, seed: int) -> Any:
        """Train a model on all samples as they are, or as their weights say."""
        counts, weights = count_all_samples(self.weights, self.n_samples, copies=self.learner.counts_copies)
        return self.learner.train(self.target, counts, seed, weights=weights)


@dataclass
class Trained:
    """A trained ensemble and the trace of its training."""

    fused: WeightedSum
    trace: dict[str, Any] = field(default_factory=dict)
    """Fitted attributes by name, such as ``gains_``."""
    out_of_bag: OutOfBag | None = None
    state: Any = None
    """What a later fit needs to continue this one."""


class OutOfBag:
    """Mean scores of the training samples by the members that were not trained on them.

    Examples
    --------
    >>> out_of_bag = OutOfBag(3, 2)
    >>> out_of_bag.add(np.array([0, 1]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> out_of_bag.add(np.array([1]), np.array([[1.0, 0.0]]), weight=3.0)
    >>> out_of_bag.mean()
    array([[1.  , 0.  ],
           [0.75, 0.25],
           [ nan,  nan]])
    """

    def __init__(self, n_samples: int, n_columns: int) -> None:
        self.total = np.zeros((n_samples, n_columns))
        self.weight = np.zeros(n_samples)

    def add(self, samples: Indices, scores: Scores, weight: float = 1.0) -> None:
        """Add the scores of a member for the samples that it was not trained on."""
        self.total[samples] += weight * scores
        self.weight[samples] += weight

    def scale(self, factor: float) -> None:
        """Multiply the weights of all members so far."""
        self.total *= factor
        self.weight *= factor

    def mean(self) -> Scores:
        """Return the weighted mean; NaN for samples that all members were trained on."""
        return self.total / np.where(self.weight > 0.0, self.weight, np.nan)[:, None]


class WeightedSum:
    """Sum the outputs of models, each times its coefficient.

    Trees of classes or values are packed into one forest; other models predict one by one.

    Parameters
    ----------
    models : sequence of Model
    coefficients : array of shape (n_models,)
    n_columns : int
        Number of classes or labels, 1 for values.
    outputs : {"scores", "decisions", "votes"} or sequence of such
        What each model contributes: its probabilities or values; scores above 0.5 for the labels that it chooses; or 1
        for the class, or the labels, that it chooses and 0 for others.
    divisor : float or array of shape (n_columns,), default=1.0
        Divisor of the sum: with coefficients of 1, the number of votes makes it a mean with exact ties.

    Examples
    --------
    >>> from fuselearn import CARTClassifier
    >>> from fuselearn.learners import bind, class_target
    >>> learner = bind(CARTClassifier(min_samples_split=2), np.arange(4.0)[:, None])
    >>> counts = np.ones(4, dtype=np.int32)
    >>> targets = [class_target(np.array(classes, dtype=np.int32), 2) for classes in ([0, 0, 1, 1], [0, 1, 1, 1])]
    >>> trees = [learner.train(target, counts, seed=0) for target in targets]
    >>> fused = WeightedSum(trees, np.array([0.75, 0.25]), 2, "votes")
    >>> fused.scores(learner.prepare(np.array([[0.0], [1.0], [3.0]])))
    array([[1.  , 0.  ],
           [0.75, 0.25],
           [0.  , 1.  ]])
    """

    def __init__(
        self,
        models: Sequence[Any],
        coefficients: Weights,
        n_columns: int,
        outputs: Output | Sequence[Output] = "scores",
        divisor: float | Weights = 1.0,
    ) -> None:
        self.models = models
        self.coefficients = coefficients
        self.n_columns = n_columns
        self.outputs = [outputs] * len(models) if isinstance(outputs, str) else list(outputs)
        self.divisor = divisor
        self.packed: Any = None  # made by the first prediction

    def with_output(self, output: Output) -> WeightedSum:
        """Return the sum of the same models with another output."""
        return WeightedSum(self.models, self.coefficients, self.n_columns, output, self.divisor)

    def deciding(self) -> WeightedSum:
        """Return the sum of the labels that the models choose by themselves."""
        return self.with_output("decisions") if self.outputs[0] == "scores" else self

    def scores(self, X: Any, n_threads: int | None = 1, *, only: Indices | None = None) -> Scores:
        """Return the sum for each of the samples, as ``Learner.prepare`` returned them, or for some of them."""
        if self._are_trees():
            return self._pack().scores(X if only is None else X[only], n_threads or 1) / self.divisor
        if only is None and hasattr(X, "shape") and X.shape[0] <= FEW_SAMPLES and (sum_up := self._pack_models()):
            return sum_up(X) / self.divisor
        outputs = self.outputs_of_models(X, n_threads, only=only)
        total = self.coefficients[0] * next(outputs)
        for coefficient, output in zip(self.coefficients[1:], outputs, strict=True):
            total += coefficient * output
        return total / self.divisor

    def outputs_of_models(self, X: Any, n_threads: int | None = 1, *, only: Indices | None = None) -> Iterator[Scores]:
        """Yield what each model contributes, before it is multiplied by its coefficient."""
        pairs = zip(self.models, self.outputs, strict=True)
        if n_threads in (None, 1) or len(self.models) == 1:
            return (output_of(model, output, self.n_columns, X, only) for model, output in pairs)
        parallel = Parallel(n_jobs=n_threads, prefer="threads", return_as="generator")
        return parallel(delayed(output_of)(*pair, self.n_columns, X, only) for pair in pairs)

    def leaves(self, X: Any, n_threads: int = 1) -> npt.NDArray[np.int32]:
        """Return the leaf that each sample ends in, tree by tree, if all models are trees."""
        return self._pack().leaves(X, n_threads)

    def _pack_models(self) -> Callable[[Any], Scores] | None:
        """Return a function that sums up all models' scores of a few samples at once; None if there is none."""
        if self.packed is None and set(self.outputs) == {"scores"}:
            self.packed = self.models[0].pack(self.models, self.coefficients) or NOT_PACKED
        return None if self.packed is NOT_PACKED else self.packed

    def _are_trees(self) -> bool:
        return all(isinstance(model, TreeModel) for model in self.models)

    def _pack(self) -> PackedTrees:
        if self.packed is None:
            voting = np.array([output == "votes" for output in self.outputs])
            self.packed = PackedTrees(self.models, self.coefficients, voting)
        return self.packed

    def __getstate__(self) -> dict[str, Any]:
        """Return the state that a copy or a file keeps: trees in a compact form, without the forest made of them."""
        state = {name: value for name, value in vars(self).items() if name != "packed"}
        if self._are_trees():
            state["models"] = store_trees(self.models)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state of a copy or a file."""
        vars(self).update(state, packed=None)
        if isinstance(state["models"], dict):
            self.models = restore_trees(state["models"])


def output_of(model: Model, output: Output, n_columns: int, X: Any = None, only: Indices | None = None) -> Scores:
    """Return what a model contributes to a sum, for prepared samples or for those that it is bound to."""
    if output == "scores":
        return model.scores(X, only=only)
    if output == "decisions":
        assert isinstance(model, LabelModel), "only models of labels decide by other scores than probabilities"
        return model.decisions(X, only=only)
    return model.choices(n_columns, X, only=only)
