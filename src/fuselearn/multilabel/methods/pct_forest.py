"""RF-PCT: a random forest of predictive clustering trees, each of which predicts all labels at once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from fuselearn._parameters import (
    check_choice,
    check_flag,
    check_whole_number,
    count_draws,
    count_features,
)
from fuselearn.engines.tree import (
    LabelTarget,
    SparseTable,
    Table,
    Tree,
    TreeSettings,
    grow_tree,
    make_label_target,
    restore_weights,
)
from fuselearn.ensembles.cart import CATEGORY_RULES
from fuselearn.learners import count_all_samples, draw_counts
from fuselearn.multilabel.learning.base import Labels, MultilabelClassifier, Scores, Weights
from fuselearn.multilabel.learning.label_trees import SummedTrees, scale_rows, sum_impurity_decreases

Sample = tuple[npt.NDArray[np.int32], Weights | None]


class PCTForestClassifier(SummedTrees, MultilabelClassifier):
    """A random forest whose trees split for all labels at once (RF-PCT).

    A node is split where the sum of the labels' Gini impurities falls most, that is, where ::

        sum_j L_j^2 / |L| + sum_j R_j^2 / |R|  is largest,

    with L_j and R_j the samples with label j on the two sides, of ``max_features`` features drawn for the node. The
    probability of a label is the mean over the trees of its share in the sample's leaf.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    splitter : {"best", "random"}, default="best"
        Whether a feature's best cut is taken, as in a random forest, or one at random, as in extremely randomised
        trees.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        Features to look at in each node: a number, a share, or None for all.
    min_samples_split : int, default=2
        Nodes with fewer samples are not split.
    min_samples_leaf : int, default=1
        Fewest samples in a leaf.
    max_depth : int or None, default=None
        Most splits on a path; None means no limit.
    bootstrap : bool, default=True
        Whether a tree is grown on samples drawn with replacement, or on all of them.
    max_samples : int or float, default=1.0
        Samples to draw for each tree: an int is a number of draws, a float a share of all samples, which may exceed 1.
        Only with ``bootstrap``.
    category_rule : {"corrected", "rpart"}, default="corrected"
        How a split by categories is judged, as for :class:`~fuselearn.CARTClassifier`.
    decision : float, str or rule, default=0.5
        How probabilities become labels: a threshold, or another rule of :mod:`fuselearn.multilabel.decisions`. Rules
        that are learned use out-of-bag probabilities.
    random_state : int, RandomState or None, default=None
        Seed of the samples and of the drawn features.
    n_jobs : int or None, default=None
        Trees grown at the same time. Results do not depend on it.

    Attributes
    ----------
    feature_importances_ : array of shape (n_labels, n_features)
        How much splits on a feature lower the Gini impurity of a label; see below.
    oob_decision_function_ : array of shape (n_samples, n_labels)
        Mean probabilities by the trees that have not seen the sample, NaN where all have; with ``bootstrap`` only.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels, and 0 and 1 for each; number of the features, and their names if they have any.

    See Also
    --------
    AdaBoostMHClassifier : Boosting of stumps for all labels at once.
    sklearn.ensemble.RandomForestClassifier : Forests of scikit-learn, which take several labels, too.

    Notes
    -----
    A split of a node N into the sides L and R, with as many samples as ``|N|`` and so on, lowers the impurity of label
    j by ::

        |N| g_j(N) - |L| g_j(L) - |R| g_j(R),         g_j = 2 p_j (1 - p_j),

    p_j being the share of samples with the label. For ``feature_importances_``, the sums over a feature's splits in a
    tree are divided by their sum over the features, averaged over the trees, and divided by their sum again, so that
    each row sums to 1; the row of a label that is constant is 0. With one label, these are the importances of
    scikit-learn's random forest. Like those, they favour features with many different values, which
    ``sklearn.inspection.permutation_importance`` does not.

    References
    ----------
    Kocev, D., Vens, C., Struyf, J. and Džeroski, S. (2013). Tree ensembles for predicting structured outputs. Pattern
    Recognition 46(3), 817-833.

    Examples
    --------
    >>> from sklearn.metrics import f1_score
    >>> from fuselearn.datasets import make_digit_pairs
    >>> from fuselearn.multilabel import PCTForestClassifier
    >>> X, Y = make_digit_pairs(600, random_state=0)
    >>> forest = PCTForestClassifier(50, decision="cardinality", random_state=0).fit(X[:400], Y[:400])
    >>> round(f1_score(Y[400:], forest.predict(X[400:]), average="macro"), 2)
    0.81
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        splitter: str = "best",
        max_features: int | float | str | None = "sqrt",
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        max_depth: int | None = None,
        bootstrap: bool = True,
        max_samples: int | float = 1.0,
        category_rule: str = "corrected",
        decision: Any = 0.5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.splitter = splitter
        self.max_features = max_features
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_depth = max_depth
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.category_rule = category_rule
        self.decision = decision
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_whole_number("n_estimators", self.n_estimators, 1)
        check_choice("splitter", self.splitter, ("best", "random"))
        check_whole_number("min_samples_split", self.min_samples_split, 2)
        check_whole_number("min_samples_leaf", self.min_samples_leaf, 1)
        if self.max_depth is not None:
            check_whole_number("max_depth", self.max_depth, 1)
        count_features(self.max_features, 1)
        count_draws(self.max_samples, 1)
        check_choice("category_rule", self.category_rule, CATEGORY_RULES)
        if not check_flag("bootstrap", self.bootstrap) and self.max_samples != 1.0:
            raise ValueError(f"max_samples={self.max_samples!r} has no effect with bootstrap=False; leave it at 1.0.")

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the forest of a copy or a file; one without ``category_rule`` has rpart's, and the best cuts."""
        super().__setstate__({"category_rule": "rpart", "splitter": "best", **state})

    def _settings(self) -> TreeSettings:
        return TreeSettings(
            min_split=self.min_samples_split,
            min_leaf=self.min_samples_leaf,
            max_depth=2**31 - 1 if self.max_depth is None else self.max_depth,
            complexity=-1.0,
            max_features=count_features(self.max_features, self.n_features_in_),
            random_cuts=self.splitter == "random",
            correct_for_chance=self.category_rule == "corrected",
        )

    def _fit_labels(self, X: Any, Y: Labels, weights: Weights | None, rng: np.random.Generator) -> None:
        settings = self._settings()
        columns = self._code_entries(X)
        target = make_label_target(Y)
        samples = _samples(self, weights, len(Y), rng)
        trees = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(
            delayed(_grow)(columns, target, settings, sample, seed)
            for sample, seed in zip(samples, rng.integers(2**62, size=self.n_estimators).tolist(), strict=True)
        )
        self._keep_trees(trees)
        if self.bootstrap:
            self.oob_decision_function_ = self._out_of_bag(samples, columns, Y.shape)

    @cached_property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """How much splits on a feature lower the Gini impurity of a label; the shares of the features sum to 1."""
        check_is_fitted(self)
        total = np.zeros((self.n_labels_, self.n_features_in_))
        for tree, shares in self._trees_with_leaf_values():
            total += scale_rows(sum_impurity_decreases(restore_weights(tree, shares), self.n_features_in_))
        return scale_rows(total)

    def _out_of_bag(self, samples: list[Sample], columns: Table | SparseTable, shape: tuple[int, ...]) -> Scores:
        """Average the leaves' shares over the trees that have not seen a sample."""
        sums, n_trees = np.zeros(shape), np.zeros(shape[0])
        for (tree, shares), (counts, _) in zip(self._trees_with_leaf_values(), samples, strict=True):
            left_out = np.flatnonzero(counts == 0)
            sums[left_out] += shares[tree.apply(columns, left_out)]
            n_trees[left_out] += 1
        with np.errstate(invalid="ignore"):
            return np.minimum(sums / n_trees[:, None], 1.0)

    def _node_values(self, tree: Tree) -> npt.NDArray[np.float64]:
        return tree.shares()

    def _label_scores(self, X: Any) -> Scores:
        # Trees that are sure add 0 or 1, so that the sum is exact and a mean of one half is one. A sum of other shares
        # may pass the number of trees by rounding.
        return np.minimum(self._sum_trees(X) / len(self._trees_), 1.0)


def _samples(
    forest: PCTForestClassifier, weights: Weights | None, n_rows: int, rng: np.random.Generator
) -> list[Sample]:
    """Draw how often each sample takes part in each tree."""
    if not forest.bootstrap:
        return [count_all_samples(weights, n_rows)] * forest.n_estimators
    chances = np.ones(n_rows) if weights is None else weights
    n_draws = count_draws(forest.max_samples, n_rows)
    seeds = rng.integers(2**62, size=forest.n_estimators)
    return [(draw_counts(int(seed), chances, n_draws), None) for seed in seeds]


def _grow(table: Table | SparseTable, target: LabelTarget, settings: TreeSettings, sample: Sample, seed: int) -> Tree:
    counts, weights = sample
    return grow_tree(table, target, counts, settings, weights=weights, seed=seed)
