"""What ensembles of HOMERs share: the settings that their members choose from at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from fuselearn._messages import show
from fuselearn._parameters import check_choice, check_flag
from fuselearn.multilabel.learning.base import check_engine_settings
from fuselearn.multilabel.learning.fusion import LabelSum
from fuselearn.multilabel.learning.homer_model import HOMERModel, HOMERSettings
from fuselearn.multilabel.learning.label_clustering import CLUSTERINGS
from fuselearn.multilabel.methods.homer import HOMERClassifier

DEFAULT_VARIED = {"kernel": ["rbf", "linear"]}


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


def make_variety(estimator: Any) -> HOMERVariety:
    """Return the settings that an ensemble of HOMERs, whose number of labels is known, chooses from."""
    numbers = list_cluster_numbers(estimator.n_labels_)
    return HOMERVariety(estimator.clusterings, numbers, list_varied(estimator), estimator.any_label)


def list_varied(estimator: Any) -> list[Mapping[str, Any]]:
    """List the parameters of the base learner to choose from, each after checking that it has them."""
    varied = estimator.varied
    if varied is None:
        varied = DEFAULT_VARIED if estimator.estimator is None else {}
    try:
        combinations = list(ParameterGrid(varied))
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"varied must be a dict of lists of parameter values, or a list of such, not {show(varied)}."
        ) from error
    base = estimator._base_estimator()
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


def check_variety(estimator: Any) -> None:
    """Refuse parameters from which no HOMERs can be made."""
    check_flag("any_label", estimator.any_label)
    chosen, choices = estimator.clusterings, tuple(CLUSTERINGS)
    if isinstance(chosen, str) or not isinstance(chosen, Sequence) or not chosen:
        raise TypeError(f"clusterings must be a list or tuple of at least one of {choices!r}, not {show(chosen)}.")
    for choice in chosen:
        check_choice("Each of clusterings", choice, choices)
    list_varied(estimator)


def wrap_homers(ensemble: Any) -> list[HOMERClassifier]:
    """Return the members of a fitted ensemble as estimators of their own."""
    return [_wrap_homer(ensemble, member) for member in ensemble._fused_.members]


def _wrap_homer(ensemble: Any, member: HOMERModel) -> HOMERClassifier:
    clustering, n_clusters, any_label, params = member.settings
    homer = HOMERClassifier(
        clone(ensemble._base_estimator()).set_params(**params) if params else ensemble.estimator,
        clustering=clustering,
        n_clusters=n_clusters,
        any_label=any_label,
    )
    shared = ("labels_", "n_labels_", "classes_", "n_features_in_", "feature_names_in_", "_fold_seed_", "_constants_")
    for name in shared:
        if hasattr(ensemble, name):
            setattr(homer, name, getattr(ensemble, name))
    homer.rule_ = homer._make_rule(homer.decision)
    homer._fused_ = LabelSum.of_one(member, ensemble._fused_.learner)
    homer.n_models_ = member.n_models
    return homer
