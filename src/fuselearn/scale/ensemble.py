"""The common part of ensembles of trees that are trained on a table in parts."""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from fuselearn._random import make_generator
from fuselearn.ensembles import CARTClassifier
from fuselearn.learners import Component, WeightedSum
from fuselearn.parts.checkpoint import Checkpoint, digest
from fuselearn.parts.session import Session
from fuselearn.parts.sums import add_exactly, sum_fingerprint
from fuselearn.parts.table import PartedTable

# These change how a fit is done, but not which trees it grows first.
NOT_OF_THE_MODEL = {
    "n_estimators",
    "callback",
    "verbose",
    "n_jobs",
    "random_state",
    "checkpoint",
    "client",
    "directory",
}


class PartedEnsemble:
    """What an ensemble of trees has if it is trained on a table in parts; a mixin before the local class.

    The constructor is that of the local class, with ``sampling="poisson"``, ``checkpoint`` and what ``added`` names.
    """

    local_class: type[Any]
    random_state: Any
    estimator: Any
    class_weight: Any
    checkpoint: Any
    oob_score: Any
    warm_start: bool
    sampling: str
    get_params: Any
    _base: Any
    _check_parameters: Any
    _coder_: Any
    _fused_: WeightedSum
    classes_: npt.NDArray[Any]

    def __init_subclass__(cls, local: type[Any] | None = None, added: str = "", **options: Any) -> None:
        """Give the constructor the signature by which scikit-learn finds the parameters."""
        super().__init_subclass__(**options)
        if local is None:
            return
        cls.local_class = local
        signature = inspect.signature(local.__init__)
        parameters = [
            parameter.replace(default="poisson") if name == "sampling" else parameter
            for name, parameter in signature.parameters.items()
        ]
        own = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Any)
            for name in ("checkpoint", added)
        ]
        signature = signature.replace(parameters=[*parameters, *own])

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            bound = signature.bind(self, *args, **kwargs)
            bound.apply_defaults()
            for name, value in list(bound.arguments.items())[1:]:
                setattr(self, name, value)

        __init__.__signature__ = signature  # type: ignore[attr-defined]
        cls.__init__ = __init__  # type: ignore[method-assign]

    def __getstate__(self) -> dict[str, Any]:
        """Return the state that a copy or a file keeps: paths as text, which files can hold."""
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {name: os.fspath(value) if isinstance(value, os.PathLike) else value for name, value in state.items()}

    def to_local(self) -> Any:
        """Return the ordinary estimator, which needs neither a cluster nor files.

        Returns
        -------
        fitted estimator
            Of the ordinary class.
        """
        check_is_fitted(self)
        local = self.local_class()
        state: Any = self.__getstate__()
        own = self.get_params(deep=False).keys() - local.get_params(deep=False).keys()
        local.__setstate__({name: value for name, value in state.items() if name not in own})
        return local

    def _fit_parts(self, session: Session, parts: Sequence[tuple[Any, Any, Any]]) -> None:
        """Fit the ensemble to parts of samples, as a session reads them."""
        table = PartedTable(session, parts, self._base().max_bins, self.class_weight)
        if table.names is not None:
            self.feature_names_in_ = np.array(table.names, dtype=object)
        self.n_features_in_ = table.n_features
        self._coder_ = table.coder
        self.classes_ = table.classes
        random_state = self.random_state
        if self.checkpoint is not None:
            table.checkpoint = Checkpoint(self.checkpoint, self._describe_fit(table), table.coder.n_categories_)
            random_state = table.checkpoint.seed if random_state is None else random_state
        self._fit_table(table, make_generator(random_state))
        self._n_rows_ = table.n_samples

    def _fit_table(self, table: PartedTable, rng: np.random.Generator) -> None:
        raise NotImplementedError

    def _check_supported(self) -> None:
        """Refuse what is not done on parts."""
        self._check_parameters()
        name = type(self).__name__
        base = self._base()
        if not isinstance(base, CARTClassifier):
            raise TypeError(f"{name} trains trees only: estimator must be a CARTClassifier or None.")
        if base.class_weight is not None:
            raise ValueError(f"{name} takes class_weight itself; that of its estimator must be None.")
        if self.sampling != "poisson":
            raise ValueError(f"{name} draws samples with sampling='poisson' only.")
        for parameter in ("oob_score", "warm_start"):
            if getattr(self, parameter):
                raise ValueError(f"{name} does not support {parameter}; set {parameter}=False.")
        if self.checkpoint is not None and not isinstance(self.random_state, int | np.integer | None):
            raise ValueError("With checkpoint, random_state must be a whole number or None: others change with use.")

    def _describe_fit(self, table: PartedTable) -> dict[str, Any]:
        """Return what must be the same if a fit is resumed."""
        params = self.get_params(deep=False)
        columns = table.columns
        return {
            "class": type(self).local_class.__name__,
            "parameters": {name: repr(value) for name, value in params.items() if name not in NOT_OF_THE_MODEL},
            "random_state": None if self.random_state is None else int(self.random_state),
            "number of samples": table.n_samples,
            "features": table.n_features if table.names is None else table.names,
            "classes": [str(label) for label in table.classes],
            "samples per class": table.class_counts.tolist(),
            "sum of the weights": table.total_weight,
            "values": digest([columns.n_codes, columns.lower, columns.upper]),
            "samples": add_exactly(table.session, table.session.map(sum_fingerprint, table.parts)),
        }

    def _keep(
        self, components: Sequence[Component], coefficients: npt.NDArray[np.float64], by_class: npt.NDArray[np.bool_]
    ) -> None:
        self._fused_ = WeightedSum(components, coefficients, by_class)
