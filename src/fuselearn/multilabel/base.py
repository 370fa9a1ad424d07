"""Base class of all multi-label classifiers: check, bind, train, decide.

``fit`` checks the data, binds the table, and passes a :class:`~fuselearn.fusion.Problem` to ``_train``, which calls an
algorithm, a function ``train_x(problem, **settings)``. The decision rule, parameter ``decision``, turns the scores of
the trained ensemble into labels; a rule with learned thresholds is fitted to held-out scores.

A *method* is a function that trains one model of all labels, with the arguments ``(learner, Y, counts, seed, *,
weights)``, such as
``train_chain``. A classifier calls it once, on all samples; an ensemble calls it for each member, on random samples.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from fuselearn._messages import show
from fuselearn._parameters import check_verbose, count_threads, make_generator
from fuselearn._progress import ProgressLines
from fuselearn.base import (
    EstimatorBase,
    check_base,
    keep_trained,
    predict_samples,
    read_weights,
    reset_on_failure,
    validate_rows,
)
from fuselearn.ensembles.cart import CARTClassifier
from fuselearn.ensembles.svm import SVMClassifier
from fuselearn.fusion import Problem, Trained, WeightedSum
from fuselearn.fusion.held_out import Splits, average_held_out, hold_out
from fuselearn.learners import LabelModel, Learner, bind, count_all_samples, label_target
from fuselearn.learners.learner import Counts
from fuselearn.multilabel.decisions.base import DecisionRule, OwnDecision
from fuselearn.multilabel.decisions.rules import make_decision_rule
from fuselearn.multilabel.labels import (
    UNKNOWN,
    check_same_labels,
    label_names,
    read_partial_labels,
    restore_unknown,
)
from fuselearn.multilabel.stratification import IterativeStratifiedKFold

Labels = npt.NDArray[np.int8]
Scores = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float64]

N_FOLDS = 5


class MultilabelBase(ClassifierMixin, EstimatorBase):
    """Base class of multi-label classifiers. Subclasses implement ``_train`` and, if needed, ``_check_parameters``."""

    decision: Any
    labels_: npt.NDArray[Any]
    n_labels_: int
    classes_: list[npt.NDArray[np.int64]]
    rule_: DecisionRule
    oob_decision_function_: Scores
    _own_decision: str | None = None  # value of ``decision`` with which the model itself chooses the labels
    _held_out_name = "oob_decision_function_"  # the attribute that stores held-out scores
    _accepts_unknown = False  # whether ``_train`` accepts `UNKNOWN` labels
    _input_tags: tuple[tuple[str, bool], ...] = ()  # scikit-learn's, where they differ from the base estimator's
    _constants_: npt.NDArray[np.float64]  # 0 or 1 for labels that are constant in training, else NaN

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags of the estimator."""
        tags = super().__sklearn_tags__()
        tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        base = self._base_estimator()
        if isinstance(base, BaseEstimator):  # fit raises an error for anything else
            input_tags = get_tags(base).input_tags
            tags.input_tags.allow_nan = input_tags.allow_nan
            tags.input_tags.sparse = input_tags.sparse or isinstance(base, CARTClassifier)
        for name, value in self._input_tags:
            setattr(tags.input_tags, name, value)
        return tags

    @reset_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            1 or True where a sample has a label, else 0. Constant labels and samples without any label are accepted.
            NaN marks an unknown label; classifiers that do not support it raise an error that names those that do.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        object
            Fitted estimator.
        """
        rule = self._make_rule(self.decision)
        self._check_parameters()
        self._check_base()
        X = self._check_table(X, reset=True)
        Y = self._read_labels(y, X.shape[0])
        weights = read_weights(sample_weight, X.shape[0])
        learner = self._make_learner(X, count_threads(self.n_jobs))
        problem = self._fit_bound(learner, X, Y, weights, rule.needs_scores)
        self.rule_ = self._fit_rule(rule, Y, weights, lambda: problem)
        learner.release()
        return self

    def _fit_bound(self, learner: Learner, X: Any, Y: Labels, weights: Weights | None, out_of_bag: bool) -> Problem:
        """Train on a bound table, which other classifiers may share, and set all fitted attributes but the rule."""
        self._coder_ = learner.coder
        self._constants_ = find_constants(Y if weights is None else Y[weights > 0])
        rng = make_generator(self.random_state)
        problem = self._pose(
            Problem(learner, label_target(Y), weights, rng, X, out_of_bag=out_of_bag, n_jobs=self.n_jobs)
        )
        trained = self._train(problem)
        keep_trained(self, trained)
        if problem.out_of_bag and trained.out_of_bag is not None:
            setattr(self, self._held_out_name, np.clip(trained.out_of_bag.mean(), 0.0, 1.0))
        self._fold_seed_ = int(rng.integers(2**31))
        return problem

    def with_decision(self, decision: Any, X: Any = None, y: Any = None, sample_weight: Any = None) -> Self:
        """Return a fitted copy with another decision rule, without training the members again.

        Parameters
        ----------
        decision : float, str or rule
            As the parameter of that name.
        X, y, sample_weight
            The training data, only needed by a rule that learns thresholds. The rule is fitted to out-of-bag scores if
            ``fit`` stored them, which it does if its own rule needed them. Otherwise it is fitted to out-of-fold
            scores, for which models are trained on parts of the samples.

        Returns
        -------
        object
            Fitted copy. Predictions are those of a classifier fitted with this ``decision``, except where ``fit`` would
            have used out-of-bag scores and this method uses out-of-fold scores.
        """
        check_is_fitted(self)
        rule = self._make_rule(decision)
        other = copy.copy(self).set_params(decision=decision)
        if rule.needs_scores:
            if X is None or y is None:
                raise ValueError(
                    f"decision={show(decision)} learns thresholds from the training data; pass X and y too."
                )
            X = self._check_table(X, reset=False)
            Y = self._check_labels(y, X.shape[0])
            if Y.shape[1] != self.n_labels_:
                raise ValueError(f"y has {Y.shape[1]} label(s), but the model was fitted on {self.n_labels_}.")
            check_same_labels(label_names(y), self.labels_, "y has labels of other names or order than in fit")
            weights = read_weights(sample_weight, len(Y))
            rule = other._fit_rule(rule, Y, weights, lambda: other._bind_again(X, Y, weights))
        other.rule_ = rule
        return other

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """Predict the labels of each sample, with the rule chosen by ``decision``.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_labels)
            1 where the label is predicted, else 0; columns are in the order of ``labels_``.
        """
        check_is_fitted(self)
        if isinstance(self.rule_, OwnDecision):
            return self.rule_(self._sum(self._fused_.deciding(), X))
        return self.rule_(self.predict_proba(X))

    def predict_proba(self, X: Any) -> Scores:
        """Predict the probability that a sample has a label.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_labels)
            Columns are in the order of ``labels_``; they need not sum to one. The probability is exactly 0 for a label
            that no training sample has, and exactly 1 for a label of all training samples.
        """
        check_is_fitted(self)
        return fix_constants(self._sum(self._fused_, X), self._constants_)

    def _sum(self, fused: WeightedSum, X: Any) -> Scores:
        """Return the weighted sum of the models' outputs for new samples."""
        n_threads = count_threads(self.n_jobs)
        return predict_samples(self, X, lambda batch: fused.scores(batch, n_threads))

    def _make_rule(self, decision: Any) -> DecisionRule:
        """Make the unfitted rule for a value of ``decision``."""
        if isinstance(decision, str) and decision == self._own_decision:
            return OwnDecision()
        return make_decision_rule(decision, "decision", self._own_decision)

    def _check_base(self) -> None:
        """Raise an error for a base estimator that is not a classifier or has invalid parameters."""
        base = self._base_estimator()
        if base is not None:
            check_base(base, "classifier")
            check_settings(base)

    def _base_estimator(self) -> Any:
        """Return the base estimator for the parameter ``estimator``; None for classifiers without this parameter."""
        if not hasattr(self, "estimator"):
            return None
        if self.estimator is None:
            return SVMClassifier()
        is_tree = isinstance(self.estimator, str) and self.estimator == "tree"
        return CARTClassifier() if is_tree else self.estimator

    def _check_table(self, X: Any, *, reset: bool) -> Any:
        """Validate X as required by the base estimator, or by the classifier itself if it has none."""
        base = self._base_estimator()
        validate = getattr(self if base is None else base, "_validate_table", validate_rows)
        return validate(self, X, reset=reset)

    def _make_learner(self, X: Any, n_threads: int) -> Learner:
        """Bind a checked table."""
        return bind(self._base_estimator(), X, n_threads)

    def _pose(self, problem: Problem) -> Problem:
        """Add progress reports to the problem, for classifiers with the parameter ``verbose``."""
        own: Any = self
        if not hasattr(own, "verbose"):
            return problem
        check_verbose(own.verbose)
        progress = ProgressLines(type(self).__name__, own.verbose, own.n_estimators, noun="rounds")

        def report(number: int, model: Any) -> bool:
            progress.report(number, {})
            return False

        return replace(problem, on_iteration=report)

    def _fit_rule(
        self, rule: DecisionRule, Y: Labels, weights: Weights | None, pose: Callable[[], Problem]
    ) -> DecisionRule:
        """Fit a rule to held-out scores, if it needs them; ``pose`` returns the problem if no scores are stored."""
        return rule.fit(self._held_out_scores(Y, pose), restore_unknown(Y), weights) if rule.needs_scores else rule

    def _held_out_scores(self, Y: Labels, pose: Callable[[], Problem]) -> Scores:
        """Return held-out scores of the training samples, NaN for samples without.

        Out-of-bag scores are used if ``fit`` stored them, else out-of-fold scores. An ensemble whose members were all
        trained on all samples has only NaN out of bag, such as a filter that stopped after its first member.
        """
        kept = getattr(self, self._held_out_name, None)
        if kept is not None and len(kept) != len(Y):
            raise ValueError(
                f"X has {len(Y)} samples, but the model was fitted on {len(kept)}; decision={show(self.decision)} "
                "is fitted to the training data."
            )
        if kept is not None and not np.isnan(kept).all():
            return kept
        problem = pose()
        if np.count_nonzero(problem.initial_weights) < 2:
            raise ValueError(
                f"decision={show(self.decision)} is fitted by cross-validation, for which one sample is not enough."
            )
        return self._hold_out(problem, self._fold_seed_)

    def _hold_out(self, problem: Problem, seed: int) -> Scores:
        """Return out-of-fold scores."""
        splits = stratified_splits(problem, N_FOLDS, seed)
        return hold_out_folds(self._train, problem, splits, lambda: make_generator(seed))

    def _bind_again(self, X: Any, Y: Labels, weights: Weights | None) -> Problem:
        """Bind the training data again, for cross-validation."""
        learner = self._make_learner(X, count_threads(self.n_jobs))
        return Problem(learner, label_target(Y), weights, make_generator(self._fold_seed_), X, n_jobs=self.n_jobs)

    def _read_labels(self, Y: Any, n_samples: int) -> Labels:
        """Validate labels, set their names and number, and return them as an array of 0, 1 and `UNKNOWN`."""
        if Y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        labels = self._check_labels(Y, n_samples)
        names = label_names(Y)
        self.n_labels_ = labels.shape[1]
        self.labels_ = np.arange(self.n_labels_) if names is None else names
        self.classes_ = [np.array([0, 1]) for _ in range(self.n_labels_)]
        return labels

    def _check_labels(self, Y: Any, n_samples: int) -> Labels:
        """Validate labels and their number of samples, and return them as an array of 0, 1 and `UNKNOWN`."""
        labels = read_partial_labels(Y)
        if len(labels) != n_samples:
            raise ValueError(f"X and Y have inconsistent numbers of samples: {n_samples} and {len(labels)}.")
        if (labels == UNKNOWN).all():
            raise ValueError("y has only NaN; at least one known label is required.")
        if not self._accepts_unknown and (unknown := np.argwhere(labels == UNKNOWN)).size:
            row, column = unknown[0].tolist()
            names = label_names(Y)
            label = column if names is None else names[column]
            raise ValueError(
                f"y must hold 0 and 1 only, but it has NaN at sample {row}, label {label!r}. {type(self).__name__} "
                f"does not support unknown labels; these classifiers do: {', '.join(list_accepting_unknown())}."
            )
        return labels


def train_labels(
    learner: Learner, Y: Labels, counts: Counts, seed: int, *, weights: Weights | None = None
) -> LabelModel:
    """Train a model per label, all on the same samples and features."""
    return learner.train(label_target(Y), counts, seed, weights=weights)


def train_method(problem: Problem, method: Callable[..., LabelModel], seed: int) -> Trained:
    """Train a single model on all samples with a method."""
    weights, learner = problem.weights, problem.learner
    counts, weights = count_all_samples(weights, problem.n_samples, copies=learner.counts_copies)
    return single(method(learner, problem.target.values, counts, seed, weights=weights), problem)


def single(model: LabelModel, problem: Problem) -> Trained:
    """Return a single trained model as a trained ensemble."""
    return Trained(WeightedSum([model], np.ones(1), problem.target.n_columns))


def stratified_splits(problem: Problem, n_folds: int, seed: int) -> Splits:
    """Split the samples with a positive weight into folds stratified by labels, at most one fold per sample."""
    samples = np.flatnonzero(problem.initial_weights)
    folds = IterativeStratifiedKFold(min(n_folds, len(samples)), shuffle=True, random_state=seed)
    splits = folds.split(samples, problem.target.values[samples] == 1)
    return [(samples[inside], samples[outside]) for inside, outside in splits]


def hold_out_folds(
    train: Callable[[Problem], Trained],
    problem: Problem,
    splits: Splits,
    make_rng: Callable[[], np.random.Generator],
    n_jobs: int | None = None,
) -> Scores:
    """Return the mean held-out scores of each sample over the splits that hold it out, NaN if none does.

    The parameters are those of :func:`~fuselearn.fusion.held_out.hold_out`. Splits whose training samples all have
    weight 0 are skipped.
    """
    Y, weights = problem.target.values, problem.initial_weights
    splits = [split for split in splits if weights[split[0]].any()]
    parts = [
        fix_constants(scores, find_constants(Y[inside][weights[inside] > 0]))
        for scores, (inside, _) in zip(hold_out(train, problem, splits, make_rng, n_jobs), splits, strict=True)
    ]
    return average_held_out(parts, splits, len(Y)) if parts else np.full(Y.shape, np.nan)


def fix_constants(scores: Scores, constants: npt.NDArray[np.float64]) -> Scores:
    """Set the probabilities of constant labels, and clip rounding errors, for which the log loss would be NaN."""
    return np.where(np.isnan(constants), np.clip(scores, 0.0, 1.0), constants)


def list_accepting_unknown() -> list[str]:
    """List the names of the classifiers of this library that support unknown labels."""
    kinds, found = [MultilabelBase], []
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        if kind._accepts_unknown and kind.__module__.startswith("fuselearn.") and not kind.__name__.startswith("_"):
            found.append(kind.__name__)
    return sorted(found)


def check_settings(base: Any) -> None:
    """Raise an error for invalid parameters of a base estimator before any training."""
    if hasattr(base, "_bind_table"):
        base._check_parameters()


def find_constants(Y: Labels) -> npt.NDArray[np.float64]:
    """Return the value of each constant label, NaN for other labels, 0 for labels that are unknown for all samples.

    Examples
    --------
    >>> find_constants(np.array([[0, 1, 1, -1], [-1, 1, 0, -1]], dtype=np.int8))
    array([ 0.,  1., nan,  0.])
    """
    has_positives, has_negatives = (Y == 1).any(axis=0), (Y == 0).any(axis=0)
    return np.where(has_positives & has_negatives, np.nan, has_positives)
