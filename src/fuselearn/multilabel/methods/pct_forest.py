"""RF-PCT: a random forest of predictive clustering trees, where each tree predicts all labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from fuselearn._core import LabelTarget, Tree, TreeSettings, draw_counts
from fuselearn._parameters import (
    check_choice,
    check_flag,
    check_whole_number,
    count_draws,
    count_features,
    count_threads,
)
from fuselearn.base import validate_numbers
from fuselearn.ensembles.cart import CATEGORY_RULES
from fuselearn.fusion import Problem, Trained
from fuselearn.fusion.problem import OutOfBag
from fuselearn.learners import Learner, count_all_samples
from fuselearn.learners.learner import Counts
from fuselearn.learners.trees import grow_tree, make_label_target
from fuselearn.multilabel.base import Scores, Weights, single
from fuselearn.multilabel.ensemble import MultilabelEnsemble
from fuselearn.multilabel.methods.label_trees import LabelForest, LabelTable, scale_rows, sum_impurity_decreases

Bag = tuple[Counts, Weights | None]
"""How often each sample was drawn for a tree, and its weight if it differs from that."""


def train_pct_forest(
    problem: Problem,
    settings: TreeSettings,
    n_estimators: int = 100,
    *,
    bootstrap: bool = True,
    max_samples: int | float = 1.0,
) -> Trained:
    """Grow a forest; the parameters except ``settings`` are those of :class:`PCTForestClassifier`."""
    learner: Any = problem.learner
    n_samples, n_labels, rng = problem.n_samples, problem.target.n_columns, problem.rng
    target = make_label_target(problem.target.values)
    if bootstrap:
        n_draws, weights = count_draws(max_samples, problem.n_draws), problem.initial_weights
        bags: list[Bag] = [
            (draw_counts(int(seed), weights, n_draws), None) for seed in rng.integers(2**62, size=n_estimators)
        ]
    else:
        bags = [count_all_samples(problem.weights, n_samples)] * n_estimators
    out_of_bag = OutOfBag(n_samples, n_labels)
    grown = Parallel(n_jobs=problem.n_jobs, prefer="threads", return_as="generator")(
        delayed(_grow)(learner, target, settings, bag, seed, problem.out_of_bag)
        for bag, seed in zip(bags, rng.integers(2**62, size=n_estimators).tolist(), strict=True)
    )

    def collect() -> Iterator[tuple[Tree, Scores]]:
        for number, (tree, fractions, left_out, scores) in enumerate(grown, start=1):
            if left_out is not None:
                out_of_bag.add(left_out, scores)
            yield tree, fractions
            if problem.on_iteration(number, (tree, fractions)):
                with warnings.catch_warnings():  # joblib warns about canceled tasks
                    warnings.simplefilter("ignore", UserWarning)
                    grown.close()
                return

    return replace(
        single(make_forest(collect(), learner.coder, n_labels, problem.n_jobs), problem), out_of_bag=out_of_bag
    )


def _grow(
    learner: LabelTable, target: LabelTarget, settings: TreeSettings, bag: Bag, seed: int, out_of_bag: bool
) -> tuple[Tree, Scores, npt.NDArray[np.intp] | None, Scores | None]:
    """Grow a tree; return it with the fraction of each label in its nodes, and its out-of-bag scores."""
    counts, weights = bag
    tree = grow_tree(learner.columns, target, counts, settings, weights=weights, seed=seed)
    fractions = tree.shares()
    if not out_of_bag:
        return tree, fractions, None, None
    left_out = np.flatnonzero(counts == 0)
    return tree, fractions, left_out, fractions[tree.apply(learner.columns, left_out)]


def make_forest(trees: Any, coder: Any, n_labels: int, n_jobs: int | None) -> LabelForest:
    """Return the forest of trees with the given fractions of each label in their nodes."""
    forest = LabelForest(trees, coder.n_categories_, start=np.zeros(n_labels), n_threads=count_threads(n_jobs))
    forest.divisor = len(forest.trees)
    return forest


class PCTForestClassifier(MultilabelEnsemble):
    """A random forest whose trees split for all labels at once (RF-PCT).

    Each split maximizes the decrease of the sum of the labels' Gini impurities, that is, ::

        sum_j L_j^2 / |L| + sum_j R_j^2 / |R|,

    with L_j and R_j the number of samples with label j on the two sides, over ``max_features`` features drawn for the
    node. The probability of a label is the mean over the trees of its fraction in the leaf of the sample.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    splitter : {"best", "random"}, default="best"
        Whether to use the best threshold of a feature, as in a random forest, or a random one, as in extremely
        randomized trees.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        Number or fraction of features drawn for each node; None means all.
    min_samples_split : int, default=2
        Minimum number of samples in a node to split it.
    min_samples_leaf : int, default=1
        Minimum number of samples in a leaf.
    max_depth : int or None, default=None
        Maximum number of splits on a path; None means no limit.
    bootstrap : bool, default=True
        Whether a tree is grown on samples drawn with replacement, or on all of them.
    max_samples : int or float, default=1.0
        Number or fraction of samples drawn for each tree; a fraction may exceed 1. Only with ``bootstrap``.
    category_rule : {"corrected", "rpart"}, default="corrected"
        Criterion for splits of categorical features, as for :class:`~fuselearn.CARTClassifier`.
    decision : float, str or rule, default=0.5
        How labels are predicted from probabilities: a threshold, or a rule of :mod:`fuselearn.multilabel.decisions`.
        Rules that are learned use out-of-bag probabilities.
    callback : callable or None, default=None
        ``callback(number, forest)`` is called after each tree, counted from 1; True ends training.
    verbose : int, default=0
        1 prints about ten lines of progress with the remaining time, 2 one line per tree.
    random_state : int, RandomState or None, default=None
        Seed of the samples and of the drawn features.
    n_jobs : int or None, default=None
        Number of trees grown in parallel. Results do not depend on it.

    Attributes
    ----------
    estimators_ : list of PCTForestClassifier
        The trees, as forests of one tree each.
    estimator_weights_ : array of shape (n_estimators,)
        The same weight for all trees.
    feature_importances_ : array of shape (n_labels, n_features)
        Decrease of the Gini impurity of a label by splits on a feature, normalized; see Notes.
    oob_decision_function_ : array of shape (n_samples, n_labels)
        Out-of-bag probabilities, NaN for samples in the bag of every tree; with ``bootstrap`` only.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels; the classes 0 and 1 of each label; number of the features; their names, if ``X``
        is a DataFrame.

    See Also
    --------
    AdaBoostMHClassifier : Boosting of stumps for all labels at once.
    sklearn.ensemble.RandomForestClassifier : Forests in scikit-learn, which also support multi-label data.

    Notes
    -----
    A split of a node N into the sides L and R, with ``|N|``, ``|L|`` and ``|R|`` samples, decreases the impurity of
    label j by ::

        |N| g_j(N) - |L| g_j(L) - |R| g_j(R),         g_j = 2 p_j (1 - p_j),

    with p_j the fraction of samples with the label. For ``feature_importances_``, the sums over the splits of each
    feature are normalized per tree, averaged over the trees, and normalized again, so that each row sums to 1; the row
    of a constant label is 0. With a single label, these are the importances of scikit-learn's random forest. Like
    those, they favor features with many distinct values, which ``sklearn.inspection.permutation_importance`` does not.

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

    _input_tags = (("allow_nan", True), ("sparse", True))
    _validate_table = staticmethod(validate_numbers)

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
        callback: Callable[[int, Any], Any] | None = None,
        verbose: int = 0,
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
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("splitter", self.splitter, ("best", "random"))
        check_whole_number("min_samples_split", self.min_samples_split, 2)
        check_whole_number("min_samples_leaf", self.min_samples_leaf, 1)
        if self.max_depth is not None:
            check_whole_number("max_depth", self.max_depth, 1)
        check_choice("category_rule", self.category_rule, CATEGORY_RULES)
        if not check_flag("bootstrap", self.bootstrap) and self.max_samples != 1.0:
            raise ValueError(f"max_samples={self.max_samples!r} has no effect with bootstrap=False; leave it at 1.0.")

    def _make_learner(self, X: Any, n_threads: int) -> Learner:
        return LabelTable(X, n_threads)

    def _pose(self, problem: Problem) -> Problem:
        """Add progress reports and the callback, and require out-of-bag probabilities with ``bootstrap``."""
        return replace(super()._pose(problem), out_of_bag=self.bootstrap)

    def _train(self, problem: Problem) -> Trained:
        return train_pct_forest(
            problem, self._settings(), self.n_estimators, bootstrap=self.bootstrap, max_samples=self.max_samples
        )

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

    def __len__(self) -> int:
        """Return the number of trees."""
        check_is_fitted(self)
        return len(self._fused_.models[0].trees)

    @property
    def estimator_weights_(self) -> Weights:
        """The same weight for all trees."""
        return np.full(len(self), 1.0 / len(self))

    @cached_property
    def estimators_(self) -> list[Any]:
        """The trees, as forests of one tree each."""
        check_is_fitted(self)
        return [self._as_estimator(pair) for pair in self._fused_.models[0].trees_with_values()]

    def _as_estimator(self, model: Any) -> Any:
        """Return a tree and the values of its nodes as a fitted forest of one tree."""
        return super()._as_estimator(make_forest([model], self._coder_, self.n_labels_, self.n_jobs))

    def _member(self, model: LabelForest) -> PCTForestClassifier:
        return PCTForestClassifier(**{**self.get_params(), "n_estimators": 1, "decision": 0.5, "callback": None})

    @cached_property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """Decrease of the Gini impurity of each label by splits on each feature, normalized to a sum of 1."""
        check_is_fitted(self)
        total = np.zeros((self.n_labels_, self.n_features_in_))
        for tree, fractions in self._fused_.models[0].trees_with_values():
            total += scale_rows(sum_impurity_decreases(restore_weights(tree, fractions), self.n_features_in_))
        return scale_rows(total)


def restore_weights(tree: Tree, leaf_fractions: Scores) -> Tree:
    """Return a tree with the weight of each label in all nodes, from the label fractions in its leaves.

    Parameters
    ----------
    tree : Tree
    leaf_fractions : array of shape (n_nodes, n_labels)
        Rows of inner nodes are ignored.

    Examples
    --------
    >>> from fuselearn._core import NODE
    >>> nodes = np.zeros(3, dtype=NODE)
    >>> nodes["feature"], nodes["left"], nodes["weight"] = (1, -1, -1), (1, -1, -1), (5, 3, 2)
    >>> tree = Tree(nodes, np.empty((3, 0)), np.empty(0, np.uint32))
    >>> restore_weights(tree, np.array([[0.0], [1 / 3], [1.0]])).values
    array([[3.],
           [1.],
           [2.]])
    """
    weight = tree.nodes["weight"]
    values = leaf_fractions * weight[:, None]
    if (weight == np.rint(weight)).all():  # the weights are numbers of draws, so those of labels are integers
        np.rint(values, out=values)
    return tree.with_leaf_values(values)
