"""KFHE: the Kalman filter-based heuristic ensemble of classifiers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from fuselearn._parameters import check_choice, check_whole_number
from fuselearn._validation import clip_probabilities
from fuselearn.engines.draws import MOST_TRIES, draw_covering_poisson_counts
from fuselearn.engines.exact import exact_sum, sum_units
from fuselearn.engines.filters import WEIGHTINGS, compare_votes, compare_votes_in_units
from fuselearn.ensembles.bags import SAMPLINGS
from fuselearn.ensembles.cart import CARTClassifier
from fuselearn.ensembles.components import (
    ComponentEnsemble,
    error_of_guessing,
)
from fuselearn.ensembles.filtering import (
    Errors,
    FilterRun,
    FilterTrace,
    Measurement,
    Scores,
    Truth,
    closed_form_coefficients,
    train_kfhe,
)
from fuselearn.ensembles.out_of_bag import read_scoring
from fuselearn.ensembles.table_classifier import TableClassifier
from fuselearn.fusion import Halfway
from fuselearn.learners import Component, Sensor, are_counts, draw_covering_counts
from fuselearn.learners.fusion import component_scores


@dataclass(frozen=True)
class ClassTruth(Truth):
    """The true classes of the training samples: the largest score, the first of equal ones, should be theirs."""

    classes: npt.NDArray[np.int32]
    vote: str

    def losses(self, scores: Scores) -> npt.NDArray[np.bool_]:
        """Return which samples are wrong."""
        return scores.argmax(axis=1) != self.classes

    def measure(self, y: Scores, h: Component) -> Measurement:
        """Compute the measurement z of a model, which counts with its votes or with its scores."""
        if self.vote == "probability":
            return super().measure(y, h)
        votes = h.votes()
        wrong, errors = compare_votes(y, votes, self.classes, self.shares, is_exact=self.is_exact)
        return Measurement(Halfway(votes), wrong, Errors(*errors))


class Compared(NamedTuple):
    """A measurement, with sums that are exact, see `engines.exact`."""

    z: Scores | Halfway
    loss: npt.NDArray[np.bool_]
    units: tuple[int, int, int]
    """Sums of the shares of the samples where z, the model and the estimate are wrong."""


@dataclass(frozen=True)
class ExactClassTruth(ClassTruth):
    """The same with exact sums, which do not depend on the order or on where samples are kept."""

    is_exact = True

    def mean(self, loss: npt.NDArray[Any]) -> float:
        """Return the share of wrong samples."""
        return exact_sum(self.shares[loss])

    def compare(self, y: Scores, h: Any) -> Compared:
        """Compute the measurement z of a model, and the sums of the shares of what is wrong."""
        if self.vote == "class":
            votes = h.votes()
            wrong, units = compare_votes_in_units(y, votes, self.classes, self.shares)
            return Compared(Halfway(votes), wrong, units)
        scores = h.scores()
        z = 0.5 * (y + scores)
        wrong = self.losses(z)
        return Compared(z, wrong, (self.units(wrong), self.units(self.losses(scores)), self.units(self.losses(y))))

    def units(self, wrong: npt.NDArray[np.bool_]) -> int:
        """Sum up the shares of some samples."""
        return sum_units(self.shares[wrong])


class KFHEClassifier(FilterTrace, ComponentEnsemble, TableClassifier):
    """An ensemble in which a Kalman filter fuses classifiers, each a noisy measurement of the ideal one.

    With y the estimate of the training samples' class scores, P its variance and h_t the t-th classifier, ::

        measurement     z = (y + h_t) / 2,         with error   R = share of samples where argmax z is wrong
        gain            K = P / (P + R)
        estimate        y <- y + K (z - y),        variance     P <- (1 - K) P

    The sample for h_t is drawn with sample weights w that a second filter estimates in the same way, from measurements
    in which wrong samples count more. Training ends early once K is 0: then nothing is left to learn. Since the
    estimate is linear in the classifiers, the trained ensemble is a weighted sum of them, with ``coefficients_``. The
    weights w start as ``sample_weight``, by which errors are weighted, too.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Base learner: any scikit-learn classifier. None means an unpruned tree, ``CARTClassifier(complexity=-1)``.
    n_estimators : int, default=100
        Most classifiers to train after the first one, which is trained on all samples.
    weighting : {"exponential", "linear", "symmetric"}, default="exponential"
        How wrong samples gain weight: KFHE-e multiplies their weight by e, KFHE-l adds it to the initial weight,
        and loses less to wrong labels: in the paper's experiments .025 of macro F1 at 20 % instead of .058, but it has
        .007 less without them. "symmetric", of the authors' program of 2018, also divides the weights of right samples
        by e.
    vote : {"class", "probability"}, default="class"
        Whether a classifier's measurement is the class that it chooses or its class probabilities. The first
        classifier always gives probabilities.
    sampling : {"multinomial", "poisson"}, default="multinomial"
        How samples are drawn with replacement: as many as there are, or an independent Poisson number of copies of
        each, with that number as the expected sum. The second way does not depend on where samples are kept, see
        :class:`fuselearn.dask.DaskKFHEClassifier`; unless sample weights are whole numbers, the first classifier is
        then trained on such a sample, too.
    reset : bool, default=True
        Whether a classifier no better than guessing (error of at least 1 - 1/n_classes) is thrown away, once, and
        replaced by one drawn with the initial weights.
    oob_score : bool, str or callable, default=False
        Whether to score out-of-bag votes by accuracy; or the name of a scorer, a scorer or ``metric(y_true, y_pred)``.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by which sample weights are multiplied; "balanced" as in scikit-learn.
    warm_start : bool, default=False
        Whether ``fit`` adds to the classifiers of the call before, on the same data, as if all were fitted at once.
    callback : callable or None, default=None
        ``callback(number, classifier)`` is called after each classifier, counted from 1; True ends training.
    verbose : int, default=0
        1 prints ten lines of progress with the error, the gain and the time left, more if the fit is long; 2 a line per
        classifier.
    random_state : int, RandomState or None, default=None
        Seed of the samples and of the base learners.
    n_jobs : int or None, default=None
        Threads for growing trees on large data and for prediction. Results do not depend on it.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        The classes; the number of features; their names, if fitted on a DataFrame whose column names are text.
    estimators_ : list of classifiers
        The first one and ``n_iter_`` others.
    n_iter_ : int
        Measurements made.
    gains_, variances_, measurement_errors_ : array of shape (n_iter,)
        Gain K, variance P and error R of each measurement.
    train_errors_ : array of shape (n_iter + 1,)
        Share of wrong training samples of the estimate, from the first classifier on.
    resets_ : array of int
        Measurements (counted from 1) before which the weights were reset.
    weights_ : array of shape (n_samples,)
        Final sample weights; they are large for samples that the ensemble fits worst.
    coefficients_ : array of shape (n_iter + 1,)
        Weight of each classifier in the ensemble; they sum to 1.
    oob_score_, oob_decision_function_, oob_prediction_
        If ``oob_score`` is set: the score, shares of classes and classes of the votes by classifiers that have not seen
        a sample. Shares are NaN for samples that every classifier has seen.
    feature_importances_ : array of shape (n_features,)
        Mean of the classifiers' importances, weighted by ``coefficients_``; if they have any, as trees do.

    See Also
    --------
    SAMMEClassifier : Boosting: weighted votes instead of a Kalman filter.
    BaggedClassifier : Equal votes of classifiers on bootstrap samples.
    fuselearn.multilabel.KFHEMultilabelClassifier : The same filters for several labels per sample.

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

    _run_: FilterRun

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        n_estimators: int = 100,
        *,
        weighting: str = "exponential",
        vote: str = "class",
        sampling: str = "multinomial",
        reset: bool = True,
        oob_score: bool | str | Callable[..., float] = False,
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
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _default_estimator(self) -> CARTClassifier:
        return CARTClassifier(complexity=-1.0)

    def _check_parameters(self) -> None:
        n_estimators = check_whole_number("n_estimators", self.n_estimators, 1)
        check_choice("weighting", self.weighting, WEIGHTINGS)
        check_choice("vote", self.vote, ("class", "probability"))
        check_choice("sampling", self.sampling, SAMPLINGS)
        self._check_ensemble(n_estimators + 1, "_run_")

    def _fit_sensor(self, sensor: Sensor, X: Any, weights: Scores | None, rng: np.random.Generator) -> None:
        scorer, n_before = read_scoring(self.oob_score, "accuracy"), self._n_before
        shares = np.ones(sensor.n_rows) if weights is None else weights
        classes = sensor.target.numbers
        poisson = self.sampling == "poisson"
        if poisson:
            truth: ClassTruth = ExactClassTruth(shares / exact_sum(shares), classes, self.vote)
        else:
            truth = ClassTruth(shares / shares.sum(), classes, self.vote)
        seeds = rng.integers(2**62, size=self.n_estimators + 1).tolist()
        left_out: dict[int, npt.NDArray[np.intp]] = {}

        def draw(weights: Scores, seed: int) -> npt.NDArray[np.int32]:
            if poisson:
                return draw_covering_poisson_counts(
                    seed, sensor.n_rows * weights, classes, sensor.n_classes, MOST_TRIES
                )
            return draw_covering_counts(seed, weights, sensor.n_rows, classes, sensor.n_classes, MOST_TRIES)

        def train(weights: Scores, seed: int) -> Component:
            counts = draw(weights, seed)
            h = sensor.measure(counts, seed)
            if scorer is not None:
                left_out[id(h)] = np.flatnonzero(counts == 0)
            return h

        def train_first() -> Component:
            if poisson and weights is not None and not are_counts(weights):
                return sensor.measure(draw(truth.shares, seeds[0]), seeds[0])
            return sensor.measure_all(weights, seeds[0])

        run = train_kfhe(
            self._earlier_run(sensor.n_rows) if n_before else train_first(),
            train,
            truth,
            seeds[max(1, n_before) :],
            weighting=self.weighting,
            guessing_error=error_of_guessing(sensor.n_classes) if self.reset else math.inf,
            announce=self._announcer(self.n_estimators, max(0, n_before - 1)),
        )
        self._keep_trace(run, truth.error(run.kf_m.state))
        by_class = np.full(len(run.models), self.vote == "class")
        by_class[0] = False
        self._adopt(sensor.learner, run.models, closed_form_coefficients(self.gains_), by_class)
        if scorer is not None:
            positions = {t: left_out[id(h)] for t, h in enumerate(run.models) if id(h) in left_out}
            self._score_left_out(scorer, X, classes, positions)
        if self.warm_start:
            self._run_ = replace(run, models=[])

    def staged_predict_proba(self, X: Any) -> Iterator[npt.NDArray[np.float64]]:
        """Predict class scores after the first classifier and after each measurement.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            In all ``n_iter_ + 1`` of them; the last one is what ``predict_proba`` gives.
        """
        rows = self._read_rows(X)
        n_classes = len(self.classes_)
        estimate = clip_probabilities(self._components_[0].scores(rows))
        yield estimate
        for component, gain in zip(self._components_[1:], self.gains_, strict=True):
            h = component_scores(component, self.vote == "class", n_classes, rows)
            estimate = clip_probabilities((1.0 - gain / 2) * estimate + gain / 2 * h)
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
