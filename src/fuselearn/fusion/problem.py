"""The input of an algorithm, a :class:`Problem`, and its result, a weighted sum of models."""

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

# Up to this number of new samples, a loop over models takes longer than the computations.
FEW_SAMPLES = 32
NOT_PACKED = object()
"""Marks models that cannot be packed."""

Output = Literal["scores", "decisions", "votes"]

MOST_TRIES = 100
"""Maximum number of attempts to draw samples of every class, or to grow a tree with a split."""


def never_stop(number: int, model: Model, **facts: float) -> bool:
    """Return False: continue training."""
    return False


@dataclass(frozen=True)
class Problem:
    """The input of an algorithm: a prepared table, the target, and options of the fit.

    An algorithm is a function ``train_x(problem, **settings)`` that returns :class:`Trained`.
    """

    learner: Learner
    target: Target
    weights: Weights | None
    """Sample weights; None means equal weights. Held-out samples have the weight 0."""
    rng: np.random.Generator
    X: Any
    """The table as validated by ``fit``."""
    on_iteration: Callable[..., bool] = never_stop
    """``on_iteration(number, model, **facts)`` is called after each member, counted from 1; True ends training."""
    out_of_bag: bool = False
    """Whether to compute out-of-bag scores."""
    n_jobs: int | None = None
    previous: Trained | None = None
    """The result of the previous fit, if training is continued."""
    n_used: int | None = None
    """Number of training samples, if some are held out."""

    @property
    def n_samples(self) -> int:
        """Number of samples of the table."""
        return self.learner.n_samples

    @property
    def n_draws(self) -> int:
        """Number of draws for a bootstrap sample of the size of the training data."""
        return self.learner.n_samples if self.n_used is None else self.n_used

    @property
    def initial_weights(self) -> Weights:
        """Unnormalized sample weights; all 1 if there are none."""
        return np.ones(self.n_samples) if self.weights is None else self.weights

    @cached_property
    def samples(self) -> Any:
        """The training samples as input of the models."""
        return self.learner.training_samples(self.X)

    def train(
        self, counts: Counts, seed: int, *, weights: Weights | None = None, features: npt.NDArray[np.intp] | None = None
    ) -> Any:
        """Train a model on the samples drawn and on all or some features."""
        learner = self.learner if features is None else self.learner.restrict(features)
        return learner.train(self.target, counts, seed, weights=weights)

    def train_on_all(self, seed: int) -> Any:
        """Train a model on all samples, with their weights if there are any."""
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
    """The state needed to continue training."""


class OutOfBag:
    """Mean out-of-bag scores of the training samples.

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
        """Add the scores of a member for its out-of-bag samples."""
        self.total[samples] += weight * scores
        self.weight[samples] += weight

    def scale(self, factor: float) -> None:
        """Multiply the weights of all previous members by a factor."""
        self.total *= factor
        self.weight *= factor

    def mean(self) -> Scores:
        """Return the weighted mean, NaN for samples in the bag of every member."""
        return self.total / np.where(self.weight > 0.0, self.weight, np.nan)[:, None]


class WeightedSum:
    """A weighted sum of the outputs of models.

    Trees of classes or values are packed into one forest; other models predict one after the other.

    Parameters
    ----------
    models : sequence of Model
    coefficients : array of shape (n_models,)
    n_columns : int
        Number of classes or labels, 1 for values.
    outputs : {"scores", "decisions", "votes"} or sequence of such
        Output of each model: its probabilities or values; scores above 0.5 for the predicted labels; or the predicted
        class or labels as 0 and 1.
    divisor : float or array of shape (n_columns,), default=1.0
        Divisor of the sum. With coefficients of 1 and the number of votes as the divisor, ties of the mean are exact.

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
        self.packed: Any = None  # set by the first prediction
        self.decided: WeightedSum | None = None

    def with_output(self, output: Output) -> WeightedSum:
        """Return the sum of the same models with another output."""
        return WeightedSum(self.models, self.coefficients, self.n_columns, output, self.divisor)

    def deciding(self) -> WeightedSum:
        """Return the sum of the labels predicted by the models themselves."""
        if self.outputs[0] != "scores":
            return self
        if self.decided is None:
            self.decided = self.with_output("decisions")
        return self.decided

    def scores(self, X: Any, n_threads: int | None = 1, *, only: Indices | None = None) -> Scores:
        """Return the sums for all or some samples, which were returned by ``Learner.prepare``."""
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
        """Yield the output of each model, before multiplication by its coefficient."""
        pairs = zip(self.models, self.outputs, strict=True)
        if n_threads in (None, 1) or len(self.models) == 1:
            return (output_of(model, output, self.n_columns, X, only) for model, output in pairs)
        parallel = Parallel(n_jobs=n_threads, prefer="threads", return_as="generator")
        return parallel(delayed(output_of)(*pair, self.n_columns, X, only) for pair in pairs)

    def leaves(self, X: Any, n_threads: int = 1) -> npt.NDArray[np.int32]:
        """Return the leaf of each sample in each tree, if all models are trees."""
        return self._pack().leaves(X, n_threads)

    def _pack_models(self) -> Callable[[Any], Scores] | None:
        """Return a function for the sum of all models' scores that is fast for few samples; None if there is none."""
        if self.packed is None:
            output, alike = self.outputs[0], len(set(self.outputs)) == 1 and self.outputs[0] != "votes"
            pack = self.models[0].pack
            self.packed = (pack(self.models, self.coefficients, output) if alike else None) or NOT_PACKED
        return None if self.packed is NOT_PACKED else self.packed

    def _are_trees(self) -> bool:
        return all(isinstance(model, TreeModel) for model in self.models)

    def _pack(self) -> PackedTrees:
        if self.packed is None:
            voting = np.array([output == "votes" for output in self.outputs])
            self.packed = PackedTrees(self.models, self.coefficients, voting)
        return self.packed

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a copy or a file: trees in compact form, without the packed forest."""
        state = {name: value for name, value in vars(self).items() if name not in ("packed", "decided")}
        if self._are_trees():
            state["models"] = store_trees(self.models)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the sum from the state of a copy or a file."""
        vars(self).update(state, packed=None, decided=None)
        if isinstance(state["models"], dict):
            self.models = restore_trees(state["models"])


def output_of(model: Model, output: Output, n_columns: int, X: Any = None, only: Indices | None = None) -> Scores:
    """Return the output of a model for prepared samples or for its training samples."""
    if output == "scores":
        return model.scores(X, only=only)
    if output == "decisions":
        assert isinstance(model, LabelModel), "only multi-label models have decision scores"
        return model.decisions(X, only=only)
    return model.choices(n_columns, X, only=only)
