"""The common part of ensembles: base learner, members, warm starts, progress and out-of-bag scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier
from sklearn.utils import get_tags
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from fuselearn._messages import show
from fuselearn._parameters import check_class_weight, check_flag, check_verbose
from fuselearn._progress import ProgressLines
from fuselearn._validation import clip_probabilities, read_weights
from fuselearn.ensembles.cart import CARTClassifier
from fuselearn.ensembles.out_of_bag import KnownClasses, Scorer, read_scoring, score_known
from fuselearn.ensembles.single_tree import tree_importances
from fuselearn.learners import Component, TreeComponent, WeightedSum
from fuselearn.learners.fusion import component_scores


class ComponentSequence:
    """What a ``TableEstimator`` that is an ensemble has beside: members, warm starts and progress."""

    estimator: BaseEstimator | None
    warm_start: bool = False
    verbose: int = 0
    callback: Callable[[int, Any], Any] | None = None
    n_features_in_: int
    _coder_: Any
    _fused_: WeightedSum

    def __sklearn_tags__(self) -> Any:
        """Return the tags: what the estimator can take."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        if isinstance(self.estimator, BaseEstimator):
            base = get_tags(self.estimator)
            tags.input_tags.allow_nan = base.input_tags.allow_nan
            tags.input_tags.sparse = base.input_tags.sparse
        return tags

    def _default_estimator(self) -> Any:
        """Return the base learner that ``estimator=None`` stands for."""
        raise NotImplementedError

    def _base(self) -> Any:
        return self._default_estimator() if self.estimator is None else self.estimator

    def __len__(self) -> int:
        """Return the number of fitted members."""
        check_is_fitted(self)
        return len(self._components_)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the fitted members."""
        return iter(self.estimators_)

    def __getitem__(self, index: Any) -> Any:
        """Return one fitted member, or several by a slice."""
        return self.estimators_[index]

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """Mean of the members' importances, weighted by their coefficients, as shares that sum to one.

        Only if the members have any: trees, for example.
        """
        check_is_fitted(self)
        coefficients = getattr(self._fused_, "coefficients", np.ones(len(self)))
        total = np.zeros(self.n_features_in_)
        for component, coefficient in zip(self._components_, coefficients, strict=True):
            total += coefficient * self._importances(component)
        return total / total.sum() if total.any() else total

    def _importances(self, component: Any) -> npt.NDArray[np.float64]:
        if isinstance(component, TreeComponent):
            return tree_importances(component.tree, self.n_features_in_)
        importances = np.zeros(self.n_features_in_)
        if not isinstance(component.model, DummyClassifier):  # that of a sample with a single class
            features = slice(None) if component.features is None else component.features
            importances[features] = component.model.feature_importances_
        return importances

    def _announcer(self, total: int, n_before: int = 0) -> Callable[..., bool]:
        """Return what prints progress and calls back after a member is trained, and says whether training shall end."""
        progress = ProgressLines(type(self).__name__, self.verbose, total, n_before)

        def announce(number: int, component: Component, **facts: float) -> bool:
            progress.report(number, facts)
            if self.callback is None:
                return False
            answer = self.callback(number, self._as_estimator(component, self._base()))
            return isinstance(answer, bool | np.bool_) and bool(answer)

        return announce

    @property
    def _n_before(self) -> int:
        """The number of members that an earlier fit has left, if it is continued."""
        return len(self) if hasattr(self, "_fused_") else 0

    @property
    def _components_(self) -> Sequence[Component]:
        return self._fused_.components

    @property
    def coefficients_(self) -> npt.NDArray[np.float64]:
        """Weight of each member in the ensemble."""
        return self._fused_.coefficients

    @cached_property
    def estimators_(self) -> list[Any]:
        """The fitted components, as estimators of their own."""
        check_is_fitted(self)
        return [self._as_estimator(component, self._base()) for component in self._components_]

    def _as_estimator(self, component: Any, base: Any) -> Any:
        if not hasattr(base, "_wrap"):
            return component.model
        return base._wrap(
            component, self._coder_, getattr(self, "classes_", None), getattr(self, "feature_names_in_", None)
        )

    def _check_members(self, n_wanted: int, needed: str) -> None:
        """Refuse parameters that make no sense, and to continue a fit that has not left the attribute needed for it."""
        check_flag("warm_start", self.warm_start)
        check_verbose(self.verbose)
        if not (self.callback is None or callable(self.callback)):
            raise TypeError(f"callback must be a function or None, not {show(self.callback)}.")
        if self._n_before and not hasattr(self, needed):
            raise ValueError("warm_start=True continues a fit with warm_start=True only: set it before the first fit.")
        if n_wanted < self._n_before:
            raise ValueError(
                f"n_estimators is {n_wanted}, but with warm_start=True the ensemble has {len(self)} members already."
            )


class ComponentEnsemble(ComponentSequence):
    """What a ``TableClassifier`` that is an ensemble has beside: members, class weights, out-of-bag scores."""

    class_weight: Any = None
    oob_score: Any = False
    classes_: npt.NDArray[Any]
    oob_score_: float
    oob_decision_function_: npt.NDArray[np.float64]
    oob_prediction_: npt.NDArray[Any]
    predict_proba: Callable[[Any], npt.NDArray[np.float64]]
    _choose: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.intp]]
    _read_rows: Callable[[Any], Any]

    def _default_estimator(self) -> CARTClassifier:
        """Return the base learner that ``estimator=None`` stands for."""
        return CARTClassifier()

    def _read_weights(self, sample_weight: Any, X: Any, truth: npt.NDArray[np.int32]) -> npt.NDArray[np.float64] | None:
        """Check sample weights and multiply them by the weights of the classes; None if neither is given."""
        weights = read_weights(sample_weight, X, len(truth))
        if self.class_weight is None:
            return weights
        by_class = compute_sample_weight(self.class_weight, self.classes_[truth])
        return read_weights(by_class if weights is None else weights * by_class, X, len(truth))

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Compute the class scores, or for two classes by how much the second one leads.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            The class with the largest one is predicted, the second of two above 0; ``predict`` breaks ties.
        """
        scores = self._decision_scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _decision_scores(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the class scores that ``decision_function`` compares."""
        return self.predict_proba(X)

    def _check_ensemble(self, n_wanted: int, needed: str = "_fused_") -> None:
        """Refuse parameters that make no sense, and to continue a fit that has not left the attribute needed for it."""
        read_scoring(self.oob_score, "accuracy")
        check_class_weight(self.class_weight)
        self._check_members(n_wanted, needed)

    def _keep_out_of_bag(self, scorer: Scorer, votes: npt.NDArray[np.float64], truth: npt.NDArray[np.int32]) -> None:
        """Keep the votes of the members that have not seen a sample, as shares, and their score."""
        total = votes.sum(axis=1)
        covered = total > 0
        self.oob_decision_function_ = np.full_like(votes, np.nan)
        self.oob_decision_function_[covered] = clip_probabilities(votes[covered] / total[covered, None])
        self.oob_prediction_ = self.classes_[self._choose(votes)]
        known = KnownClasses(self.oob_prediction_[covered], self.oob_decision_function_[covered], self.classes_)
        self.oob_score_ = score_known(scorer, known, self.classes_[truth[covered]])

    def _score_left_out(
        self, scorer: Scorer, X: Any, truth: npt.NDArray[np.int32], left_out: dict[int, npt.NDArray[np.intp]]
    ) -> None:
        """Score the votes for the samples that each new member, by its position, has not seen."""
        self._left_out_ = getattr(self, "_left_out_", {}) | left_out
        self._keep_out_of_bag(scorer, self._sum_left_out(X, self._left_out_), truth)
        if not self.warm_start:
            del self._left_out_

    def _sum_left_out(self, X: Any, left_out: Mapping[int, npt.NDArray[np.intp]]) -> npt.NDArray[np.float64]:
        """Sum the weighted votes of the members, by their positions, for the samples that each has not seen."""
        rows = self._read_rows(X)
        total = np.zeros((rows.shape[0], len(self.classes_)))
        for position, outside in left_out.items():
            by_class = self._fused_.by_class[position]
            scores = component_scores(self._components_[position], by_class, len(self.classes_), rows)
            total[outside] += self.coefficients_[position] * scores[outside]
        return total


def refuse_other_size(n_before: int, n_samples: int) -> None:
    """Refuse to continue a fit on another number of samples."""
    if n_before != n_samples:
        raise ValueError(f"With warm_start=True, X must have the {n_before} samples of the last fit, not {n_samples}.")


def error_of_guessing(n_classes: int) -> float:
    """Return the error from which a classifier is no better than guessing, less what rounding may take from a sum."""
    return 1.0 - 1.0 / n_classes - 1e-12
