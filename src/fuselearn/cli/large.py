"""Training on Parquet files larger than memory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import typer
from pyarrow.parquet import ParquetFile, read_metadata

from fuselearn._progress import fitting
from fuselearn.cli import tables
from fuselearn.datasets import Dataset, TableCleaner
from fuselearn.datasets.columns import convert
from fuselearn.datasets.dataset import require_columns
from fuselearn.datasets.files import TextFormat, open_table
from fuselearn.datasets.tables import class_names
from fuselearn.scale import DiskEnsemble
from fuselearn.scale.sources import ParquetRows, Source, row_groups

# Memory for training, in bytes per value of the table: the table, a copy as a matrix, and its codes.
BYTES_PER_VALUE = 24
# Number of samples, from all parts of the file, for inferring how columns are converted.
LOOKED_AT = 200_000
# Minimum fraction of the samples in a leaf of trees without pruning, unless set with --set.
SMALLEST_LEAF = 1 / 10_000
METHODS = ("kfhe", "adaboost", "bagging", "forest")


@dataclass(frozen=True)
class ConvertedRows(Source):
    """Some columns of some samples of a file, converted."""

    rows: ParquetRows
    convert: Callable[[pa.Table], Any]

    def read(self) -> Any:
        """Return the converted columns."""
        return self.convert(self.rows.read())


def would_not_fit(file: Path) -> bool:
    """Return whether training on a Parquet file in memory would use more than half of this machine's memory."""
    about = _read_about(file)
    return bool(about.num_rows * about.num_columns * BYTES_PER_VALUE > memory_size() / 2)


def _read_about(file: Path) -> Any:
    with open_table(file, TextFormat()) as raw:
        return read_metadata(raw)


def memory_size() -> int:
    """Return this machine's memory in bytes; 8 GiB if it is unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8 * 2**30


def train_from_disk(
    model: Any, file: Path, target: str, reading: tables.Reading, folder: Path, *, trusted: bool, quiet: bool
) -> tuple[Any, TableCleaner | None, dict[str, Any]]:
    """Train an ensemble from a Parquet file part by part.

    Parameters
    ----------
    model : KFHEClassifier, SAMMEClassifier, BaggedClassifier or ForestClassifier
        The ensemble to train.
    file : path
    target : str
    reading : Reading
    folder : path
        Folder for files during the fit.
    trusted : bool
        Whether to skip the check that the target does not look like measurements.
    quiet : bool
        Whether to suppress messages about columns.

    Returns
    -------
    model, first, about : the ordinary ensemble, the step that prepares its columns, if any, and the summary
    """
    about = _read_about(file)
    columns = about.schema.to_arrow_schema().names
    require_columns(columns, [target], str(file), "use as the target")
    cleaner = TableCleaner(**reading.cleaner_options(columns))
    frame = _look_at(file)
    X, y = frame.drop(columns=target), class_names(frame[target], str(file))
    features_seen = cleaner.fit_transform(X)
    tables.check_target(Dataset(features_seen, y, file.stem, "", str(file)), file, trusted, quiet=quiet)
    leaf_size = _enlarge_leaves(model, about.num_rows)
    if not quiet:
        tables.explain(cleaner)
        looked = f"{len(X):,} of its {about.num_rows:,} samples decide how its columns are converted"
        typer.echo(f"{file} is read in parts; {looked}.", err=True)
        if leaf_size is not None:
            typer.echo(f"Leaves have at least {leaf_size:,} samples; --set changes min_samples_leaf.", err=True)
    features, parts, targets = tuple(cleaner.feature_names_in_), [], []
    for path, groups, _ in row_groups([file], [target]):
        parts.append(ConvertedRows(ParquetRows(path, groups, features), partial(_clean, cleaner)))
        targets.append(ConvertedRows(ParquetRows(path, groups, (target,)), partial(_read_classes, str(file))))
    start = time.perf_counter()
    with fitting(model, f"Training {type(model).__name__}"):
        own = DiskEnsemble(model.set_params(sampling="poisson"), directory=folder)
        fitted = own.fit(parts, targets).estimator_.set_params(verbose=0)
    said = {
        "rows": about.num_rows,
        "columns": fitted.n_features_in_,
        "classes": len(fitted.classes_),
        "seconds": round(time.perf_counter() - start, 3),
        "left_out": cleaner.left_out,
    }
    return fitted, None if cleaner.is_idle else cleaner, said


def _look_at(file: Path) -> pd.DataFrame:
    """Return samples from all parts of a file."""
    with ParquetFile(file) as parquet:
        groups = parquet.num_row_groups
        chosen = range(0, groups, max(1, groups // 8))
        size = LOOKED_AT // len(chosen)
        frames = [next(parquet.iter_batches(size, row_groups=[group])).to_pandas() for group in chosen]
    return pd.concat(frames, ignore_index=True)


def _clean(cleaner: TableCleaner, table: pa.Table) -> pa.Table:
    """Convert features that cannot be used unchanged; others are not copied, since each part is read three times."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):  # categories may differ between parts
            table = table.set_column(place, field.name, table[place].cast(field.type.value_type))
    changed = [column for column in cleaner.columns_ if column.is_feature and not column.is_unchanged]
    frame = convert(table.select([column.name for column in changed]).to_pandas(), changed)
    for name, cells in frame.items():
        values = cells.astype(object) if cells.dtype == "category" else cells
        table = table.set_column(table.column_names.index(name), str(name), pa.array(values, from_pandas=True))
    return table


def _read_classes(where: str, table: pa.Table) -> Any:
    return class_names(table.to_pandas().iloc[:, 0], where).to_numpy()


def _enlarge_leaves(model: Any, n_samples: int) -> int | None:
    """Set larger leaves for trees without other limits, and return their size; None if not needed."""
    name = "min_samples_leaf" if hasattr(model, "min_samples_leaf") else "estimator__min_samples_leaf"
    params = model.get_params()
    if params[name] not in (None, 1) or params.get("estimator__complexity") is not None:
        return None
    size = round(SMALLEST_LEAF * n_samples)
    if size <= model._base_estimator()._engine_settings().min_leaf:
        return None
    model.set_params(**{name: size})
    return size
