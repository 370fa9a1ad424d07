"""The header of a model file, which describes a model without loading it."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from fuselearn import __version__
from fuselearn.datasets.cleaning import SparseColumns, TableCleaner, first_step
from fuselearn.io.trust import walk_parts
from fuselearn.learners import TableCoder

FORMAT = 2  # 1 until fuselearn 0.2


def describe_model(model: Any) -> dict[str, Any]:
    """Describe a model for the header of its file.

    Parameters
    ----------
    model : estimator

    Returns
    -------
    dict
        ``format``, ``fuselearn``, ``model``, ``date`` and ``versions`` always; ``columns``, ``classes`` or ``labels``,
        and ``training_shape`` if the fitted model has them.
    """
    last = find_predictor(model)
    header: dict[str, Any] = {
        "format": FORMAT,
        "fuselearn": __version__,
        "model": _name(model),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in ("numpy", "scipy", "scikit-learn", "skops")},
        },
    }
    columns = describe_columns(model)
    if columns is not None:
        header["columns"] = columns
    if isinstance(reader := first_step(model), TableCleaner):
        header["left_out"] = [column.name for column in reader.columns_ if not column.is_feature]
    name = "labels" if hasattr(last, "labels_") else "classes"
    if hasattr(last, f"{name}_"):
        header[name] = np.asarray(getattr(last, f"{name}_")).tolist()
    n_rows = getattr(last, "_n_rows_", None)
    if n_rows is not None and columns is not None:
        header["training_shape"] = [int(n_rows), len(columns)]
    return header


def describe_columns(model: Any) -> list[dict[str, Any]] | None:
    """Describe the columns of the tables that a fitted model expects, or return None if they are unknown.

    Returns
    -------
    list of dict
        Each with ``name``; with ``type`` and ``categories`` if trees use the column directly; with ``format`` and
        ``words`` if text is read as dates or numbers.
    """
    if not hasattr(model, "n_features_in_"):
        return None
    if isinstance(reader := first_step(model), TableCleaner | SparseColumns):
        return reader.describe_columns()
    names = getattr(model, "feature_names_in_", None)
    coder = _find_coder(model)
    columns = []
    for f in range(int(model.n_features_in_)):
        column: dict[str, Any] = {"name": f if names is None else names[f]}
        if coder is not None:
            n_categories = int(coder.n_categories_[f])
            column["type"] = "category" if n_categories else "number"
            if n_categories:
                column["categories"] = n_categories
        columns.append(column)
    return columns


def find_predictor(model: Any) -> Any:
    """Return the predicting estimator: the last step of a pipeline, the best estimator of a search."""
    if hasattr(model, "best_estimator_"):
        return find_predictor(model.best_estimator_)
    if hasattr(model, "steps"):
        return find_predictor(model.steps[-1][1])
    return model


def _name(model: Any) -> str:
    """Return the class name of a model, or those of the steps of a pipeline."""
    if hasattr(model, "steps"):
        return " > ".join(_name(step) for _, step in model.steps)
    return model if isinstance(model, str) else type(model).__name__


def _find_coder(model: Any) -> TableCoder | None:
    """Return the object with the column types; later steps of a pipeline have different columns."""
    model = getattr(model, "best_estimator_", model)
    if hasattr(model, "steps"):
        return None
    coders = (part for part in walk_parts(model) if isinstance(part, TableCoder))
    # Models inside may learn from other columns, such as scores or distances.
    return next((coder for coder in coders if len(coder.n_categories_) == model.n_features_in_), None)
