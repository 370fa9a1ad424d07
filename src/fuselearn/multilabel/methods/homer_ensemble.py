"""What ensembles of HOMERs share: the settings that their members choose from at random."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.validation import check_is_fitted

from fuselearn._messages import show
from fuselearn._parameters import check_choice, check_flag
from fuselearn.multilabel.learning.base import check_engine_settings
from fuselearn.multilabel.learning.fusion import LabelSum
from fuselearn.multilabel.learning.homer_model import HOMERModel, HOMERSettings
from fuselearn.multilabel.learning.label_clustering import CLUSTERINGS
from fuselearn.multilabel.methods.homer import HOMERClassifier

DEFAULT_VARIED = {"kernel": ["rbf", "linear"]}
# Fitted attributes that a member has in common with its ensemble.
SHARED = ("labels_", "n_labels_", "classes_", "n_features_in_", "feature_names_in_", "_fold_seed_", "_constants_")


class HOMERVariety(NamedTuple):
    """The settings to choose from."""

    clusterings: Sequence[str]
    cluster_numbers: Sequence[int]
    params: Sequence[Mapping[str, Any]]
    any_label: bool

    def choose(self, seed: int) -> HOMERSettings:
        """Choose each setting uniformly and on its own."""
        rng = np.random.default_rng([seed, 0])  # not the one that the hierarchy is then grown with
        c, k, p = (int(rng.integers(len(choices))) for choices in self[:3])
        return HOMERSettings(self.clusterings[c], self.cluster_numbers[k], self.any_label, self.params[p])

    def choose_first(self, seed: int) -> HOMERSettings:
        """Choose the number of clusters only, for balanced clusters and the first of the varied parameters."""
        return self.choose(seed)._replace(clustering="balanced", params=self.params[0])


class HOMEREnsemble:
    """The settings that the members of an ensemble of HOMERs vary in: a part of a ``MultilabelClassifier``."""

    estimator: Any
    clusterings: Sequence[str]
    any_label: bool
    varied: Any
    n_labels_: int
    _base_estimator: Callable[[], Any]
    _fused_: LabelSum
    _own_decision: str | None = "path"

    @cached_property
    def estimators_(self) -> list[HOMERClassifier]:
        """The fitted HOMERs, as estimators of their own."""
        check_is_fitted(self)
        return [self._wrap_homer(member) for member in self._fused_.members]

    def _wrap_homer(self, member: HOMERModel) -> HOMERClassifier:
        clustering, n_clusters, any_label, params = member.settings
        base = clone(self._base_estimator()).set_params(**params) if params else self.estimator
        homer = HOMERClassifier(base, clustering=clustering, n_clusters=n_clusters, any_label=any_label)
        for name in SHARED:
            if hasattr(self, name):
                setattr(homer, name, getattr(self, name))
        homer.rule_ = homer._make_rule(homer.decision)
        homer._fused_ = LabelSum.of_one(member, self._fused_.learner)
        homer.n_models_ = member.n_models
        return homer

    def _check_variety(self) -> None:
        """Refuse parameters from which no HOMERs can be made."""
        check_flag("any_label", self.any_label)
        chosen, choices = self.clusterings, tuple(CLUSTERINGS)
        if isinstance(chosen, str) or not isinstance(chosen, Sequence) or not chosen:
            raise TypeError(f"clusterings must be a list or tuple of at least one of {choices!r}, not {show(chosen)}.")
        for choice in chosen:
            check_choice("Each of clusterings", choice, choices)
        self._list_varied()

    def _make_variety(self) -> HOMERVariety:
        """Return the settings to choose from, once the number of labels is known."""
        numbers = list_cluster_numbers(self.n_labels_)
        return HOMERVariety(self.clusterings, numbers, self._list_varied(), self.any_label)

    def _list_varied(self) -> list[Mapping[str, Any]]:
        """List the parameters of the base learner to choose from, each after checking that it has them."""
        varied = self.varied
        if varied is None:
            varied = DEFAULT_VARIED if self.estimator is None else {}
        try:
            combinations = list(ParameterGrid(varied))
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"varied must be a dict of lists of parameter values, or a list of such, not {show(varied)}."
            ) from error
        base = self._base_estimator()
        for params in combinations if hasattr(base, "get_params") else []:
            check_engine_settings(clone(base).set_params(**params))
        return combinations


def list_cluster_numbers(n_labels: int) -> range:
    """Return the numbers of clusters from 2 to the root of the number of labels.

    Examples
    --------
    >>> list(list_cluster_numbers(14)), list(list_cluster_numbers(3))
    ([2, 3], [2])
    """
    return range(2, max(2, isqrt(n_labels)) + 1)
