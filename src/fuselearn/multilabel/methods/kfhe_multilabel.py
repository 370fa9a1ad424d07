"""KFHE for multi-label data: a Kalman filter that fuses multi-label classifiers of any kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.base import BaseEstimator, is_classifier

from fuselearn._messages import show
from fuselearn.fusion import Problem, Trained
from fuselearn.learners import Learner
from fuselearn.learners.multilabel_clones import MultilabelClone, MultilabelCloneLearner
from fuselearn.multilabel.ensemble import MultilabelEnsemble
from fuselearn.multilabel.filtering import train_filtered
from fuselearn.multilabel.methods.pct_forest import PCTForestClassifier


class KFHEMultilabelClassifier(MultilabelEnsemble):
    """An ensemble in which a Kalman filter fuses multi-label classifiers, each a noisy measurement of the ideal one.

    With y the estimate of the training samples' label scores, P its variance and h_t the t-th classifier, ::

        measurement     z = (y + h_t) / 2,         with error   R = Hamming loss of z > 0.5
        gain            K = P / (P + R)
        estimate        y <- y + K (z - y),        variance     P <- (1 - K) P

    The sample for h_t is drawn with sample weights w that a second filter estimates in the same way, from measurements
    in which a sample with the fraction l_i of wrong labels weighs w_i exp(l_i + 1/n).

    Parameters
    ----------
    estimator : classifier or None, default=None
        Any multi-label classifier with ``fit`` and ``predict_proba``: chains, label powersets, trees and forests of
        scikit-learn, ``MultiOutputClassifier``. None means a tree that splits for all labels at once and takes category
        columns and missing values,
        ``PCTForestClassifier(1, bootstrap=False, max_features=None, min_samples_split=20)``.
    n_estimators : int, default=100
        Maximum number of classifiers to train after the first one, which is trained on all samples.
    max_samples : int or float, default=2.0
        Samples drawn for each classifier, as a number or as a multiple of all samples.
    weighting : {"exponential", "linear", "symmetric"}, default="exponential"
        How wrong samples gain weight.
    reset : bool, default=True
        Whether a classifier no better than guessing (Hamming loss of at least 0.5) is discarded, once, and replaced
        by one drawn with the initial weights.
    decision : float, str or rule, default=0.5
        How probabilities become labels: a threshold, or another rule of :mod:`fuselearn.multilabel.decisions`. Rules
        that are fitted use out-of-bag scores.
    callback : callable or None, default=None
        ``callback(number, classifier)`` is called after each member, counted from 1; True ends training.
    verbose : int, default=0
        1 prints ten lines of progress with the error, the gain and the time left, more if the fit is long; 2 a line per
        classifier.
    random_state : int, RandomState or None, default=None
        Seed of the samples and of the base estimators.
    n_jobs : int or None, default=None
        Threads for prediction. Results do not depend on it.

    Attributes
    ----------
    oob_decision_function_ : array of shape (n_samples, n_labels)
        Scores of the training samples by the classifiers that were not trained on them, NaN if all have; if
        ``decision`` is a rule that is fitted.
    estimators_ : list of classifiers
        The first one and ``n_iter_`` others. They know the labels that were not constant in their sample.
    estimator_weights_ : array of shape (n_iter + 1,)
        Weight of each classifier in the ensemble; they sum to 1.
    train_errors_ : array of shape (n_iter + 1,)
        Hamming loss of the estimate on the training samples, from the first classifier on.
    n_iter_, gains_, variances_, measurement_errors_, resets_, sample_weights_
        The trace of the filters, as in :class:`~fuselearn.KFHEClassifier`.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels, and 0 and 1 for each; number of the features, and their names if they have any.

    See Also
    --------
    KFHEHOMERClassifier : The same filters with HOMERs.
    fuselearn.KFHEClassifier : The same filters for one class per sample.

    References
    ----------
    Pakrashi, A. and Mac Namee, B. (2019). KFHE-HOMER. arXiv 1904.10552.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.multioutput import ClassifierChain
    >>> from sklearn.metrics import f1_score
    >>> from fuselearn.multilabel import KFHEMultilabelClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> chains = ClassifierChain(LogisticRegression(), order="random")
    >>> model = KFHEMultilabelClassifier(chains, n_estimators=10, random_state=0).fit(X[:150], Y[:150])
    >>> round(f1_score(Y[150:], model.predict(X[150:]), average="macro"), 1)
    0.7
    """

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        n_estimators: int = 100,
        *,
        max_samples: int | float = 2.0,
        weighting: str = "exponential",
        reset: bool = True,
        decision: Any = 0.5,
        callback: Callable[[int, Any], Any] | None = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.weighting = weighting
        self.reset = reset
        self.decision = decision
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _base_estimator(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        return PCTForestClassifier(1, bootstrap=False, max_features=None, min_samples_split=20)

    def _check_base(self) -> None:
        base = self._base_estimator()
        if isinstance(base, type) or not (hasattr(base, "get_params") and is_classifier(base)):
            raise TypeError(f"estimator must be a multi-label classifier or None, not {show(base)}.")

    def _bind(self, X: Any, n_threads: int) -> Learner:
        return MultilabelCloneLearner(X, self._base_estimator())

    def _train(self, problem: Problem) -> Trained:
        learner: Any = problem.learner
        train = partial(learner.train, problem.target)
        return train_filtered(
            problem,
            lambda counts, weights, seed: train(counts, seed, weights=weights),
            train,
            self.n_estimators,
            max_samples=self.max_samples,
            weighting=self.weighting,
            reset=self.reset,
        )

    def _as_estimator(self, model: MultilabelClone) -> Any:
        """Return the fitted classifier; None if its sample had constant labels only."""
        return model.estimator
