"""The tree learner: trees of classes, labels or values, grown by the core on a coded table."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_array

from fuselearn import _core
from fuselearn._core import (
    ClassTarget,
    GradientTable,
    LabelTarget,
    SparseTable,
    StoragePlan,
    Table,
    Tree,
    TreeSettings,
    grow_gradient_tree,
)
from fuselearn.learners.forests import LabelTrees, TreeModel
from fuselearn.learners.learner import Bound, BoundLearner, Counts, Labels, Scores, Target, Weights
from fuselearn.learners.table import TableCoder, as_frame, code_columns

# Minimum number of (sample, feature, tree) triples for which threads pay off.
THREADED_WORK = 100_000
# Trees of classes need codes of all values, also of a sparse matrix.
CODE_BYTES = 2
LARGEST_CODES = 16 * 2**30
# Weights that are not counts are scaled to about this sum and rounded to integers, so that sums of squares are exact.
WEIGHT_SUM = 2.0**26


class TreeLearner(BoundLearner):
    """Compute the codes of a table once and grow any number of trees on it.

    Parameters
    ----------
    matrix : float array or sparse matrix of shape (n_samples, n_features)
        Values, category codes and NaN, as returned by ``fit_coder``.
    coder : TableCoder
        Fitted to the table.
    estimator : CARTClassifier or CARTRegressor
        Its parameters are used, except ``random_state`` and ``n_jobs``.
    n_threads : int
        Number of threads for coding, training and prediction.

    Examples
    --------
    >>> from fuselearn import CARTClassifier
    >>> from fuselearn.learners import bind
    >>> learner = bind(CARTClassifier(min_samples_split=2), np.arange(4.0)[:, None])
    >>> type(learner).__name__, learner.n_samples, learner.n_features
    ('TreeLearner', 4, 1)
    """

    bound_parameters = ("max_bins",)

    def __init__(self, matrix: Any, coder: TableCoder, estimator: Any, n_threads: int) -> None:
        self.coder = coder
        self.n_samples, self.n_features = matrix.shape
        self.estimator = estimator
        self.settings: TreeSettings = estimator._engine_settings(self.n_features)
        table = code_columns(matrix, coder.n_categories_, estimator.max_bins, n_threads)
        self.bound = Bound(table, np.empty((self.n_samples, 0), dtype=np.int8))
        # The columns for growing trees, and the index of the feature of each column; appended features come last.
        self.columns = table
        self.positions = np.arange(self.n_features)
        self.n_categories: npt.NDArray[np.int32] = coder.n_categories_  # including appended features
        self.for_values: tuple[Table, GradientTable] | None = None  # the columns for regression trees
        self.n_threads = n_threads

    def train(
        self, target: Target, counts: Counts, seed: int, *, weights: Weights | None = None
    ) -> TreeModel | LabelTrees:
        """Grow a tree, or a tree per label, on the samples drawn."""
        self._check_sample(target, counts)
        if target.task == "values":
            tree = self._grow_values(target.values, counts, weights)
            return TreeModel(self._reindex(tree), self.n_categories, self.bound)
        if target.task == "labels":
            self._refuse_class_weight()
            trees = self._grow_labels(target.values, counts, seed, weights)
            return LabelTrees(trees, self.n_categories, self.bound, self.n_threads)
        columns, classes = self.columns, target.values
        if target.samples is not None:
            counts, weights = counts[target.samples], None if weights is None else weights[target.samples]
            if len(classes) != self.n_samples or (np.diff(target.samples) == 0).any():
                columns = columns.take(target.samples.astype(np.int64, copy=False))
        factors = self._class_factors(target, counts)
        if factors is not None:
            weights = factors * (counts if weights is None else weights)
            counts = np.where(weights > 0, counts, 0).astype(np.int32)
        tree = grow_tree(
            columns, ClassTarget(classes, target.n_columns), counts, self.settings,
            weights=weights, seed=seed, n_threads=self.n_threads,
        )  # fmt: skip
        return TreeModel(self._reindex(tree), self.n_categories, self.bound)

    def extend(self, columns: npt.NDArray[np.integer], n_columns: int | None = None) -> Self:
        """Return a learner whose coded table has binary features appended."""
        columns = columns[:, :n_columns]
        bound = self.bound.extend(columns)
        added = self.n_features + np.arange(self.bound.appended.shape[1], bound.appended.shape[1])
        return self._replaced(
            bound=bound,
            columns=self.columns.append_flags(columns.astype(np.uint8)),
            positions=np.concatenate([self.positions, added]),
            n_categories=np.pad(self.n_categories, (0, columns.shape[1])),
        )

    def restrict(self, features: npt.NDArray[np.intp]) -> Self:
        """Return a learner for some of the coded columns."""
        return self._replaced(
            bound=self.bound.extend(self.bound.appended[:, :0]),
            columns=self.columns.select(features),
            positions=self.positions[features],
        )

    def prepare(self, X: Any) -> npt.NDArray[np.floating]:
        """Convert new samples to numbers, category codes and NaN."""
        return self.coder.transform(as_table(X))

    def release(self) -> None:
        """Release the coded table and data derived from it."""
        self.bound.release()
        del self.columns, self.for_values, self.settings

    def _replaced(self, **changes: Any) -> Self:
        other = super()._replaced(**changes)
        other.settings = other.estimator._engine_settings(len(other.positions))
        return other

    def _grow_values(self, y: Scores, counts: Counts, weights: Weights | None) -> Tree:
        if self.for_values is None or self.for_values[0] is not self.columns:
            self.for_values = self.columns, GradientTable(self.columns)
        return grow_value_tree(
            self.for_values[1],
            y,
            counts.astype(np.float64) if weights is None else np.where(counts > 0, weights, 0.0),
            max_depth=self.settings.max_depth,
            min_leaf=self.settings.min_leaf,
            n_threads=self.n_threads,
        )

    def _grow_labels(self, Y: Labels, counts: Counts, seed: int, weights: Weights | None) -> list[Tree]:
        n_labels = Y.shape[1]
        targets = np.ascontiguousarray(Y.T, dtype=np.int32)
        within = self.n_threads if n_labels < self.n_threads else 1

        def grow(label: int) -> Tree:
            tree = grow_tree(
                self.columns, ClassTarget(targets[label], 2), counts, self.settings,
                weights=weights, seed=seed, n_threads=within,
            )  # fmt: skip
            return self._reindex(tree)

        work = self.n_samples * len(self.positions) * n_labels
        return _map(grow, n_labels, self.n_threads if within == 1 and work >= THREADED_WORK else 1)

    def _reindex(self, tree: Tree) -> Tree:
        """Replace the column indices of splits by feature indices for prediction."""
        return tree if self.columns is self.bound.table else tree.with_features(self.positions)


def as_table(X: Any) -> Any:
    """Validate an array or a sparse matrix of numbers and NaN; the coder validates DataFrames."""
    if as_frame(X) is not None or _needs_no_check(X):
        return X
    return check_array(
        X, dtype=[np.float64, np.float32], accept_sparse="csc", ensure_all_finite="allow-nan", input_name="X"
    )


def _needs_no_check(X: Any) -> bool:
    """Return whether all numbers are finite; scikit-learn's check of a small array takes as long as five trees."""
    if not (isinstance(X, np.ndarray) and X.dtype in (np.float64, np.float32) and X.ndim == 2 and X.size):
        return False
    with np.errstate(over="ignore"):
        return bool(np.isfinite(X.sum()))


def fit_coder(X: Any) -> tuple[TableCoder, Any]:
    """Fit a coder, and return it with the table as numbers; a sparse matrix is returned in CSC format."""
    table = as_table(X)
    coder = TableCoder().fit(table)
    if not sparse.issparse(table):
        return coder, coder.transform(table)
    n_bytes = CODE_BYTES * table.shape[0] * table.shape[1]
    if n_bytes > LARGEST_CODES:
        raise ValueError(
            f"Trees would need {n_bytes / 2**30:.0f} GB for the {table.shape[0]:,} samples and {table.shape[1]:,} "
            "features of the sparse X, because they store zeros, too. Select features, or use "
            "SVMClassifier(kernel='linear')."
        )
    return coder, table


def _map(work: Callable[[int], Tree], n_items: int, n_threads: int) -> list[Tree]:
    if n_threads == 1:
        return [work(item) for item in range(n_items)]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(work, range(n_items)))


def make_label_target(Y: npt.NDArray[np.generic]) -> LabelTarget:
    """Make a target for trees from an indicator matrix.

    Examples
    --------
    >>> len(make_label_target(np.array([[1, 0], [1, 1], [0, 0]])))
    3
    """
    samples, labels = np.nonzero(Y)
    starts = np.concatenate([[0], np.cumsum(np.bincount(samples, minlength=len(Y)))])
    return LabelTarget(starts.astype(np.int64), labels.astype(np.int32), Y.shape[1])


def grow_tree(
    table: Table | SparseTable,
    target: ClassTarget | LabelTarget,
    counts: npt.NDArray[np.int32],
    settings: TreeSettings,
    *,
    weights: npt.NDArray[np.float64] | None = None,
    seed: int = 0,
    n_threads: int = 1,
    plan: StoragePlan | None = None,
) -> Tree:
    """Grow and prune a tree.

    Parameters
    ----------
    table : Table or SparseTable
        Must be a Table for classes.
    target : ClassTarget or LabelTarget
    counts : int32 array of shape (n_samples,)
        How often each sample was drawn; samples with 0 are ignored.
    settings : TreeSettings
    weights : array of shape (n_samples,), optional
        Sample weights, if they differ from the counts.
    seed : int
        Seed of the random choices.
    n_threads : int
        Number of threads for large data. The tree does not depend on it.
    plan : StoragePlan, optional
        How samples are stored during growth. The tree does not depend on it.

    Examples
    --------
    >>> table = code_columns(np.array([[1.0], [2.0], [3.0], [4.0]]))
    >>> target = ClassTarget(np.array([0, 0, 1, 1], dtype=np.int32), 2)
    >>> tree = grow_tree(table, target, np.ones(4, dtype=np.int32), TreeSettings(min_split=2, min_leaf=1))
    >>> tree.n_leaves, tree.nodes["threshold"][0]
    (2, np.float64(2.5))
    """
    whole = None
    if weights is not None:
        rounded = np.rint(weights * (WEIGHT_SUM / weights.sum()))
        counts = np.where(rounded > 0, counts, 0).astype(np.int32)
        whole = rounded.astype(np.int32)
    arguments = counts, settings, seed, n_threads, whole, weights, plan
    if isinstance(target, ClassTarget):
        assert isinstance(table, Table), "trees of classes are grown on dense tables"
        return _core.grow_class_tree(table, target, *arguments)
    if isinstance(table, SparseTable):
        return _core.grow_sparse_label_tree(table, target, *arguments)
    return _core.grow_label_tree(table, target, *arguments)


def grow_value_tree(
    table: GradientTable, y: Scores, weights: Weights, *, max_depth: int, min_leaf: int, n_threads: int = 1
) -> Tree:
    """Grow a regression tree with the engine for gradient boosting.

    With y the target and w the sample weights, a Newton step on the squared error has the gradients -w y and the
    Hessians w. `grow_gradient_tree` then maximizes the sum over both sides of (sum of w y)^2 / (sum of w), the
    criterion of CART's regression trees, and the value of a leaf is the weighted mean of y.

    Parameters
    ----------
    table : GradientTable
    y : array of shape (n_samples,)
        The target.
    weights : array of shape (n_samples,)
        Samples of weight 0 are ignored; at least one weight is positive.
    max_depth, min_leaf : int
        Maximum number of splits on a path, and minimum number of samples in a leaf.
    n_threads : int
        Number of threads for large data. The tree does not depend on it.

    Returns
    -------
    Tree
        ``values`` has one column, the sum of w y in each node, so ``shares()`` returns the weighted means of y.

    Examples
    --------
    >>> table = GradientTable(code_columns(np.array([[1.0], [2.0], [3.0], [4.0]])))
    >>> y, weights = np.array([1.0, 3.0, 10.0, 10.0]), np.ones(4)
    >>> grow_value_tree(table, y, weights, max_depth=1, min_leaf=1).shares()
    array([[ 6.],
           [ 2.],
           [10.]])
    """
    samples = np.flatnonzero(weights).astype(np.int32)
    # The target is standardized and weights are scaled to meet the engine's minimum gain and Hessian.
    weights = weights / weights[samples].mean()
    center = np.average(y[samples], weights=weights[samples])
    scale = np.abs(y[samples] - center).max() or 1.0
    statistics = np.column_stack([-weights * ((y - center) / scale), weights])
    features = np.arange(table.n_columns)
    tree = grow_gradient_tree(table, statistics, samples, features, max_depth, min_leaf, l2=0.0, n_threads=n_threads)
    gradients, hessians = tree.values.T
    nodes = tree.nodes.copy()
    nodes["weight"] = hessians
    return Tree(nodes, (center * hessians - scale * gradients)[:, None], tree.subsets)
