"""What ensembles of HOMERs share: the settings that their members choose from at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fuselearn._messages import show
from fuselearn._parameters import check_choice, check_flag
from fuselearn.multilabel.fusion import LabelSum
from fuselearn.multilabel.homer import HOMERBase, HOMERClassifier
from fuselearn.multilabel.homer_sensor import HOMERComponent, HOMERSettings
from fuselearn.multilabel.label_clustering import CLUSTERINGS
from fuselearn.multilabel.learners import check_svm_parameters
from fuselearn.sensors.svm import KERNELS


class HOMERVariety(NamedTuple):
    """The settings to choose from."""

    clusterings: Sequence[str]
    cluster_numbers: Sequence[int]
    learner_settings: Sequence[dict[str, Any]]

    def choose(self, seed: int) -> HOMERSettings:
        """Choose each setting uniformly and on its own."""
        rng = np.random.default_rng([seed, 0])  # not the one that the hierarchy is then grown with
        c, k, s = (int(rng.integers(len(choices))) for choices in self)
        return HOMERSettings(self.clusterings[c], self.cluster_numbers[k], self.learner_settings[s])

    def choose_first(self, seed: int) -> HOMERSettings:
        """Choose the number of clusters only, for balanced clusters and the first kernel."""
        return self.choose(seed)._replace(clustering="balanced", learner=self.learner_settings[0])


def list_cluster_numbers(n_labels: int) -> range:
    """Give the numbers of clusters from 2 to the root of the number of labels.

    Examples
    --------
    >>> list(list_cluster_numbers(14)), list(list_cluster_numbers(3))
    ([2, 3], [2])
    """
    return range(2, max(2, isqrt(n_labels)) + 1)


class HOMEREnsemble(HOMERBase):
    """An ensemble of HOMERs whose clusterings, numbers of clusters and kernels are chosen at random."""

    clusterings: Sequence[str]
    kernels: Sequence[str]
    gamma: Any

    def _check_parameters(self) -> None:
        check_flag("any_label", self.any_label)
        _check_choices("clusterings", self.clusterings, tuple(CLUSTERINGS))
        _check_choices("kernels", self.kernels, KERNELS)
        if isinstance(self.gamma, Mapping):
            for kernel in self.gamma:
                check_choice("Each key of gamma", kernel, KERNELS)
        for kernel in self.kernels:
            check_svm_parameters(self.C, kernel, self._gamma_of(kernel), self.probability, self.scaling)

    def _variety(self) -> HOMERVariety:
        """Give the settings to choose from; only the SVM engine has some of its own."""
        learner: list[dict[str, Any]] = [{}]
        if self.estimator is None:
            engine = {"C": self.C, "probability": self.probability}
            learner = [{"kernel": kernel, "gamma": self._gamma_of(kernel), **engine} for kernel in self.kernels]
        return HOMERVariety(self.clusterings, list_cluster_numbers(self.n_labels_), learner)

    def _gamma_of(self, kernel: str) -> float | None:
        return self.gamma.get(kernel) if isinstance(self.gamma, Mapping) else self.gamma

    @cached_property
    def estimators_(self) -> list[HOMERClassifier]:
        """The fitted HOMERs, as estimators of their own."""
        check_is_fitted(self)
        return [self._as_estimator(component) for component in self._fused_.components]

    def _as_estimator(self, component: HOMERComponent) -> HOMERClassifier:
        clustering, n_clusters, learner = component.settings
        homer = HOMERClassifier(
            self.estimator,
            clustering=clustering,
            n_clusters=n_clusters,
            any_label=self.any_label,
            scaling=self.scaling,
            **learner,
        )
        shared = (
            "labels_", "n_labels_", "classes_", "n_features_in_", "feature_names_in_", "_rows_at_once_", "_fold_seed_",
            "_constants_",
        )  # fmt: skip
        for name in shared:
            if hasattr(self, name):
                setattr(homer, name, getattr(self, name))
        homer.rule_ = homer._make_rule(homer.decision)
        homer._fused_ = LabelSum([component], np.ones(1), self._fused_.sensor)
        return homer


def _check_choices(name: str, chosen: Any, choices: Sequence[str]) -> None:
    """Check a parameter that lists ways of which one is chosen at random."""
    if isinstance(chosen, str) or not isinstance(chosen, Sequence) or not chosen:
        raise TypeError(f"{name} must be a list or tuple of at least one of {tuple(choices)!r}, not {show(chosen)}.")
    for choice in chosen:
        check_choice(f"Each of {name}", choice, choices)
