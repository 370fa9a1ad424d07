"""Named members of an ensemble, their columns, and the metadata passed to their ``fit``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from fuselearn._compat import count_rows, take_rows
from fuselearn._messages import show
from fuselearn.base import validate_rows
from fuselearn.learners.learner import Indices, Scores, Weights

Columns = npt.NDArray[np.intp] | None
Output = Callable[[Any, Any], Scores]
"""``output(model, X)`` returns the output of a fitted model, an array of shape (n_samples, ...)."""


class Member(NamedTuple):
    """An estimator, its name, its columns as given by the user, and other arguments of its ``fit``."""

    name: str
    estimator: Any
    columns: Any = None
    passed: dict[str, Any] | None = None


class FittedMember(NamedTuple):
    """A fitted model, its name, the indices of its columns (None means all), and whether it was fitted again."""

    name: str
    model: Any
    columns: Columns
    is_refit: bool = False


def read_members(estimators: Any, reserved: set[str]) -> list[Member]:
    """Validate the list of members; members replaced by "drop" are removed."""
    form = "a list of (name, estimator) or (name, estimator, columns)"
    if not isinstance(estimators, list | tuple) or not estimators:
        raise ValueError(f"estimators must be {form} with at least one entry, not {show(estimators)}.")
    for one in estimators:
        if not (isinstance(one, tuple) and len(one) in (2, 3) and isinstance(one[0], str)):
            raise ValueError(f"estimators must be {form}; one of its entries is {show(one)}.")
    names = [one[0] for one in estimators]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"estimators: the names of members must be unique, but {name!r} is repeated.")
        if "__" in name or name in reserved:
            what = "contain two consecutive underscores" if "__" in name else "be that of a parameter of the ensemble"
            raise ValueError(f"estimators: the name of a member must not {what}, as in {name!r}.")
    kept = [Member(*one) for one in estimators if not is_dropped(one)]
    if not kept:
        raise ValueError("estimators: all members are dropped; at least one is needed.")
    return kept


def is_dropped(entry: tuple[Any, ...]) -> bool:
    """Return whether an entry of the list of members is "drop" instead of an estimator."""
    return isinstance(entry[1], str) and entry[1] == "drop"


def read_samples(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Validate the shape and the names of a table; a list of strings, which some pipelines expect, is accepted."""
    is_column = isinstance(X, list | tuple) or len(getattr(X, "shape", ())) == 1
    if is_column and isinstance(next(iter(X), None), str):
        return np.asarray(X, dtype=object)
    return validate_rows(estimator, X, reset=reset)


def resolve_columns(member: Member, X: Any) -> Columns:
    """Convert names, indices, a slice, a mask or a selecting function to the indices of a member's columns.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1.0], "age": [2.0], "rank": [3.0]})
    >>> resolve_columns(Member("tree", None, ["rank", "size"]), frame)
    array([2, 0])
    >>> resolve_columns(Member("tree", None, slice(1, None)), frame)
    array([1, 2])
    """
    chosen = member.columns(X) if callable(member.columns) else member.columns
    if chosen is None:
        return None
    if len(X.shape) == 1:
        raise ValueError(f"estimators: {member.name!r} selects columns, but X is a list of strings.")
    if not isinstance(chosen, slice):
        chosen = np.atleast_1d(np.asarray(chosen))
    try:
        if isinstance(chosen, slice) or chosen.dtype.kind in "biu":
            columns = np.arange(X.shape[1])[chosen]
        else:
            names = list(getattr(X, "columns", []))
            columns = np.array([names.index(name) for name in chosen.tolist()], dtype=np.intp)
    except (IndexError, ValueError) as error:
        raise ValueError(
            f"estimators: {member.name!r} selects columns that X, with {X.shape[1]} columns, does not have "
            f"({error}); names need a DataFrame."
        ) from error
    if len(columns) == 0:
        raise ValueError(f"estimators: {member.name!r} selects no columns; at least one is needed.")
    return columns


def take_columns(X: Any, columns: Columns) -> Any:
    """Return the columns of a member."""
    return X if columns is None else take_rows(X, columns, axis=1)


def fit_member(member: Member, X: Any, y: npt.NDArray[Any], samples: Indices | None = None) -> FittedMember:
    """Fit a clone of a member to all samples, or to some of them."""
    columns = resolve_columns(member, X)
    X, passed = take_columns(X, columns), member.passed or {}
    if samples is not None:
        passed = {name: take_rows(v, samples) if _is_per_sample(v, len(y)) else v for name, v in passed.items()}
        X, y = take_rows(X, samples), y[samples]
    return FittedMember(member.name, clone(member.estimator).fit(X, y, **passed), columns)


def predict_outside(
    member: Member, X: Any, y: npt.NDArray[Any], output: Output, inside: Indices, outside: Indices
) -> Scores:
    """Fit a clone of a member to the training samples of a split, and return its output for the test samples."""
    return member_output(fit_member(member, X, y, inside), take_rows(X, outside), output)


def member_output(member: FittedMember, X: Any, output: Output) -> Scores:
    """Return the output of a fitted member, from its columns."""
    return output(member.model, take_columns(X, member.columns))


def member_outputs(members: Sequence[FittedMember], X: Any, output: Output, n_jobs: int | None) -> list[Scores]:
    """Return the output of each fitted member for the same samples."""
    return Parallel(n_jobs=n_jobs, prefer="threads")(delayed(member_output)(member, X, output) for member in members)


def make_router(ensemble: Any, members: list[tuple[str, Any]]) -> MetadataRouter:
    """Return the router of an ensemble, which uses sample weights itself, and passes metadata on to ``fit``."""
    router = MetadataRouter(owner=ensemble).add_self_request(ensemble)
    for name, estimator in members:
        router.add(**{name: estimator}, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
    return router


def route_metadata(
    ensemble: Any, members: list[Member], weights: Weights | None, groups: Any, params: dict[str, Any]
) -> list[Member]:
    """Return the members with the arguments of their ``fit``.

    Without metadata routing, and for default members, these are sample weights, if the member supports them.
    """
    routed: Any = {}
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(ensemble, "fit", sample_weight=weights, groups=groups, **params)
    elif params:
        raise TypeError(
            f"{type(ensemble).__name__}.fit does not accept {', '.join(map(repr, params))}; "
            f"sklearn.set_config(enable_metadata_routing=True) passes metadata to members that request it."
        )
    passed = [routed[one.name]["fit"] if one.name in routed else _pass_weights(one, weights) for one in members]
    return [member._replace(passed=dict(own)) for member, own in zip(members, passed, strict=True)]


def _pass_weights(member: Member, weights: Weights | None) -> dict[str, Any]:
    argument = None if weights is None else weight_argument(member.estimator)
    return {} if argument is None else {argument: weights}


def _is_per_sample(value: Any, n_samples: int) -> bool:
    if isinstance(value, str | bytes | dict) or not (hasattr(value, "__len__") or hasattr(value, "shape")):
        return False
    return np.ndim(value) > 0 and count_rows(value) == n_samples


def weight_argument(estimator: Any) -> str | None:
    """Return the name of the argument of ``fit`` for sample weights, or None.

    A pipeline passes them to its last step, a search to its estimator. With scikit-learn's metadata routing, both pass
    what their parts request.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> weight_argument(make_pipeline(LogisticRegression()))
    'logisticregression__sample_weight'
    >>> weight_argument(KNeighborsClassifier())
    """
    if not hasattr(estimator, "fit"):
        return None
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    passes_on = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(estimator.fit).parameters.values())
    if passes_on and get_config()["enable_metadata_routing"]:
        return "sample_weight" if estimator.get_metadata_routing().consumes("fit", ["sample_weight"]) else None
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_argument(last)
        return None if inner is None else f"{name}__{inner}"
    return weight_argument(estimator.estimator) if passes_on and hasattr(estimator, "estimator") else None


def requested_weights(estimator: Any) -> str | None:
    """Return the name of the argument of ``fit`` for sample weights, or None; with routing, only if requested."""
    if get_config()["enable_metadata_routing"]:
        requests = hasattr(estimator, "get_metadata_routing")
        if not (requests and estimator.get_metadata_routing().consumes("fit", ["sample_weight"])):
            return None
    return weight_argument(estimator)
