"""The fused multi-label classifier: several kinds of ensembles, weighted for each label on held-out samples."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import accuracy_score, f1_score, hamming_loss, label_ranking_average_precision_score
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from fuselearn._compat import count_rows, take_rows
from fuselearn._messages import show
from fuselearn._parameters import check_choice, check_reporting, check_whole_number, count_threads, seed_estimator
from fuselearn._progress import make_reporter
from fuselearn.ensembles.svm import SVMClassifier
from fuselearn.fusion import Problem, Trained
from fuselearn.fusion.members import MOST_SVM_SAMPLES, SharedLearners, describe_members, note_preparations, warn_of
from fuselearn.fusion.problem import OutOfBag
from fuselearn.learners import LabelModel, Learner, label_target
from fuselearn.learners.learner import Indices
from fuselearn.learners.table import has_missing
from fuselearn.multilabel.base import Labels, MultilabelBase, Scores, Weights, find_constants, fix_constants, single
from fuselearn.multilabel.decisions import (
    CardinalityThreshold,
    DecisionRule,
    ExpectedF1,
    KnownSets,
    MacroF1Thresholds,
    MicroF1Threshold,
)
from fuselearn.multilabel.decisions.base import FixedThreshold
from fuselearn.multilabel.labels import check_same_labels, label_names, restore_unknown
from fuselearn.multilabel.methods.kfhe_homer import DEFAULT_VARIED, EnsembleHOMERClassifier, KFHEHOMERClassifier
from fuselearn.multilabel.methods.log_odds import LogOddsFusion, fit_log_odds
from fuselearn.multilabel.methods.pct_forest import PCTForestClassifier
from fuselearn.multilabel.methods.set_mixture import SetMixture
from fuselearn.multilabel.methods.thresholding import ThresholdedClassifier
from fuselearn.multilabel.stratification import iterative_train_test_split

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TREES_PER_HOMER = 4
SVM_MEMBERS = ("e-homer", "kfhe-homer")
"""Names of the default members that are SVMs."""

RULES: Mapping[str, DecisionRule] = {
    "macro_f1": MacroF1Thresholds(noise_rate="auto"),
    "micro_f1": MicroF1Threshold("auto"),
    "example_f1": ExpectedF1(empty=0.0, noise_rate="auto"),
    "hamming": FixedThreshold(),
    "subset": KnownSets(),
    "ranking": CardinalityThreshold("auto"),
}
MEASURES: Mapping[str, Callable[..., float]] = {
    "macro_f1": partial(f1_score, average="macro", zero_division=0.0),
    "micro_f1": partial(f1_score, average="micro", zero_division=0.0),
    "example_f1": partial(f1_score, average="samples", zero_division=0.0),
    "hamming": lambda *labels, **weights: 1.0 - hamming_loss(*labels, **weights),
    "subset": accuracy_score,
    "ranking": label_ranking_average_precision_score,
}
"""Metrics returned by ``score``; the last one ranks probabilities."""


def train_fused(
    problem: Problem,
    members: Mapping[str, MultilabelBase],
    on_member: Callable[[int, MultilabelBase], bool],
    part: SamplePart | None = None,
) -> Trained:
    """Train members, estimate their weights on held-out samples, and fuse them label by label.

    Parameters
    ----------
    problem : Problem
        Bound to :class:`~fuselearn.fusion.members.SharedLearners`.
    members : dict of str to MultilabelBase
    on_member : callable
        ``on_member(number, member)`` is called after each member, counted from 1; True ends training.
    part : SamplePart, optional
        The training samples of SVMs, if they are not trained on all.
    """
    Y, weights = problem.target.values, problem.initial_weights
    seeds = problem.rng.integers(2**31, size=len(members)).tolist()
    fitted: dict[str, MultilabelBase] = {}
    found, seconds = [], []
    for (name, member), seed in zip(members.items(), seeds, strict=True):
        started = time.perf_counter()
        if part is None or name not in SVM_MEMBERS:
            fitted[name], scores = fit_member(problem, member, seed)
        else:
            scores = np.full(Y.shape, np.nan)
            fitted[name], scores[part.samples] = fit_member(part.problem, member, seed)
        seconds.append(time.perf_counter() - started)
        found.append(scores)
        if part is not None and name == SVM_MEMBERS[-1]:
            part.problem.learner.release()  # kernel matrices, before forests are grown
        if on_member(len(fitted), fitted[name]):
            break
    held_out, constants = _fill_gaps(np.stack(found)), find_constants(Y[weights > 0])
    known = ~np.isnan(held_out[0]).any(axis=1) & (weights > 0)
    if part is not None:
        part.problem.learner.release()
        known &= np.isin(np.arange(len(Y)), part.samples)
    held_out, truth, weights = held_out[:, known], Y[known], weights[known] / weights[known].mean()
    fusion = fit_log_odds(held_out, truth, weights)
    out_of_bag = OutOfBag(*Y.shape)
    out_of_bag.add(np.flatnonzero(known), fix_constants(fusion.fuse(held_out), constants))
    trace = {
        "_coder_": MemberCoder(list(fitted.values())),
        "named_estimators_": fitted,
        "errors_": np.average((held_out - truth) ** 2, axis=1, weights=weights),
        "seconds_": np.array(seconds),
    }
    return replace(single(FusedModel(list(fitted.values()), fusion), problem), trace=trace, out_of_bag=out_of_bag)


def fit_member(problem: Problem, member: MultilabelBase, seed: int) -> tuple[MultilabelBase, Scores]:
    """Fit a member on a table that it may share with other members; also return its held-out scores."""
    shared: Any = problem.learner
    Y, weights = problem.target.values, problem.weights
    model = seed_estimator(clone(member), seed, unset_only=True)
    rule = model._make_rule(model.decision)
    model._check_parameters()
    model._check_base()
    X = model._check_table(problem.X, reset=True)
    model._read_labels(Y, len(Y))
    way = type(model)._make_learner, getattr(model, "max_bins", None)
    learner = shared.get(model._base_estimator(), lambda: model._make_learner(X, count_threads(model.n_jobs)), way)
    own = model._fit_bound(learner, X, Y, weights, True)
    scores = model._held_out_scores(Y, lambda: own)
    model.rule_ = rule.fit(scores, restore_unknown(Y), weights)
    return model, scores


class SamplePart(NamedTuple):
    """A subset of the samples, and the problem restricted to it."""

    samples: Indices
    problem: Problem


def draw_part(problem: Problem, n_samples: int) -> SamplePart:
    """Draw a subset of the samples, stratified by labels; all samples if there are not more."""
    everything, Y = np.flatnonzero(problem.initial_weights), problem.target.values
    if n_samples >= len(everything):
        return SamplePart(np.arange(len(Y)), replace(problem, learner=SharedLearners(len(Y))))
    seed = int(problem.rng.integers(2**31))
    samples = np.sort(
        iterative_train_test_split(everything, Y[everything], train_size=n_samples, test_size=None, random_state=seed)[
            0
        ]
    )
    return SamplePart(
        samples,
        replace(
            problem,
            learner=SharedLearners(n_samples),
            target=label_target(Y[samples]),
            weights=None if problem.weights is None else problem.weights[samples],
            X=take_rows(problem.X, samples),
        ),
    )


class MemberCoder:
    """Prepare new samples for all members, once for members with the same table."""

    def __init__(self, members: list[MultilabelBase]) -> None:
        self.members = members

    @property
    def batch_size(self) -> int:
        """Maximum number of samples to prepare at once."""
        return min(getattr(member._coder_, "batch_size", 2**31) for member in self.members)

    def transform(self, X: Any) -> list[Any]:
        """Return the samples prepared for each member."""
        prepared: dict[int, Any] = {}
        for member in self.members:
            coder, key = member._coder_, _find_table(member)
            if key not in prepared:
                table = member._check_table(X, reset=False)
                prepared[key] = table if coder is None else coder.transform(table)
        return [prepared[_find_table(member)] for member in self.members]


def _find_table(member: MultilabelBase) -> int:
    """Return a key that is the same for members with the same prepared samples."""
    return id(getattr(member._coder_, "table", member._coder_))


class FusedModel(LabelModel):
    """Fitted members and the fusion of their probabilities."""

    def __init__(self, members: list[MultilabelBase], fusion: LogOddsFusion) -> None:
        self.members = members
        self.fusion = fusion

    def scores(self, X: Any = None, *, appended: Any = None, only: Indices | None = None) -> Scores:
        """Return the fused probability of each label."""
        found = [
            fix_constants(member._fused_.scores(own, count_threads(member.n_jobs), only=only), member._constants_)
            for member, own in zip(self.members, X, strict=True)
        ]
        return self.fusion.fuse(np.stack(found))


def _fill_gaps(held_out: Scores) -> Scores:
    """Replace missing scores of a member by the mean of the other members; NaN remains if no member has a score.

    KFHE draws difficult samples most often, so these have no out-of-bag scores. Without them, the errors of all members
    would be underestimated.
    """
    is_missing = np.isnan(held_out)
    n_known = (~is_missing).sum(axis=0)
    mean = np.where(is_missing, 0.0, held_out).sum(axis=0) / np.where(n_known > 0, n_known, np.nan)
    return np.where(is_missing, mean, held_out)


class FusedMultilabelClassifier(MultilabelBase):
    """Fuse HOMERs of support vector machines and forests label by label; the recommended multi-label classifier.

    No kind of classifier is best for all labels. The probabilities p_kj of label j by the members are fused and
    calibrated with weights for each label::

        p_j = expit(b_j + sum over k of w_kj logit p_kj),         w_kj >= 0

    The weights minimize the log loss of held-out (out-of-bag or out-of-fold) probabilities of the training samples,
    with shrinkage toward weights common to all labels. A decision rule that optimizes the chosen metric is fitted to
    the same held-out probabilities:

    ============  =====================================================================================
    ``optimize``  rule
    ============  =====================================================================================
    "macro_f1"    the threshold of each label with the best expected F1, shrunk toward a common one for rare labels
                  (``MacroF1Thresholds(noise_rate="auto")``)
    "micro_f1"    the threshold with the best micro F1 (``MicroF1Threshold("auto")``)
    "example_f1"  the labels with the largest expected F1 of each sample, at least one
                  (``ExpectedF1(empty=0.0, noise_rate="auto")``)
    "hamming"     0.5, since the probabilities are calibrated
    "subset"      the most probable label set of training, from the probabilities and from forests whose classes are the
                  sets; ``KnownSets`` if no set is repeated, or sets times samples exceed 8 million
    "ranking"     ``CardinalityThreshold``; only the ranking of the probabilities is optimized
    ============  =====================================================================================

    If training labels were flipped at random, thresholds fitted to them would predict rare labels far too often. The
    rules estimate the fraction of flipped labels from held-out probabilities and correct for it (``noise_rate_``).

    When to use: for a good result in any metric without tuning, with up to some thousand samples, in particular if
    labels are rare or noisy. When not to use: if training or prediction must be fast, use :class:`PCTForestClassifier`
    with a decision rule, or :class:`HOMERClassifier`.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimators : list of (name, classifier), default=None
        The members: any multi-label classifiers with ``predict_proba``, of this package or of scikit-learn. Members
        without out-of-bag scores are trained five more times, on folds. None means "e-homer"
        (:class:`EnsembleHOMERClassifier`), "kfhe-homer" (:class:`KFHEHOMERClassifier`), "forest" and "extra-trees"
        (:class:`PCTForestClassifier` with best and with random thresholds). The first two train support vector
        machines, which need more than quadratic time in the number of samples and do not support missing values. They
        are trained on at most 5,000 samples, stratified by labels, with missing values replaced by medians and marked
        by indicator features. A warning and ``notes_`` report this.
    optimize : {"macro_f1", "micro_f1", "example_f1", "hamming", "subset", "ranking"}, default="macro_f1"
        The metric to optimize.
    n_estimators : int, default=25
        Number of HOMERs in each of the two ensembles, if ``estimators`` is None. The forests have four times as many
        trees.
    decision : float, str, rule or None, default=None
        A threshold or a rule of :mod:`fuselearn.multilabel.decisions`, instead of that for ``optimize``.
    callback : callable or None, default=None
        ``callback(number, classifier)`` is called after each member, counted from 1; True ends training.
    verbose : int, default=0
        1 prints a line after each member, with the remaining time.
    random_state : int, RandomState or None, default=None
        Seed of the default members, and of random states of other members that are None.
    n_jobs : int or None, default=None
        Number of threads of the default members. Results do not depend on it.

    Attributes
    ----------
    estimators_ : list of classifiers
        The fitted members.
    named_estimators_ : dict of str to classifier
        The fitted members by name.
    notes_ : dict of str to str
        For default members, by name: imputation of missing values and the number of training samples used.
    estimator_weights_ : array of shape (n_members, n_labels)
        Weight w_kj of each member's log-odds; 0 for a redundant member.
    intercepts_ : array of shape (n_labels,)
        The intercepts b_j.
    errors_ : array of shape (n_members, n_labels)
        Mean squared error of each member's held-out probabilities.
    seconds_ : array of shape (n_members,)
        Time to train each member and to compute its held-out scores.
    noise_rate_ : float
        Estimated fraction of flipped labels, if the rule corrects for it.
    rule_ : DecisionRule
        The fitted rule.
    held_out_proba_ : array of shape (n_samples, n_labels)
        Fused held-out probabilities of the training samples; NaN for samples without.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels; the classes 0 and 1 of each label; number of the features; their names, if ``X``
        is a DataFrame.

    See Also
    --------
    KFHEHOMERClassifier, EnsembleHOMERClassifier, PCTForestClassifier : The default members.
    ThresholdedClassifier : A single classifier with a decision rule.
    fuselearn.FusedClassifier : The same approach for multi-class data.

    Notes
    -----
    SVMs and trees make different errors, so combining both kinds is better than more members of one kind. On the
    datasets of the KFHE-HOMER paper, chains, HOMERs of trees, and forests with more features per node did not improve
    on the four default members. Weights do not depend on ``optimize``; only the decision rule does. docs/multilabel.md
    compares the classifier with other packages.

    Examples
    --------
    >>> from sklearn.metrics import f1_score
    >>> from fuselearn.datasets import make_digit_pairs
    >>> from fuselearn.multilabel import FusedMultilabelClassifier
    >>> X, Y = make_digit_pairs(400, "overlaid", random_state=0)
    >>> model = FusedMultilabelClassifier(n_estimators=10, random_state=0).fit(X[:300], Y[:300])
    >>> round(f1_score(Y[300:], model.predict(X[300:]), average="macro"), 1)
    0.8
    >>> list(model.named_estimators_)
    ['e-homer', 'kfhe-homer', 'forest', 'extra-trees']
    >>> other = model.with_optimize("micro_f1", X[:300], Y[:300])  # trains nothing again
    >>> other.rule_
    MicroF1Threshold(noise_rate='auto')
    """

    notes_: dict[str, str]
    named_estimators_: dict[str, MultilabelBase]
    held_out_proba_: Scores
    errors_: Weights
    seconds_: Weights
    _held_out_name = "held_out_proba_"

    def __init__(
        self,
        estimators: Sequence[tuple[str, Any]] | None = None,
        *,
        optimize: str = "macro_f1",
        n_estimators: int = 25,
        decision: Any = None,
        callback: Callable[[int, Any], Any] | None = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.optimize = optimize
        self.n_estimators = n_estimators
        self.decision = decision
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: those of all members; default members support sparse X and missing values."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        for pair in self.estimators if isinstance(self.estimators, Sequence) else ():
            if isinstance(pair, Sequence) and isinstance(
                pair[-1], BaseEstimator
            ):  # fit raises an error for anything else
                own = get_tags(pair[-1]).input_tags
                tags.input_tags.allow_nan &= own.allow_nan
                tags.input_tags.sparse &= own.sparse
        return tags

    def with_optimize(self, optimize: str, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return a fitted copy whose decision rule optimizes another metric; members and weights are unchanged.

        "subset" trains four forests whose classes are label sets; other metrics need no training.

        Parameters
        ----------
        optimize : {"macro_f1", "micro_f1", "example_f1", "hamming", "subset", "ranking"}
        X, y, sample_weight
            The training data.

        Returns
        -------
        FusedMultilabelClassifier
            Fitted copy. It is the same as a classifier fitted with this ``optimize``.
        """
        check_choice("optimize", optimize, tuple(RULES))
        other = copy.copy(self).set_params(optimize=optimize)
        return other.with_decision(None, X, y, sample_weight)

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """Predict the labels of each sample, with the rule for ``optimize`` or ``decision``.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_labels)
            1 where the label is predicted, else 0; columns are in the order of ``labels_``.
        """
        check_is_fitted(self)
        if isinstance(self.rule_, SetMixture):
            return self.rule_.decide(self.predict_proba(X), self._check_table(X, reset=False))
        return super().predict(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the metric chosen by ``optimize`` for predictions on X; higher is better.

        Scikit-learn's model selection, such as ``GridSearchCV``, maximizes it unless ``scoring`` is passed.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        float
            Macro F1, micro F1 or the mean F1 of the samples, as in scikit-learn with ``zero_division=0``; one minus the
            Hamming loss; subset accuracy; or label ranking average precision.
        """
        check_is_fitted(self)
        Y: Any = self._check_labels(y, count_rows(X))
        check_same_labels(label_names(y), self.labels_, "y has labels of other names or order than in fit")
        found: Any = self.predict_proba(X) if self.optimize == "ranking" else self.predict(X)
        only: dict[str, Any] = {}
        if self.n_labels_ == 1 and self.optimize not in ("hamming", "subset"):
            # A second, empty label is added, or scikit-learn would treat a single column as classes.
            Y, found = (np.hstack([table, np.zeros(table.shape)]) for table in (Y, found))
            only = {} if self.optimize == "ranking" else {"labels": [0]}
        return float(MEASURES[self.optimize](Y, found, sample_weight=sample_weight, **only))

    def _make_rule(self, decision: Any) -> DecisionRule:
        return super()._make_rule(
            RULES[check_choice("optimize", self.optimize, tuple(RULES))] if decision is None else decision
        )

    @property
    def estimators_(self) -> list[MultilabelBase]:
        """The fitted members."""
        check_is_fitted(self)
        return list(self.named_estimators_.values())

    @property
    def estimator_weights_(self) -> Weights:
        """Weight of each member's log-odds, label by label."""
        return self._fusion().weights

    @property
    def intercepts_(self) -> Weights:
        """Intercept of each label."""
        return self._fusion().intercepts

    @property
    def noise_rate_(self) -> float:
        """Estimated fraction of flipped labels, if the rule corrects for it."""
        check_is_fitted(self)
        rate: float = self.rule_.noise_rate_
        return rate

    def describe(self) -> str:
        """Return a table of the members with their mean weight and error over the labels.

        Returns
        -------
        str
        """
        check_is_fitted(self)
        columns = {
            "weight": (self.estimator_weights_.mean(axis=1), ".3f"),
            "squared error": (self.errors_.mean(axis=1), ".4f"),
            "seconds": (self.seconds_, ".2f"),
        }
        noise_rate = getattr(self.rule_, "noise_rate_", None)
        return describe_members(list(self.named_estimators_), columns, self.notes_, noise_rate)

    def plot_members(self) -> Figure:
        """Plot the mean weight and error of each member.

        Returns
        -------
        matplotlib.figure.Figure
        """
        check_is_fitted(self)
        from fuselearn.ensembles.trace import draw_members

        weights, errors = (table.mean(axis=1).tolist() for table in (self.estimator_weights_, self.errors_))
        return draw_members(list(self.named_estimators_), weights, errors, "mean weight")

    def _check_parameters(self) -> None:
        check_choice("optimize", self.optimize, tuple(RULES))
        check_whole_number("n_estimators", self.n_estimators, 1)
        check_reporting(self.verbose, self.callback)
        if self.estimators is not None:
            check_members(self.estimators)

    def _make_learner(self, X: Any, n_threads: int) -> Learner:
        return SharedLearners(X.shape[0])

    def _pose(self, problem: Problem) -> Problem:
        if np.count_nonzero(problem.initial_weights) < 2:
            raise ValueError(
                "Members are weighted on held-out samples, for which one sample is not enough. Train a single model "
                "instead, such as KFHEMultilabelClassifier (--method kfhe on the command line)."
            )
        return replace(problem, out_of_bag=True)

    def _train(self, problem: Problem) -> Trained:
        notes, part = {}, None
        if self.estimators is None:
            members = make_default_members(self.n_estimators, self.n_jobs)
            n_samples = int(np.count_nonzero(problem.initial_weights))
            note = note_preparations(has_missing(problem.X), min(n_samples, MOST_SVM_SAMPLES), n_samples)
            notes = dict.fromkeys(SVM_MEMBERS, note) if note else {}
            part = draw_part(problem, min(n_samples, MOST_SVM_SAMPLES))
        else:
            members = {name: as_multilabel(member, self.n_jobs) for name, member in self.estimators}
        warn_of(notes, stacklevel=6)
        on_member = make_reporter(self, len(members), lambda member: member)
        trained = train_fused(problem, members, on_member, part)
        trained.trace["notes_"] = notes
        return trained

    def _fit_rule(
        self, rule: DecisionRule, Y: Labels, weights: Weights | None, pose: Callable[[], Problem]
    ) -> DecisionRule:
        used = np.arange(len(Y)) if weights is None else np.flatnonzero(weights)
        if self.optimize != "subset" or self.decision is not None or not SetMixture.suits(Y[used]):
            return super()._fit_rule(rule, Y, weights, pose)
        problem, scores = pose(), self._held_out_scores(Y, pose)
        mixture = SetMixture(TREES_PER_HOMER * self.n_estimators, random_state=self._fold_seed_, n_jobs=self.n_jobs)
        initial = problem.initial_weights[used]
        return mixture.fit_samples(take_rows(problem.X, used), scores[used], Y[used], initial / initial.mean())

    def _fusion(self) -> LogOddsFusion:
        check_is_fitted(self)
        fusion: LogOddsFusion = self._fused_.models[0].fusion
        return fusion


def as_multilabel(member: Any, n_jobs: int | None) -> MultilabelBase:
    """Return a classifier of this package, or wrap another one."""
    return member if isinstance(member, MultilabelBase) else ThresholdedClassifier(member, decision=0.5, n_jobs=n_jobs)


def make_default_members(n_estimators: int, n_jobs: int | None) -> dict[str, MultilabelBase]:
    """Return the default members by name."""
    n_trees = TREES_PER_HOMER * n_estimators
    svm = SVMClassifier(cv=2, impute=True)  # two folds suffice, as the fusion calibrates again
    homers: dict[str, Any] = {"n_estimators": n_estimators, "varied": DEFAULT_VARIED, "n_jobs": n_jobs}
    return {
        "e-homer": EnsembleHOMERClassifier(svm, **homers),
        "kfhe-homer": KFHEHOMERClassifier(svm, **homers),
        "forest": PCTForestClassifier(n_trees, n_jobs=n_jobs),
        "extra-trees": PCTForestClassifier(n_trees, splitter="random", n_jobs=n_jobs),
    }


def check_members(members: Any) -> None:
    """Raise an error for members that are not (name, classifier) pairs with ``predict_proba``."""
    if isinstance(members, str | Mapping) or not isinstance(members, Sequence) or not members:
        raise TypeError(f"estimators must be a list of (name, classifier), not {show(members)}.")
    names = set()
    for member in members:
        if not isinstance(member, tuple | list) or len(member) != 2 or not isinstance(member[0], str):
            raise TypeError(f"estimators must be a list of (name, classifier), but one is {show(member)}.")
        name, estimator = member
        if name in names:
            raise ValueError(f"estimators must have different names, but two are named {name!r}.")
        names.add(name)
        if not isinstance(estimator, BaseEstimator) or not hasattr(estimator, "predict_proba"):
            raise TypeError(f"estimators[{name!r}] must be a classifier with predict_proba, not {show(estimator)}.")
