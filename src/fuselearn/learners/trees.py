"""The tree learner: a coded table on which the CART engine grows trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_array

from fuselearn.engines.forests import Forest, apply_forest, stack_trees, sum_leaf_values, unstack_trees
from fuselearn.engines.tables import Table, code_columns
from fuselearn.engines.trees import ClassTarget, GradientTable, Tree, TreeSettings, grow_tree, grow_value_tree
from fuselearn.learners.learner import Bound, BoundLearner, LabelModel, Model
from fuselearn.learners.table import TableCoder, as_frame
from fuselearn.learners.target import Counts, Indices, Labels, Scores, Target, Weights

# Threads are worth starting from this many (sample, feature, tree) triples on.
THREADED_WORK = 100_000
# The tree engine codes all values of a sparse matrix, too.
CODE_BYTES = 2
LARGEST_CODES = 16 * 2**30


class TreeLearner(BoundLearner):
    """Code a table once and grow any number of trees on it.

    Parameters
    ----------
    matrix : float array or sparse matrix of shape (n_samples, n_features)
        Values, category numbers and NaN, as ``fit_coder`` makes them.
    coder : TableCoder
        Fitted to the table.
    estimator : CARTClassifier or CARTRegressor
        Its parameters are used, but for ``random_state`` and ``n_jobs``.
    n_threads : int
        Threads for coding, growing and predicting.

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
        # What trees are grown on, and which of the features, of the table or appended behind it, each column is.
        self.columns = table
        self.positions = np.arange(self.n_features)
        self.n_categories: npt.NDArray[np.int32] = coder.n_categories_  # of appended features, too
        self.for_values: tuple[Table, GradientTable] | None = None  # the columns as regression trees take them
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
        """Return a learner whose coded table has features of 0 and 1 appended."""
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
        """Return a learner on some of the coded columns."""
        return self._replaced(
            bound=self.bound.extend(self.bound.appended[:, :0]),
            columns=self.columns.select(features),
            positions=self.positions[features],
        )

    def prepare(self, X: Any) -> npt.NDArray[np.floating]:
        """Turn new samples into numbers, category numbers and NaN."""
        return self.coder.transform(as_table(X))

    def release(self) -> None:
        """Release the coded table and what belongs to it."""
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
        """Let the splits of a tree name features by their positions in samples for prediction, instead of columns."""
        return tree if self.columns is self.bound.table else tree.with_features(self.positions)


class TreeModel(Model):
    """One tree over several classes, or one of values, whose shares are means.

    Examples
    --------
    >>> from fuselearn import CARTClassifier
    >>> from fuselearn.learners import bind, class_target
    >>> learner = bind(CARTClassifier(min_samples_split=2), np.arange(4.0)[:, None])
    >>> target = class_target(np.array([0, 0, 1, 1], dtype=np.int32), 2)
    >>> learner.train(target, np.ones(4, dtype=np.int32), seed=0).scores()
    array([[1., 0.],
           [1., 0.],
           [0., 1.],
           [0., 1.]])
    """

    __slots__ = ("bound", "n_categories", "tree")

    def __init__(self, tree: Tree, n_categories: npt.NDArray[np.int32], bound: Bound | None = None) -> None:
        self.tree = tree
        self.n_categories = n_categories
        self.bound = Bound() if bound is None else bound

    def scores(self, X: Any = None, *, appended: npt.NDArray[Any] | None = None, only: Indices | None = None) -> Scores:
        """Return the class fractions, or the mean, in each sample's leaf."""
        return self.tree.shares()[self._leaves(X, appended, only)]

    def votes(self, X: Any = None) -> npt.NDArray[np.int32]:
        """Return the majority class of each sample's leaf, the first of equal ones."""
        if X is None:
            return self.tree.vote(_bound_columns(self.bound))
        return self.tree.values.argmax(axis=1).astype(np.int32)[self._leaves(X, None, None)]

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a file keeps: the tree, without the coded table."""
        return store_trees([self])

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the model of a copy or a file."""
        (restored,) = restore_trees(state)
        self.__init__(restored.tree, restored.n_categories)  # type: ignore[misc]

    def _leaves(self, X: Any, appended: npt.NDArray[Any] | None, only: Indices | None) -> npt.NDArray[np.int32]:
        if X is None:
            return self.tree.apply(_bound_columns(self.bound, appended, only))
        forest = Forest([self.tree], self.n_categories)
        return apply_forest(forest, _complete(X, appended, only, len(self.n_categories)))[:, 0]


class LabelTrees(LabelModel):
    """One tree per label.

    Examples
    --------
    >>> from fuselearn import CARTClassifier
    >>> from fuselearn.learners import bind, label_target
    >>> learner = bind(CARTClassifier(min_samples_split=2), np.arange(4.0)[:, None])
    >>> target = label_target(np.array([[0, 1], [0, 1], [1, 1], [1, 0]]))
    >>> learner.train(target, np.ones(4, dtype=np.int32), seed=0).scores()
    array([[0., 1.],
           [0., 1.],
           [1., 1.],
           [1., 0.]])
    """

    def __init__(
        self, trees: list[Tree], n_categories: npt.NDArray[np.int32], bound: Bound | None = None, n_threads: int = 1
    ) -> None:
        self.trees = trees
        self.n_categories = n_categories
        self.bound = Bound() if bound is None else bound
        self.n_threads = n_threads
        self.forest: Forest | None = None

    def scores(self, X: Any = None, *, appended: npt.NDArray[Any] | None = None, only: Indices | None = None) -> Scores:
        """Return the fraction of training samples with the label in each sample's leaf, tree by tree."""
        if X is None:
            columns = _bound_columns(self.bound, appended, only)
            return np.column_stack([tree.shares()[tree.apply(columns), 1] for tree in self.trees])
        if self.forest is None:
            self.forest = Forest(self.trees, self.n_categories)
        reached = apply_forest(self.forest, _complete(X, appended, only, len(self.n_categories)), self.n_threads)
        return np.concatenate([tree.shares()[:, 1] for tree in self.trees])[reached + self.forest.roots]

    def split(self) -> list[TreeModel]:
        """Return each tree as a model of its own, of the classes 0 and 1."""
        return [TreeModel(tree, self.n_categories) for tree in self.trees]

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a file keeps: the trees in a compact form, without the coded table."""
        return {**vars(self), "trees": stack_trees(self.trees), "forest": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the model of a copy or a file."""
        vars(self).update(state)
        self.trees = unstack_trees(state["trees"], self.n_categories)


def _bound_columns(bound: Bound, appended: npt.NDArray[Any] | None = None, only: Indices | None = None) -> Table:
    """Return the coded training samples, or some of them, with what was appended."""
    table: Table = bound.table
    if appended is None:
        appended = bound.appended if only is None else bound.appended[only]
    chosen = table if only is None else table.take(only.astype(np.int64, copy=False))
    return chosen.append_flags(appended.astype(np.uint8)) if appended.shape[1] else chosen


def _complete(X: Any, appended: npt.NDArray[Any] | None, only: Indices | None, n_features: int) -> Any:
    """Select samples, and append the features that the learner was extended with."""
    X = X if only is None else X[only]
    if appended is not None:
        X = np.hstack([X, appended])
    assert X.shape[1] == n_features, "samples for an extended learner come with its appended features"
    return X


def store_trees(models: Sequence[TreeModel]) -> dict[str, Any]:
    """Bring the trees of one ensemble into a few arrays, for copies and files."""
    return {"trees": stack_trees([model.tree for model in models]), "n_categories": models[0].n_categories}


def restore_trees(state: dict[str, Any]) -> list[TreeModel]:
    """Turn the arrays of ``store_trees`` back into models, after checking them."""
    n_categories = np.ascontiguousarray(state["n_categories"], dtype=np.int32)
    return [TreeModel(tree, n_categories) for tree in unstack_trees(state["trees"], n_categories)]


class PackedTrees:
    """A weighted sum of trees, laid out for fast prediction.

    Parameters
    ----------
    models : sequence of TreeModel
    coefficients : array of shape (n_models,)
    voting : bool array of shape (n_models,)
        Whether a tree counts with its vote (one for a class) or with its scores.
    """

    def __init__(
        self, models: Sequence[TreeModel], coefficients: npt.NDArray[np.float64], voting: npt.NDArray[np.bool_]
    ) -> None:
        trees = [model.tree for model in models]
        self.forest = Forest(trees, models[0].n_categories)
        values = [
            tree_values(tree, coefficient, votes)
            for tree, coefficient, votes in zip(trees, coefficients, voting, strict=True)
        ]
        is_leaf = np.concatenate([tree.nodes["feature"] < 0 for tree in trees])
        self.leaf_values = np.concatenate(values)[is_leaf]

    def scores(self, X: npt.NDArray[np.floating], n_threads: int = 1) -> npt.NDArray[np.float64]:
        """Return the weighted sum of the trees' scores or votes for each sample."""
        return sum_leaf_values(self.forest, self.leaf_values, X, n_threads)

    def leaves(self, X: npt.NDArray[np.floating], n_threads: int = 1) -> npt.NDArray[np.int32]:
        """Return the leaf that each sample ends in, tree by tree, as a node of that tree."""
        return apply_forest(self.forest, X, n_threads)


def tree_values(tree: Tree, coefficient: float, votes: bool) -> npt.NDArray[np.float64]:
    """Return what a tree adds for samples that end in each node: the coefficient times the vote or the shares."""
    shares = tree.shares()
    values = np.eye(shares.shape[1])[shares.argmax(axis=1)] if votes else shares
    return coefficient * values


def as_table(X: Any) -> Any:
    """Check an array or a sparse matrix of numbers or gaps; data frames are for the coder to check."""
    if as_frame(X) is not None or _needs_no_check(X):
        return X
    return check_array(
        X, dtype=[np.float64, np.float32], accept_sparse="csc", ensure_all_finite="allow-nan", input_name="X"
    )


def _needs_no_check(X: Any) -> bool:
    """Return whether an array is of finite numbers; scikit-learn's check of a small one takes as long as five trees."""
    if not (isinstance(X, np.ndarray) and X.dtype in (np.float64, np.float32) and X.ndim == 2 and X.size):
        return False
    with np.errstate(over="ignore"):
        return bool(np.isfinite(X.sum()))


def fit_coder(X: Any) -> tuple[TableCoder, Any]:
    """Learn how to code a table; also return it as numbers, a sparse matrix as one of columns."""
    table = as_table(X)
    coder = TableCoder().fit(table)
    if not sparse.issparse(table):
        return coder, coder.transform(table)
    n_bytes = CODE_BYTES * table.shape[0] * table.shape[1]
    if n_bytes > LARGEST_CODES:
        raise ValueError(
            f"X is sparse, and trees would take {n_bytes / 2**30:.0f} GB for its {table.shape[0]:,} samples of "
            f"{table.shape[1]:,} features, zeros included; select features, or use SVMClassifier(kernel='linear')."
        )
    return coder, table


def _map(work: Callable[[int], Tree], n_items: int, n_threads: int) -> list[Tree]:
    if n_threads == 1:
        return [work(item) for item in range(n_items)]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(work, range(n_items)))
