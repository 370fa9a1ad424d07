"""Random forests and extremely randomized trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuselearn._parameters import check_choice, check_flag, check_whole_number
from fuselearn.ensembles.bagging import VOTES, BaggedClassifier, plan_bags, train_bags
from fuselearn.ensembles.cart import CARTClassifier
from fuselearn.ensembles.ensemble import EnsembleClassifier
from fuselearn.fusion import Problem, Trained


class ForestClassifier(EnsembleClassifier):
    """A random forest, or a forest of extremely randomized trees.

    The trees are deep and consider a few random features at each node. A random forest grows each tree on a bootstrap
    sample and uses the best threshold; extremely randomized trees are grown on all samples with random thresholds. The
    forest predicts the mean of the class fractions in the leaves or, with ``vote="class"``, the majority vote of the
    trees, as in Breiman's forests.

    If labels may be wrong, use larger leaves: ``min_samples_leaf=3`` is a good choice from about 10 % wrong labels.

    .. versionadded:: 0.2

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    splitter : {"best", "random"}, default="best"
        Whether to use the best threshold of a feature, as in a random forest, or a random one, as in extremely
        randomized trees.
    max_features : int, float, "sqrt", "log2" or None, default="sqrt"
        Number or fraction of features considered at each node; "sqrt" and "log2" as in scikit-learn; None means all.
    min_samples_split : int, default=2
        Nodes with fewer samples are not split.
    min_samples_leaf : int, default=1
        Minimum number of samples on each side of a split.
    max_depth : int or None, default=None
        Maximum depth of the trees; None means no limit.
    max_samples : int or float, default=1.0
        Number or fraction of samples drawn for each tree.
    bootstrap : bool or None, default=None
        Whether samples are drawn with replacement. None means True for ``splitter="best"`` and False for ``"random"``.
        If False, all trees are grown on all samples with their weights, unless ``max_samples`` is below 1.
    sampling : {"multinomial", "poisson"}, default="multinomial"
        How samples are drawn with replacement: a fixed number of samples, or an independent Poisson number of copies of
        each sample with that number as the expected total. Poisson draws do not depend on how the data are partitioned,
        see :class:`fuselearn.scale.DaskEnsemble`.
    vote : {"probability", "class"}, default="probability"
        Whether a tree votes with the class fractions in its leaf or with its predicted class. Ties between votes are
        broken in favor of the class with more training samples.
    oob_score : bool or callable, default=False
        Whether to compute the out-of-bag accuracy. A callable ``metric(y_true, y_pred)`` replaces accuracy.
    class_weight : dict, "balanced" or None, default=None
        Class weights, multiplied by the sample weights; "balanced" as in scikit-learn.
    warm_start : bool, default=False
        Whether ``fit`` adds trees to the previous fit on the same data. The result is that of one fit of all.
    callback : callable or None, default=None
        ``callback(number, tree)`` is called after each tree, counted from 1; True ends training.
    verbose : int, default=0
        1 prints about ten lines of progress with the remaining time, 2 one line per tree.
    random_state : int, RandomState or None, default=None
        Seed of the sampling and of the trees.
    n_jobs : int or None, default=None
        Number of trees grown in parallel. Results do not depend on it.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        The classes; the number of features; their names, if ``X`` is a DataFrame with string column names.
    estimators_ : list of CARTClassifier
    estimator_weights_ : array of shape (n_estimators,)
        The same weight for all trees.
    oob_score_, oob_decision_function_, oob_prediction_
        If ``oob_score`` is set: the score, the class fractions and the predicted classes of the out-of-bag votes.
        Fractions are NaN for samples without an out-of-bag vote.
    feature_importances_ : array of shape (n_features,)
        Decrease of impurity by the splits of each feature, normalized to sum to one.

    See Also
    --------
    fuselearn.FusedClassifier : Forests and other ensembles, weighted by their errors.
    BaggedClassifier : Bagging of any classifier.
    sklearn.ensemble.RandomForestClassifier, sklearn.ensemble.ExtraTreesClassifier : Forests in scikit-learn.

    Notes
    -----
    Missing values and category columns of a DataFrame are handled natively, see :class:`CARTClassifier`. A sample drawn
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
