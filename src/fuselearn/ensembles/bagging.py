"""Bagging, random subspaces, and the training that forests share with them: equal votes of models on bags."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fuselearn._core import draw_counts, draw_covering_poisson_counts, exact_sum
from fuselearn._parameters import (
    check_choice,
    check_flag,
    check_whole_number,
    count_draws,
    count_features,
    count_threads,
)
from fuselearn.base import clip_probabilities, prepare_samples
from fuselearn.ensembles.ensemble import EnsembleClassifier, frequent_first, refuse_other_size
from fuselearn.fusion import Problem, Trained, WeightedSum
from fuselearn.fusion.problem import MOST_TRIES, OutOfBag, Output, never_stop, output_of
from fuselearn.learners import Model, TreeModel, count_all_samples
from fuselearn.learners.learner import Scores, Weights

SAMPLINGS = ("multinomial", "poisson")
VOTES = ("class", "probability")


class BagPlan(NamedTuple):
    """How the samples and features of a bag are drawn."""

    n_samples: int
    weights: Weights | None
    """Weights by which samples are drawn; None means equal weights."""
    n_draws: int
    bootstrap: bool
    """Whether samples are drawn with replacement."""
    leaves_out: bool
    """Whether samples can stay out of a bag."""
    n_all: int
    n_features: int
    """Number of features drawn."""
    rate: float | None = None
    """Expected number of copies per unit of weight, if copies are drawn independently of all other samples."""

    def draw_features(self, rng: np.random.Generator) -> npt.NDArray[np.intp]:
        """Draw features without replacement."""
        return np.sort(rng.choice(self.n_all, self.n_features, replace=False))

    def draw_counts(self, rng: np.random.Generator) -> npt.NDArray[np.int32]:
        """Draw samples; return how often each was drawn."""
        weights = np.ones(self.n_samples) if self.weights is None else self.weights
        if self.bootstrap and self.rate is not None:
            any_sample = np.zeros(self.n_samples, dtype=np.int32)
            return draw_covering_poisson_counts(
                int(rng.integers(2**62)), self.rate * weights, any_sample, 1, MOST_TRIES
            )
        if self.bootstrap:
            return draw_counts(int(rng.integers(2**62)), weights, self.n_draws)
        if not self.leaves_out:
            return (weights > 0).astype(np.int32)
        counts = np.zeros(self.n_samples, dtype=np.int32)
        counts[rng.choice(self.n_samples, self.n_draws, replace=False, p=weights / weights.sum())] = 1
        return counts


def plan_bags(
    shape: tuple[int, int],
    weights: Weights | None,
    *,
    n_used: int | None = None,
    max_samples: int | float,
    bootstrap: bool,
    max_features: int | float | str | None = None,
    leave_out: bool = False,
    sampling: str = "multinomial",
) -> BagPlan:
    """Validate the parameters for drawing bags.

    Parameters
    ----------
    shape : (n_samples, n_features)
        Shape of the table.
    weights : array of shape (n_samples,) or None
        Samples with larger weights are drawn more often.
    n_used : int, optional
        Number of samples with a positive weight; all by default.
    max_samples, bootstrap, max_features
        As those of :class:`~fuselearn.BaggedClassifier`.
    leave_out : bool, default=False
        Whether to raise an error if there are no out-of-bag samples.
    sampling : {"multinomial", "poisson"}, default="multinomial"
        As that of :class:`~fuselearn.BaggedClassifier`.
    """
    check_choice("sampling", sampling, SAMPLINGS)
    n_all, n_used = shape[1], n_used or shape[0]
    n_draws = count_draws(max_samples, n_used, largest_fraction=1)
    n_features = count_features(max_features, n_all)
    if not bootstrap and n_draws > n_used:
        raise ValueError(f"max_samples must be at most the {n_used} samples without bootstrap, not {n_draws}.")
    n_positive = shape[0] if weights is None else np.count_nonzero(weights)
    if not bootstrap and n_positive < n_draws < n_used:
        raise ValueError(
            f"sample_weight is positive for {n_positive} samples only; {n_draws} cannot be drawn without replacement."
        )
    if not bootstrap and n_draws < n_used and sampling == "poisson":
        raise ValueError("sampling='poisson' draws with replacement: set bootstrap=True, or max_samples=1.0.")
    rate = None
    if sampling == "poisson":
        rate = n_draws / (n_used if weights is None else exact_sum(weights))
    plan = BagPlan(shape[0], weights, n_draws, bootstrap, bootstrap or n_draws < n_used, n_all, n_features, rate)
    if leave_out and not plan.leaves_out:
        raise ValueError("oob_score needs out-of-bag samples: set bootstrap=True or max_samples below 1.")
    return plan


class Bag(NamedTuple):
    """A trained model, its features, its out-of-bag samples, and its outputs for them if required."""

    model: Model
    features: npt.NDArray[np.intp]
    left_out: npt.NDArray[np.intp] | None
    scores: Scores | None


def train_bags(problem: Problem, plan: BagPlan, n_estimators: int, *, vote: str = "class") -> Trained:
    """Train models of equal weight in parallel, each on its own bag.

    Parameters
    ----------
    problem : Problem
    plan : BagPlan
    n_estimators : int
    vote : {"class", "probability"}
        Whether models vote with their predicted class or with their scores.
    """
    n_columns = problem.target.n_columns
    models: list[Model] = []
    features: list[npt.NDArray[np.intp]] = []
    out_of_bag = OutOfBag(problem.n_samples, n_columns)
    if problem.previous is not None:
        models, (features, out_of_bag) = list(problem.previous.fused.models), problem.previous.state
        refuse_other_size(len(out_of_bag.weight), problem.n_samples)
    seeds = problem.rng.integers(2**63, size=n_estimators)[len(models) :]
    output: Output = "votes" if vote == "class" else "scores"
    problem.learner.n_threads = 1  # models are trained in parallel instead
    wanted = output if problem.out_of_bag else None
    on_one = replace(problem, on_iteration=never_stop, X=None, previous=None)  # workers do not need these
    bags = Parallel(n_jobs=problem.n_jobs, prefer=problem.learner.prefer, return_as="generator")(
        delayed(_train_on_bag)(on_one, plan, wanted, seed) for seed in seeds
    )
    for bag in bags:
        models.append(bag.model)
        features.append(bag.features)
        if bag.left_out is not None and bag.scores is not None:
            out_of_bag.add(bag.left_out, bag.scores)
        if problem.on_iteration(len(models), bag.model):
            with warnings.catch_warnings():  # joblib warns about canceled tasks
                warnings.simplefilter("ignore", UserWarning)
                bags.close()
            break
    fused = WeightedSum(models, np.full(len(models), 1.0 / len(models)), n_columns, output)
    trace: dict[str, Any] = {"_features_": np.array(features)}
    if problem.target.task == "classes":
        trace["class_order_"] = frequent_first(problem)
    return Trained(fused, trace, out_of_bag, (features, out_of_bag))


def _train_on_bag(problem: Problem, plan: BagPlan, out_of_bag: Any, seed: int) -> Bag:
    """Draw samples and features, and train one model; repeat this for a classification tree without a split."""
    rng = np.random.default_rng(seed)
    for _ in range(MOST_TRIES):
        features = plan.draw_features(rng)
        if plan.leaves_out:
            counts, weights = plan.draw_counts(rng), None
        else:
            counts, weights = count_all_samples(plan.weights, problem.n_samples, copies=problem.learner.counts_copies)
        chosen = None if len(features) == plan.n_all else features
        model = problem.train(counts, int(rng.integers(2**31)), weights=weights, features=chosen)
        if problem.target.task != "classes" or not isinstance(model, TreeModel) or model.tree.n_leaves > 1:
            break
    left_out = scores = None
    if out_of_bag is not None:
        left_out = np.flatnonzero(counts == 0)
        scores = output_of(model, out_of_bag, problem.target.n_columns)[left_out]
    return Bag(model, features, left_out, scores)


def stage_means(estimator: Any, X: Any) -> Iterator[Scores]:
    """Yield the mean output of the first member, of the first two, and so on."""
    total: Any = 0.0
    outputs = estimator._fused_.outputs_of_models(prepare_samples(estimator, X), count_threads(estimator.n_jobs))
    for number, output in enumerate(outputs, start=1):
        total = total + output
        yield total / number


class BaggedClassifier(EnsembleClassifier):
    """Bagging: equal votes of classifiers trained on random subsets of the samples and features.

    Each classifier is trained on randomly drawn samples (bagging), randomly drawn features (random subspaces), or both
    (random patches). Samples with larger weights are drawn more often. With N draws from N samples, with replacement, a
    sample is out of the bag with probability (1 - 1/N)^N, about 1/e. Its *out-of-bag* vote is that of the classifiers
    that were not trained on it.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Base estimator: any scikit-learn classifier. None means ``CARTClassifier()``.
    n_estimators : int, default=100
        Number of classifiers.
    max_samples : int or float, default=1.0
        Number or fraction of samples drawn for each classifier.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number or fraction of features drawn for each classifier; "sqrt" and "log2" as in scikit-learn; None means all.
    bootstrap : bool, default=True
        Whether samples are drawn with replacement. If False and ``max_samples`` is 1.0, every classifier is trained on
        all samples with their weights.
    sampling : {"multinomial", "poisson"}, default="multinomial"
        How samples are drawn with replacement: a fixed number of samples, or an independent Poisson number of copies of
        each sample with that number as the expected total. Poisson draws do not depend on how the data are partitioned,
        see :class:`fuselearn.scale.DaskEnsemble`.
    vote : {"class", "probability"}, default="class"
        Whether a classifier votes with its predicted class or with its class probabilities.
    oob_score : bool or callable, default=False
        Whether to compute the out-of-bag accuracy. A callable ``metric(y_true, y_pred)`` replaces accuracy.
    class_weight : dict, "balanced" or None, default=None
        Class weights, multiplied by the sample weights; "balanced" as in scikit-learn.
    warm_start : bool, default=False
        Whether ``fit`` adds classifiers to the previous fit on the same data. The result is that of one fit of all.
    callback : callable or None, default=None
        ``callback(number, classifier)`` is called after each classifier, counted from 1; True ends training.
    verbose : int, default=0
        1 prints about ten lines of progress with the remaining time, 2 one line per classifier.
    random_state : int, RandomState or None, default=None
        Seed of the sampling and of the base estimators.
    n_jobs : int or None, default=None
        Number of classifiers trained in parallel. Results do not depend on it.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        The classes; the number of features; their names, if ``X`` is a DataFrame with string column names.
    estimators_ : list of classifiers
        With random subspaces, scikit-learn classifiers other than trees expect the features in
        ``estimators_features_`` only.
    estimators_features_ : list of arrays
        Features of each classifier.
    estimator_weights_ : array of shape (n_estimators,)
        The same weight for all classifiers.
    oob_score_, oob_decision_function_, oob_prediction_
        If ``oob_score`` is set: the score, the class fractions and the predicted classes of the out-of-bag votes.
        Fractions are NaN for samples without an out-of-bag vote.
    feature_importances_ : array of shape (n_features,)
        Mean of the classifiers' importances, if the base estimator has importances, as trees do.

    See Also
    --------
    ForestClassifier : Random forests and extremely randomized trees.
    KFHEClassifier : Sample weights estimated by a Kalman filter.
    BaggedRegressor : Bagging for regression.
    sklearn.ensemble.BaggingClassifier : Bagging of scikit-learn.

    Notes
    -----
    As in adabag, a tree without a split is replaced by a tree on a new sample, up to 100 times, and ties between votes
    are broken in favor of the class with more training samples.

    References
    ----------
    Breiman, L. (1996). Bagging predictors. Machine Learning 24(2), 123-140.
    Ho, T. K. (1998). The random subspace method for constructing decision forests. IEEE Transactions on Pattern
    Analysis and Machine Intelligence 20(8), 832-844.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from fuselearn import BaggedClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> bagged = BaggedClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> round(bagged.oob_score_, 2)
    0.94
    """

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        n_estimators: int = 100,
        *,
        max_samples: int | float = 1.0,
        max_features: int | float | str | None = None,
        bootstrap: bool = True,
        sampling: str = "multinomial",
        vote: str = "class",
        oob_score: bool | Callable[..., float] = False,
        class_weight: Any = None,
        warm_start: bool = False,
        callback: Callable[[int, Any], Any] | None = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
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

    @property
    def estimators_features_(self) -> list[npt.NDArray[np.intp]]:
        """Features of each classifier."""
        check_is_fitted(self)
        return list(self._features_)

    def _check_parameters(self) -> None:
        check_choice("vote", self.vote, VOTES)
        check_flag("bootstrap", self.bootstrap)
        self._check_ensemble(check_whole_number("n_estimators", self.n_estimators, 1))

    @property
    def _leaves_out(self) -> bool:
        return self.bootstrap

    def _train(self, problem: Problem) -> Trained:
        plan = plan_bags(
            problem.X.shape,
            problem.weights,
            n_used=problem.n_used,
            max_samples=self.max_samples,
            bootstrap=self.bootstrap,
            max_features=self.max_features,
            leave_out=problem.out_of_bag,
            sampling=self.sampling,
        )
        return train_bags(problem, plan, self.n_estimators, vote=self.vote)

    def staged_predict_proba(self: EnsembleClassifier, X: Any) -> Iterator[Scores]:
        """Predict class probabilities with the first member, the first two, and so on.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            Probabilities predicted by the ensemble so far; ``len(self)`` arrays in total.
        """
        for means in stage_means(self, X):
            yield clip_probabilities(means)

    def staged_predict(self: EnsembleClassifier, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Predict classes with the first member, the first two, and so on.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples,)
        """
        for means in stage_means(self, X):
            yield self.classes_[self._choose(means)]
