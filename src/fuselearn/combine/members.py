"""Named members of an ensemble: who they are, which columns they see, and how they are fitted and asked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from fuselearn._compat import take_rows
from fuselearn._messages import show
from fuselearn._validation import validate_rows
from fuselearn.learners.table import as_frame

Columns = npt.NDArray[np.intp] | None
Answer = Callable[[Any, Any], npt.NDArray[np.float64]]


class Member(NamedTuple):
    """A model, its name, what the user says about the columns that it sees, and what its ``fit`` is passed beside."""

    name: str
    estimator: Any
    columns: Any = None
    passed: dict[str, Any] | None = None


class FittedMember(NamedTuple):
    """A fitted model, its name, and the positions of the columns that it sees; None means all."""

    name: str
    model: Any
    columns: Columns


def read_members(estimators: Any, reserved: set[str]) -> list[Member]:
    """Check the list of members; leave out those that are to be dropped."""
    form = "a list of (name, estimator) or (name, estimator, columns)"
    if not isinstance(estimators, list | tuple) or not estimators:
        raise ValueError(f"estimators must be {form} with at least one entry, not {show(estimators)}.")
    for one in estimators:
        if not (isinstance(one, tuple) and len(one) in (2, 3) and isinstance(one[0], str)):
            raise ValueError(f"estimators must be {form}; one of its entries is {show(one)}.")
    names = [one[0] for one in estimators]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"estimators: the names of members must differ, but {name!r} is there more than once.")
        if "__" in name or name in reserved:
            what = "contain two underscores in a row" if "__" in name else "be that of a parameter of the ensemble"
            raise ValueError(f"estimators: the name of a member must not {what}, as in {name!r}.")
    kept = [Member(*one) for one in estimators if not is_dropped(one)]
    if not kept:
        raise ValueError("estimators: all members are dropped; at least one is needed.")
    return kept


def is_dropped(entry: tuple[Any, ...]) -> bool:
    """Return whether an entry of the list of members says "drop" instead of naming an estimator."""
    return isinstance(entry[1], str) and entry[1] == "drop"


def read_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check the shape and the names of a table; let a column of texts pass, which some pipelines take."""
    if _are_texts(X):
        return np.asarray(X, dtype=object)
    return validate_rows(estimator, X, reset=reset)


def _are_texts(X: Any) -> bool:
    if isinstance(X, list | tuple):
        return len(X) > 0 and isinstance(X[0], str)
    return len(getattr(X, "shape", ())) == 1 and len(X) > 0 and isinstance(np.asarray(X)[0], str)


def resolve_columns(member: Member, X: Any) -> Columns:
    """Turn names, positions, a slice, a mask or a selecting function into the positions of a member's columns.

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
        raise ValueError(f"estimators: {member.name!r} wants columns, but X is a single column of texts.")
    n_columns = X.shape[1]
    if isinstance(chosen, slice):
        positions = np.arange(n_columns)[chosen]
    else:
        wanted = np.atleast_1d(np.asarray(chosen))
        if wanted.dtype.kind == "b":
            positions = _positions_of_mask(member.name, wanted, n_columns)
        elif wanted.dtype.kind in "iu":
            positions = _positions_of_numbers(member.name, wanted, n_columns)
        else:
            positions = _positions_of_names(member.name, wanted, X)
    if len(positions) == 0:
        raise ValueError(f"estimators: the columns of {member.name!r} are none; it needs at least one.")
    return positions


def _positions_of_mask(name: str, mask: npt.NDArray[np.bool_], n_columns: int) -> npt.NDArray[np.intp]:
    if len(mask) != n_columns:
        raise ValueError(f"estimators: the mask of columns of {name!r} has {len(mask)} entries, but X has {n_columns}.")
    return np.flatnonzero(mask)


def _positions_of_numbers(name: str, wanted: npt.NDArray[np.integer], n_columns: int) -> npt.NDArray[np.intp]:
    for position in wanted.tolist():
        if not -n_columns <= position < n_columns:
            raise ValueError(f"estimators: {name!r} wants column {position}, but X has {n_columns} columns.")
    return wanted.astype(np.intp) % n_columns


def _positions_of_names(name: str, wanted: npt.NDArray[Any], X: Any) -> npt.NDArray[np.intp]:
    if as_frame(X) is None:
        raise ValueError(f"estimators: {name!r} wants columns by name, {wanted.tolist()}, so X must be a DataFrame.")
    known = list(X.columns)
    for column in wanted.tolist():
        if column not in known:
            raise ValueError(f"estimators: {name!r} wants column {show(column)}, which X does not have.")
    return np.array([known.index(column) for column in wanted.tolist()], dtype=np.intp)


def take_columns(X: Any, columns: Columns) -> Any:
    """Return the columns of a table that a member sees."""
    return X if columns is None else take_rows(X, columns, axis=1)


def ask_members(
    members: Sequence[FittedMember], X: Any, answer: Answer, n_jobs: int | None
) -> list[npt.NDArray[np.float64]]:
    """Ask each member about its columns of the same samples."""
    return Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(answer)(member.model, take_columns(X, member.columns)) for member in members
    )


def weight_argument(estimator: Any) -> str | None:
    """Find the name under which ``fit`` takes sample weights, or None.

    A pipeline takes them for its last step, a search for the estimator that it tunes. Where scikit-learn's metadata
    routing is switched on, these two take what their parts have requested.

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
