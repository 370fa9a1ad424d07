"""Ensembles of trees on tables that are larger than memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.utils.validation import check_is_fitted

from fuselearn._fitting import fit_whole_or_not
from fuselearn.disk.session import DiskSession
from fuselearn.disk.sources import list_parts, list_tables
from fuselearn.ensembles import BaggedClassifier, ForestClassifier, KFHEClassifier, SAMMEClassifier
from fuselearn.parts.bagging import PartedBagging
from fuselearn.parts.ensemble import PartedEnsemble
from fuselearn.parts.kfhe import PartedKFHE
from fuselearn.parts.samme import PartedSAMME


class DiskEnsemble(PartedEnsemble):
    """An ensemble of trees that is trained on a table on disk; a mixin before what says how."""

    directory: Any
    n_jobs: int | None

    @fit_whole_or_not
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier to samples on disk.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features), path, list of paths, or list of Source
            An array, which may be mapped into memory (``numpy.memmap``), or the path of a ``.npy`` file, of a Parquet
            file or of a folder of Parquet files. Parquet files may have columns of text or categories. Other files can
            be read by a :class:`~fuselearn.disk.Source` of your own per part.
        y : array of shape (n_samples,), path of a .npy file, str, or list of Source
            Classes of any type; for Parquet files, the name of their column.
        sample_weight : as y, optional

        Returns
        -------
        object
            Fitted estimator.
        """
        self._check_supported()
        parts = list_parts(X, y, sample_weight)
        with DiskSession(self.directory, effective_n_jobs(self.n_jobs)) as session:
            self._fit_parts(session, parts)
        return self

    def predict(self, X: Any) -> Any:
        """Predict the class of each sample, part by part.

        Parameters
        ----------
        X : as that of fit, or what the ordinary class takes
            Of Parquet files, the columns that were features are read.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._predict_parts(X, super().predict)  # type: ignore[misc]

    def predict_proba(self, X: Any) -> Any:
        """Predict class probabilities, part by part.

        Parameters
        ----------
        X : as that of fit, or what the ordinary class takes
            Of Parquet files, the columns that were features are read.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._predict_parts(X, super().predict_proba)  # type: ignore[misc]

    def _predict_parts(self, X: Any, predict: Callable[[Any], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        check_is_fitted(self)
        if not isinstance(X, str | list | np.memmap) and not hasattr(X, "__fspath__"):
            return predict(X)
        names = getattr(self, "feature_names_in_", None)
        return np.concatenate([predict(part.read()) for part in list_tables(X, names)])


class DiskKFHEClassifier(DiskEnsemble, PartedKFHE, KFHEClassifier, local=KFHEClassifier, added="directory"):
    """:class:`~fuselearn.KFHEClassifier` of trees on a table that is larger than memory.

    The table is read three times, a part at a time, and coded to one or two bytes per value, which are kept on disk
    during the fit like the estimate and the weights of the samples. The model is that of
    ``KFHEClassifier(sampling="poisson")`` on the same samples; bins of a table of more than 8,388,608 values are
    computed from about so many of them.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimator, n_estimators, ..., n_jobs
        As those of :class:`~fuselearn.KFHEClassifier`, but for: ``estimator`` must be a ``CARTClassifier`` or None,
        ``sampling`` is ``"poisson"``, ``oob_score`` and ``warm_start`` must be False, and ``n_jobs`` is the number of
        parts that are worked on at a time.
    checkpoint : path or None, default=None
        Folder in which every tree is saved once it has grown. A fit that was lost goes on with the trees in there if it
        is started again with the same samples and parameters, and gives the model that it would have given.
    directory : path or None, default=None
        Where files are kept during the fit: about ``n_features + 8 n_classes + 30`` bytes per sample. None means the
        system's folder for temporary files, which on some systems is in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn.disk import DiskKFHEClassifier
    >>> X = np.random.default_rng(0).normal(size=(1000, 4))  # or np.load("X.npy", mmap_mode="r")
    >>> model = DiskKFHEClassifier(n_estimators=5, random_state=0).fit(X, X[:, 0] + X[:, 1] > 0)
    >>> model.n_iter_, type(model.to_local()).__name__
    (5, 'KFHEClassifier')
    """


class DiskBaggedClassifier(DiskEnsemble, PartedBagging, BaggedClassifier, local=BaggedClassifier, added="directory"):
    """:class:`~fuselearn.BaggedClassifier` of trees on a table that is larger than memory.

    The table is coded to disk as by :class:`DiskKFHEClassifier`; the model is that of
    ``BaggedClassifier(sampling="poisson")``.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimator, n_estimators, ..., n_jobs
        As those of :class:`~fuselearn.BaggedClassifier`, but for: ``estimator`` must be a ``CARTClassifier`` or None,
        ``sampling`` is ``"poisson"``, ``oob_score`` and ``warm_start`` must be False, and ``n_jobs`` is the number of
        parts that are worked on at a time.
    checkpoint, directory : path or None, default=None
        As those of :class:`DiskKFHEClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn.disk import DiskBaggedClassifier
    >>> X = np.random.default_rng(0).normal(size=(1000, 4))  # or np.load("X.npy", mmap_mode="r")
    >>> model = DiskBaggedClassifier(n_estimators=5, random_state=0).fit(X, X[:, 0] > 0)
    >>> len(model), type(model.to_local()).__name__
    (5, 'BaggedClassifier')
    """


class DiskForestClassifier(DiskEnsemble, PartedBagging, ForestClassifier, local=ForestClassifier, added="directory"):
    """:class:`~fuselearn.ForestClassifier` on a table that is larger than memory.

    The table is coded to disk as by :class:`DiskKFHEClassifier`; the model is that of
    ``ForestClassifier(sampling="poisson")``.

    .. versionadded:: 0.2

    Parameters
    ----------
    n_estimators, splitter, ..., n_jobs
        As those of :class:`~fuselearn.ForestClassifier`, but for: ``sampling`` is ``"poisson"``, ``oob_score`` and
        ``warm_start`` must be False, and ``n_jobs`` is the number of parts that are worked on at a time.
    checkpoint, directory : path or None, default=None
        As those of :class:`DiskKFHEClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn.disk import DiskForestClassifier
    >>> X = np.random.default_rng(0).normal(size=(1000, 4))  # or np.load("X.npy", mmap_mode="r")
    >>> model = DiskForestClassifier(n_estimators=5, random_state=0).fit(X, X[:, 0] > 0)
    >>> len(model), type(model.to_local()).__name__
    (5, 'ForestClassifier')
    """


class DiskSAMMEClassifier(DiskEnsemble, PartedSAMME, SAMMEClassifier, local=SAMMEClassifier, added="directory"):
    """:class:`~fuselearn.SAMMEClassifier` on a table that is larger than memory.

    The table is coded to disk as by :class:`DiskKFHEClassifier`; the model is that of
    ``SAMMEClassifier(sampling="poisson")``.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimator, n_estimators, ..., n_jobs
        As those of :class:`~fuselearn.SAMMEClassifier`, but for: ``estimator`` must be a ``CARTClassifier`` or None,
        ``sampling`` is ``"poisson"``, ``oob_score`` and ``warm_start`` must be False, and ``n_jobs`` is the number of
        parts that are worked on at a time.
    checkpoint, directory : path or None, default=None
        As those of :class:`DiskKFHEClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn.disk import DiskSAMMEClassifier
    >>> X = np.random.default_rng(0).normal(size=(1000, 4))  # or np.load("X.npy", mmap_mode="r")
    >>> model = DiskSAMMEClassifier(n_estimators=5, random_state=0).fit(X, X[:, 0] > 0)
    >>> len(model), type(model.to_local()).__name__
    (5, 'SAMMEClassifier')
    """
