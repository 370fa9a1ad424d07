"""Dask collections as lists of parts, and predictions for all parts."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
import numpy.typing as npt
from dask.delayed import Delayed

from fuselearn.scale.tasks import weigh_correct

Part = tuple[Any, Any, Any]
"""X, y and sample_weight (or None) of some samples, as delayed values."""


def list_parts(X: Any, y: Any, sample_weight: Any) -> list[Part]:
    """Split X, y and the weights into parts of the same samples.

    Parameters
    ----------
    X : dask.array.Array, dask.dataframe.DataFrame or list of delayed tables
    y, sample_weight : dask.array.Array, dask.dataframe.Series or list of delayed arrays
        With the partitions of X. Arrays with known chunks are rechunked if their chunks differ.
    """
    tables = _divide("X", X, None)
    if not tables:
        raise ValueError("X has no parts; at least one is required.")
    columns = []
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        divided = [None] * len(tables) if values is None else _divide(name, values, X)
        if len(divided) != len(tables):
            raise ValueError(
                f"X has {len(tables)} parts and {name} {len(divided)}; both must have the same partitions."
            )
        columns.append(divided)
    return list(zip(tables, *columns, strict=True))


def predict_parts(model: Any, method: str, X: Any, nothing: npt.NDArray[Any]) -> Any:
    """Predict lazily for each part of a collection.

    Parameters
    ----------
    model : estimator
    method : {"predict", "predict_proba"}
    X : collection
    nothing : array
        The prediction for no samples.

    Returns
    -------
    dask.array.Array, or list of delayed arrays for a list of delayed parts
    """
    model, predict = dask.delayed(model), dask.delayed(_predict_part, pure=False)
    predicted = [predict(model, method, part, nothing) for part in _divide("X", X, None)]
    if isinstance(X, list | tuple):
        return predicted
    lengths = X.chunks[0] if isinstance(X, da.Array) else [np.nan] * len(predicted)
    blocks = [
        da.from_delayed(part, (length, *nothing.shape[1:]), meta=nothing)
        for part, length in zip(predicted, lengths, strict=True)
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def score_parts(model: Any, parts: list[Part], client: Any) -> list[tuple[float, float]]:
    """Return the result of `weigh_correct` for each part, computed by a client, by default the last one created."""
    model, weigh = dask.delayed(model), dask.delayed(weigh_correct, pure=False)
    scores = [weigh(model, *part) for part in parts]
    return list(dask.compute(*scores) if client is None else client.gather(client.compute(scores)))


def is_collection(X: Any) -> bool:
    """Return whether a table is a Dask collection or a list of delayed parts."""
    return dask.is_dask_collection(X) or (isinstance(X, list | tuple) and any(isinstance(part, Delayed) for part in X))


def _divide(name: str, values: Any, X: Any) -> list[Any]:
    if isinstance(values, da.Array):
        if values.ndim > 1:
            values = values.rechunk({1: -1})
        known = isinstance(X, da.Array) and not np.isnan([*X.chunks[0], *values.chunks[0]]).any()
        if known and X.shape[0] != values.shape[0]:
            raise ValueError(f"X has {X.shape[0]} samples and {name} {values.shape[0]}.")
        if known and X.chunks[0] != values.chunks[0]:
            values = values.rechunk({0: X.chunks[0]})
        return list(values.to_delayed().ravel())
    if dask.is_dask_collection(values) and hasattr(values, "npartitions"):
        # Without optimization: Dask may otherwise split single columns of a file into other partitions.
        return list(values.to_delayed(optimize_graph=False))
    if isinstance(values, list | tuple) and all(isinstance(part, Delayed) for part in values):
        return list(values)
    raise TypeError(
        f"{name} must be a Dask array, a Dask DataFrame or Series, or a list of delayed parts, not "
        f"{type(values).__name__}. For data in memory, fit the estimator itself."
    )


def _predict_part(model: Any, method: str, X: Any, nothing: npt.NDArray[Any]) -> Any:
    return getattr(model, method)(X) if len(X) else nothing
