"""Bagging: classifiers on bootstrap samples, random subspaces, or both."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fuselearn._fitting import fit_whole_or_not
from fuselearn._parameters import check_choice, check_whole_number
from fuselearn._random import make_generator
from fuselearn.engines.sampling import MOST_TRIES
from fuselearn.ensembles.bags import BagPlan, plan_bags
from fuselearn.ensembles.components import ComponentEnsemble, read_class_weights, refuse_other_size
from fuselearn.ensembles.out_of_bag import read_scoring
from fuselearn.ensembles.samme import choose_frequent, frequent_first
from fuselearn.sensors import Component, Sensor, TreeComponent
from fuselearn.sensors.fusion import component_scores


class Trained(NamedTuple):
    """A classifier, its features, the samples that it has not seen, and its scores for those, if wanted."""

    component: Component
    features: npt.NDArray[np.intp]
    left_out: npt.NDArray[np.intp]
    scores: npt.NDArray[np.float64]


class BaggedClassifier(ComponentEnsemble):
    """Equal votes of classifiers that are trained on random parts of the data.

    Each classifier sees randomly drawn samples (bagging), randomly drawn features (random subspaces), or both (random
    patches). With N draws from N samples, with replacement, a sample is left out with probability (1 - 1/N)^N, about
    1/e; its *out-of-bag* vote is that of the classifiers which have not seen it.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Base learner: any scikit-learn classifier. None means ``CARTClassifier()``.
    n_estimators : int, default=100
        Number of classifiers.
    max_samples : int or float, default=1.0
        Samples drawn for each classifier, as a number or as a share of all samples.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Features that each classifier sees, as a number, a share, or a root or logarithm of their number; None means
        all.
    bootstrap : bool, default=True
        Whether samples are drawn with replacement.
    vote : {"class", "probability"}, default="class"
        Whether classifiers vote with the class that they choose or with their class probabilities.
    oob_score : bool, str or callable, default=False
        Whether to compute the out-of-bag votes and their accuracy. Or another score: the name of a scorer of
        scikit-learn, such as ``"neg_log_loss"``, a scorer, or a metric ``metric(y_true, y_pred)``.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by which sample weights are multiplied. "balanced" means n_samples / (n_classes * number
        of samples of the class).
    warm_start : bool, default=False
        Whether ``fit`` keeps the classifiers of the call before and adds to them, on the same data. With an integer as
        ``random_state`` the result is that of a single ``fit``.
    callback : callable or None, default=None
        ``callback(number, classifier)`` is called after each classifier is trained, counted from 1. Training ends if it
        returns True.
    verbose : int, default=0
        1 prints ten lines of progress, 2 a line per classifier.
    random_state : int, RandomState or None, default=None
        Seed of the samples and of the base learners.
    n_jobs : int or None, default=None
        Classifiers trained at the same time. Results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        If fitted on a DataFrame whose column names are text.
    estimators_ : list of classifiers
        With random subspaces, scikit-learn classifiers other than trees expect the features in
        ``estimators_features_`` only.
    estimators_features_ : list of arrays
        Features of each classifier.
    coefficients_ : array of shape (n_estimators,)
        The same weight for all classifiers.
    oob_score_ : float
        Accuracy, or other score, of the out-of-bag votes, over the samples that have any.
    oob_decision_function_ : array of shape (n_samples, n_classes)
        Shares of the out-of-bag votes; NaN for samples that every classifier has seen.
    oob_prediction_ : array of shape (n_samples,)
        Classes with the largest share; the most frequent class for samples that every classifier has seen.
    feature_importances_ : array of shape (n_features_in_,)
        Mean of the classifiers' importances; if they have any, as trees do.

    See Also
    --------
    KFHEClassifier : Samples drawn by weights that a Kalman filter estimates.
    BaggedRegressor : The same for regression.
    sklearn.ensemble.BaggingClassifier : Bagging of scikit-learn.

    Notes
    -----
    As in adabag, a tree without a split is drawn and grown again, up to 100 times, and ties between votes go to the
    class with most training samples.

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

    _features_: npt.NDArray[np.intp]

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        n_estimators: int = 100,
        *,
        max_samples: int | float = 1.0,
        max_features: int | float | str | None = None,
        bootstrap: bool = True,
        vote: str = "class",
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
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.vote = vote
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_whole_or_not
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the ensemble.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_samples, n_features)
            With trees as base learners, category columns of a DataFrame and NaN need no encoding.
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,), optional
            Chances of the samples to be drawn.

        Returns
        -------
        BaggedClassifier
            Fitted estimator.
        """
        n_estimators = check_whole_number("n_estimators", self.n_estimators, 1)
        check_choice("vote", self.vote, ("class", "probability"))
        scorer = read_scoring(self.oob_score, "accuracy")
        n_before = self._check_warm_start(n_estimators)
        sensor, truth = self._bind(X, y)
        plan = plan_bags(
            X,
            sensor.n_rows,
            self.n_features_in_,
            max_samples=self.max_samples,
            max_features=self.max_features,
            bootstrap=self.bootstrap,
            sample_weight=read_class_weights(self.class_weight, sample_weight, X, self.classes_[truth]),
        )
        if scorer is not None and not plan.leaves_rows_out:
            raise ValueError("oob_score needs samples to be left out: set bootstrap=True or max_samples below 1.")

        components = list(self._components_) if n_before else []
        features = list(self._features_) if n_before else []
        votes = vars(self).get("_oob_votes_", np.zeros((sensor.n_rows, sensor.n_classes)))
        refuse_other_size(len(votes), sensor.n_rows)
        out_of_bag = None if scorer is None else self.vote
        seeds = make_generator(self.random_state).integers(2**63, size=n_estimators)[n_before:]
        sensor.learner.n_threads = 1  # components are trained side by side instead
        trained = Parallel(n_jobs=self.n_jobs, prefer=sensor.learner.prefer, return_as="generator")(
            delayed(_train_one)(sensor, plan, out_of_bag, seed) for seed in seeds
        )
        for part in trained:
            components.append(part.component)
            features.append(part.features)
            votes[part.left_out] += part.scores
            if self._announce(len(components), n_estimators, part.component):
                with warnings.catch_warnings():  # joblib counts the tasks that are given up
                    warnings.simplefilter("ignore", UserWarning)
                    trained.close()
                break
        self._features_ = np.array(features)
        self.class_order_ = frequent_first(truth, sensor.n_classes)
        coefficients = np.full(len(components), 1.0 / len(components))
        self._adopt(sensor, components, coefficients, np.full(len(components), self.vote == "class"))
        if scorer is not None:
            self._keep_out_of_bag(scorer, votes, truth)
        if scorer is not None and self.warm_start:
            self._oob_votes_ = votes
        return self

    @property
    def estimators_features_(self) -> list[npt.NDArray[np.intp]]:
        """Features of each classifier."""
        check_is_fitted(self)
        return list(self._features_)

    def _choose(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
        return choose_frequent(scores, self.class_order_)


def _train_one(sensor: Sensor, plan: BagPlan, out_of_bag: str | None, seed: int) -> Trained:
    """Draw rows and columns and train one classifier; draw again while it is a tree without a split."""
    rng = np.random.default_rng(seed)
    for _ in range(MOST_TRIES):
        features, counts = plan.draw_features(rng), plan.draw_counts(rng)
        component = sensor.measure(
            counts, int(rng.integers(2**31)), features=None if len(features) == plan.n_columns else features
        )
        if not isinstance(component, TreeComponent) or component.tree.n_leaves > 1:
            break
    left_out, scores = np.flatnonzero(counts == 0), np.zeros((1, sensor.n_classes))
    if out_of_bag is not None:
        scores = component_scores(component, out_of_bag == "class", sensor.n_classes)[left_out]
    component.unbind()  # or the training data would travel back from a worker process with each component
    return Trained(component, features, left_out, scores)
