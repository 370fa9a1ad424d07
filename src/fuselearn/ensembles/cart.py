"""Single trees: classification by rpart's rules with a correction for features with many categories, and regression."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from fuselearn._core import Tree, TreeSettings
from fuselearn._parameters import (
    check_choice,
    check_class_weight,
    check_number,
    check_whole_number,
    count_features,
    count_threads,
)
from fuselearn.base import ClassifierBase, EstimatorBase, RegressorBase, prepare_samples, train_one, validate_numbers
from fuselearn.ensembles.tree_description import shorten, tree_importances, write_tree
from fuselearn.fusion import Problem, Trained
from fuselearn.learners import TreeLearner
from fuselearn.learners.trees import fit_coder

CATEGORY_RULES = ("corrected", "rpart")


class TreeEstimator(EstimatorBase):
    """Base class of trees for classification and for regression."""

    _validate_table = staticmethod(validate_numbers)

    @property
    def tree_(self) -> Tree:
        """Nodes, class weights or sums of w y, and category subsets as arrays."""
        check_is_fitted(self)
        return self._fused_.models[0].tree

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """Decrease of impurity or squared error by the splits of each feature, normalized to sum to one.

        For classification, minus the decrease expected by chance.
        """
        return tree_importances(self.tree_, self.n_features_in_)

    def export_text(self, *, decimals: int = 2) -> str:
        """Return the tree as text, one line per node.

        Parameters
        ----------
        decimals : int, default=2
            Number of decimals of thresholds and weights.
        """
        return write_tree(self, lambda node: self._describe_leaf(node, decimals), decimals)

    def _check_parameters(self) -> None:
        self._engine_settings()

    def _train(self, problem: Problem) -> Trained:
        return train_one(problem, int(problem.rng.integers(2**31)))

    def _bind_table(self, X: Any, n_threads: int) -> TreeLearner:
        """Bind a table to the trees of the core."""
        coder, matrix = fit_coder(X)
        return TreeLearner(matrix, coder, self, n_threads)

    def _engine_settings(self, n_features: int = 1) -> TreeSettings:
        """Check the parameters and return them as settings of the core, for a table with this number of features."""
        raise NotImplementedError

    def _describe_leaf(self, node: int, decimals: int) -> str:
        """Return the prediction of a leaf and its number of samples."""
        raise NotImplementedError


class CARTClassifier(TreeEstimator, ClassifierBase):
    """A classification tree with the splitting and pruning rules of rpart.

    Each node is split where the Gini impurity decreases most, ::

        sum_j L_j^2 / |L| + sum_j R_j^2 / |R|  is largest,

    with L_j and R_j the weights of class j on the two sides. Thresholds of numeric features lie halfway between
    adjacent values. Category columns of a DataFrame are split by subsets of their categories. Missing values go to the
    side with the larger decrease in training. The tree is then pruned by its misclassification risk.

    Parameters
    ----------
    min_samples_split : int, default=20
        Nodes with fewer samples are not split (rpart's ``minsplit``).
    min_samples_leaf : int, optional
        Minimum number of samples on each side of a split (``minbucket``). By default a third of ``min_samples_split``,
        rounded.
    max_depth : int or None, default=30
        Maximum depth of the tree (``maxdepth``); None means no limit.
    complexity : float or None, default=0.01
        A subtree is kept only if each of its splits removes, on average, at least this fraction of the misclassified
        weight of the root (``cp``); None means no pruning. scikit-learn's ``ccp_alpha`` is defined differently.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number or fraction of features considered at each node, drawn at random; "sqrt" and "log2" as in scikit-learn;
        None means all.
    splitter : {"best", "random"}, default="best"
        Whether to use the best threshold of a feature, or a random one as in extremely randomized trees.
    category_rule : {"corrected", "rpart"}, default="corrected"
        How splits by categories are scored. ``"corrected"`` subtracts the gain expected by chance, see the Notes, so
        that identifiers and other nearly unique texts are not chosen. ``"rpart"`` compares uncorrected gains, as rpart
        does.
    max_bins : int, optional
        Numeric features with more distinct values are binned into this many bins. By default, up to 65,535 distinct
        values are kept, and a feature with more distinct values is binned into 255 bins.
    class_weight : dict, "balanced" or None, default=None
        Class weights, multiplied by the sample weights; "balanced" gives all classes the same total weight.
    random_state : int, RandomState or None, default=None
        Seed, used only with ``max_features`` or ``splitter="random"``.
    n_jobs : int or None, default=None
        Number of threads used on large data.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        The classes; the number of features; their names, if ``X`` is a DataFrame with string column names.
    tree_ : Tree
        Nodes, class weights and category subsets as arrays.
    feature_importances_ : array of shape (n_features,)
        Decrease of impurity by the splits of each feature, minus the decrease expected by chance, normalized to sum to
        one.

    See Also
    --------
    KFHEClassifier : An ensemble of these trees, fused by a Kalman filter.
    BaggedClassifier : Equal votes of these trees.
    sklearn.tree.DecisionTreeClassifier : The tree of scikit-learn, with different rules.

    Notes
    -----
    If all entries of ``sample_weight`` are integers, a sample of weight 3 counts as three samples, also in
    ``min_samples_split``. Otherwise only the ratios of the weights matter, and each sample counts once. The correction
    of splits by categories counts distinct samples: copies of a sample are no further evidence.

    With ``category_rule="corrected"``, the gain of the best subset of m categories in a node with N samples of k
    classes is multiplied by ::

        max(0, 1 - E / B),     E = T max(0, m - k) / (N - 1),

    where B is the sum of squares between the categories, along the difference between the class fractions of the two
    sides, and T is the sum of squares of all samples. If the categories have no effect, the expectation of B is T (m -
    1) / (N - 1). The correction is 0 for up to k categories, and small for categories with many samples each.
    Categories with a single sample in the node count as one category. With ``splitter="random"`` no best subset is
    chosen, and nothing is subtracted.

    References
    ----------
    Breiman, L., Friedman, J., Olshen, R. and Stone, C. (1984). Classification and Regression Trees.
    Therneau, T. and Atkinson, E. An Introduction to Recursive Partitioning Using the RPART Routines.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import CARTClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> print(CARTClassifier().fit(X, y).export_text())
    petal length (cm) < 2.45: class 0 (50 of 50)
    petal length (cm) >= 2.45
      petal width (cm) < 1.75: class 1 (49 of 54)
      petal width (cm) >= 1.75: class 2 (45 of 46)
    """

    def __init__(
        self,
        *,
        min_samples_split: int = 20,
        min_samples_leaf: int | None = None,
        max_depth: int | None = 30,
        complexity: float | None = 0.01,
        max_features: int | float | str | None = None,
        splitter: str = "best",
        category_rule: str = "corrected",
        max_bins: int | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_depth = max_depth
        self.complexity = complexity
        self.max_features = max_features
        self.splitter = splitter
        self.category_rule = category_rule
        self.max_bins = max_bins
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the index of the leaf that each sample falls into.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        samples = prepare_samples(self, X)
        return self._fused_.leaves(samples, count_threads(self.n_jobs))[:, 0]

    def get_depth(self) -> int:
        """Return the depth of the tree."""
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        return self.tree_.n_leaves

    def _describe_leaf(self, node: int, decimals: int) -> str:
        return f"class {self._predicted(node)} ({self._share(node, decimals)})"

    def _predicted(self, node: int) -> Any:
        """Return the class with the largest weight in a node."""
        return self.classes_[self.tree_.values[node].argmax()]

    def _share(self, node: int, decimals: int) -> str:
        """Return the weight of the predicted class in a node, and the total weight."""
        values = self.tree_.values[node]
        return f"{shorten(values.max(), decimals)} of {shorten(values.sum(), decimals)}"

    def _engine_settings(self, n_features: int = 1) -> TreeSettings:
        """Check the parameters and return them as settings of the core, for a table with this number of features."""
        min_split = check_whole_number("min_samples_split", self.min_samples_split, 2)
        if self.min_samples_leaf is None:
            min_leaf = round(min_split / 3)
        else:
            min_leaf = check_whole_number("min_samples_leaf", self.min_samples_leaf, 1)
        check_choice("splitter", self.splitter, ("best", "random"))
        check_choice("category_rule", self.category_rule, CATEGORY_RULES)
        check_bins(self.max_bins)
        check_class_weight(self.class_weight)
        return TreeSettings(
            min_split=min_split,
            min_leaf=min_leaf,
            max_depth=read_depth(self.max_depth),
            complexity=-1.0 if self.complexity is None else check_number("complexity", self.complexity, 0.0),
            max_features=count_features(self.max_features, n_features),
            random_cuts=self.splitter == "random",
            correct_for_chance=self.category_rule == "corrected",
        )


class CARTRegressor(TreeEstimator, RegressorBase):
    """A regression tree that predicts the mean of the training samples in a leaf.

    Each node is split where the squared error decreases most, ::

        (sum of w y on the left)^2 / |L| + (sum of w y on the right)^2 / |R|  is largest,

    with w the weights of the samples and ``|L|``, ``|R|`` their sums on both sides. Thresholds of numeric features lie
    halfway between adjacent values. A split of a category column of a DataFrame separates one category from the others.
    Missing values go to the side with the larger decrease in training. The tree is not pruned.

    .. versionadded:: 0.2

    Parameters
    ----------
    min_samples_leaf : int, default=1
        Minimum number of samples on each side of a split. A sample counts once, whatever its weight.
    max_depth : int or None, default=None
        Maximum depth of the tree; None means no limit.
    max_bins : int or None, default=255
        Numeric features with more distinct values are binned into this many bins with about equal numbers of samples.
        None keeps up to 65,535 values, but then time grows with the number of values times the number of nodes.
    n_jobs : int or None, default=None
        Number of threads used on large data.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        The number of features; their names, if ``X`` is a DataFrame with string column names.
    tree_ : Tree
        Nodes, sums of w y and category subsets as arrays; ``tree_.shares()`` returns the means of the nodes.
    feature_importances_ : array of shape (n_features,)
        Decrease of squared error by the splits of each feature, normalized to sum to one.

    See Also
    --------
    BaggedRegressor : An ensemble of these trees.
    CARTClassifier : A tree for classification.
    sklearn.tree.DecisionTreeRegressor : The tree of scikit-learn, with more criteria.

    References
    ----------
    Breiman, L., Friedman, J., Olshen, R. and Stone, C. (1984). Classification and Regression Trees.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fuselearn.ensembles import CARTRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> print(CARTRegressor(max_depth=2).fit(X, y).export_text(decimals=4))
    s5 < -0.0038
      bmi < 0.0062: 96.3099 (171 samples)
      bmi >= 0.0062: 159.7447 (47 samples)
    s5 >= -0.0038
      bmi < 0.0148: 162.681 (116 samples)
      bmi >= 0.0148: 225.8796 (108 samples)
    """

    def __init__(
        self,
        *,
        min_samples_leaf: int = 1,
        max_depth: int | None = None,
        max_bins: int | None = 255,
        n_jobs: int | None = None,
    ) -> None:
        self.min_samples_leaf = min_samples_leaf
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.n_jobs = n_jobs

    def _describe_leaf(self, node: int, decimals: int) -> str:
        (mean,), count = self.tree_.shares()[node], self.tree_.nodes["count"][node]
        return f"{shorten(mean, decimals)} ({count} samples)"

    def _engine_settings(self, n_features: int = 1) -> TreeSettings:
        """Check the parameters and return them as settings of the core."""
        check_bins(self.max_bins)
        return TreeSettings(
            min_leaf=check_whole_number("min_samples_leaf", self.min_samples_leaf, 1),
            max_depth=read_depth(self.max_depth),
        )


def read_depth(max_depth: int | None) -> int:
    """Check ``max_depth`` and return the maximum depth; None means no limit."""
    return 2**31 - 1 if max_depth is None else check_whole_number("max_depth", max_depth, 1)


def check_bins(max_bins: int | None) -> None:
    """Check the parameter ``max_bins``."""
    if max_bins is not None:
        check_whole_number("max_bins", max_bins, 2)
        if max_bins > 65_535:
            raise ValueError(f"max_bins must be at most 65535, not {max_bins}.")
