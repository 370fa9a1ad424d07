"""AdaBoost.SAMME with resampling and weight resets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fuselearn._parameters import check_choice, check_whole_number
from fuselearn.ensembles.bags import SAMPLINGS
from fuselearn.ensembles.boosting import ArrayBoosted, BoostRun, boost
from fuselearn.ensembles.components import ComponentEnsemble, refuse_other_size
from fuselearn.ensembles.out_of_bag import read_scoring
from fuselearn.ensembles.table_classifier import TableClassifier
from fuselearn.sensors import Component, Sensor
from fuselearn.sensors.fusion import component_scores


class SAMMEClassifier(ComponentEnsemble, TableClassifier):
    """AdaBoost for several classes: each classifier is trained on samples that the previous ones got wrong.

    The t-th classifier is trained on a sample drawn with the sample weights w. With err the weight that it gets wrong
    and c classes,

        alpha = log((1 - err) / err) + log(c - 1),        w_i <- w_i exp(alpha [sample i is wrong]),

    and w, at first ``sample_weight``, is scaled to sum to one. The ensemble predicts the class with the largest sum of
    alpha over its votes; of equal ones, the class with most training samples. A classifier no better than guessing (err
    at least 1 - 1/c), or one without error, resets the weights and stays, with the alpha of an error just below
    guessing, or of 0.001.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Base learner: any scikit-learn classifier. None means ``CARTClassifier()``.
    n_estimators : int, default=100
        Number of classifiers.
    sampling : {"multinomial", "poisson"}, default="multinomial"
        How samples are drawn with replacement: as many as there are, or an independent Poisson number of copies of each
        sample, with which :mod:`fuselearn.dask` trains the same model on a cluster, and :mod:`fuselearn.disk` on files.
    oob_score : bool, str or callable, default=False
        Whether to score out-of-bag votes by accuracy; or the name of a scorer, a scorer or ``metric(y_true, y_pred)``.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by which sample weights are multiplied; "balanced" as in scikit-learn.
    warm_start : bool, default=False
        Whether ``fit`` adds to the classifiers of the call before, on the same data, as if all were fitted at once.
    callback : callable or None, default=None
        ``callback(number, classifier)`` is called after each classifier, counted from 1; True ends training.
    verbose : int, default=0
        1 prints ten lines of progress with the time left, more if the fit is long; 2 a line per classifier.
    random_state : int, RandomState or None, default=None
        Seed of the samples and of the base learners.
    n_jobs : int or None, default=None
        Threads for growing trees on large data and for prediction. Results do not depend on it.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        The classes; the number of features; their names, if fitted on a DataFrame whose column names are text.
    estimators_ : list of classifiers
    coefficients_ : array of shape (n_estimators,)
        alpha of each classifier.
    oob_score_, oob_decision_function_, oob_prediction_
        If ``oob_score`` is set: the score, shares of classes and classes of the votes by classifiers that have not seen
        a sample. Shares are NaN for samples that every classifier has seen.
    feature_importances_ : array of shape (n_features_in_,)
        Mean of the classifiers' importances, weighted by ``coefficients_``; if they have any, as trees do.
    estimator_errors_ : array of shape (n_estimators,)
        Weighted error of each classifier.
    resets_ : array of int
        Classifiers (counted from 1) after which the weights were reset.
    weights_ : array of shape (n_samples,)
        Final sample weights.

    See Also
    --------
    KFHEClassifier : A Kalman filter instead of weighted votes; less sensitive to wrong labels.
    BaggedClassifier : Equal votes of classifiers on bootstrap samples.
    sklearn.ensemble.AdaBoostClassifier : Boosting by sample weights, without resampling.

    Notes
    -----
    A tree without a split is drawn and grown again, up to 100 times.

    References
    ----------
    Zhu, J., Zou, H., Rosset, S. and Hastie, T. (2009). Multi-class AdaBoost. Statistics and Its Interface 2, 349-360.
    Alfaro, E., Gamez, M. and Garcia, N. (2013). adabag: An R package for classification with boosting and bagging.
    Journal of Statistical Software 54(2).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn import SAMMEClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> SAMMEClassifier(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    estimator_errors_: npt.NDArray[np.float64]
    resets_: npt.NDArray[np.int64]
    weights_: npt.NDArray[np.float64]
    _generator_: np.random.Generator

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        n_estimators: int = 100,
        *,
        sampling: str = "multinomial",
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
        self.sampling = sampling
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_choice("sampling", self.sampling, SAMPLINGS)
        self._check_ensemble(check_whole_number("n_estimators", self.n_estimators, 1), "_generator_")

    def _fit_sensor(
        self, sensor: Sensor, X: Any, weights: npt.NDArray[np.float64] | None, rng: np.random.Generator
    ) -> None:
        scorer, n_before = read_scoring(self.oob_score, "accuracy"), self._n_before
        initial = np.ones(sensor.n_rows) if weights is None else weights
        boosted, run = ArrayBoosted(sensor, initial, poisson=self.sampling == "poisson"), BoostRun()
        left_out: dict[int, npt.NDArray[np.intp]] = {}
        if n_before:
            refuse_other_size(len(self.weights_), sensor.n_rows)
            rng, boosted.weights = self._generator_, self.weights_
            run = BoostRun(
                list(self._components_),
                self.coefficients_.tolist(),
                self.estimator_errors_.tolist(),
                self.resets_.tolist(),
            )
        announce = self._announcer(self.n_estimators, n_before)

        def note(t: int, component: Component, **facts: float) -> bool:
            if scorer is not None:
                left_out[t - 1] = np.flatnonzero(boosted.counts == 0)
            return announce(t, component, **facts)

        boost(boosted, run, rng, self.n_estimators, sensor.n_classes, note)
        self.estimator_errors_ = np.array(run.errors)
        self.resets_ = np.array(run.resets, dtype=np.int64)
        self.weights_ = boosted.weights
        self.class_order_ = frequent_first(np.bincount(boosted.truth, minlength=sensor.n_classes))
        self._adopt(sensor, run.components, np.array(run.alphas), np.ones(len(run.components), dtype=bool))
        if scorer is not None:
            self._score_left_out(scorer, X, boosted.truth, left_out)
        if self.warm_start:
            self._generator_ = rng

    def _class_scores(self, X: Any) -> npt.NDArray[np.float64]:
        return super()._class_scores(X) / self.coefficients_.sum()

    def _choose(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
        return choose_frequent(scores, self.class_order_)

    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Predict classes with the first classifier, the first two, and so on.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        rows = self._read_rows(X)
        scores = np.zeros((rows.shape[0], len(self.classes_)))
        for component, alpha in zip(self._components_, self.coefficients_, strict=True):
            scores += alpha * component_scores(component, True, len(self.classes_), rows)
            yield self.classes_[self._choose(scores)]


def frequent_first(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
    """Order the classes by how many training samples they have, most first."""
    return np.argsort(-counts, kind="stable")


def choose_frequent(scores: npt.NDArray[np.float64], class_order: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Choose the class with the largest score; of equal ones, the one with most training samples."""
    return class_order[scores[:, class_order].argmax(axis=1)]
