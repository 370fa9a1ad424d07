"""The base of the estimators: reading tables, and answering with the components that ``fit`` has trained."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from fuselearn._fitting import without_derived
from fuselearn._validation import validate_frame, validate_rows
from fuselearn.learners import Component, Learner, WeightedSum, answer_in_parts
from fuselearn.learners.table import as_frame

Weights = npt.NDArray[np.float64]

# New sparse samples are predicted in parts that have so many values if they are made dense.
DENSE_VALUES = 2**24


class TableEstimator(BaseEstimator):
    """An estimator of samples of a table; the common part of every public classifier and regressor.

    The ``fit`` of a subclass checks the data, binds the table to the base learner, trains components and hands them to
    ``_adopt``.
    """

    n_jobs: int | None
    n_features_in_: int
    _coder_: Any  # its transform prepares samples for the components; None if they take samples as they are
    _fused_: WeightedSum

    def __sklearn_tags__(self) -> Any:
        """Return the tags: what the estimator can take."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Return the state that a copy or a file keeps, without attributes that can be computed again."""
        return without_derived(self, super().__getstate__())

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy or a file; parameters that are newer than the file get their defaults."""
        defaults = {p.name: p.default for p in inspect.signature(type(self)).parameters.values()}
        super().__setstate__({name: value for name, value in defaults.items() if name not in state} | state)

    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense, before any work is done."""

    def _base(self) -> Any:
        """Return the base learner: the estimator itself, if it is not an ensemble of others."""
        return self

    def _adopt(
        self, learner: Learner, components: list[Component], coefficients: Weights, by_class: npt.NDArray[np.bool_]
    ) -> None:
        """Keep trained components, the weight of each in the sum, and whether it counts with its vote."""
        learner.unbind()
        self._adopt_members(components, coefficients, by_class)

    def _adopt_members(
        self, components: list[Component], coefficients: Weights, by_class: npt.NDArray[np.bool_]
    ) -> None:
        """Keep trained components that are bound to tables of their own, or no longer to any."""
        for component in components:
            component.unbind()
        self.__dict__.pop("estimators_", None)  # those of an earlier fit, if it is continued
        self._fused_ = WeightedSum(components, coefficients, by_class)

    def _adopt_alone(self, component: Component) -> None:
        """Keep a single component."""
        self._fused_ = WeightedSum([component], np.ones(1), np.zeros(1, dtype=bool))

    def _answer(self, X: Any, answer: Any) -> npt.NDArray[Any]:
        """Let a function answer for new samples as the components take them, in parts if they have kernel values."""
        check_is_fitted(self)
        X = self._check_table(X, reset=False)
        at_once = getattr(self._coder_, "samples_at_once", 2**31)
        if sparse.issparse(X) and self._coder_ is not None:  # what trees need is dense
            at_once = min(at_once, max(1, DENSE_VALUES // X.shape[1]))
        return answer_in_parts(X, at_once, lambda part: answer(self._prepare(part)))

    def _read_rows(self, X: Any) -> Any:
        """Check new samples and bring them into the form that the components take."""
        check_is_fitted(self)
        return self._prepare(self._check_table(X, reset=False))

    def _prepare(self, X: Any) -> Any:
        return X if self._coder_ is None else self._coder_.transform(X)

    def _check_table(self, X: Any, *, reset: bool) -> Any:
        """Check a table as the base learner takes it."""
        validate = getattr(self._base(), "_validate_table", validate_rows)
        return validate(self, X, reset=reset)


def validate_numbers(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check a table of numbers and gaps, or the shape and the names of a DataFrame."""
    if as_frame(X) is None:
        return validate_data(
            estimator,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            accept_sparse="csr",
            ensure_all_finite="allow-nan",
        )
    return validate_frame(estimator, X, reset=reset)
