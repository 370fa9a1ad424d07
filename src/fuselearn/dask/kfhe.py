"""KFHE on a Dask cluster."""

from __future__ import annotations

import math

import numpy as np

from fuselearn.dask.ensemble import DaskEnsemble
from fuselearn.dask.filtering import DaskFilters
from fuselearn.dask.table import DaskTable
from fuselearn.ensembles import KFHEClassifier
from fuselearn.ensembles.components import error_of_guessing
from fuselearn.ensembles.filtering import FilterRun, closed_form_coefficients, run_filters


class DaskKFHEClassifier(DaskEnsemble, KFHEClassifier, local=KFHEClassifier):
    """:class:`~fuselearn.KFHEClassifier` of trees on a Dask cluster.

    The model is the same for any division of the samples into parts and for any number of workers, and the same as that
    of ``KFHEClassifier(sampling="poisson")`` on samples in the same order.

    Parameters
    ----------
    estimator, n_estimators, ..., n_jobs
        As those of :class:`~fuselearn.KFHEClassifier`, but for: ``estimator`` must be a ``CARTClassifier`` or None,
        ``sampling`` is ``"poisson"``, and ``oob_score`` and ``warm_start`` must be False.
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

    def _fit_table(self, table: DaskTable, rng: np.random.Generator) -> None:
        seeds = rng.integers(2**62, size=self.n_estimators + 1).tolist()
        settings = self._base()._engine_settings(table.n_features)
        filters = DaskFilters(table, settings, self.vote, linear=self.weighting == "linear")
        run = FilterRun(filters.kf_m, filters.kf_w, [filters.start(seeds[0])])
        run_filters(
            filters,
            run,
            seeds[1:],
            guessing_error=error_of_guessing(table.n_classes) if self.reset else math.inf,
            announce=lambda t, h: self._announce(t, self.n_estimators, h),
        )
        run.kf_w.state = filters.weights()
        self._keep_trace(run, filters.estimate_error())
        by_class = np.full(len(run.models), self.vote == "class")
        by_class[0] = False
        self._keep(run.models, closed_form_coefficients(self.gains_), by_class)
