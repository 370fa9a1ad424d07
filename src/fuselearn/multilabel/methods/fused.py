"""The fused multi-label classifier: several kinds of ensembles, weighed label by label on out-of-bag samples."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from fuselearn._messages import show
from fuselearn._parameters import check_choice, check_verbose, check_whole_number
from fuselearn._progress import ProgressLines
from fuselearn._random import seed_estimator
from fuselearn.learners.table import has_missing
from fuselearn.multilabel.decisions import (
    CardinalityThreshold,
    DecisionRule,
    KnownSets,
    MacroF1Thresholds,
    MicroF1Threshold,
)
from fuselearn.multilabel.decisions.rules import FixedThreshold
from fuselearn.multilabel.learning.base import Labels, MultilabelClassifier, Scores, Weights
from fuselearn.multilabel.learning.log_odds import LogOddsFusion, fit_log_odds
from fuselearn.multilabel.methods.ensemble_homer import EnsembleHOMERClassifier
from fuselearn.multilabel.methods.kfhe_homer import KFHEHOMERClassifier
from fuselearn.multilabel.methods.pct_forest import PCTForestClassifier
from fuselearn.multilabel.methods.thresholding import ThresholdedClassifier

# Of more samples, support vector machines take longer than all forests together.
MOST_SVM_SAMPLES = 5_000
TREES_PER_COMPONENT = 4

RULES: Mapping[str, DecisionRule] = {
    "macro_f1": MacroF1Thresholds(noise_rate="auto"),
    "micro_f1": MicroF1Threshold("auto"),
    "hamming": FixedThreshold(),
    "subset": KnownSets(),
    "ranking": CardinalityThreshold("auto"),
}


class FusedMultilabelClassifier(MultilabelClassifier):
    """The multi-label classifier to pick first: HOMERs on support vector machines and forests, fused label by label.

    No kind of classifier is the best for all labels, and none is for all measures. Each member scores the training
    samples that it has not seen, out of bag or out of fold. From these scores follow the weights of the members, by
    which their probabilities p_kj of label j are fused and calibrated at once::

        p_j = expit(b_j + sum over k of w_kj logit p_kj),         w_kj >= 0

    with the least log loss, the weights of a label being drawn to those of all labels, and the rule that turns
    probabilities into labels, which depends on what matters:

    ============  =====================================================================================
    ``optimize``  rule
    ============  =====================================================================================
    "macro_f1"    a threshold per label with the best expected F1, nearer to a common one if the label is rare
                  (``MacroF1Thresholds(noise_rate="auto")``)
    "micro_f1"    the threshold with the best micro F1 (``MicroF1Threshold("auto")``)
    "hamming"     0.5, since the probabilities are calibrated
    "subset"      the most probable label set of training (``KnownSets``)
    "ranking"     the probabilities count; labels are above the threshold of ``CardinalityThreshold``
    ============  =====================================================================================

    If labels were flipped by chance, a rule that fits them would predict far too many of the rare ones. Their share is
    estimated from samples that almost certainly lack a label, and the rules allow for it (``rule_.noise_rate_``).

    .. versionadded:: 0.2

    Parameters
    ----------
    members : list of (name, classifier), default=None
        The members: any multi-label classifiers with ``predict_proba``, of this package or in any of scikit-learn's
        forms. Those without out-of-bag scores are trained five times more, on folds. None means "e-homer"
        (:class:`EnsembleHOMERClassifier`), "kfhe-homer" (:class:`KFHEHOMERClassifier`), "forest" and "extra-trees"
        (:class:`PCTForestClassifier`, with the best and with random cuts). The first two train support vector machines,
        whose time grows faster than the square of the number of samples and which take no missing values: they are left
        out of more than 5,000 samples and where values are missing in training. Values that are missing in new samples
        only are refused.
    optimize : {"macro_f1", "micro_f1", "hamming", "subset", "ranking"}, default="macro_f1"
        What matters.
    n_components : int, default=50
        HOMERs in each of the two ensembles, if ``members`` is None. The forests have four times as many trees.
    decision : float, str, rule or None, default=None
        A rule of :mod:`fuselearn.multilabel.decisions` instead of that of ``optimize``.
    verbose : int, default=0
        1 prints a line after each member, with the time left.
    random_state : int, RandomState or None, default=None
        Seed of the default members, and of those random states of other members that are None.
    n_jobs : int or None, default=None
        Threads of the default members, and folds at the same time. Results do not depend on it.

    Attributes
    ----------
    estimators_ : list of classifiers
        The fitted members.
    names_ : list of str
        Their names.
    left_out_ : dict of str to str
        Default members that were left out, with the reason.
    weights_ : array of shape (n_members, n_labels)
        Weight w_kj of each member's log-odds; 0 for a member that adds nothing to the others.
    intercepts_ : array of shape (n_labels,)
        The intercepts b_j.
    errors_ : array of shape (n_members, n_labels)
        Mean squared error of each member's probabilities of samples that it has not seen.
    rule_ : DecisionRule
        The fitted rule.
    oob_decision_function_ : array of shape (n_samples, n_labels)
        Fused probabilities of the training samples by models that have not seen them; NaN for samples that all have
        seen.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels, and 0 and 1 for each; number of the features, and their names if they have any.

    See Also
    --------
    KFHEHOMERClassifier, EnsembleHOMERClassifier, PCTForestClassifier : The default members.
    ThresholdedClassifier : A single classifier with a rule that is learned.
    fuselearn.FusedClassifier : The same idea for one class per sample.

    Notes
    -----
    Machines and trees err differently, so that one of each is better than two of a kind. In trials on the datasets of
    the KFHE-HOMER paper, chains, HOMERs on trees, and forests with more features per node added nothing to the four
    members. Weights do not depend on ``optimize``: the rule matters far more. docs/multilabel.md compares the result
    with other packages.

    Examples
    --------
    >>> from sklearn.metrics import f1_score
    >>> from fuselearn.datasets import make_digit_pairs
    >>> from fuselearn.multilabel import FusedMultilabelClassifier
    >>> X, Y = make_digit_pairs(400, "overlaid", random_state=0)
    >>> model = FusedMultilabelClassifier(n_components=10, random_state=0).fit(X[:300], Y[:300])
    >>> round(f1_score(Y[300:], model.predict(X[300:]), average="macro"), 1)
    0.8
    >>> model.names_
    ['e-homer', 'kfhe-homer', 'forest', 'extra-trees']
    >>> exact = model.with_optimize("subset", X[:300], Y[:300])  # trains nothing again
    >>> exact.rule_
    KnownSets()
    """

    estimators_: list[MultilabelClassifier]
    names_: list[str]
    left_out_: dict[str, str]
    weights_: Weights
    intercepts_: Weights
    errors_: Weights

    def __init__(
        self,
        members: Sequence[tuple[str, Any]] | None = None,
        *,
        optimize: str = "macro_f1",
        n_components: int = 50,
        decision: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.members = members
        self.optimize = optimize
        self.n_components = n_components
        self.decision = decision
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: what all members take; the default ones take sparse data and missing values."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        for pair in self.members if isinstance(self.members, Sequence) else ():
            if isinstance(pair, Sequence) and isinstance(pair[-1], BaseEstimator):  # anything else is refused by fit
                own = get_tags(pair[-1]).input_tags
                tags.input_tags.allow_nan &= own.allow_nan
                tags.input_tags.sparse &= own.sparse
        return tags

    def with_optimize(self, optimize: str, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return a copy whose rule suits another measure; members and weights stay as they are.

        Parameters
        ----------
        optimize : {"macro_f1", "micro_f1", "hamming", "subset", "ranking"}
        X, y, sample_weight
            The training data.

        Returns
        -------
        FusedMultilabelClassifier
            Fitted, as if ``optimize`` had been given to ``fit``.
        """
        check_choice("optimize", optimize, tuple(RULES))
        other = copy.copy(self).set_params(optimize=optimize)
        return other.with_decision(None, X, y, sample_weight)

    def _make_rule(self, decision: Any) -> DecisionRule:
        return super()._make_rule(
            RULES[check_choice("optimize", self.optimize, tuple(RULES))] if decision is None else decision
        )

    def _wants_honest_scores(self) -> bool:
        return True

    def _check_parameters(self) -> None:
        check_choice("optimize", self.optimize, tuple(RULES))
        check_whole_number("n_components", self.n_components, 1)
        check_verbose(self.verbose)
        if self.members is not None:
            _check_members(self.members)

    def _fit_labels(self, X: Any, Y: Labels, weights: Weights | None, rng: np.random.Generator) -> None:
        if len(Y if weights is None else Y[weights > 0]) < 2:
            raise ValueError("members are weighed on samples left out in turn, so one sample is not enough.")
        members = self._list_members(X)
        self.names_ = list(members)
        seeds = rng.integers(2**31, size=len(members)).tolist()
        fitting = (
            self._fit_member(member, X, Y, weights, seed) for member, seed in zip(members.values(), seeds, strict=True)
        )
        fitted = list(ProgressLines(type(self).__name__, self.verbose, len(members)).follow(fitting))
        self.estimators_ = [model for model, _ in fitted]
        held_out = _fill_gaps(np.stack([scores for _, scores in fitted]))
        shares = np.ones(len(Y)) if weights is None else weights
        known = ~np.isnan(held_out[0]).any(axis=1) & (shares > 0)
        seen, truth, shares = held_out[:, known], Y[known], shares[known] / shares[known].mean()
        fusion = fit_log_odds(seen, truth, shares)
        self.weights_, self.intercepts_ = fusion
        self.errors_ = np.average((seen - truth) ** 2, axis=1, weights=shares)
        self.oob_decision_function_ = np.full(Y.shape, np.nan)
        self.oob_decision_function_[known] = self._bound_scores(fusion.fuse(seen))

    def _label_scores(self, X: Any) -> Scores:
        answers = np.stack([model.predict_proba(X) for model in self.estimators_])
        return LogOddsFusion(self.weights_, self.intercepts_).fuse(answers)

    def _list_members(self, X: Any) -> dict[str, Any]:
        """Return the members by name, and keep which of the default ones are left out."""
        self.left_out_ = {}
        if self.members is not None:
            return dict(self.members)
        members = make_default_members(self.n_components, self.n_jobs)
        if has_missing(X):
            reason = "support vector machines take no missing values"
        elif X.shape[0] > MOST_SVM_SAMPLES:
            reason = f"support vector machines are slow on more than {MOST_SVM_SAMPLES:,} samples"
        else:
            return members
        self.left_out_ = {name: reason for name in members if name.endswith("homer")}
        return {name: member for name, member in members.items() if name not in self.left_out_}

    def _fit_member(
        self, member: Any, X: Any, Y: Labels, weights: Weights | None, seed: int
    ) -> tuple[MultilabelClassifier, Scores]:
        """Fit a member, and return it with its scores of the samples that it has not seen."""
        if not isinstance(member, MultilabelClassifier):
            member = ThresholdedClassifier(member, decision=0.5, n_jobs=self.n_jobs)
        model = seed_estimator(clone(member), seed, unset_only=True).set_params(decision=HeldOutScores())
        model.fit(X, Y, weights)
        scores = model.rule_.scores_
        model.set_params(decision=member.decision)
        model.rule_ = model._make_rule(member.decision).fit(scores, Y, weights)
        return model, scores


def _fill_gaps(held_out: Scores) -> Scores:
    """Replace what a member has no score for by the mean of the others; NaN stays if none has.

    The samples that KFHE always draws are the hard ones: without them, all members would seem better than they are.
    """
    is_missing = np.isnan(held_out)
    n_known = (~is_missing).sum(axis=0)
    mean = np.where(is_missing, 0.0, held_out).sum(axis=0) / np.where(n_known > 0, n_known, np.nan)
    return np.where(is_missing, mean, held_out)


class HeldOutScores(DecisionRule):
    """No rule, but a way to get at the scores that a rule would learn from.

    Attributes
    ----------
    scores_ : array of shape (n_samples, n_labels)
    """

    scores_: Scores

    @property
    def needs_scores(self) -> bool:
        """True, for that is what it is for."""
        return True

    def fit(self, scores: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Keep the scores."""
        self.scores_ = scores
        return self


def make_default_members(n_components: int, n_jobs: int | None) -> dict[str, MultilabelClassifier]:
    """Return the default members by name."""
    n_trees = TREES_PER_COMPONENT * n_components
    return {
        "e-homer": EnsembleHOMERClassifier(n_estimators=n_components, n_jobs=n_jobs),
        "kfhe-homer": KFHEHOMERClassifier(n_estimators=n_components, n_jobs=n_jobs),
        "forest": PCTForestClassifier(n_trees, n_jobs=n_jobs),
        "extra-trees": PCTForestClassifier(n_trees, splitter="random", n_jobs=n_jobs),
    }


def _check_members(members: Any) -> None:
    """Refuse members that are not named classifiers with probabilities."""
    if isinstance(members, str | Mapping) or not isinstance(members, Sequence) or not members:
        raise TypeError(f"members must be a list of (name, classifier), not {show(members)}.")
    names = set()
    for member in members:
        if not isinstance(member, tuple | list) or len(member) != 2 or not isinstance(member[0], str):
            raise TypeError(f"members must be a list of (name, classifier), but one is {show(member)}.")
        name, estimator = member
        if name in names:
            raise ValueError(f"members must have different names, but two are {name!r}.")
        names.add(name)
        if not isinstance(estimator, BaseEstimator) or not hasattr(estimator, "predict_proba"):
            raise TypeError(f"members[{name!r}] must be a classifier with predict_proba, not {show(estimator)}.")
