"""KFHE: the Kalman filter-based heuristic ensemble of classifiers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fuselearn._core import (
    ClassFilters,
    ClassTarget,
    compare_votes,
    compare_votes_in_units,
    draw_covering_counts,
    draw_covering_poisson_counts,
    exact_sum,
    sum_units,
)
from fuselearn._parameters import check_choice, check_whole_number
from fuselearn.base import check_base, clip_probabilities, prepare_samples
from fuselearn.ensembles.bagging import SAMPLINGS
from fuselearn.ensembles.cart import CARTClassifier
from fuselearn.ensembles.ensemble import EnsembleClassifier, OutOfBagVotes, guessing_error, refuse_other_size
from fuselearn.fusion import Problem, Trained, WeightedSum
from fuselearn.fusion.filtering import (
    MOST_REPEATS,
    NEVER,
    VARIANTS,
    WEIGHTINGS,
    ArrayStates,
    Errors,
    FilterRun,
    Measurement,
    ResetRule,
    Scores,
    Truth,
    Weights,
    check_weighting,
    closed_form_coefficients,
    run_filters,
)
from fuselearn.fusion.problem import MOST_TRIES, OutOfBag, Output, output_of
from fuselearn.learners import Learner, Model, TreeLearner, TreeModel, are_counts

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class ClassTruth(Truth):
    """The true classes of the training samples. Of equal scores, the first class is predicted."""

    classes: npt.NDArray[np.int32]
    vote: str

    def losses(self, scores: Scores) -> npt.NDArray[np.bool_]:
        """Return which samples are misclassified."""
        return scores.argmax(axis=1) != self.classes

    def mean(self, loss: npt.NDArray[Any]) -> float:
        """Return the weight of the misclassified samples."""
        return exact_sum(self.shares[loss]) if self.is_exact else super().mean(loss)

    def weigh(self, losses: Weights, weights: Weights) -> float:
        """Return the sum of losses under the given weights."""
        return exact_sum(weights * losses) if self.is_exact else float(weights @ losses)

    def fractions(self, n_classes: int) -> Weights:
        """Return the fraction of each class."""
        return np.array([self.mean(self.classes == c) for c in range(n_classes)])

    def compare(self, y: Scores, h: Model) -> Measurement:
        """Compute the measurement of a model from its votes or from its scores."""
        if self.vote == "probability":
            return self.measure(y, h.scores())
        votes = h.votes()
        wrong, errors = compare_votes(y, votes, self.classes, self.shares, is_exact=self.is_exact)
        return Measurement(None, votes, wrong, Errors(*errors))

    def compare_in_units(self, y: Scores, h: Model) -> Measurement:
        """Compute the measurement of a model for a partition of the samples; its errors are exact sums, see `exact`."""
        if self.vote == "class":
            votes = h.votes()
            wrong, units = compare_votes_in_units(y, votes, self.classes, self.shares)
            return Measurement(None, votes, wrong, units)
        scores = h.scores()
        z = 0.5 * (y + scores)
        wrong = self.losses(z)
        return Measurement(
            z, None, wrong, (self.units(wrong), self.units(self.losses(scores)), self.units(self.losses(y)))
        )

    def units(self, wrong: npt.NDArray[np.bool_]) -> int:
        """Sum the weights of some samples exactly."""
        return sum_units(self.shares[wrong])


class CoreStates:
    """The filter states in the core, which trains and measures a voting tree in one call.

    On small tables this takes half the time of `ArrayStates`, with bit-identical results.
    """

    def __init__(
        self,
        problem: Problem,
        y: Scores,
        truth: ClassTruth,
        weighting: str,
        votes: OutOfBagVotes,
        w: Weights | None,
        max_tries: int,
    ) -> None:
        self.problem, self.learner = problem, cast(TreeLearner, problem.learner)
        target = ClassTarget(problem.target.values, problem.target.n_columns)
        initial = truth.shares if w is None else w
        self.filters = ClassFilters(
            self.learner.columns, target, self.learner.settings, truth.shares, np.ascontiguousarray(y), initial
        )
        self.filters.out_of_bag_votes = np.column_stack([votes.n_votes, votes.n_right])
        self.votes, self.weighting, self.max_tries = votes, WEIGHTINGS.index(weighting), max_tries

    @staticmethod
    def suit(problem: Problem, vote: str, sampling: str) -> bool:
        """Return whether the core supports the problem: voting trees on the whole bound table, multinomial sampling."""
        learner = problem.learner
        return (
            isinstance(learner, TreeLearner)
            and learner.columns is learner.bound.table
            and learner.estimator.class_weight is None
            and (vote, sampling) == ("class", "multinomial")
        )

    @property
    def y(self) -> Scores:
        """The estimate."""
        return self.filters.estimate

    @property
    def w(self) -> Weights:
        """The weights."""
        return self.filters.weights

    @property
    def counts(self) -> npt.NDArray[np.int32]:
        """How often each sample was drawn for the last tree."""
        return self.filters.counts

    def train(self, seed: int) -> TreeModel:
        """Grow a tree on samples drawn with the weights, and measure it."""
        tree, *errors = self.filters.measure(seed, self.problem.n_draws, self.max_tries, self.learner.n_threads)
        self.errors = Errors(*errors)
        return TreeModel(tree, self.learner.n_categories, self.learner.bound)

    def measure(self, h: TreeModel) -> Errors:
        """Return the errors of the measurement, which `train` has computed."""
        return self.errors

    def out_of_bag_error(self) -> float:
        """Add the votes of the last tree, and return the weighted error of the out-of-bag votes."""
        return self.filters.count_out_of_bag(self.votes.priors)

    def reset(self) -> None:
        """Reset the weights to their initial values."""
        self.filters.reset_weights()

    def update(self, h: TreeModel, gain: float, weights_gain: float) -> None:
        """Update the estimate and the weights with the last tree."""
        self.filters.update(gain, weights_gain, self.weighting)


def reset_rule(reset: str | None, variant: str, n_classes: int) -> ResetRule:
    """Return the reset rule for the parameters ``reset`` and ``variant``."""
    guessing = guessing_error(n_classes)
    out_of_bag = guessing if reset == "out-of-bag" else math.inf
    if reset is None:
        return NEVER
    if variant == "paper":  # without a limit, and only for errors above that of guessing
        return ResetRule(1.0 - 1.0 / n_classes + 1e-12, out_of_bag, MOST_REPEATS, is_limited=False)
    return ResetRule(guessing, out_of_bag)


def train_kfhe(
    problem: Problem,
    n_estimators: int = 100,
    *,
    weighting: str = "exponential",
    vote: str = "class",
    sampling: str = "multinomial",
    reset: str | None = "out-of-bag",
    variant: str = "program",
    learners: Sequence[Learner] = (),
) -> Trained:
    """Train KFHE: h_0 on all samples, the other models on samples drawn with the weights of kf-w.

    The parameters are those of :class:`KFHEClassifier`; ``learners`` are those of several base estimators, the first
    one that of the problem.
    """
    learners = learners or [problem.learner]
    classes, n_classes, initial = problem.target.values, problem.target.n_columns, problem.initial_weights
    poisson, as_printed = sampling == "poisson", variant == "paper"
    weighting = f"printed {weighting}" if as_printed else weighting
    # The training samples of a fold may not contain all classes.
    max_tries = 1 if as_printed or (problem.n_used is not None and not poisson) else MOST_TRIES
    output: Output = "votes" if vote == "class" else "scores"
    total = exact_sum(initial) if poisson else initial.sum()
    truth = ClassTruth(initial / total, classes, vote, is_exact=poisson)
    seeds = problem.rng.integers(2**62, size=n_estimators + 1).tolist()
    out_of_bag, votes = OutOfBag(problem.n_samples, n_classes), OutOfBagVotes(classes, truth.fractions(n_classes))
    counts = np.ones(problem.n_samples, dtype=np.int32)

    def draw(weights: Weights, seed: int) -> npt.NDArray[np.int32]:
        if poisson:
            return draw_covering_poisson_counts(seed, problem.n_draws * weights, classes, n_classes, max_tries)
        return draw_covering_counts(seed, weights, problem.n_draws, classes, n_classes, max_tries)

    def train(weights: Weights, seed: int) -> Model:
        nonlocal counts
        counts = draw(weights, seed)
        return learners[len(run.models) % len(learners)].train(problem.target, counts, seed)

    def train_first(seed: int) -> Model:
        if as_printed or (poisson and problem.weights is not None and not are_counts(problem.weights)):
            return problem.train(draw(truth.shares, seed), seed)
        return problem.train_on_all(seed)

    def out_of_bag_error(h: Model, weights: Weights) -> float:
        votes.add(output_of(h, "votes", n_classes).argmax(axis=1), counts == 0)
        return truth.weigh(votes.losses(), weights)

    def on_iteration(t: int, h: Model, *, error: float, gain: float) -> bool:
        if problem.out_of_bag:
            left_out = np.flatnonzero((states.counts if isinstance(states, CoreStates) else counts) == 0)
            out_of_bag.scale(1.0 - gain / 2)
            out_of_bag.add(left_out, output_of(h, output, n_classes, only=left_out), gain / 2)
        return problem.on_iteration(t, h, error=error, gain=gain)

    if problem.previous is None:
        run, w = FilterRun([train_first(seeds[0])]), None
        y = run.models[0].scores()
    else:
        run, y, w, out_of_bag, votes = problem.previous.state
        refuse_other_size(len(w), problem.n_samples)
        run = replace(run, models=list(problem.previous.fused.models))
    states: CoreStates | ArrayStates
    if len(learners) == 1 and CoreStates.suit(problem, vote, sampling):
        states = CoreStates(problem, y, truth, weighting, votes, w, max_tries)
    else:
        judge = out_of_bag_error
        states = ArrayStates(y, truth, train, truth.compare, weighting=weighting, out_of_bag_error=judge, w=w)
    rule = reset_rule(reset, variant, n_classes)
    run_filters(states, run, seeds[len(run.models) :], reset=rule, on_iteration=on_iteration)
    if isinstance(states, CoreStates):
        votes.n_votes, votes.n_right = states.filters.out_of_bag_votes.T
    outputs: list[Output] = ["scores", *[output] * (len(run.models) - 1)]
    fused = WeightedSum(run.models, closed_form_coefficients(np.array(run.gains)), n_classes, outputs)
    trace = run.trace(truth.error(states.y), states.w)
    return Trained(fused, trace, out_of_bag, (replace(run, models=[]), states.y, states.w, out_of_bag, votes))


class KFHEClassifier(EnsembleClassifier):
    """An ensemble in which a Kalman filter fuses classifiers, each a noisy measurement of the ideal classifier.

    With y the estimate of the training samples' class scores, P its variance and h_t the t-th classifier, ::

        measurement     z = (y + h_t) / 2,         with error   R = fraction of samples where argmax z is wrong
        gain            K = P / (P + R)
        estimate        y <- y + K (z - y),        variance     P <- (1 - K) P

    The training samples of h_t are drawn with sample weights w. A second Kalman filter estimates them in the same way,
    from measurements that give misclassified samples larger weights. The weights w start as ``sample_weight``, which
    also weights the errors. Training stops early when K is 0, since the estimate no longer changes. The estimate is
    linear in the classifiers, so the trained ensemble is their sum weighted by ``estimator_weights_``.

    When to use: for fast training and prediction with mostly correct labels, as a baseline of the papers, or as a
    single ensemble to export. When not to use: if many labels may be wrong, use :class:`~fuselearn.FusedClassifier`.

    Parameters
    ----------
    estimator : classifier, list of classifiers or None, default=None
        Base estimator: any scikit-learn classifier. None means a tree without pruning,
        ``CARTClassifier(complexity=None)``, as in the papers. The classifiers of a list are trained in turn; they must
        be all trees, all SVMs of this library, or all other classifiers.
    n_estimators : int, default=100
        Maximum number of classifiers after the first one, which is trained on all samples.
    weighting : {"exponential", "linear", "symmetric"}, default="exponential"
        How the weights of misclassified samples increase. "exponential" (KFHE-e) multiplies them by e. "linear"
        (KFHE-l) adds them to the initial weights and is more robust to label noise: with 20 % wrong labels it loses
        0.025 of macro F1 in the paper's experiments, KFHE-e 0.058; without wrong labels it is 0.007 below KFHE-e.
        "symmetric", from the authors' 2018 program, also divides the weights of correct samples by e.
    vote : {"class", "probability"}, default="class"
        Whether a classifier is measured by its predicted class or by its class probabilities. The first classifier
        always counts with its probabilities.
    sampling : {"multinomial", "poisson"}, default="multinomial"
        How samples are drawn with replacement: n_samples of them, or an independent Poisson number of copies of each
        sample with n_samples as the expected total. Poisson draws do not depend on how the data are partitioned, see
        :class:`fuselearn.scale.DaskEnsemble`. With Poisson draws, the first classifier is trained on a drawn sample,
        too, unless the sample weights are integers.
    reset : {"out-of-bag", "training"} or None, default="out-of-bag"
        When the weights are reset to the initial weights. "training" is the rule of the papers: a classifier no better
        than guessing on the training samples (error of at least 1 - 1/n_classes) is discarded, once, and replaced by
        one trained on a sample drawn with the initial weights. "out-of-bag" also resets the weights after a measurement
        if the out-of-bag votes, under the current weights, are no better than guessing: the weights are then
        concentrated on samples that cannot be learned, such as wrong labels. None never resets them.
    variant : {"program", "paper"}, default="program"
        Whether to follow the authors' program or the algorithm printed in the paper; see Notes.
    oob_score : bool or callable, default=False
        Whether to compute the out-of-bag accuracy. A callable ``metric(y_true, y_pred)`` replaces accuracy.
    class_weight : dict, "balanced" or None, default=None
        Class weights, multiplied by the sample weights; "balanced" as in scikit-learn.
    warm_start : bool, default=False
        Whether ``fit`` adds classifiers to the previous fit on the same data. The result is that of one fit of all.
    callback : callable or None, default=None
        ``callback(number, classifier)`` is called after each classifier, counted from 1; True ends training.
    verbose : int, default=0
        1 prints about ten lines of progress with the error, the gain and the remaining time, 2 one line per classifier.
    random_state : int, RandomState or None, default=None
        Seed of the sampling and of the base estimators.
    n_jobs : int or None, default=None
        Number of threads for growing trees on large data and for prediction. Results do not depend on it.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        The classes; the number of features; their names, if ``X`` is a DataFrame with string column names.
    estimators_ : list of classifiers
        The first one and ``n_iter_`` others.
    n_iter_ : int
        Number of measurements.
    gains_, variances_, measurement_errors_ : array of shape (n_iter,)
        Gain K, variance P and error R of each measurement.
    train_errors_ : array of shape (n_iter + 1,)
        Fraction of training samples that the estimate misclassifies, starting with the first classifier.
    resets_ : array of int
        Measurements, counted from 1, before which the weights were reset.
    sample_weights_ : array of shape (n_samples,)
        Final sample weights; the largest belong to the samples that the ensemble fits worst.
    estimator_weights_ : array of shape (n_iter + 1,)
        Weight of each classifier in the ensemble; they sum to 1.
    oob_score_, oob_decision_function_, oob_prediction_
        If ``oob_score`` is set: the score, the class fractions and the predicted classes of the out-of-bag votes.
        Fractions are NaN for samples without an out-of-bag vote.
    feature_importances_ : array of shape (n_features,)
        Mean of the classifiers' importances, weighted by ``estimator_weights_``, if the base estimator has importances,
        as trees do.

    See Also
    --------
    SAMMEClassifier : Boosting: weighted votes instead of a Kalman filter.
    BaggedClassifier : Equal votes of classifiers on bootstrap samples.
    fuselearn.multilabel.KFHEMultilabelClassifier : The same filters for multi-label data.

    Notes
    -----
    ``KFHEClassifier(reset="training")`` is the authors' program; with ``variant="paper"`` it is the algorithm printed
    in the paper. They differ as follows:

    - The program trains the first classifier on all samples, the paper on a drawn sample.
    - The program draws again, up to 100 times, until the sample contains every class.
    - The program replaces a classifier with an error of at least 1 - 1/n_classes once. The paper replaces classifiers
      with a larger error without a limit; here, 100 replacements in a row raise an error.
    - With e_i = 1 for misclassified samples and 0 for others, the program measures weights as w_i exp(e_i + 1/n) or,
      linear, as 1/n + w_i e_i; the paper prints w_i exp(e_i) and w_i e_i.

    References
    ----------
    Pakrashi, A. and Mac Namee, B. (2019). Kalman Filter-based Heuristic Ensemble (KFHE): A new perspective on
    multi-class ensemble classification using Kalman filters. Information Sciences 485, 456-485.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from fuselearn import KFHEClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> float(round(cross_val_score(KFHEClassifier(random_state=0), X, y, cv=10).mean(), 2))
    0.96
    """

    n_iter_: int
    gains_: Weights
    variances_: Weights
    measurement_errors_: Weights
    train_errors_: Weights
    resets_: npt.NDArray[np.int64]
    sample_weights_: Weights

    def __init__(
        self,
        estimator: BaseEstimator | Sequence[BaseEstimator] | None = None,
        n_estimators: int = 100,
        *,
        weighting: str = "exponential",
        vote: str = "class",
        sampling: str = "multinomial",
        reset: str | None = "out-of-bag",
        variant: str = "program",
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
        self.weighting = weighting
        self.vote = vote
        self.sampling = sampling
        self.reset = reset
        self.variant = variant
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        n_estimators = check_whole_number("n_estimators", self.n_estimators, 1)
        check_weighting(self.weighting, check_choice("variant", self.variant, VARIANTS))
        check_choice("vote", self.vote, ("class", "probability"))
        if isinstance(self.estimator, list | tuple) and not self.estimator:
            raise ValueError("estimator must list at least one classifier; got an empty list.")
        check_choice("sampling", self.sampling, SAMPLINGS)
        if self.reset is not None:
            check_choice("reset", self.reset, ("out-of-bag", "training"))
        self._check_ensemble(n_estimators + 1)

    def _default_estimator(self) -> Any:
        return CARTClassifier(complexity=None)

    def _base_estimator(self) -> Any:
        return self._base_estimators()[0]

    def _base_estimators(self) -> Sequence[Any]:
        return self.estimator if isinstance(self.estimator, list | tuple) else [super()._base_estimator()]

    def _train(self, problem: Problem) -> Trained:
        bases, learner = self._base_estimators(), problem.learner
        for base in bases[1:]:
            check_base(base, "classifier")
            if not learner.fits(base):
                raise ValueError(
                    f"estimator lists {bases[0]} and {base}, which cannot share a table; FusedClassifier combines "
                    "classifiers of different kinds."
                )
        return train_kfhe(
            problem,
            self.n_estimators,
            learners=[learner, *map(learner.with_estimator, bases[1:])],
            weighting=self.weighting,
            vote=self.vote,
            sampling=self.sampling,
            reset=self.reset,
            variant=self.variant,
        )

    def staged_predict_proba(self, X: Any) -> Iterator[npt.NDArray[np.float64]]:
        """Predict class scores after the first classifier and after each measurement.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            Scores after each of the ``n_iter_ + 1`` classifiers; the last array is that of ``predict_proba``.
        """
        samples = prepare_samples(self, X)
        outputs = self._fused_.outputs_of_models(samples)
        estimate = clip_probabilities(next(outputs))
        yield estimate
        for gain, output in zip(self.gains_, outputs, strict=True):
            estimate = clip_probabilities((1.0 - gain / 2) * estimate + gain / 2 * output)
            yield estimate

    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Predict classes after the first classifier and after each measurement.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples,)
        """
        for scores in self.staged_predict_proba(X):
            yield self.classes_[self._choose(scores)]

    def plot_trace(self) -> Figure:
        """Plot gain, variance, measurement error and training error over the measurements.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, to display in a notebook or save with ``savefig``.
        """
        from fuselearn.ensembles.trace import draw_trace

        check_is_fitted(self)
        return draw_trace(self)
