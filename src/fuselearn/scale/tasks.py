"""Tasks on a single part of the samples: validate it, sample its values, code it, and count drawn samples.

Tasks do not depend on the storage of parts. Samples are numbered in the order of the parts, and random draws depend
only on the index of a sample. Sums are exact integers in small units, see `from_units`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array, column_or_1d

from fuselearn import _core
from fuselearn._core import (
    LevelBins,
    LevelSplits,
    Table,
    Tree,
    count_bins,
    draw_poisson_counts,
    draw_uniforms,
    merge_bins,
    reach_leaves,
    sum_units,
)
from fuselearn.base import check_weights, number_labels
from fuselearn.learners import TreeModel
from fuselearn.learners.learner import Scores, Weights
from fuselearn.learners.table import TableCoder, as_frame, code_columns

# Seed for drawing the samples that bin edges are computed from. Draws of training samples may have the same seed, which
# does no harm.
EDGE_SEED = 0
FINGERPRINT_SEED = 1


class Categories(NamedTuple):
    """The categories of a feature in a part."""

    levels: npt.NDArray[Any] | None
    """None for a numeric feature."""
    is_declared: bool
    """Whether they are those of a categorical dtype, rather than the distinct strings of the part."""
    is_known: bool
    """Whether the part has any value of the feature."""


class Facts(NamedTuple):
    """Description of a part before it is coded."""

    n_samples: int
    n_features: int
    names: list[str] | None
    """Names of the features, if they are strings."""
    categories: list[Categories]
    """The categories of each feature."""
    labels: npt.NDArray[Any]
    label_counts: npt.NDArray[np.int64]


class Recipe(NamedTuple):
    """How to code parts."""

    coder: TableCoder
    columns: Table
    """The meaning of the codes, as a table without samples."""
    classes: npt.NDArray[Any]
    is_sampled: bool
    """Whether the codes were computed from some of the samples only."""
    class_factors: Weights | None
    """Class weights."""


class Part(NamedTuple):
    """Coded samples, which are stored during a fit."""

    codes: npt.NDArray[np.unsignedinteger]
    n_codes: npt.NDArray[np.int32]
    target: npt.NDArray[np.int32]
    weights: Weights
    first: int
    """Index of its first sample among the samples of all parts."""
    upper: npt.NDArray[np.float64]
    """The largest value of each code, in this part and in the samples that the codes were computed from."""


class Draw(NamedTuple):
    """How to draw samples: Poisson counts, or, if the seed is None, integer weights as counts."""

    seed: int | None
    rate: float = 1.0
    """Expected number of draws for a sample of weight 1."""
    n_tries: int = 0


class Count(NamedTuple):
    """What to count for a tree: samples in some nodes of a level, by bins of some features."""

    tree: int
    """Index of the tree among those being grown."""
    features: npt.NDArray[np.int64]
    nodes: npt.NDArray[np.int64]
    n_classes: int
    squared: bool


Begun = tuple[npt.NDArray[np.int64], list[LevelBins]]
"""The samples drawn for several trees, and their counts by class and by requested bins."""


class TreeInPart(NamedTuple):
    """A tree, and the leaf of each sample of a part."""

    tree: Tree
    leaves: npt.NDArray[np.int32]

    def scores(self) -> Scores:
        """Return the class fractions in the leaf of each sample."""
        return self.tree.shares()[self.leaves]

    def votes(self) -> npt.NDArray[np.int32]:
        """Return the majority class in the leaf of each sample; ties go to the first class."""
        return self.tree.values.argmax(axis=1).astype(np.int32)[self.leaves]


def describe_part(number: int, X: Any, y: Any, sample_weight: Any) -> Facts:
    """Validate a part and describe it."""
    with naming(number):
        X = _check_table(X)
        n_samples, n_features = X.shape
        frame = as_frame(X)
        labels, class_indices = _read_labels(y, n_samples)
        _read_weights(sample_weight, n_samples)
        names = None if frame is None else list(frame.columns)
        if names is not None and not all(isinstance(name, str) for name in names):
            names = None
        if frame is None:
            categories = [Categories(None, False, n_samples > 0)] * n_features
        else:
            levels = TableCoder().fit(X).categories_
            categories = [_describe(*given) for given in zip(frame.iter_columns(), levels, strict=True)]
        return Facts(n_samples, n_features, names, categories, labels, np.bincount(class_indices))


def sample_values(number: int, X: Any, first: int, coder: TableCoder, fraction: float) -> npt.NDArray[np.float64]:
    """Return the values of a fraction of the samples, chosen by their indices."""
    matrix = _read_matrix(number, X, coder)
    if fraction >= 1:
        return matrix
    return matrix[draw_uniforms(EDGE_SEED, first, len(matrix)) < fraction]


def find_edges(samples: Sequence[npt.NDArray[np.float64]], coder: TableCoder, max_bins: int | None) -> Table:
    """Compute codes from sampled values of all parts."""
    columns = code_columns(np.concatenate(samples), coder.n_categories_, max_bins)
    return columns.with_codes(np.empty((0, columns.n_columns), dtype=np.uint16))


def code_part(number: int, X: Any, y: Any, sample_weight: Any, first: int, recipe: Recipe) -> Part:
    """Code a part."""
    matrix = _read_matrix(number, X, recipe.coder)
    labels, class_indices = _read_labels(y, len(matrix))
    positions = np.searchsorted(recipe.classes, labels if len(labels) else recipe.classes[:0])
    target = positions.astype(np.int32)[class_indices]
    weights = _read_weights(sample_weight, len(matrix))
    if recipe.class_factors is not None:
        weights = weights * recipe.class_factors[target]
    codes = recipe.columns.encode(matrix)
    upper = recipe.columns.raise_upper(matrix, codes) if recipe.is_sampled else recipe.columns.upper
    return Part(codes, recipe.columns.n_codes, target, weights, first, upper)


def get_upper(part: Part) -> tuple[None, npt.NDArray[np.float64]]:
    """Return the largest value of each code."""
    return None, part.upper


def sum_weights(part: Part) -> tuple[int, bool]:
    """Return the exact sum of the weights of a part, and whether all are integers."""
    return sum_units(part.weights), bool((part.weights == np.rint(part.weights)).all())


def sum_fingerprint(part: Part) -> tuple[None, int]:
    """Return a checksum of the samples, classes and weights that depends on their order."""
    of_sample = part.codes.sum(axis=1) + part.target + part.weights
    return None, sum_units(draw_uniforms(FINGERPRINT_SEED, part.first, len(part.codes)) * of_sample)


def weigh_correct(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[float, float]:
    """Return the total weight of the correctly classified samples of a part, and of all samples."""
    labels = column_or_1d(y)
    weights = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    is_correct = model.predict(X) == labels if len(labels) else np.zeros(0)
    return float(weights @ is_correct), float(weights.sum())


def divide_weights(source: Any, divisor: float | None) -> Weights:
    """Return the weights of a source, divided by the divisor unless it is None."""
    weights: Weights = source.weights
    return weights if divisor is None else weights / divisor


def begin_trees(
    part: Part, source: Any, divisor: float | None, draws: list[Draw], counts: list[Count]
) -> tuple[list[Drawn], Begun]:
    """Draw samples of a part for several trees, with the weights of the source, and count them."""
    weights = divide_weights(source, divisor)
    drawn = [list_drawn(draw_counts(draw, weights, part.first)) for draw in draws]
    totals = [count_classes(own, part.target, counts[0].n_classes) for own in drawn]
    return drawn, (np.array(totals), tally_part(part, drawn, counts))


def advance_trees(
    part: Part, drawn: list[Drawn], splits: list[tuple[int, LevelSplits]], counts: list[Count]
) -> tuple[list[Drawn], list[LevelBins]]:
    """Move the samples of several trees to the next level, and count them; finished trees are dropped."""
    next_drawn = [
        descend(drawn[tree], part.codes, count.features, part.n_codes[count.features], own)
        for (tree, own), count in zip(splits, counts, strict=True)
    ]
    return next_drawn, tally_part(part, next_drawn, counts)


def count_more(part: Part, drawn: list[Drawn], counts: list[Count]) -> tuple[None, list[LevelBins]]:
    """Count the samples in more nodes of the same level."""
    return None, tally_part(part, drawn, counts)


def tally_part(part: Part, drawn: list[Drawn], counts: list[Count]) -> list[LevelBins]:
    """Count the samples in nodes of several trees."""
    return [
        count_bins(*drawn[tree], part.codes, features, part.n_codes[features], part.target, n_classes, nodes, squared)
        for tree, features, nodes, n_classes, squared in counts
    ]


def merge_tallies(parts: list[list[LevelBins]]) -> list[LevelBins]:
    """Add the counts of several parts for each tree."""
    return [merge_bins(bins) for bins in zip(*parts, strict=True)]


def merge_begun(parts: list[Begun]) -> Begun:
    """Add the counts of several parts for each tree."""
    totals, bins = zip(*parts, strict=True)
    return np.sum(totals, axis=0), merge_tallies(list(bins))


def draw_counts(draw: Draw, weights: Weights, first: int) -> npt.NDArray[np.int32]:
    """Return how often each sample of a part is drawn."""
    if draw.seed is None:
        return weights.astype(np.int32)
    return draw_poisson_counts(draw.seed, draw.rate * weights, first, draw.n_tries)


def bind_tree(h: TreeModel, part: Part) -> TreeInPart:
    """Find the leaf of each sample of a part."""
    return TreeInPart(h.tree, reach_leaves(h.tree, part.codes, part.n_codes))


@contextmanager
def naming(number: int) -> Iterator[None]:
    """Add the index of the part to errors."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"Part {number}: {error}") from error


def _check_table(X: Any) -> Any:
    if as_frame(X) is not None:
        return X
    return check_array(
        X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", ensure_min_samples=0, input_name="X"
    )


def _read_labels(y: Any, n_samples: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    if n_samples == 0 and len(y) == 0:  # the dtype of an empty part is arbitrary
        return np.empty(0), np.empty(0, dtype=np.int32)
    return number_labels(y, n_samples)


def _read_weights(sample_weight: Any, n_samples: int) -> Weights:
    if sample_weight is None or (n_samples == 0 and len(sample_weight) == 0):
        return np.ones(n_samples)
    if len(sample_weight) == n_samples and not np.any(sample_weight):  # other parts may have positive weights
        return np.zeros(n_samples)
    return check_weights(sample_weight, n_samples)


def _read_matrix(number: int, X: Any, coder: TableCoder) -> npt.NDArray[np.float64]:
    with naming(number):
        return np.asarray(coder.transform(_check_table(X)), dtype=np.float64)


def _describe(column: Any, levels: npt.NDArray[Any] | None) -> Categories:
    native = column.to_native()
    is_declared = hasattr(native, "cat") and hasattr(native.cat, "categories")
    return Categories(levels, is_declared, is_declared or not column.is_null().all())


class Drawn(NamedTuple):
    """The samples drawn for a tree, ordered by the nodes of a level, and how often each was drawn."""

    samples: npt.NDArray[np.uint32]
    copies: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int64]
    """The end of the samples of each node."""


def list_drawn(counts: npt.NDArray[np.int32]) -> Drawn:
    """Return the samples that were drawn at least once, as the root of a tree.

    Examples
    --------
    >>> list_drawn(np.array([0, 2, 1], dtype=np.int32))[:2]
    (array([1, 2], dtype=uint32), array([2, 1], dtype=int32))
    """
    samples = np.flatnonzero(counts).astype(np.uint32)
    return Drawn(samples, counts[samples], np.array([len(samples)]))


def count_drawn(
    part: Part, source: Any, draw: Draw, divisor: float | None, n_classes: int
) -> tuple[None, npt.NDArray[np.int64]]:
    """Count the samples of each class that are drawn from a part."""
    drawn = list_drawn(draw_counts(draw, divide_weights(source, divisor), part.first))
    return None, count_classes(drawn, part.target, n_classes)


def count_classes(drawn: Drawn, target: npt.NDArray[np.int32], n_classes: int) -> npt.NDArray[np.int64]:
    """Count the draws of each class.

    Examples
    --------
    >>> count_classes(list_drawn(np.array([0, 2, 1], dtype=np.int32)), np.array([0, 1, 1], dtype=np.int32), 2)
    array([0, 3])
    """
    return np.bincount(target[drawn.samples], drawn.copies, n_classes).astype(np.int64)


def descend(
    drawn: Drawn,
    codes: npt.NDArray[np.unsignedinteger],
    features: npt.NDArray[np.int64],
    n_codes: npt.NDArray[np.int32],
    splits: LevelSplits,
) -> Drawn:
    """Move the samples of a level to the nodes of the next level; samples in leaves are dropped."""
    return Drawn(*_core.descend(*drawn, codes, features, n_codes, splits))


def from_units(total: int) -> float:
    """Round an exact sum in units of 2**-1074 to the nearest float.

    Every finite double-precision number is a multiple of this unit, so sums are integers without rounding.

    Examples
    --------
    >>> from_units(sum_units(np.full(10, 0.1)))
    1.0
    """
    return total / 2**1074
