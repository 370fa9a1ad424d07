"""The common part of ensembles: binding data to a base learner, and predicting with the fused components."""

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
from fuselearn._parameters import check_flag, check_whole_number, count_threads
from fuselearn._validation import clip_probabilities, read_weights, validate_rows
from fuselearn.ensembles.cart import CARTClassifier, tree_importances
from fuselearn.ensembles.out_of_bag import KnownClasses, Scorer, score_known
from fuselearn.ensembles.table_classifier import TableClassifier
from fuselearn.sensors import (
    Classes,
    Component,
    Sensor,
    TableCoder,
    TreeComponent,
    WeightedSum,
    answer_in_parts,
    bind,
)
from fuselearn.sensors.fusion import component_scores


class ComponentEnsemble(TableClassifier):
    """An ensemble of components that are trained on samples of one dataset.

    Subclasses call ``_bind`` for a sensor, train components with it, and hand them to ``_adopt``.
    """

    estimator: BaseEstimator | None
    warm_start: bool = False
    verbose: int = 0
    callback: Callable[[int, Any], Any] | None = None
    n_jobs: int | None
    coefficients_: npt.NDArray[np.float64]
    oob_score_: float
    oob_decision_function_: npt.NDArray[np.float64]
    oob_prediction_: npt.NDArray[Any]

    def __sklearn_tags__(self) -> Any:
        """Return the tags: what the estimator can take."""
        tags = super().__sklearn_tags__()
        if isinstance(self.estimator, BaseEstimator):
            base = get_tags(self.estimator)
            tags.input_tags.allow_nan = base.input_tags.allow_nan
            tags.input_tags.sparse = base.input_tags.sparse
        return tags

    def _default_estimator(self) -> CARTClassifier:
        """Return the base learner that ``estimator=None`` stands for."""
        return CARTClassifier()

    def _bind(self, X: Any, y: Any) -> tuple[Sensor, npt.NDArray[np.int32]]:
        """Check the data and bind it to the base learner; return the sensor and the class numbers."""
        base = self._base()
        earlier = vars(self).get("classes_"), vars(self).get("n_features_in_")  # of a fit that is continued
        is_tree = isinstance(base, CARTClassifier)
        X = self._validate_table(X, reset=True) if is_tree else validate_rows(self, X, reset=True)
        learner = bind(base, X, count_threads(self.n_jobs))
        self._coder_ = learner.coder
        target = self._read_target(y, learner.n_samples)
        classes, n_features = earlier
        if classes is not None and not (np.array_equal(classes, self.classes_) and n_features == self.n_features_in_):
            raise ValueError("With warm_start=True, X and y must have the features and classes of the fit before.")
        return Sensor(learner, Classes(target, len(self.classes_), self.classes_)), target

    def _adopt(
        self,
        sensor: Sensor,
        components: list[Component],
        coefficients: npt.NDArray[np.float64],
        by_class: npt.NDArray[np.bool_],
    ) -> None:
        """Keep trained components, the weight of each in the sum, and whether it counts with its vote."""
        for component in components:
            component.unbind()
        sensor.learner.unbind()
        self.__dict__.pop("estimators_", None)  # those of an earlier fit, if it is continued
        self.coefficients_ = coefficients
        self._fused_ = WeightedSum(components, coefficients, by_class, len(self.classes_))

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
        coefficients = getattr(self, "coefficients_", np.ones(len(self)))
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

    def _announce(self, number: int, total: int, component: Component) -> bool:
        """Print progress and call back after a member is trained; return whether training shall end."""
        if self.verbose and (self.verbose > 1 or number == total or number % max(1, total // 10) == 0):
            print(f"[{type(self).__name__}] {number} of {total} members are trained.", flush=True)
        if self.callback is None:
            return False
        answer = self.callback(number, self._as_estimator(component, self._base()))
        return isinstance(answer, bool | np.bool_) and bool(answer)

    def _check_warm_start(self, n_wanted: int, needed: str = "_fused_") -> int:
        """Return the number of members that an earlier fit has left, if it is to be continued; check how to report."""
        check_flag("warm_start", self.warm_start)
        check_whole_number("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, 0)
        if not (self.callback is None or callable(self.callback)):
            raise TypeError(f"callback must be a function or None, not {show(self.callback)}.")
        if not (self.warm_start and hasattr(self, "_fused_")):
            return 0
        if not hasattr(self, needed):
            raise ValueError("warm_start=True continues a fit with warm_start=True only: set it before the first fit.")
        if n_wanted < len(self):
            raise ValueError(
                f"n_estimators is {n_wanted}, but with warm_start=True the ensemble has {len(self)} members already."
            )
        return len(self)

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

    def _base(self) -> Any:
        return self._default_estimator() if self.estimator is None else self.estimator

    @property
    def _components_(self) -> Sequence[Component]:
        return self._fused_.components

    @cached_property
    def estimators_(self) -> list[Any]:
        """The fitted components, as estimators of their own."""
        check_is_fitted(self)
        return [self._as_estimator(component, self._base()) for component in self._components_]

    def _as_estimator(self, component: Any, base: Any) -> Any:
        if not hasattr(base, "_wrap"):
            return component.model
        return base._wrap(component, self._coder_, self.classes_, getattr(self, "feature_names_in_", None))

    def _read_rows(self, X: Any) -> Any:
        """Check new samples and bring them into the form that the components take."""
        return self._prepare(self._check_rows(X))

    def _check_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        if isinstance(self._coder_, TableCoder):
            return self._validate_table(X, reset=False)
        return validate_rows(self, X, reset=False)

    def _prepare(self, X: Any) -> Any:
        return X if self._coder_ is None else self._coder_.transform(X)

    def _class_scores(self, X: Any) -> npt.NDArray[np.float64]:
        """Sum up what the components say about new samples, in parts if they have kernel values."""
        n_threads = count_threads(self.n_jobs)
        X = self._check_rows(X)
        at_once = getattr(self._coder_, "samples_at_once", 2**31)
        return answer_in_parts(X, at_once, lambda part: self._fused_.scores(self._prepare(part), n_threads))


def read_class_weights(
    class_weight: Any, sample_weight: Any, X: Any, y: npt.NDArray[Any]
) -> npt.NDArray[np.float64] | None:
    """Check sample weights and multiply them by the weights of the classes; None if neither is given."""
    weights = read_weights(sample_weight, X, len(y))
    if class_weight is None:
        return weights
    if not (isinstance(class_weight, Mapping) or (isinstance(class_weight, str) and class_weight == "balanced")):
        raise ValueError(f"class_weight must be a dict, 'balanced' or None, not {show(class_weight)}.")
    by_class = compute_sample_weight(class_weight, y)
    return read_weights(by_class if weights is None else weights * by_class, X, len(y))


def refuse_other_size(n_before: int, n_samples: int) -> None:
    """Refuse to continue a fit on another number of samples."""
    if n_before != n_samples:
        raise ValueError(f"With warm_start=True, X must have the {n_before} samples of the last fit, not {n_samples}.")


def as_decision(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return scores in the form of scikit-learn's ``decision_function``: for two classes, the lead of the second."""
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


def error_of_guessing(n_classes: int) -> float:
    """Return the error from which a classifier is no better than guessing, less what rounding may take from a sum."""
    return 1.0 - 1.0 / n_classes - 1e-12
