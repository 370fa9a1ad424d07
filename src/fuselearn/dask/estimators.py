"""Ensembles of trees on a Dask cluster."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from fuselearn._fitting import fit_whole_or_not
from fuselearn.dask.collections import is_collection, list_parts, predict_parts
from fuselearn.dask.session import DaskSession
from fuselearn.ensembles import BaggedClassifier, ForestClassifier, KFHEClassifier, SAMMEClassifier
from fuselearn.parts.bagging import PartedBagging
from fuselearn.parts.ensemble import PartedEnsemble
from fuselearn.parts.kfhe import PartedKFHE
from fuselearn.parts.samme import PartedSAMME


class DaskEnsemble(PartedEnsemble):
    """An ensemble of trees that is trained on a Dask cluster; a mixin before what says how."""

    client: Any

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted estimator with the same parameters and the same client, which cannot be copied."""
        params = self.get_params(deep=False)
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
        self._check_supported()
        with DaskSession(self.client) as session:
            self._fit_parts(session, list_parts(X, y, sample_weight))
            self.client_ = session.client
        return self

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


def _predict(model: Any, X: Any) -> Any:
    return model.predict(X) if len(X) else model.classes_[:0]


def _predict_proba(model: Any, X: Any) -> Any:
    return model.predict_proba(X) if len(X) else np.empty((0, len(model.classes_)))


class DaskKFHEClassifier(DaskEnsemble, PartedKFHE, KFHEClassifier, local=KFHEClassifier, added="client"):
    """:class:`~fuselearn.KFHEClassifier` of trees on a Dask cluster.

    The model is the same for any division of the samples into parts and for any number of workers, and the same as that
    of ``KFHEClassifier(sampling="poisson")`` on samples in the same order.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimator, n_estimators, ..., n_jobs
        As those of :class:`~fuselearn.KFHEClassifier`, but for: ``estimator`` must be a ``CARTClassifier`` or None,
        ``sampling`` is ``"poisson"``, and ``oob_score`` and ``warm_start`` must be False.
    checkpoint : path or None, default=None
        Folder in which every tree is saved once it has grown. A fit that was lost goes on with the trees in there if it
        is started again with the same samples and parameters, and gives the model that it would have given.
    client : distributed.Client or None, default=None
        The cluster; None means the client that was made last.

    Attributes
    ----------
    client_ : distributed.Client
        The client that was used. All other attributes are those of :class:`~fuselearn.KFHEClassifier`; ``weights_`` is
        fetched once, at the end.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from fuselearn.dask import DaskKFHEClassifier
    >>> client = Client(processes=False, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(1000, 4), chunks=(250, 4))
    >>> model = DaskKFHEClassifier(n_estimators=5, random_state=0).fit(X, X[:, 0] + X[:, 1] > 0)
    >>> model.n_iter_, type(model.to_local()).__name__
    (5, 'KFHEClassifier')
    >>> client.close()
    """


class DaskBaggedClassifier(DaskEnsemble, PartedBagging, BaggedClassifier, local=BaggedClassifier, added="client"):
    """:class:`~fuselearn.BaggedClassifier` of trees on a Dask cluster.

    The model is the same for any division of the samples into parts and for any number of workers, and the same as that
    of ``BaggedClassifier(sampling="poisson")`` on samples in the same order.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimator, n_estimators, ..., n_jobs
        As those of :class:`~fuselearn.BaggedClassifier`, but for: ``estimator`` must be a ``CARTClassifier`` or None,
        ``sampling`` is ``"poisson"``, and ``oob_score`` and ``warm_start`` must be False.
    checkpoint : path or None, default=None
        Folder in which every tree is saved once it has grown. A fit that was lost goes on with the trees in there if it
        is started again with the same samples and parameters, and gives the model that it would have given.
    client : distributed.Client or None, default=None
        The cluster; None means the client that was made last.

    Attributes
    ----------
    client_ : distributed.Client
        The client that was used. All other attributes are those of :class:`~fuselearn.BaggedClassifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from fuselearn.dask import DaskBaggedClassifier
    >>> client = Client(processes=False, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(1000, 4), chunks=(250, 4))
    >>> model = DaskBaggedClassifier(n_estimators=5, random_state=0).fit(X, X[:, 0] > 0)
    >>> float((model.predict(X) == (X[:, 0] > 0)).mean().compute())
    1.0
    >>> client.close()
    """


class DaskForestClassifier(DaskEnsemble, PartedBagging, ForestClassifier, local=ForestClassifier, added="client"):
    """:class:`~fuselearn.ForestClassifier` on a Dask cluster.

    The model is the same for any division of the samples into parts and for any number of workers, and the same as that
    of ``ForestClassifier(sampling="poisson")`` on samples in the same order.

    .. versionadded:: 0.2

    Parameters
    ----------
    n_estimators, splitter, ..., n_jobs
        As those of :class:`~fuselearn.ForestClassifier`, but for: ``sampling`` is ``"poisson"``, and ``oob_score`` and
        ``warm_start`` must be False.
    checkpoint : path or None, default=None
        Folder in which every tree is saved once it has grown. A fit that was lost goes on with the trees in there if it
        is started again with the same samples and parameters, and gives the model that it would have given.
    client : distributed.Client or None, default=None
        The cluster; None means the client that was made last.

    Attributes
    ----------
    client_ : distributed.Client
        The client that was used. All other attributes are those of :class:`~fuselearn.ForestClassifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from fuselearn.dask import DaskForestClassifier
    >>> client = Client(processes=False, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(1000, 4), chunks=(250, 4))
    >>> model = DaskForestClassifier(n_estimators=5, random_state=0).fit(X, X[:, 0] > 0)
    >>> len(model), type(model.to_local()).__name__
    (5, 'ForestClassifier')
    >>> client.close()
    """


class DaskSAMMEClassifier(DaskEnsemble, PartedSAMME, SAMMEClassifier, local=SAMMEClassifier, added="client"):
    """:class:`~fuselearn.SAMMEClassifier` on a Dask cluster.

    The model is the same for any division of the samples into parts and for any number of workers, and the same as that
    of ``SAMMEClassifier(sampling="poisson")`` on samples in the same order.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimator, n_estimators, ..., n_jobs
        As those of :class:`~fuselearn.SAMMEClassifier`, but for: ``estimator`` must be a ``CARTClassifier`` or None,
        ``sampling`` is ``"poisson"``, and ``oob_score`` and ``warm_start`` must be False.
    checkpoint : path or None, default=None
        Folder in which every tree is saved once it has grown. A fit that was lost goes on with the trees in there if it
        is started again with the same samples and parameters, and gives the model that it would have given.
    client : distributed.Client or None, default=None
        The cluster; None means the client that was made last.

    Attributes
    ----------
    client_ : distributed.Client
        The client that was used. All other attributes are those of :class:`~fuselearn.SAMMEClassifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from fuselearn.dask import DaskSAMMEClassifier
    >>> client = Client(processes=False, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(1000, 4), chunks=(250, 4))
    >>> model = DaskSAMMEClassifier(n_estimators=5, random_state=0).fit(X, X[:, 0] > 0)
    >>> len(model), type(model.to_local()).__name__
    (5, 'SAMMEClassifier')
    >>> client.close()
    """
