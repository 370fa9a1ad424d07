"""KFHE on a table in parts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fuselearn.ensembles.components import error_of_guessing
from fuselearn.ensembles.filtering import FilterRun, closed_form_coefficients, run_filters
from fuselearn.parts.ensemble import PartedEnsemble
from fuselearn.parts.filtering import PartedFilters
from fuselearn.parts.table import PartedTable


class PartedKFHE(PartedEnsemble):
    """Trees that are fused by Kalman filters."""

    n_estimators: int
    weighting: str
    vote: str
    reset: bool
    gains_: Any
    _announcer: Any
    _keep_trace: Any

    def _fit_table(self, table: PartedTable, rng: np.random.Generator) -> None:
        seeds = rng.integers(2**62, size=self.n_estimators + 1).tolist()
        settings = self._base()._engine_settings(table.n_features)
        filters = PartedFilters(table, settings, self.vote, weighting=self.weighting)
        run = FilterRun(filters.kf_m, filters.kf_w, [filters.start(seeds[0])])
        run_filters(
            filters,
            run,
            seeds[1:],
            guessing_error=error_of_guessing(table.n_classes) if self.reset else math.inf,
            announce=self._announcer(self.n_estimators),
        )
        run.kf_w.state = filters.fetch_weights()
        self._keep_trace(run, filters.estimate_error())
        by_class = np.full(len(run.models), self.vote == "class")
        by_class[0] = False
        self._keep(run.models, closed_form_coefficients(self.gains_), by_class)
