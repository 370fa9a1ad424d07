"""A single regression tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from fuselearn._core import Tree, TreeSettings
from fuselearn._parameters import check_whole_number
from fuselearn.base import RegressorBase, train_one, validate_numbers
from fuselearn.ensembles.cart import check_bins, read_depth, set_tree
from fuselearn.ensembles.tree_description import shorten, tree_importances, write_tree
from fuselearn.fusion import Problem, Trained
from fuselearn.learners import TreeLearner, TreeModel
from fuselearn.learners.table import TableCoder
from fuselearn.learners.trees import fit_coder


class CARTRegressor(RegressorBase):
    """A regression tree, which predicts the mean of the training samples in a leaf.

    Each node is split where the squared error falls most, ::

        (sum of w y on the left)^2 / |L| + (sum of w y on the right)^2 / |R|  is largest,

    with w the weights of the samples and ``|L|``, ``|R|`` their sums on both sides. Numeric features are cut half-way
    between neighbouring values; of a category column of a DataFrame, a split takes one category apart from the others;
    missing values go to the side that suits them best in training. Nothing is pruned.

    .. versionadded:: 0.2

    Parameters
    ----------
    min_samples_leaf : int, default=1
        Both sides of a split keep at least this many samples. A sample counts once, whatever its weight.
    max_depth : int or None, default=None
        Splits on the longest path; None sets no limit.
    max_bins : int or None, default=255
        Numeric features with more distinct values are cut into this many bins of about equally many samples. None keeps
        up to 65,535 values apart, at a price: time grows with the number of values times the number of nodes.
    n_jobs : int or None, default=None
        Threads used on large data.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        The number of features; their names, if fitted on a DataFrame whose column names are text.
    tree_ : Tree
        Nodes, sums of w y and category subsets as arrays; ``tree_.shares()`` are the means of the nodes.
    feature_importances_ : array of shape (n_features,)
        Squared error removed by each feature's splits, as shares that sum to one.

    See Also
    --------
    BaggedRegressor : An ensemble of such trees.
    CARTClassifier : A tree for classification.
    sklearn.tree.DecisionTreeRegressor : The tree of scikit-learn, with other criteria, too.

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

    _validate_table = staticmethod(validate_numbers)

    @property
    def tree_(self) -> Tree:
        """Nodes, means and category subsets as arrays."""
        check_is_fitted(self)
        tree: Tree = self._fused_.models[0].tree
        return tree

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """Impurity removed by each feature's splits, as fractions that sum to one."""
        return tree_importances(self.tree_, self.n_features_in_)

    def export_text(self, *, decimals: int = 2) -> str:
        """Write the tree out, one line per node.

        Parameters
        ----------
        decimals : int, default=2
            Decimals of cut points and weights.
        """
        return write_tree(self, lambda node: self._describe_leaf(node, decimals), decimals)

    def _check_parameters(self) -> None:
        self._engine_settings()

    def _train(self, problem: Problem) -> Trained:
        return train_one(problem, 0)

    def _bind_table(self, X: Any, n_threads: int) -> TreeLearner:
        """Bind a table to the trees of the core."""
        coder, matrix = fit_coder(X)
        return TreeLearner(matrix, coder, self, n_threads)

    def _describe_leaf(self, node: int, decimals: int) -> str:
        (mean,), count = self.tree_.shares()[node], self.tree_.nodes["count"][node]
        return f"{shorten(mean, decimals)} ({count} samples)"

    def _wrap(
        self, model: TreeModel, coder: TableCoder, classes: None, names: npt.NDArray[Any] | None
    ) -> CARTRegressor:
        """Return a grown tree as a regressor with the parameters of this one."""
        tree = CARTRegressor(**self.get_params())
        set_tree(tree, model, coder, names)
        return tree

    def _engine_settings(self, n_features: int = 1) -> TreeSettings:
        """Check the parameters and return them as the engine takes them."""
        check_bins(self.max_bins)
        return TreeSettings(
            min_leaf=check_whole_number("min_samples_leaf", self.min_samples_leaf, 1),
            max_depth=read_depth(self.max_depth),
        )
