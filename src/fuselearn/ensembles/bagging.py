"""Bagging: classifiers on bootstrap samples, random subspaces, or both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fuselearn._parameters import check_choice, check_whole_number
from fuselearn.ensembles.bag_training import BagTraining
from fuselearn.ensembles.bags import BagPlan, plan_bags
from fuselearn.ensembles.components import ComponentEnsemble
from fuselearn.ensembles.table_classifier import TableClassifier


class BaggedClassifier(BagTraining, ComponentEnsemble, TableClassifier):
    """Equal votes of classifiers that are trained on random parts of the data.

    Each classifier sees randomly drawn samples (bagging), randomly drawn features (random subspaces), or both (random
    patches). Samples of more weight are drawn more often. With N draws from N samples, with replacement, a sample is
    left out with probability (1 - 1/N)^N, about 1/e; its *out-of-bag* vote is that of the classifiers which have not
    seen it.

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
        Whether samples are drawn with replacement. If not, and ``max_samples`` is 1.0, all classifiers learn from all
        samples, by their weights.
    sampling : {"multinomial", "poisson"}, default="multinomial"
        How samples are drawn with replacement: a fixed number of them, or an independent Poisson number of copies of
        each, with that number as the expected sum. The second way does not depend on where samples are kept, see
        :class:`fuselearn.dask.DaskBaggedClassifier`.
    vote : {"class", "probability"}, default="class"
        Whether classifiers vote with the class that they choose or with their class probabilities.
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
        Classifiers trained at the same time. Results do not depend on it.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        The classes; the number of features; their names, if fitted on a DataFrame whose column names are text.
    estimators_ : list of classifiers
        With random subspaces, scikit-learn classifiers other than trees expect the features in
        ``estimators_features_`` only.
    estimators_features_ : list of arrays
        Features of each classifier.
    coefficients_ : array of shape (n_estimators,)
        The same weight for all classifiers.
    oob_score_, oob_decision_function_, oob_prediction_
        If ``oob_score`` is set: the score, shares of classes and classes of the votes by classifiers that have not seen
        a sample. Shares are NaN for samples that every classifier has seen.
    feature_importances_ : array of shape (n_features,)
        Mean of the classifiers' importances; if they have any, as trees do.

    See Also
    --------
    ForestClassifier : Random forests and extremely randomised trees.
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
        check_choice("vote", self.vote, ("class", "probability"))
        self._check_ensemble(check_whole_number("n_estimators", self.n_estimators, 1))

    def _plan_bags(self, n_samples: int, weights: npt.NDArray[np.float64] | None, *, leave_out: bool) -> BagPlan:
        return plan_bags(
            (n_samples, self.n_features_in_),
            weights,
            max_samples=self.max_samples,
            bootstrap=self.bootstrap,
            max_features=self.max_features,
            leave_out=leave_out,
            sampling=self.sampling,
        )
