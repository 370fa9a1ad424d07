"""What members are passed beside X and y: sample weights, or whatever scikit-learn's metadata routing sends them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from fuselearn._compat import count_rows, take_rows
from fuselearn.combine.members import Member, weight_argument


def is_routing() -> bool:
    """Return whether scikit-learn's metadata routing is switched on."""
    return bool(get_config()["enable_metadata_routing"])


def make_router(ensemble: Any, members: list[tuple[str, Any]]) -> MetadataRouter:
    """Return the router of an ensemble, which uses sample weights itself, and passes metadata on to ``fit``."""
    router = MetadataRouter(owner=ensemble).add_self_request(ensemble)
    for name, estimator in members:
        router.add(**{name: estimator}, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
    return router


def pass_on(
    ensemble: Any, members: list[Member], weights: npt.NDArray[np.float64] | None, groups: Any, params: dict[str, Any]
) -> list[Member]:
    """Return the members with what their ``fit`` is to be passed.

    Without routing, and for members that the user has not listed, these are sample weights, if the member takes them.
    """
    routed: Any = {}
    if is_routing():
        routed = process_routing(ensemble, "fit", sample_weight=weights, groups=groups, **params)
    elif params:
        raise TypeError(
            f"{type(ensemble).__name__}.fit takes no {', '.join(map(repr, params))}; with "
            "sklearn.set_config(enable_metadata_routing=True), members are passed what they request."
        )
    passed = [routed[one.name]["fit"] if one.name in routed else _weights_for(one, weights) for one in members]
    return [member._replace(passed=dict(own)) for member, own in zip(members, passed, strict=True)]


def take_passed(member: Member, rows: npt.NDArray[np.intp], n_rows: int) -> dict[str, Any]:
    """Return what a member is passed, for some samples where there is one entry per sample."""
    passed = member.passed or {}
    return {name: take_rows(value, rows) if _is_per_row(value, n_rows) else value for name, value in passed.items()}


def _weights_for(member: Member, weights: npt.NDArray[np.float64] | None) -> dict[str, Any]:
    argument = None if weights is None else weight_argument(member.estimator)
    return {} if argument is None else {argument: weights}


def _is_per_row(value: Any, n_rows: int) -> bool:
    if isinstance(value, str | bytes | dict) or not (hasattr(value, "__len__") or hasattr(value, "shape")):
        return False
    return np.ndim(value) > 0 and count_rows(value) == n_rows
