"""KFHE-HOMER and E-HOMER: HOMERs of random shape, fused by a Kalman filter or by their mean."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isqrt
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.validation import check_is_fitted

from fuselearn._core import draw_counts
from fuselearn._messages import show
from fuselearn._parameters import check_choice, check_flag, count_draws
from fuselearn.fusion import Problem, Trained
from fuselearn.learners.learner import Counts
from fuselearn.multilabel.base import check_settings
from fuselearn.multilabel.ensemble import OUTPUTS, MultilabelEnsemble, train_members
from fuselearn.multilabel.methods.hierarchy import CLUSTERINGS
from fuselearn.multilabel.methods.homer import (
    HOMERClassifier,
    HOMERModel,
    HOMERSettings,
    share_nodes,
    train_homer,
)
from fuselearn.multilabel.methods.kfhe import train_filtered

DEFAULT_VARIED = {"kernel": ["rbf", "linear"]}


class HOMERVariety(NamedTuple):
    """The settings among which members choose at random."""

    clusterings: Sequence[str]
    cluster_numbers: Sequence[int]
    params: Sequence[Mapping[str, Any]]
    any_label: bool

    def choose(self, seed: int) -> HOMERSettings:
        """Draw each setting uniformly and independently."""
        rng = np.random.default_rng([seed, 0])  # independent of the generator for growing the hierarchy
        c, k, p = (int(rng.integers(len(choices))) for choices in self[:3])
        return HOMERSettings(self.clusterings[c], self.cluster_numbers[k], self.any_label, self.params[p])

    def choose_first(self, seed: int) -> HOMERSettings:
        """Draw only the number of clusters, and use balanced clusters and the first of the varied parameters."""
        return self.choose(seed)._replace(clustering="balanced", params=self.params[0])


def make_variety(estimator: MultilabelEnsemble, n_labels: int) -> HOMERVariety:
    """Return the settings among which the members of an ensemble choose."""
    params = list_varied(estimator)
    numbers = list_cluster_numbers(n_labels, getattr(estimator, "variant", "program"))
    return HOMERVariety(estimator.clusterings, numbers, params, estimator.any_label)


def check_variety(estimator: MultilabelEnsemble) -> None:
    """Raise an error for invalid parameters of an ensemble of HOMERs."""
    check_flag("any_label", estimator.any_label)
    chosen, choices = estimator.clusterings, tuple(CLUSTERINGS)
    if isinstance(chosen, str) or not isinstance(chosen, Sequence) or not chosen:
        raise TypeError(f"clusterings must be a list or tuple of at least one of {choices!r}, not {show(chosen)}.")
    for choice in chosen:
        check_choice("Each of clusterings", choice, choices)
    list_varied(estimator)


def list_varied(estimator: MultilabelEnsemble) -> list[Mapping[str, Any]]:
    """List the varied parameters of the base estimator; raise an error for unknown parameters."""
    varied = estimator.varied
    if varied is None:
        varied = DEFAULT_VARIED if estimator.estimator is None else {}
    try:
        combinations = list(ParameterGrid(varied))
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"varied must be a dict of lists of parameter values, or a list of such dicts, not {show(varied)}."
        ) from error
    base = estimator._base_estimator()
    for params in combinations if hasattr(base, "get_params") else []:
        unknown = set(params) - set(base.get_params())
        if unknown:
            raise ValueError(f"varied has parameters that {type(base).__name__} does not have: {sorted(unknown)}.")
        check_settings(clone(base).set_params(**params))
    return combinations


def list_cluster_numbers(n_labels: int, variant: str = "program") -> range:
    """Return the numbers of clusters to choose from: from 2 to the square root of the number of labels.

    Examples
    --------
    >>> list(list_cluster_numbers(14)), list(list_cluster_numbers(3)), list(list_cluster_numbers(6, "paper"))
    ([2, 3], [2], [2, 3])
    """
    root = isqrt(n_labels) if variant == "program" else isqrt(n_labels - 1) + 1
    return range(2, max(2, root) + 1)


def as_homer(ensemble: MultilabelEnsemble, model: HOMERModel) -> HOMERClassifier:
    """Return a HOMER with the settings of a model."""
    clustering, n_clusters, any_label, params = model.settings
    base = clone(ensemble._base_estimator()).set_params(**params) if params else ensemble.estimator
    homer = HOMERClassifier(base, clustering=clustering, n_clusters=n_clusters, any_label=any_label)
    homer.n_models_ = model.n_models
    return homer


def train_homers(
    problem: Problem,
    variety: HOMERVariety,
    n_estimators: int = 100,
    *,
    max_samples: int | float = 2.0,
    vote: str = "probability",
) -> Trained:
    """Train HOMERs of random shape, each on a bootstrap sample."""
    train = partial(_train_random_homer, variety=variety, n_draws=count_draws(max_samples, problem.n_draws))
    seeds = problem.rng.integers(2**62, size=n_estimators).tolist()
    return count_models(train_members(problem, train, seeds, vote=vote))


def count_models(trained: Trained) -> Trained:
    """Add the number of binary models of all HOMERs to the fitted attributes."""
    models: Any = trained.fused.models
    trained.trace["n_models_"] = sum(model.n_models for model in models)
    return trained


def _train_random_homer(problem: Problem, seed: int, variety: HOMERVariety, n_draws: int) -> tuple[HOMERModel, Counts]:
    counts = draw_counts(seed, problem.initial_weights, n_draws)
    return train_homer(problem.learner, problem.target.values, counts, seed, variety.choose(seed)), counts


class EnsembleHOMERClassifier(MultilabelEnsemble):
    """Equal votes of HOMERs of random shape, each trained on a bootstrap sample.

    The clustering, the number of clusters, from 2 to the square root of the number of labels, and the kernel of each
    HOMER are drawn at random. The probability of a label is the mean of the HOMERs' probabilities, or the fraction of
    HOMERs that predict it. With s_t(x) the scores of the t-th HOMER, above 0.5 for the labels that it predicts (see
    :class:`HOMERClassifier`), the predicted labels have ::

        mean over t of s_t(x) > 0.5,         or with votes        mean over t of [s_t(x) > 0.5] > 0.5.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base estimator: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    n_estimators : int, default=100
        Number of HOMERs.
    vote : {"class", "probability"}, default="probability"
        Whether HOMERs vote with their predicted labels or with their probabilities.
    clusterings : sequence of {"balanced", "kmeans", "random"}, default=("balanced", "kmeans", "random")
        The clusterings to choose from; see :class:`HOMERClassifier`.
    any_label : bool, default=True
        Whether each HOMER has a model that distinguishes samples with any label from those without. Otherwise samples
        without labels are not used, as in the paper.
    varied : dict, list of dict or None, default=None
        Parameters of the base estimator that differ between HOMERs, with the values to choose from, as for
        scikit-learn's ``ParameterGrid``: each HOMER uses one random combination. None means ``{"kernel": ["rbf",
        "linear"]}`` if ``estimator`` is None, and nothing otherwise.
    max_samples : int or float, default=2.0
        Number of samples drawn for each HOMER, or their multiple of n_samples.
    decision : float, str or rule, default="path"
        How labels are predicted: "path" means a mean score, or fraction of votes, above 0.5; otherwise a threshold of
        the probabilities, or a rule of :mod:`fuselearn.multilabel.decisions`. Rules that are fitted use out-of-bag
        probabilities.
    callback : callable or None, default=None
        ``callback(number, classifier)`` is called after each member, counted from 1; True ends training.
    verbose : int, default=0
        1 prints about ten lines of progress with the remaining time, 2 one line per HOMER.
    random_state : int, RandomState or None, default=None
        Seed of the sampling, of the random choices and of the base estimators.
    n_jobs : int or None, default=None
        Number of HOMERs trained in parallel. Results do not depend on it.

    Attributes
    ----------
    n_models_ : int
        Number of binary models trained, without the models for calibration.
    oob_decision_function_ : array of shape (n_samples, n_labels)
        Out-of-bag probabilities of the training samples, NaN without an out-of-bag HOMER; only if ``decision`` is a
        fitted rule.
    estimators_ : list of HOMERClassifier
    estimator_weights_ : array of shape (n_estimators,)
        The same weight for all HOMERs.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels; the classes 0 and 1 of each label; number of the features; their names, if ``X``
        is a DataFrame.

    See Also
    --------
    HOMERClassifier : A single HOMER.
    KFHEHOMERClassifier : A Kalman filter instead of equal votes.

    References
    ----------
    Pakrashi, A. and Mac Namee, B. (2019), as for :class:`KFHEHOMERClassifier`.

    Examples
    --------
    >>> from sklearn.metrics import f1_score
    >>> from fuselearn.datasets import make_digit_pairs
    >>> from fuselearn.multilabel import EnsembleHOMERClassifier
    >>> X, Y = make_digit_pairs(n_samples=400, random_state=0)
    >>> model = EnsembleHOMERClassifier(n_estimators=5, random_state=0).fit(X[:300], Y[:300])
    >>> round(f1_score(Y[300:], model.predict(X[300:]), average="macro"), 1)
    0.8
    """

    _own_decision = "path"

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 100,
        *,
        vote: str = "probability",
        clusterings: Sequence[str] = ("balanced", "kmeans", "random"),
        any_label: bool = True,
        varied: Any = None,
        max_samples: int | float = 2.0,
        decision: Any = "path",
        callback: Callable[[int, Any], Any] | None = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.vote = vote
        self.clusterings = clusterings
        self.any_label = any_label
        self.varied = varied
        self.max_samples = max_samples
        self.decision = decision
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_variety(self)

    def _train(self, problem: Problem) -> Trained:
        variety = make_variety(self, problem.target.n_columns)
        return train_homers(problem, variety, self.n_estimators, max_samples=self.max_samples, vote=self.vote)

    def with_vote(self, vote: str) -> Self:
        """Return a fitted copy that combines the same HOMERs with another ``vote``.

        Parameters
        ----------
        vote : {"probability", "class"}

        Returns
        -------
        EnsembleHOMERClassifier
            Fitted copy. A fitted decision rule is not fitted again.
        """
        check_is_fitted(self)
        check_choice("vote", vote, ("class", "probability"))
        other = copy.copy(self).set_params(vote=vote)
        other._fused_ = self._fused_.with_output(OUTPUTS[vote])
        return other

    def _member(self, model: HOMERModel) -> HOMERClassifier:
        return as_homer(self, model)


def train_kfhe_homer(
    problem: Problem,
    variety: HOMERVariety,
    n_estimators: int = 100,
    **filtering: Any,
) -> Trained:
    """Train KFHE-HOMER; the parameters are those of :class:`KFHEHOMERClassifier`."""
    train = partial(train_homer, problem.learner, problem.target.values, n_threads=share_nodes(problem))
    trained = train_filtered(
        problem,
        lambda counts, weights, seed: train(counts, seed, variety.choose_first(seed), weights=weights),
        lambda counts, seed: train(counts, seed, variety.choose(seed)),
        n_estimators,
        **filtering,
    )
    return count_models(trained)


class KFHEHOMERClassifier(MultilabelEnsemble):
    """KFHE-HOMER: a Kalman filter fuses HOMERs of random shape, each a noisy measurement of the ideal classifier.

    With y the estimate of the training samples' label scores, P its variance and h_t the t-th HOMER, whose scores are
    above 0.5 for the labels that it predicts (see :class:`HOMERClassifier`), ::

        measurement     z = (y + h_t) / 2,         with error   R = Hamming loss of z > 0.5
        gain            K = P / (P + R)
        estimate        y <- y + K (z - y),        variance     P <- (1 - K) P

    h_0 is trained on all samples, with balanced clusters and the first of the kernels. The sample for each later one is
    drawn with sample weights w that a second filter estimates in the same way, from measurements in which a sample with
    the fraction l_i of wrong labels weighs w_i exp(l_i + 1/n). Its clustering, its number of clusters, from 2 to the
    square root of the number of labels, and its kernel are chosen at random. Since the estimate is linear in the
    HOMERs, the trained ensemble is a weighted sum of them, with ``estimator_weights_``. ``predict`` thresholds the
    weighted sum of the scores at 0.5; ``predict_proba`` is the weighted sum of the probabilities.

    When to use: for the method of the paper, with up to some thousand samples. When not to use: for a higher F1 or
    wrong labels, use :class:`FusedMultilabelClassifier`; for many samples or fast training,
    :class:`PCTForestClassifier`.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base estimator: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    n_estimators : int, default=100
        Maximum number of HOMERs to train after the first one.
    clusterings : sequence of {"balanced", "kmeans", "random"}, default=("balanced", "kmeans", "random")
        The clusterings to choose from; see :class:`HOMERClassifier`.
    any_label : bool, default=True
        Whether each HOMER has a model that distinguishes samples with any label from those without. Otherwise samples
        without labels are not used, as in the paper.
    varied : dict, list of dict or None, default=None
        Parameters of the base estimator that differ between HOMERs, with the values to choose from, as for
        scikit-learn's ``ParameterGrid``: each HOMER uses one random combination. None means ``{"kernel": ["rbf",
        "linear"]}`` if ``estimator`` is None, and nothing otherwise.
    max_samples : int or float, default=2.0
        Number of samples drawn for each HOMER, or their multiple of n_samples.
    weighting : {"exponential", "linear", "symmetric"}, default="exponential"
        How the weights of misclassified samples increase; "linear" is 1/n + w_i l_i.
    reset : {"training"} or None, default="training"
        Whether a HOMER no better than guessing on the training samples (Hamming loss of at least 0.5) is discarded,
        once, and replaced by one trained on a sample drawn with the initial weights.
    variant : {"program", "paper"}, default="program"
        Whether to follow the authors' program or the algorithm printed in the paper; see Notes.
    decision : float, str or rule, default="path"
        How labels are predicted: "path" means a weighted sum of scores above 0.5, as in the paper; otherwise a
        threshold of the probabilities, or a rule of :mod:`fuselearn.multilabel.decisions`. Rules that are fitted use
        out-of-bag probabilities.
    callback : callable or None, default=None
        ``callback(number, classifier)`` is called after each member, counted from 1; True ends training.
    verbose : int, default=0
        1 prints about ten lines of progress with the error, the gain and the remaining time, 2 one line per HOMER.
    random_state : int, RandomState or None, default=None
        Seed of the sampling, of the random choices and of the base estimators.
    n_jobs : int or None, default=None
        Number of nodes of a HOMER trained in parallel. Results do not depend on it.

    Attributes
    ----------
    n_models_ : int
        Number of binary models trained, without the models for calibration.
    oob_decision_function_ : array of shape (n_samples, n_labels)
        Out-of-bag probabilities of the training samples, NaN without an out-of-bag HOMER; only if ``decision`` is a
        fitted rule.
    estimators_ : list of HOMERClassifier
        The first one and ``n_iter_`` others.
    estimator_weights_, train_errors_ : array of shape (n_iter + 1,)
        Weight of each HOMER, with a sum of 1; Hamming loss of the estimate in training, from the first HOMER on.
    n_iter_, gains_, variances_, measurement_errors_, resets_, sample_weights_
        The trace of the filters, as in :class:`~fuselearn.KFHEClassifier`.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels; the classes 0 and 1 of each label; number of the features; their names, if ``X``
        is a DataFrame.

    See Also
    --------
    HOMERClassifier : A single HOMER.
    EnsembleHOMERClassifier : Equal votes instead of a Kalman filter.
    KFHEMultilabelClassifier : The same filters with other multi-label classifiers.

    Notes
    -----
    The loop is that of the authors' program, where it differs from the paper; ``variant="paper"`` is the algorithm
    printed in the paper:

    - h_0 is trained on all samples, with balanced clusters and the first kernel; in the paper it is trained on drawn
      samples with random settings, like all others.
    - The maximum number of clusters is the square root of the number of labels, rounded down; in the paper rounded up.
    - A HOMER no better than guessing is replaced; the paper has no resets.
    - The measurement of the weights is w_i exp(l_i + 1/n); in the paper w_i exp(l_i).

    The program's SVM cost of 1e8 on unscaled features is not used, because solvers do not converge with it.

    References
    ----------
    Pakrashi, A. and Mac Namee, B. (2019). KFHE-HOMER: A multi-label ensemble classification algorithm exploiting sensor
    fusion properties of the Kalman filter. arXiv 1904.10552. Its newest version, SN Computer Science (2023), doi
    10.1007/s42979-023-02280-4, calls it ML-KFHE-HOMER.

    Examples
    --------
    >>> from sklearn.metrics import f1_score
    >>> from fuselearn.datasets import make_digit_pairs
    >>> from fuselearn.multilabel import KFHEHOMERClassifier
    >>> X, Y = make_digit_pairs(n_samples=400, random_state=0)
    >>> model = KFHEHOMERClassifier(n_estimators=5, random_state=0).fit(X[:300], Y[:300])
    >>> round(f1_score(Y[300:], model.predict(X[300:]), average="macro"), 1)
    0.8
    """

    _own_decision = "path"

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 100,
        *,
        clusterings: Sequence[str] = ("balanced", "kmeans", "random"),
        any_label: bool = True,
        varied: Any = None,
        max_samples: int | float = 2.0,
        weighting: str = "exponential",
        reset: str | None = "training",
        variant: str = "program",
        decision: Any = "path",
        callback: Callable[[int, Any], Any] | None = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.clusterings = clusterings
        self.any_label = any_label
        self.varied = varied
        self.max_samples = max_samples
        self.weighting = weighting
        self.reset = reset
        self.variant = variant
        self.decision = decision
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_variety(self)

    def _train(self, problem: Problem) -> Trained:
        return train_kfhe_homer(
            problem,
            make_variety(self, problem.target.n_columns),
            self.n_estimators,
            max_samples=self.max_samples,
            weighting=self.weighting,
            reset=self.reset,
            variant=self.variant,
        )

    def _member(self, model: HOMERModel) -> HOMERClassifier:
        return as_homer(self, model)
