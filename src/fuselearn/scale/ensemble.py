"""Ensembles of trees trained on partitioned data; the fitted ensembles are ordinary estimators."""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from fuselearn._extras import require
from fuselearn._messages import show
from fuselearn._parameters import make_generator
from fuselearn.base import keep_trained, reset_on_failure
from fuselearn.ensembles import BaggedClassifier, CARTClassifier, ForestClassifier, KFHEClassifier, SAMMEClassifier
from fuselearn.ensembles.bagging import plan_bags
from fuselearn.fusion import Trained
from fuselearn.scale.checkpoint import Checkpoint
from fuselearn.scale.disk_session import DiskSession
from fuselearn.scale.session import Session
from fuselearn.scale.sources import Source, list_parts, list_tables
from fuselearn.scale.table import TableInParts
from fuselearn.scale.tasks import sum_fingerprint, weigh_correct
from fuselearn.scale.training import ProblemInParts, train_bags, train_kfhe, train_samme

KINDS = (KFHEClassifier, SAMMEClassifier, BaggedClassifier, ForestClassifier)
# Types that `DiskEnsemble` reads in parts.
FILES = (str, os.PathLike, list, np.memmap)
# Parameters that may change when a fit is resumed, because they do not change its first trees.
NOT_OF_THE_MODEL = {"n_estimators", "callback", "verbose", "n_jobs", "random_state"}


class EnsembleInParts(ClassifierMixin, BaseEstimator):
    """Base class of training on partitioned data. Subclasses implement ``fit`` and ``_predict``."""

    estimator: Any
    checkpoint: Any
    estimator_: Any
    classes_: npt.NDArray[Any]
    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: trees support missing values."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and files, with paths as strings."""
        state: dict[str, Any] = super().__getstate__()
        return {name: os.fspath(value) if isinstance(value, os.PathLike) else value for name, value in state.items()}

    def predict(self, X: Any) -> Any:
        """Predict the class of each sample.

        Parameters
        ----------
        X : as in ``fit``, or data in memory

        Returns
        -------
        ndarray of shape (n_samples,)
            For a Dask collection, a lazy Dask array; for a list of delayed parts, a list of delayed arrays.
        """
        check_is_fitted(self)
        return self._predict("predict", X)

    def predict_proba(self, X: Any) -> Any:
        """Predict class probabilities.

        Parameters
        ----------
        X : as in ``fit``, or data in memory

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            For a Dask collection, a lazy Dask array; for a list of delayed parts, a list of delayed arrays.
        """
        check_is_fitted(self)
        return self._predict("predict_proba", X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the accuracy.

        Parameters
        ----------
        X, y, sample_weight : as in ``fit``, or data in memory

        Returns
        -------
        float
        """
        check_is_fitted(self)
        parts = self._score_parts(X, y, sample_weight)
        if parts is None:
            return float(super().score(X, y, sample_weight))
        correct, total = np.sum(parts, axis=0)
        return float(correct / total)

    def _predict(self, method: str, X: Any) -> Any:
        raise NotImplementedError

    def _score_parts(self, X: Any, y: Any, sample_weight: Any) -> list[tuple[float, float]] | None:
        """Return the result of `weigh_correct` for each part, or None if X is in memory."""
        raise NotImplementedError

    def _copy_estimator(self, y: Any) -> Any:
        """Return the estimator to fit; raise an error if it cannot be trained in parts."""
        name = type(self).__name__
        if y is None:
            raise ValueError(f"{name} requires y to be passed, but the target y is None.")
        if type(self.estimator) not in KINDS:  # methods that a subclass overrides would be ignored
            kinds = ", ".join(kind.__name__ for kind in KINDS)
            raise TypeError(f"estimator of {name} must be one of {kinds}, not {show(self.estimator)}.")
        if not isinstance(self.checkpoint, str | os.PathLike | None):
            raise TypeError(f"checkpoint must be a folder or None, not {show(self.checkpoint)}.")
        local = clone(self.estimator).set_params(callback=self.estimator.callback)  # a callback may have a state
        local._check_parameters()
        base, *others = local._base_estimators()
        if others or not isinstance(base, CARTClassifier):
            raise TypeError(f"{name} supports only trees: the base estimator must be a CARTClassifier or None.")
        if base.class_weight is not None:
            raise ValueError(
                f"Pass class_weight to {type(local).__name__}; class_weight of its base estimator must be None."
            )
        if local.sampling != "poisson":
            raise ValueError(
                f"{name} supports only sampling='poisson': pass {type(local).__name__}(sampling='poisson')."
            )
        if getattr(local, "variant", "program") != "program":
            raise ValueError(f"{name} supports only variant='program'.")
        if isinstance(local, SAMMEClassifier) and local.reset != "training":
            raise ValueError(f"{name} supports SAMMEClassifier only with reset='training'.")
        for parameter in ("oob_score", "warm_start"):
            if getattr(local, parameter):
                raise ValueError(f"{name} does not support {parameter}; set {parameter}=False.")
        if self.checkpoint is not None and not isinstance(local.random_state, int | np.integer | None):
            raise ValueError("With checkpoint, random_state must be an integer or None.")
        return local

    def _fit_parts(self, local: Any, session: Session, parts: Sequence[tuple[Any, Any, Any]]) -> None:
        """Fit a copy of the estimator to partitioned samples."""
        base = local._base_estimator()
        table = TableInParts(session, parts, base.max_bins, local.class_weight)
        local.classes_, local.n_features_in_, local._coder_ = table.classes, table.n_features, table.coder
        local._n_rows_ = table.n_samples
        if table.names is not None:
            local.feature_names_in_ = np.array(table.names, dtype=object)
        random_state = local.random_state
        if self.checkpoint is not None:
            table.checkpoint = Checkpoint(self.checkpoint, describe_fit(local, table), table.coder.n_categories_)
            random_state = table.checkpoint.seed if random_state is None else random_state
        rng = make_generator(random_state)
        keep_trained(local, train(local, ProblemInParts(table, base._engine_settings, rng, local._reporter(0))))
        self.estimator_ = local
        for name in ("classes_", "n_features_in_", "feature_names_in_", "_n_rows_"):
            if hasattr(local, name):
                setattr(self, name, getattr(local, name))


class DaskEnsemble(EnsembleInParts):
    """Train an ensemble of trees on a Dask cluster.

    Experimental: parameters, defaults and results may change in any minor release.

    The model does not depend on the partitions or on the number of workers. It equals the model that the estimator
    itself fits to the same samples in memory. Do not use it for data that fit into the memory of one machine, where
    the estimator itself is faster.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimator : KFHEClassifier, SAMMEClassifier, BaggedClassifier or ForestClassifier
        The ensemble to train, with ``sampling="poisson"``, with a ``CARTClassifier`` or None as its base estimator, and
        without ``oob_score`` and ``warm_start``.
    client : distributed.Client or None, default=None
        The client of the cluster; None means the last client created.
    checkpoint : path or None, default=None
        Folder for saving every finished tree. To resume an interrupted fit, fit again with the same samples, parameters
        and folder; the model is that of an uninterrupted fit.

    Attributes
    ----------
    estimator_ : classifier
        The fitted ensemble, an ordinary estimator that predicts without a cluster and can be saved and exported.
    classes_, n_features_in_, feature_names_in_
        As those of ``estimator_``.

    See Also
    --------
    DiskEnsemble : Training on one machine with a table larger than memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from fuselearn import KFHEClassifier
    >>> from fuselearn.scale import DaskEnsemble
    >>> client = Client(processes=False, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(1000, 4), chunks=(250, 4))
    >>> y = X[:, 0] + X[:, 1] > 0
    >>> model = DaskEnsemble(KFHEClassifier(n_estimators=5, sampling="poisson", random_state=0)).fit(X, y)
    >>> bool((model.predict(X) == y).mean().compute() > 0.95), model.estimator_.n_iter_
    (True, 5)
    >>> client.close()
    """

    def __init__(self, estimator: Any, *, client: Any = None, checkpoint: Any = None) -> None:
        self.estimator = estimator
        self.client = client
        self.checkpoint = checkpoint

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted estimator with the same client, since clients cannot be copied."""
        return type(self)(clone(self.estimator), client=self.client, checkpoint=self.checkpoint)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and files, without the client."""
        return super().__getstate__() | {"client": None}

    @reset_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the ensemble to samples on a cluster.

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
        require(type(self).__name__, "dask", "distributed")
        from fuselearn.scale.dask_parts import list_parts
        from fuselearn.scale.dask_session import DaskSession

        local = self._copy_estimator(y)
        with DaskSession(self.client) as session:
            self._fit_parts(local, session, list_parts(X, y, sample_weight))
        return self

    def _predict(self, method: str, X: Any) -> Any:
        from fuselearn.scale.dask_parts import is_collection, predict_parts

        if not is_collection(X):
            return getattr(self.estimator_, method)(X)
        nothing = self.classes_[:0] if method == "predict" else np.empty((0, len(self.classes_)))
        return predict_parts(self.estimator_, method, X, nothing)

    def _score_parts(self, X: Any, y: Any, sample_weight: Any) -> list[tuple[float, float]] | None:
        from fuselearn.scale.dask_parts import is_collection, list_parts, score_parts

        if not is_collection(X):
            return None
        return score_parts(self.estimator_, list_parts(X, y, sample_weight), self.client)


class DiskEnsemble(EnsembleInParts):
    """Train an ensemble of trees on a table larger than memory.

    Experimental: parameters, defaults and results may change in any minor release.

    The table is read three times in parts, and binned to one or two bytes per value. The binned table, the estimate and
    the sample weights are on disk during the fit. The model equals the model that the estimator itself fits to the same
    samples in memory. For tables with more than 8,388,608 values, bins are computed from about that many values.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimator : KFHEClassifier, SAMMEClassifier, BaggedClassifier or ForestClassifier
        The ensemble to train, with ``sampling="poisson"``, with a ``CARTClassifier`` or None as its base estimator, and
        without ``oob_score`` and ``warm_start``. Its ``n_jobs`` is the number of parts processed in parallel.
    directory : path or None, default=None
        Folder for files during the fit, about ``n_features + 8 n_classes + 30`` bytes per sample. None means the
        system's folder for temporary files, which is in memory on some systems.
    checkpoint : path or None, default=None
        Folder for saving every finished tree. To resume an interrupted fit, fit again with the same samples, parameters
        and folder; the model is that of an uninterrupted fit.

    Attributes
    ----------
    estimator_ : classifier
        The fitted ensemble, an ordinary estimator that predicts without the files and can be saved and exported.
    classes_, n_features_in_, feature_names_in_
        As those of ``estimator_``.

    See Also
    --------
    DaskEnsemble : Training on a cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn import KFHEClassifier
    >>> from fuselearn.scale import DiskEnsemble
    >>> X = np.random.default_rng(0).normal(size=(1000, 4))  # or np.load("X.npy", mmap_mode="r")
    >>> y = X[:, 0] + X[:, 1] > 0
    >>> model = DiskEnsemble(KFHEClassifier(n_estimators=5, sampling="poisson", random_state=0)).fit(X, y)
    >>> model.score(X, y) > 0.95, model.estimator_.n_iter_
    (True, 5)
    """

    def __init__(self, estimator: Any, *, directory: Any = None, checkpoint: Any = None) -> None:
        self.estimator = estimator
        self.directory = directory
        self.checkpoint = checkpoint

    @reset_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the ensemble to samples on disk.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features), path, list of paths, or list of Source
            An array, which may be mapped into memory (``numpy.memmap``), or the path of a ``.npy`` file, of a Parquet
            file or of a folder of Parquet files. Parquet files may have string or categorical columns. For other file
            formats, pass a list of objects of a subclass of :class:`~fuselearn.scale.Source`.
        y : array of shape (n_samples,), path of a .npy file, str, or list of Source
            Classes of any type; for Parquet files, the name of their column.
        sample_weight : as y, optional

        Returns
        -------
        object
            Fitted estimator.
        """
        local = self._copy_estimator(y)
        parts = list_parts(X, y, sample_weight)
        with DiskSession(self.directory, effective_n_jobs(local.n_jobs)) as session:
            self._fit_parts(local, session, parts)
        return self

    def _predict(self, method: str, X: Any) -> npt.NDArray[Any]:
        predict = getattr(self.estimator_, method)
        if not isinstance(X, FILES):
            return predict(X)
        return np.concatenate([predict(part.read()) for part in self._list_tables(X)])

    def _score_parts(self, X: Any, y: Any, sample_weight: Any) -> list[tuple[float, float]] | None:
        if not isinstance(X, FILES):
            return None
        parts = zip(self._list_tables(X), list_parts(X, y, sample_weight), strict=True)
        return [
            weigh_correct(self.estimator_, table.read(), labels.read(), None if weights is None else weights.read())
            for table, (_, labels, weights) in parts
        ]

    def _list_tables(self, X: Any) -> list[Source]:
        return list_tables(X, getattr(self, "feature_names_in_", None))


def train(local: Any, problem: ProblemInParts) -> Trained:
    """Train an estimator as in memory."""
    if isinstance(local, KFHEClassifier):
        vote, weighting, reset = local.vote, local.weighting, local.reset
        return train_kfhe(problem, local.n_estimators, weighting=weighting, vote=vote, reset=reset)
    if isinstance(local, SAMMEClassifier):
        return train_samme(problem, local.n_estimators)
    is_forest = isinstance(local, ForestClassifier)
    plan = plan_bags(
        (problem.table.n_samples, problem.table.n_features),
        None,  # the sample weights are stored with the parts
        max_samples=local.max_samples,
        max_features=None if is_forest else local.max_features,  # a forest draws features for each node
        bootstrap=local.splitter == "best" if local.bootstrap is None else local.bootstrap,
        sampling=local.sampling,
    )
    return train_bags(problem, plan, local.n_estimators, vote=local.vote)


def describe_fit(local: Any, table: TableInParts) -> dict[str, Any]:
    """Return the description of a fit that must match when it is resumed."""
    params, columns = local.get_params(deep=False), table.columns
    bins = b"".join(array.tobytes() for array in (columns.n_codes, columns.lower, columns.upper))
    return {
        "class": type(local).__name__,
        "parameters": {name: repr(value) for name, value in params.items() if name not in NOT_OF_THE_MODEL},
        "random_state": None if local.random_state is None else int(local.random_state),
        "number of samples": table.n_samples,
        "features": table.n_features if table.names is None else table.names,
        "classes": [str(label) for label in table.classes],
        "samples per class": table.class_counts.tolist(),
        "sum of the weights": table.total_weight,
        "values": sha256(bins).hexdigest()[:16],
        "samples": table.sum_exactly(sum_fingerprint, table.parts),
    }
