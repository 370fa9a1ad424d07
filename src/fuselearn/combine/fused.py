"""The fused classifier: many kinds of sensors, weighed by the errors that they make on samples they have not seen."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from fuselearn._extras import require
from fuselearn._parameters import check_number, check_verbose, check_whole_number
from fuselearn._progress import ProgressLines
from fuselearn._random import make_generator
from fuselearn.combine import measuring
from fuselearn.combine.answers import Classes
from fuselearn.combine.ensemble import MemberEnsemble, TrainingData, Weights
from fuselearn.combine.members import Member
from fuselearn.combine.out_of_fold import OutOfFold, Splits, answer_out_of_fold, make_splits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_FOLDS = 4
# A sensor with less than this share of the weight is not worth its time in every prediction.
LEAST_WEIGHT = 0.01


class FusedClassifier(ClassifierMixin, MemberEnsemble):
    """The classifier to pick when labels may be wrong: many kinds of sensors, fused by their measured errors.

    A trained classifier is a noisy measurement of the ideal one, and no kind of classifier is the best at every rate of
    wrong labels: boosting does well on clean labels, forests with large leaves on noisy ones. Each sensor is measured
    on samples that it has not seen, by folds. Its probabilities p_k are calibrated by an exponent a_k, and the mean
    squared error R_k of the result is the variance of its measurement::

        p(x) = sum_k w_k q_k(x),   q_k proportional to p_k^(a_k),   w_k proportional to exp(-(R_k - R_min) / tolerance)

    The sensors that count are then fitted to all samples. Held-out labels are as noisy as the others. If wrong labels
    are spread evenly over the samples, the sensors have the same order on them as on the correct ones. But p fits noisy
    labels, and is too even for the correct ones: the probabilities predicted are proportional to p^b. The exponent b
    and the share of wrong labels are estimated together, from how often labels differ where p is nearly certain.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimators : list of (name, classifier) or (name, classifier, columns), default=None
        The sensors: any classifiers; one without ``predict_proba`` counts with its votes. None means two kinds of KFHE,
        boosting, bagging, two random forests, two forests of extremely randomised trees and, for tables of up to 5,000
        samples without missing values, support vector machines with a radial and a linear kernel.
    n_components : int, default=50
        Trees of each ensemble, if ``estimators`` is None.
    tolerance : float, default=0.01
        By how much the squared error of a sensor may exceed the smallest one before its weight falls by a factor of e.
        A small tolerance takes the best sensor alone, a large one the mean of all.
    cv : int, splitter or iterable of splits, default=None
        How samples are held out; None means four folds.
    verbose : int, default=0
        1 prints a line after the measurement of each sensor, with the time left.
    random_state : int, RandomState or None, default=None
        Seed of the folds and of the default sensors. Sensors that are passed keep their own.
    n_jobs : int or None, default=None
        Sensors fitted at the same time, in threads.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    sensors_ : list of SensorReport
        Weight, error, accuracy, exponent and time of each sensor.
    held_out_proba_ : array of shape (n_samples, n_classes)
        Fused probabilities p of the given labels of the training samples, by sensors that have not seen them; NaN for
        samples that ``cv`` never holds out.
    noise_rate_ : float
        Estimated share of wrong labels, as far as they are spread evenly.
    estimators_ : list of classifiers
        The sensors that count, fitted to all samples.
    named_estimators_ : Bunch
        The same by name.
    weights_ : array of shape (n_counting,)
        Their weights, which sum to one.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        If fitted on a DataFrame whose column names are text.

    See Also
    --------
    fuselearn.KFHEClassifier : One of the sensors: the Kalman filter over trees.
    LinearStackingClassifier : Weights that minimise a loss of the sum.
    EnsembleSelection : A choice of members, one at a time.

    Notes
    -----
    A Kalman filter that takes in several measurements of one state at once weighs them by 1 / R_k if their errors are
    independent. Those of classifiers that learn from the same samples are not: a second forest adds little to the first
    one. A rule that is sharper than 1 / R_k drops the sensors that only add errors.

    A sensor that cannot be fitted is left out with a warning.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from fuselearn import FusedClassifier
    >>> from fuselearn.datasets import corrupt_labels
    >>> X, y = load_wine(return_X_y=True)
    >>> fused = FusedClassifier(n_components=10, random_state=0).fit(X, corrupt_labels(y, 0.2, random_state=0))
    >>> bool(fused.score(X, y) > 0.9)
    True
    """

    prefit = False
    _classes_: Classes
    _nouns = ("classifier", "classifier")
    _keeps_all = False
    _prefer = "threads"

    def __init__(
        self,
        estimators: Sequence[tuple[Any, ...]] | None = None,
        *,
        n_components: int = 50,
        tolerance: float = 0.01,
        cv: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators  # type: ignore[assignment]
        self.n_components = n_components
        self.tolerance = tolerance
        self.cv = cv
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        """Return the tags: the default sensors take gaps and sparse data, and no sensor several labels per sample."""
        tags = super().__sklearn_tags__()
        if self.estimators is None:
            tags.input_tags.allow_nan = tags.input_tags.sparse = True
        tags.target_tags.multi_output = tags.classifier_tags.multi_label = False
        return tags

    def hold_out(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Weights:
        """Compute ``held_out_proba_`` alone, without a fit to all samples.

        Parameters
        ----------
        X, y, sample_weight, groups
            As for ``fit``.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Fused probabilities from sensors that have not seen the samples; NaN for samples never held out.
        """
        twin = clone(self)
        twin._weigh(twin._read_data(X, y, sample_weight, groups))
        probabilities: Weights = twin.held_out_proba_
        return probabilities

    def describe(self) -> str:
        """Return a table of the sensors, the best one first, and the estimated share of wrong labels.

        Returns
        -------
        str
        """
        check_is_fitted(self)
        width = max(len(report.name) for report in self.sensors_)
        lines = [f"{'sensor'.ljust(width)}  weight  squared error  accuracy  seconds"]
        lines += [
            f"{r.name.ljust(width)}  {r.weight:6.3f}  {r.error:13.4f}  {r.accuracy:8.4f}  {r.seconds:7.2f}"
            for r in self.sensors_
        ]
        return "\n".join([*lines, f"about {self.noise_rate_:.0%} of the labels seem to be wrong"])

    def plot_sensors(self) -> Figure:
        """Draw the weight of each sensor beside its error.

        Returns
        -------
        matplotlib.figure.Figure
        """
        check_is_fitted(self)
        require("A figure", "matplotlib")
        from matplotlib.figure import Figure

        names = [report.name for report in self.sensors_]
        figure = Figure(figsize=(7.0, 1.2 + 0.3 * len(names)), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        left.barh(names, [report.weight for report in self.sensors_], color="#1f77b4")
        left.set_xlabel("weight")
        left.invert_yaxis()
        right.plot([report.error for report in self.sensors_], names, "o", color="#444444")
        right.set_xlabel("mean squared error, held-out samples")
        for axes in (left, right):
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(axis="x", alpha=0.3)
        return figure

    def _read_members(self) -> list[Member]:
        if self.estimators is not None:
            return super()._read_members()
        n_components = check_whole_number("n_components", self.n_components, 1)
        seed = int(make_generator(self.random_state).integers(2**31))
        return [Member(*one) for one in measuring.default_sensors(n_components, seed)]

    def _check_settings(self, members: list[Member]) -> None:
        if check_number("tolerance", self.tolerance, 0) == 0:
            raise ValueError("tolerance must be above 0; a small one takes the best sensor alone.")
        check_verbose(self.verbose)

    def _weigh(self, data: TrainingData) -> Weights:
        """Measure the sensors on held-out samples, calibrate and weigh them; keep what is known of each."""
        if self._classes_.n_labels is not None:
            raise ValueError("FusedClassifier takes one class per sample; for several labels see fuselearn.multilabel.")
        numbers = self._classes_.encode(data.target)
        splits = self._make_splits(data, numbers)
        sensors = data.members
        if self.estimators is None:
            sensors = measuring.suitable(sensors, data.X)
        measuring_all = Parallel(n_jobs=self.n_jobs, prefer=self._prefer, return_as="generator")(
            delayed(_measure)(sensor, data, self._classes_, splits) for sensor in sensors
        )
        progress = ProgressLines(type(self).__name__, self.verbose, len(sensors), noun="sensors measured")
        working = _leave_out_failures(sensors, list(progress.follow(measuring_all)))
        rows = working[0].held_out.rows
        truth, weights = numbers[rows], None if data.weights is None else data.weights[rows]
        exponents = [measuring.best_exponent(one.held_out.answers[0], truth, weights) for one in working]
        scores = np.stack(
            [measuring.sharpen(one.held_out.answers[0], a) for one, a in zip(working, exponents, strict=True)]
        )
        errors = np.array([measuring.squared_error(score, truth, weights) for score in scores])
        shares = measuring.weigh_sensors(errors, self.tolerance, LEAST_WEIGHT)
        accuracies = [accuracy_score(truth, score.argmax(axis=1), sample_weight=weights) for score in scores]
        reports = [
            measuring.SensorReport(one.sensor.name, share, error, accuracy, exponent, one.seconds)
            for one, share, error, accuracy, exponent in zip(
                working, shares.tolist(), errors.tolist(), accuracies, exponents, strict=True
            )
        ]
        self.sensors_ = sorted(reports, key=lambda report: report.error)
        self.held_out_proba_ = np.full((len(numbers), len(self._classes_.values)), np.nan)
        self.held_out_proba_[rows] = fused = np.tensordot(shares, scores, axes=1)
        self._sharpness_, self.noise_rate_ = measuring.separate_noise(fused, truth, weights)
        self._exponents_ = np.array([report.exponent for report in reports if report.weight > 0])
        weight_of = {report.name: report.weight for report in reports}
        return np.array([weight_of.get(member.name, 0.0) for member in data.members])

    def _make_splits(self, data: TrainingData, numbers: npt.NDArray[np.intp]) -> Splits:
        if self.cv is not None and not isinstance(self.cv, int | np.integer):
            return make_splits(self.cv, data.X, numbers, data.groups, classifier=True)
        n_folds = N_FOLDS if self.cv is None else check_whole_number("cv", self.cv, 2)
        folds = measuring.deal_folds(numbers, n_folds, make_generator(self.random_state))
        splits = [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in np.unique(folds)]
        # Without its only samples of a class, a table may have too few classes to learn from.
        splits = [(inside, outside) for inside, outside in splits if len(np.unique(numbers[inside])) > 1]
        if not splits:
            raise ValueError("The sensors cannot be measured: no part of the samples has two classes to learn from.")
        return splits

    def _answer(self, model: Any, X: Any) -> Weights:
        return ask_sensor(model, X, self._classes_)

    def _combine(self, X: Any) -> Weights:
        """Sum the sensors' calibrated probabilities times their weights, and correct the sum for wrong labels."""
        calibrated = [measuring.sharpen(answer, a) for answer, a in zip(self._ask(X), self._exponents_, strict=True)]
        return measuring.sharpen(np.tensordot(self.weights_, np.stack(calibrated), axes=1), self._sharpness_)


class Measured(NamedTuple):
    """A sensor, its answers about held-out samples, and the time that they took."""

    sensor: Member
    held_out: OutOfFold
    seconds: float


def ask_sensor(model: Any, X: Any, classes: Classes) -> Weights:
    """Return a model's probabilities or, if it has none, its votes."""
    return classes.probabilities(model, X) if hasattr(model, "predict_proba") else classes.votes(model, X)


def _measure(sensor: Member, data: TrainingData, classes: Classes, splits: Splits) -> Measured | Exception:
    """Ask a sensor about held-out samples; an error is returned, since other sensors may do better."""
    started = time.perf_counter()
    try:
        held_out = answer_out_of_fold(
            [sensor], data.X, data.target, lambda model, X: ask_sensor(model, X, classes), splits
        )
        if not np.isfinite(held_out.answers).all():
            raise ValueError("its probabilities are not finite")
    except Exception as error:  # whatever a foreign classifier raises
        return error
    return Measured(sensor, held_out, time.perf_counter() - started)


def _leave_out_failures(sensors: list[Member], measured: list[Measured | Exception]) -> list[Measured]:
    """Return what could be measured, and warn of the other sensors; raise the first error if nothing is left."""
    failures = [(s.name, found) for s, found in zip(sensors, measured, strict=True) if isinstance(found, Exception)]
    if len(failures) == len(sensors):
        raise failures[0][1]
    for name, error in failures:
        reason = str(error).rstrip(".")
        warnings.warn(f"The sensor {name!r} is left out: it cannot be fitted ({reason}).", UserWarning, stacklevel=4)
    return [found for found in measured if not isinstance(found, Exception)]
