"""Random forests and extremely randomised trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuselearn._parameters import check_choice, check_flag, check_whole_number
from fuselearn.ensembles.bagging import VOTES, BaggedClassifier, plan_bags, train_bags
from fuselearn.ensembles.cart import CARTClassifier
from fuselearn.ensembles.ensemble import EnsembleClassifier
from fuselearn.fusion import Problem, Trained


class ForestClassifier(EnsembleClassifier):
    """A random forest, or a forest of extremely randomised trees.

    Deep trees that look at a few random features in each node. In a random forest each tree learns from a bootstrap
    sample and takes the best cut; extremely randomised trees learn from all samples and cut at random. The forest
    predicts the mean of the class shares in the leaves or, with ``vote="class"``, by majority vote of the trees, as
    Breiman's forests do.

    Larger leaves help if labels may be wrong: ``min_samples_leaf=3`` is a good choice from about 10 % wrong labels on.

    .. versionadded:: 0.2

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    splitter : {"best", "random"}, default="best"
        Whether a feature's best cut is taken, as in a random forest, or one at random, as in extremely randomised
        trees.
    max_features : int, float, "sqrt", "log2" or None, default="sqrt"
        Features looked at in each node: a number, a share, or a root or logarithm of their number. None means all.
    min_samples_split : int, default=2
        Nodes with fewer samples are not split.
    min_samples_leaf : int, default=1
        Both sides of a split keep at least this many samples.
    max_depth : int or None, default=None
        Splits on the longest path; None sets no limit.
    max_samples : int or float, default=1.0
        Samples drawn for each tree, as a number or as a share of all samples.
    bootstrap : bool or None, default=None
        Whether samples are drawn with replacement. None means that they are for ``splitter="best"`` only; all trees
        then learn from all samples, by their weights, unless ``max_samples`` is below 1.
    sampling : {"multinomial", "poisson"}, default="multinomial"
        How samples are drawn with replacement: a fixed number of them, or an independent Poisson number of copies of
        each, with that number as the expected sum. The second way does not depend on where samples are kept, see
        :class:`fuselearn.scale.DaskEnsemble`.
    vote : {"probability", "class"}, default="probability"
        Whether trees vote with the class shares in their leaves or with the class that they choose. Ties between votes
        go to the class with most training samples.
    oob_score : bool or callable, default=False
        Whether to score out-of-bag votes by accuracy; or another ``metric(y_true, y_pred)``.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by which sample weights are multiplied; "balanced" as in scikit-learn.
    warm_start : bool, default=False
        Whether ``fit`` adds to the trees of the call before, on the same data, as if all were fitted at once.
    callback : callable or None, default=None
        ``callback(number, tree)`` is called after each tree, counted from 1; True ends training.
    verbose : int, default=0
        1 prints ten lines of progress with the time left, more if the fit is long; 2 a line per tree.
    random_state : int, RandomState or None, default=None
        Seed of the samples and of the trees.
    n_jobs : int or None, default=None
        Trees grown at the same time. Results do not depend on it.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        The classes; the number of features; their names, if fitted on a DataFrame whose column names are text.
    estimators_ : list of CARTClassifier
    estimator_weights_ : array of shape (n_estimators,)
        The same weight for all trees.
    oob_score_, oob_decision_function_, oob_prediction_
        If ``oob_score`` is set: the score, class shares and classes by the trees that have not seen a sample. Shares
        are NaN for samples that every tree has seen.
    feature_importances_ : array of shape (n_features,)
        Impurity removed by each feature's splits, as shares that sum to one.

    See Also
    --------
    fuselearn.FusedClassifier : Forests and other ensembles, weighed by their errors.
    BaggedClassifier : Bagging of any classifier.
    sklearn.ensemble.RandomForestClassifier, sklearn.ensemble.ExtraTreesClassifier : Forests of scikit-learn.

    Notes
    -----
    Missing values and category columns of a DataFrame need no preparation, see :class:`CARTClassifier`. A sample drawn
    twice counts twice in ``min_samples_leaf``; in scikit-learn's forests it counts once.

    References
    ----------
    Breiman, L. (2001). Random forests. Machine Learning 45(1), 5-32.
    Geurts, P., Ernst, D. and Wehenkel, L. (2006). Extremely randomized trees. Machine Learning 63(1), 3-42.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from fuselearn import ForestClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> forest = ForestClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> round(forest.oob_score_, 2)
    0.98
    """

    estimator = None

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        splitter: str = "best",
        max_features: int | float | str | None = "sqrt",
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        max_depth: int | None = None,
        max_samples: int | float = 1.0,
        bootstrap: bool | None = None,
        sampling: str = "multinomial",
        vote: str = "probability",
        oob_score: bool | Callable[..., float] = False,
        class_weight: Any = None,
        warm_start: bool = False,
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
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.sampling = sampling
        self.vote = vote
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_choice("splitter", self.splitter, ("best", "random"))
        check_choice("vote", self.vote, VOTES)
        check_whole_number("min_samples_leaf", self.min_samples_leaf, 1)
        if self.bootstrap is not None:
            check_flag("bootstrap", self.bootstrap)
        self._base_estimator()._check_parameters()
        self._check_ensemble(check_whole_number("n_estimators", self.n_estimators, 1))

    def _default_estimator(self) -> CARTClassifier:
        return CARTClassifier(
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            max_depth=self.max_depth,
            complexity=None,
            max_features=self.max_features,
            splitter=self.splitter,
        )

    @property
    def _leaves_out(self) -> bool:
        return self.splitter == "best" if self.bootstrap is None else self.bootstrap

    def _train(self, problem: Problem) -> Trained:
        plan = plan_bags(
            problem.X.shape,
            problem.weights,
            n_used=problem.n_used,
            max_samples=self.max_samples,
            bootstrap=self._leaves_out,
            leave_out=problem.out_of_bag,
            sampling=self.sampling,
        )
        return train_bags(problem, plan, self.n_estimators, vote=self.vote)

    staged_predict_proba = BaggedClassifier.staged_predict_proba
    staged_predict = BaggedClassifier.staged_predict
