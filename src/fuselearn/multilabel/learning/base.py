"""What all multi-label classifiers share: reading tables and labels, decision rules, and scikit-learn's contract."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from fuselearn._compat import take_rows
from fuselearn._fitting import fit_whole_or_not, without_derived
from fuselearn._messages import show
from fuselearn._parameters import check_choice, count_threads
from fuselearn._random import make_generator
from fuselearn._validation import read_weights, validate_rows
from fuselearn.ensembles.cart import CARTClassifier
from fuselearn.ensembles.svm import SVMClassifier
from fuselearn.learners import Learner, answer_in_parts, bind, count_all_samples
from fuselearn.multilabel.data.labels import (
    UNKNOWN,
    check_same_labels,
    label_names,
    read_partial_labels,
    restore_unknown,
)
from fuselearn.multilabel.data.stratification import IterativeStratifiedKFold
from fuselearn.multilabel.decisions import DecisionRule
from fuselearn.multilabel.decisions.rules import RULES, OwnDecision, make_decision_rule
from fuselearn.multilabel.learning.fusion import LabelModel, LabelSum

Labels = npt.NDArray[np.int8]
Scores = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float64]
Model = TypeVar("Model", bound=LabelModel)

N_FOLDS = 5


class MultilabelClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that gives each sample any number of labels; the base of every public estimator of this room.

    Subclasses write ``_fit_labels``, and ``_check_parameters`` if they have some of their own. ``_fit_labels`` composes
    a :class:`~fuselearn.multilabel.learning.fusion.LabelSum` of the models that it has trained, with a learner from
    ``_bind``, and hands it to ``_adopt``; or the subclass writes ``_label_scores`` too. What becomes of the scores is
    decided here, by the rule that ``decision`` names.
    """

    decision: Any
    random_state: Any
    n_jobs: int | None
    n_features_in_: int
    labels_: npt.NDArray[Any]
    n_labels_: int
    classes_: list[npt.NDArray[np.int64]]
    rule_: DecisionRule
    oob_decision_function_: Scores
    _own_decision: str | None = None  # what ``decision`` calls the choice that the model makes by itself
    _accepts_unknown = False  # whether ``_fit_labels`` takes `UNKNOWN` labels
    _fused_: LabelSum
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
        if isinstance(base, BaseEstimator):  # anything else is refused by fit
            input_tags = get_tags(base).input_tags
            tags.input_tags.allow_nan = input_tags.allow_nan
            tags.input_tags.sparse = input_tags.sparse or isinstance(base, CARTClassifier)
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Return the state that a copy or a file keeps, without attributes that can be computed again."""
        return without_derived(self, super().__getstate__())

    @fit_whole_or_not
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            1 or True where a sample has a label, else 0. Labels that no sample or every sample has, and samples without
            any label, are welcome. NaN means that it is not known whether the sample has the label; classifiers that
            cannot use it refuse it, and name those that can.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        object
            Fitted estimator.
        """
        rule = self._make_rule(self.decision)
        self._check_parameters()
        check_engine_settings(self._base_estimator())
        X = validate_rows(self, X, reset=True)
        Y = self._read_labels(y, X.shape[0])
        weights = read_weights(sample_weight, X, X.shape[0])
        self._constants_ = find_constants(Y if weights is None else Y[weights > 0])
        rng = make_generator(self.random_state)
        self._fit_labels(X, Y, weights, rng)
        self._fold_seed_ = int(rng.integers(2**31))
        self.rule_ = self._fit_rule(rule, X, Y, weights)
        return self

    def with_decision(self, decision: Any, X: Any = None, y: Any = None, sample_weight: Any = None) -> Self:
        """Return a copy that decides by another rule; what was trained stays as it is.

        Parameters
        ----------
        decision : float, str or rule
            As the parameter of that name.
        X, y, sample_weight
            The training data, for a rule that learns thresholds; other rules, such as a number, need none. The rule
            learns from out-of-bag scores if ``fit`` kept them, which it does if its own rule learned from them.
            Otherwise it learns from out-of-fold scores, for which models are trained on parts of the samples.

        Returns
        -------
        object
            Fitted. It decides as if ``decision`` had been given to ``fit``, unless ``fit`` would have used out-of-bag
            scores that now come from folds.
        """
        check_is_fitted(self)
        rule = self._make_rule(decision)
        other = copy.copy(self).set_params(decision=decision)
        if rule.needs_scores:
            if X is None or y is None:
                raise ValueError(
                    f"decision={show(decision)} learns thresholds from the training data; pass X and y too."
                )
            X = validate_rows(self, X, reset=False)
            Y = self._read_table(y, X.shape[0])
            if Y.shape[1] != self.n_labels_:
                raise ValueError(f"y has {Y.shape[1]} label(s), but the model was fitted on {self.n_labels_}.")
            check_same_labels(label_names(y), self.labels_, "y has labels of other names or order than in fit")
            rule = other._fit_rule(rule, X, Y, read_weights(sample_weight, X, len(Y)))
        other.rule_ = rule
        return other

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """Predict the labels of each sample, by the rule that ``decision`` names.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_labels)
            1 where the sample gets the label, else 0; columns are in the order of ``labels_``.
        """
        check_is_fitted(self)
        if isinstance(self.rule_, OwnDecision):
            return self.rule_(self._answer(X, self._deciding_scores))
        return self.rule_(self.predict_proba(X))

    def predict_proba(self, X: Any) -> Scores:
        """Predict the probability that a sample has a label.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_labels)
            Columns are in the order of ``labels_``; they need not sum to one. A label that no training sample has
            gets exactly 0, one that all have exactly 1.
        """
        return self._bound_scores(self._answer(X, self._label_scores))

    def _bound_scores(self, scores: Scores) -> Scores:
        """Set the probabilities of constant labels, and undo rounding errors of sums, for which log loss gives NaN."""
        return np.where(np.isnan(self._constants_), np.clip(scores, 0.0, 1.0), self._constants_)

    def _answer(self, X: Any, answer: Callable[[Any], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Check a table of new samples, and let a method answer for it, in parts if they have kernel values."""
        check_is_fitted(self)
        X = validate_rows(self, X, reset=False)
        at_once = self._fused_.learner.samples_at_once if hasattr(self, "_fused_") else 2**31
        return answer_in_parts(X, at_once, answer)

    def _make_rule(self, decision: Any) -> DecisionRule:
        """Make the rule, not yet fitted, that a ``decision`` stands for."""
        own = self._own_decision
        if own is not None and isinstance(decision, str) and check_choice("decision", decision, (own, *RULES)) == own:
            return OwnDecision()
        return make_decision_rule(decision, "decision")

    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense, before any work is done."""

    def _fit_labels(self, X: Any, Y: Labels, weights: Weights | None, rng: np.random.Generator) -> None:
        """Fit to a checked table, its labels as an (n_samples, n_labels) array of 0 and 1, and sample weights.

        If the class attribute ``_accepts_unknown`` is true, some labels may be `UNKNOWN`.
        """
        raise NotImplementedError

    def _base_estimator(self) -> Any:
        """Return the base learner that the parameter ``estimator`` stands for, None for classifiers without any."""
        if not hasattr(self, "estimator"):
            return None
        if self.estimator is None:
            return SVMClassifier()
        is_tree = isinstance(self.estimator, str) and self.estimator == "tree"
        return CARTClassifier() if is_tree else self.estimator

    def _bind(self, X: Any, n_threads: int | None = None) -> Learner:
        """Bind a checked table to the base learner."""
        return bind(self._base_estimator(), X, count_threads(self.n_jobs) if n_threads is None else n_threads)

    def _fit_one(
        self, train: Callable[..., Model], X: Any, Y: Labels, weights: Weights | None, rng: np.random.Generator
    ) -> Model:
        """Train a single model on all samples by ``train(learner, Y, counts, seed, weights=...)``, and keep it."""
        learner = self._bind(X)
        counts, weights = count_all_samples(weights, len(Y), copies=learner.counts_copies)
        model = train(learner, Y, counts, int(rng.integers(2**31)), weights=weights)
        self._adopt(LabelSum.of_one(model, learner))
        return model

    def _adopt(self, fused: LabelSum) -> None:
        """Keep trained models without the training data."""
        fused.unbind()
        self._fused_ = fused

    def _label_scores(self, X: Any) -> Scores:
        """Return the probabilities of the labels for a checked table of new samples."""
        return self._fused_.scores(X, self.n_jobs)

    def _deciding_scores(self, X: Any) -> Scores:
        """Return scores that are above 0.5 for the labels that the model chooses by itself."""
        return self._fused_.deciding().scores(X, self.n_jobs)

    def _wants_honest_scores(self) -> bool:
        """Return whether the decision rule is fitted, by ``_honest_scores`` after ``_fit_labels``."""
        return self._make_rule(self.decision).needs_scores

    def _fit_rule(self, rule: DecisionRule, X: Any, Y: Labels, weights: Weights | None) -> DecisionRule:
        """Let a rule learn from honest scores, if it learns at all."""
        return rule.fit(self._honest_scores(X, Y, weights), restore_unknown(Y), weights) if rule.needs_scores else rule

    def _honest_scores(self, X: Any, Y: Labels, weights: Weights | None) -> Scores:
        """Score the training samples by models that have not seen them; samples of NaN have no such score.

        Ensembles that leave samples out anyway keep ``oob_decision_function_``; for others, folds are left out in turn,
        and for ensembles of which every member has seen all samples: a filter that is certain stops after the first.
        """
        kept = getattr(self, "oob_decision_function_", None)
        if kept is not None and len(kept) != len(Y):
            raise ValueError(
                f"X has {len(Y)} samples, but the model was fitted on {len(kept)}; decision={show(self.decision)} "
                "learns from the training data."
            )
        if kept is None or np.isnan(kept).all():
            return self._out_of_fold_scores(X, Y, weights, self._fold_seed_)
        return kept

    def _out_of_fold_scores(self, X: Any, Y: Labels, weights: Weights | None, seed: int) -> Scores:
        """Score the samples of each fold by a clone that is trained on the other folds."""
        rows = np.arange(len(Y)) if weights is None else np.flatnonzero(weights)
        if len(rows) < 2:
            raise ValueError(
                f"decision={show(self.decision)} is learned on samples left out in turn, so one sample is not enough."
            )
        scores = np.full(Y.shape, np.nan)
        folds = IterativeStratifiedKFold(min(N_FOLDS, len(rows)), shuffle=True, random_state=seed)
        for inside, outside in folds.split(rows, Y[rows] == 1):
            model = clone(self).set_params(decision=0.5, random_state=seed)
            inside, outside = rows[inside], rows[outside]
            model.fit(take_rows(X, inside), restore_unknown(Y[inside]), None if weights is None else weights[inside])
            scores[outside] = model.predict_proba(take_rows(X, outside))
        return scores

    def _read_labels(self, Y: Any, n_rows: int) -> Labels:
        """Check the labels, set their names and number, and give them as an array of 0 and 1."""
        if Y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        labels = self._read_table(Y, n_rows)
        names = label_names(Y)
        self.n_labels_ = labels.shape[1]
        self.labels_ = np.arange(self.n_labels_) if names is None else names
        self.classes_ = [np.array([0, 1]) for _ in range(self.n_labels_)]
        return labels

    def _read_table(self, Y: Any, n_samples: int) -> Labels:
        """Check a table of labels and its number of samples, and give it as an array of 0, 1 and `UNKNOWN`."""
        labels = read_partial_labels(Y)
        if len(labels) != n_samples:
            raise ValueError(f"X and Y have inconsistent numbers of samples: {n_samples} and {len(labels)}.")
        if (labels == UNKNOWN).all():
            raise ValueError("y has NaN only; nothing can be learned without a known label.")
        if not self._accepts_unknown and (unknown := np.argwhere(labels == UNKNOWN)).size:
            row, column = unknown[0].tolist()
            names = label_names(Y)
            label = column if names is None else names[column]
            raise ValueError(
                f"y must hold 0 and 1 only, but it has NaN at sample {row}, label {label!r}. {type(self).__name__} "
                f"needs to know all labels; classifiers that do not are {', '.join(list_accepting_unknown())}."
            )
        return labels


def list_accepting_unknown() -> list[str]:
    """List the names of the library's classifiers that take labels of which some are unknown."""
    kinds, found = [MultilabelClassifier], []
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        if kind._accepts_unknown and kind.__module__.startswith("fuselearn.") and not kind.__name__.startswith("_"):
            found.append(kind.__name__)
    return sorted(found)


def check_engine_settings(base: Any) -> None:
    """Refuse parameters of a base learner that an engine cannot have, before any work is done."""
    if hasattr(base, "_engine_settings"):
        base._engine_settings()


def find_constants(Y: Labels) -> npt.NDArray[np.float64]:
    """Return the value of each label that all samples share, NaN for others; 0 for labels that are nowhere known.

    Examples
    --------
    >>> find_constants(np.array([[0, 1, 1, -1], [-1, 1, 0, -1]], dtype=np.int8))
    array([ 0.,  1., nan,  0.])
    """
    has_positives, has_negatives = (Y == 1).any(axis=0), (Y == 0).any(axis=0)
    return np.where(has_positives & has_negatives, np.nan, has_positives)
