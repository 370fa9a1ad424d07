"""ML-KFHE, KFHE for multi-label data: two Kalman filters that fuse multi-label models of any kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, is_classifier

from fuselearn._core import draw_counts
from fuselearn._messages import show
from fuselearn._parameters import count_draws
from fuselearn.fusion import Problem, Trained, WeightedSum
from fuselearn.fusion.filtering import (
    NEVER,
    ArrayStates,
    FilterRun,
    Measurement,
    ResetRule,
    Truth,
    closed_form_coefficients,
    run_filters,
)
from fuselearn.fusion.problem import OutOfBag
from fuselearn.learners import LabelModel, Learner, count_all_samples
from fuselearn.learners.clones import MultilabelClone, MultilabelCloneLearner
from fuselearn.learners.learner import Counts
from fuselearn.multilabel.base import Scores, Weights
from fuselearn.multilabel.ensemble import MultilabelEnsemble
from fuselearn.multilabel.methods.pct_forest import PCTForestClassifier

# Hamming loss of random guessing.
GUESSING_LOSS = 0.5


@dataclass(frozen=True)
class LabelTruth(Truth):
    """The true labels of the training samples; a score above 0.5 predicts the label.

    Examples
    --------
    >>> truth = LabelTruth(np.array([0.5, 0.5]), np.array([[True, False], [True, False]]))
    >>> truth.losses(np.array([[0.9, 0.5], [0.2, 0.8]]))
    array([0., 1.])
    """

    labels: npt.NDArray[np.bool_]

    def losses(self, scores: Scores) -> Weights:
        """Return the fraction of wrong labels of each sample."""
        return np.mean((scores > 0.5) != self.labels, axis=1)

    def compare(self, y: Scores, h: LabelModel) -> Measurement:
        """Compute the measurement by a model from its predicted labels."""
        return self.measure(y, h.decisions())


def train_filtered(
    problem: Problem,
    train_first: Callable[[Counts, Weights | None, int], LabelModel],
    train_next: Callable[[Counts, int], LabelModel],
    n_estimators: int = 100,
    *,
    max_samples: int | float = 2.0,
    weighting: str = "exponential",
    reset: str | None = "training",
    variant: str = "program",
) -> Trained:
    """Train multi-label KFHE: h_0 on all samples, the other models on samples drawn with the weights of kf-w.

    Parameters
    ----------
    problem : Problem
    train_first : callable
        ``train_first(counts, weights, seed)`` trains the model of the first estimate.
    train_next : callable
        ``train_next(counts, seed)`` trains a model on the samples drawn.
    n_estimators, max_samples, weighting, reset, variant
        As those of :class:`~fuselearn.multilabel.KFHEMultilabelClassifier`.
    """
    initial, n_labels = problem.initial_weights, problem.target.n_columns
    truth = LabelTruth(initial / initial.sum(), problem.target.values > 0)
    n_draws = count_draws(max_samples, problem.n_draws)
    seeds = problem.rng.integers(2**62, size=n_estimators + 1).tolist()
    out_of_bag = OutOfBag(problem.n_samples, n_labels)
    left_out = np.empty(0, dtype=np.intp)

    def train(w: Weights, seed: int) -> LabelModel:
        nonlocal left_out
        counts = draw_counts(seed, w, n_draws)
        left_out = np.flatnonzero(counts == 0)
        return train_next(counts, seed)

    def on_iteration(t: int, h: LabelModel, *, error: float, gain: float) -> bool:
        if problem.out_of_bag:
            out_of_bag.scale(1.0 - gain / 2)
            out_of_bag.add(left_out, h.scores(only=left_out), gain / 2)
        return problem.on_iteration(t, h, error=error, gain=gain)

    copies = problem.learner.counts_copies
    if variant == "paper":  # h_0 is trained on drawn samples, too, and there are no resets
        first, weighting, reset = train(initial, seeds[0]), f"printed {weighting}", None
    else:
        first = train_first(*count_all_samples(problem.weights, problem.n_samples, copies=copies), seeds[0])
    run = FilterRun([first])
    states = ArrayStates(first.decisions(), truth, train, truth.compare, weighting=weighting)
    rule = NEVER if reset is None else ResetRule(GUESSING_LOSS)
    run_filters(states, run, seeds[1:], reset=rule, on_iteration=on_iteration)
    fused = WeightedSum(run.models, closed_form_coefficients(np.array(run.gains)), n_labels)
    return Trained(fused, run.trace(truth.error(states.y), states.w), out_of_bag)


class KFHEMultilabelClassifier(MultilabelEnsemble):
    """ML-KFHE: a Kalman filter fuses multi-label classifiers, each a noisy measurement of the ideal one.

    Experimental: parameters, defaults and results may change in any minor release.

    With y the estimate of the training samples' label scores, P its variance and h_t the t-th classifier, ::

        measurement     z = (y + h_t) / 2,         with error   R = Hamming loss of z > 0.5
        gain            K = P / (P + R)
        estimate        y <- y + K (z - y),        variance     P <- (1 - K) P

    The sample for h_t is drawn with sample weights w that a second filter estimates in the same way, from measurements
    in which a sample with the fraction l_i of wrong labels weighs w_i exp(l_i + 1/n).

    Parameters
    ----------
    estimator : classifier or None, default=None
        Any multi-label classifier with ``fit`` and ``predict_proba``: chains, label powersets, scikit-learn's trees,
        forests and ``MultiOutputClassifier``. None means a tree that splits for all labels at once and supports
        categorical features and missing values,
        ``PCTForestClassifier(1, bootstrap=False, max_features=None, min_samples_split=20)``.
    n_estimators : int, default=100
        Maximum number of classifiers to train after the first one, which is trained on all samples.
    max_samples : int or float, default=2.0
        Number of samples drawn for each classifier, or their multiple of n_samples.
    weighting : {"exponential", "linear", "symmetric"}, default="exponential"
        How the weights of misclassified samples increase.
    reset : {"training"} or None, default="training"
        Whether a classifier no better than guessing on the training samples (Hamming loss of at least 0.5) is
        discarded, once, and replaced by one trained on a sample drawn with the initial weights.
    variant : {"program", "paper"}, default="program"
        Whether to follow the authors' program or the algorithm printed in the paper: without resets, with a drawn
        sample for the first classifier, too, and w_i exp(l_i) without 1/n.
    decision : float, str or rule, default=0.5
        How labels are predicted from probabilities: a threshold, or a rule of :mod:`fuselearn.multilabel.decisions`.
        Rules that are fitted use out-of-bag scores.
    callback : callable or None, default=None
        ``callback(number, classifier)`` is called after each member, counted from 1; True ends training.
    verbose : int, default=0
        1 prints about ten lines of progress with the error, the gain and the remaining time, 2 one line per classifier.
    random_state : int, RandomState or None, default=None
        Seed of the sampling and of the base estimators.
    n_jobs : int or None, default=None
        Threads for prediction. Results do not depend on it.

    Attributes
    ----------
    oob_decision_function_ : array of shape (n_samples, n_labels)
        Out-of-bag scores of the training samples, NaN without an out-of-bag classifier; only if ``decision`` is a
        fitted rule.
    estimators_ : list of classifiers
        The first one and ``n_iter_`` others. They predict the labels that were not constant in their sample.
    estimator_weights_ : array of shape (n_iter + 1,)
        Weight of each classifier in the ensemble; they sum to 1.
    train_errors_ : array of shape (n_iter + 1,)
        Hamming loss of the estimate on the training samples, from the first classifier on.
    n_iter_, gains_, variances_, measurement_errors_, resets_, sample_weights_
        The trace of the filters, as in :class:`~fuselearn.KFHEClassifier`.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels; the classes 0 and 1 of each label; number of the features; their names, if ``X``
        is a DataFrame.

    See Also
    --------
    KFHEHOMERClassifier : The same filters with HOMERs, ML-KFHE-HOMER.
    fuselearn.KFHEClassifier : The same filters for multi-class data.

    Notes
    -----
    ML-KFHE-CC fuses classifier chains, ``KFHEMultilabelClassifier(ChainClassifier(order="random"))``: each chain has a
    different order. With SVMs, use ``SVMClassifier(probability="logistic")``, which needs no folds.

    References
    ----------
    Pakrashi, A. and Mac Namee, B. (2023). ML-KFHE: Multi-label ensemble classification algorithm exploiting sensor
    fusion properties of the Kalman filter. SN Computer Science, doi 10.1007/s42979-023-02280-4. Earlier versions, as
    KFHE-HOMER: arXiv 1904.10552.

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
        reset: str | None = "training",
        variant: str = "program",
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
        self.variant = variant
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

    def _make_learner(self, X: Any, n_threads: int) -> Learner:
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
            variant=self.variant,
        )

    def _as_estimator(self, model: MultilabelClone) -> Any:
        """Return the fitted classifier; None if all labels were constant in its samples."""
        return model.estimator
