"""AdaBoost.SAMME with resampling and weight resets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator

from fuselearn._parameters import check_choice
from fuselearn.ensembles.bagging import SAMPLINGS
from fuselearn.ensembles.boosting import BoostedClassifier, SAMMEWeights, train_boosting
from fuselearn.fusion import Problem, Trained


def train_samme(problem: Problem, n_estimators: int = 100, *, sampling: str = "multinomial") -> Trained:
    """Train AdaBoost.SAMME; the parameters are those of :class:`SAMMEClassifier`."""
    return train_boosting(problem, n_estimators, SAMMEWeights(problem, poisson=sampling == "poisson"))


class SAMMEClassifier(BoostedClassifier):
    """AdaBoost for several classes: each classifier is trained on samples that the previous ones got wrong.

    The t-th classifier is trained on a sample drawn with the sample weights w. With err the weight that it gets wrong
    and c classes, ::

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
        How samples are drawn with replacement: as many as there are, or an independent Poisson number of copies of
        each, with that number as the expected sum. The second way does not depend on where samples are kept, see
        :class:`fuselearn.scale.DaskEnsemble`.
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
    estimator_weights_ : array of shape (n_estimators,)
        alpha of each classifier.
    oob_score_, oob_decision_function_, oob_prediction_
        If ``oob_score`` is set: the score, shares of classes and classes of the votes by classifiers that have not seen
        a sample. Shares are NaN for samples that every classifier has seen.
    feature_importances_ : array of shape (n_features,)
        Mean of the classifiers' importances, weighted by ``estimator_weights_``; if they have any, as trees do.
    estimator_errors_ : array of shape (n_estimators,)
        Weighted error of each classifier.
    resets_ : array of int
        Classifiers (counted from 1) after which the weights were reset.
    sample_weights_ : array of shape (n_samples,)
        Final sample weights.

    See Also
    --------
    KFHEClassifier : A Kalman filter instead of weighted votes; less sensitive to wrong labels.
    MadaBoostClassifier, BrownBoostClassifier : Boosting with bounds on the weights of samples.
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
        super()._check_parameters()

    def _train(self, problem: Problem) -> Trained:
        return train_samme(problem, self.n_estimators, sampling=self.sampling)
