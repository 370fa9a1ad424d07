"""The common part of the ensembles that are trained on a Dask cluster."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from fuselearn._fitting import fit_whole_or_not
from fuselearn._random import make_generator
from fuselearn.dask.collections import is_collection, predict_parts
from fuselearn.dask.session import Session
from fuselearn.dask.table import DaskTable
from fuselearn.ensembles import CARTClassifier
from fuselearn.sensors import Component, WeightedSum


class DaskEnsemble:
    """What an ensemble of trees has if it is trained on a Dask cluster; a mixin before the local class.

    The constructor is that of the local class, with ``sampling="poisson"`` and ``client``.
    """

    local_class: type[Any]
    client: Any
    random_state: Any
    estimator: Any
    class_weight: Any
    oob_score: Any
    warm_start: bool
    sampling: str
    _base: Any
    _check_parameters: Any
    _coder_: Any
    _fused_: WeightedSum
    classes_: npt.NDArray[Any]

    def __init_subclass__(cls, local: type[Any] | None = None, **options: Any) -> None:
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
        client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Any)
        signature = signature.replace(parameters=[*parameters, client])

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            bound = signature.bind(self, *args, **kwargs)
            bound.apply_defaults()
            for name, value in list(bound.arguments.items())[1:]:
                setattr(self, name, value)

        __init__.__signature__ = signature  # type: ignore[attr-defined]
        cls.__init__ = __init__  # type: ignore[method-assign]

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted estimator with the same parameters and the same client, which cannot be copied."""
        params = self.get_params(deep=False)  # type: ignore[attr-defined]
        client = params.pop("client")
        kind: Any = type(self)
        copied: Self = kind(**{name: clone(value, safe=False) for name, value in params.items()}, client=client)
        return copied

    def __getstate__(self) -> dict[str, Any]:
        """Return the state that a copy or a file keeps: without the client."""
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "client_"} | {"client": None}

    @fit_whole_or_not
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier to samples on a cluster.

        Parameters
        ----------
        X : dask.array.Array, dask.dataframe.DataFrame or list of delayed arrays or DataFrames
            Numbers, NaN, and category columns of DataFrames.
        y : dask.array.Array, dask.dataframe.Series or list of delayed arrays
            Classes of any type, in the partitions of X.
        sample_weight : as y, optional

        Returns
        -------
        object
            Fitted estimator.
        """
        self._check_parameters()
        self._check_supported()
        with Session(self.client) as session:
            table = DaskTable(session, X, y, sample_weight, self._base().max_bins, self.class_weight)
            self.client_ = session.client
            if table.names is not None:
                self.feature_names_in_ = np.array(table.names, dtype=object)
            self.n_features_in_ = table.n_features
            self._coder_ = table.coder
            self.classes_ = table.classes
            self._fit_table(table, make_generator(self.random_state))
            self._n_rows_ = table.n_samples
        return self

    def to_local(self) -> Any:
        """Return the ordinary estimator, which needs no cluster.

        Returns
        -------
        fitted estimator
            Of the class without ``Dask`` in its name.
        """
        check_is_fitted(self)
        local = self.local_class()
        local.__setstate__({name: value for name, value in self.__getstate__().items() if name != "client"})
        return local

    def predict(self, X: Any) -> Any:
        """Predict the class of each sample, lazily if X is a Dask collection.

        Parameters
        ----------
        X : Dask collection, list of delayed parts, or what the local class takes

        Returns
        -------
        dask.array.Array, list of delayed arrays, or ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        if not is_collection(X):
            return super().predict(X)  # type: ignore[misc]
        return predict_parts(_predict, self.to_local(), X, self.classes_[:0])

    def predict_proba(self, X: Any) -> Any:
        """Predict class probabilities, lazily if X is a Dask collection.

        Parameters
        ----------
        X : Dask collection, list of delayed parts, or what the local class takes

        Returns
        -------
        dask.array.Array, list of delayed arrays, or ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        if not is_collection(X):
            return super().predict_proba(X)  # type: ignore[misc]
        return predict_parts(_predict_proba, self.to_local(), X, np.empty((0, len(self.classes_))))

    def _fit_table(self, table: DaskTable, rng: np.random.Generator) -> None:
        raise NotImplementedError

    def _check_supported(self) -> None:
        """Refuse what is not done on a cluster."""
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

    def _keep(
        self, components: Sequence[Component], coefficients: npt.NDArray[np.float64], by_class: npt.NDArray[np.bool_]
    ) -> None:
        self._fused_ = WeightedSum(components, coefficients, by_class)


def _predict(model: Any, X: Any) -> Any:
    return model.predict(X) if len(X) else model.classes_[:0]


def _predict_proba(model: Any, X: Any) -> Any:
    return model.predict_proba(X) if len(X) else np.empty((0, len(model.classes_)))
