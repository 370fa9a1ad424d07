"""Training on Parquet files that would not fit into memory."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuselearn.disk.sources import ParquetRows, Source, row_groups

if TYPE_CHECKING:
    from fuselearn.datasets import TableCleaner

# Bytes that training in memory takes for a value: the table, a copy of it as a matrix, and its codes.
BYTES_PER_VALUE = 24
# So many samples, from all over the file, decide how its columns are read.
LOOKED_AT = 200_000
# Trees that are not pruned get no leaves with less than this part of so many samples, unless --set says otherwise.
SMALLEST_LEAF = 1 / 10_000
METHODS = ("kfhe", "adaboost", "bagging", "forest")


@dataclass(frozen=True)
class CleanedRows(Source):
    """Features of some samples of a file, converted by a cleaner."""

    rows: ParquetRows
    cleaner: TableCleaner

    def read(self) -> Any:
        """Return them; categories are text, since parts have different ones."""
        frame = self.cleaner.transform(self.rows.read().to_pandas())
        return frame.astype({name: object for name, kind in frame.dtypes.items() if kind == "category"})


@dataclass(frozen=True)
class ClassRows(Source):
    """The classes of some samples of a file."""

    rows: ParquetRows

    def read(self) -> Any:
        """Return them."""
        from fuselearn.datasets.targets import class_names

        frame = self.rows.read().to_pandas()
        return class_names(frame[frame.columns[0]], str(self.rows.path)).to_numpy()


def would_not_fit(file: Path) -> bool:
    """Return whether training on a Parquet file in memory would take more than half of this machine's memory."""
    from pyarrow.parquet import read_metadata

    about = read_metadata(file)
    return bool(about.num_rows * about.num_columns * BYTES_PER_VALUE > memory_size() / 2)


def memory_size() -> int:
    """Return this machine's memory in bytes; 8 GiB if the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8 * 2**30


def look_at(file: Path, target: str) -> tuple[Any, Any]:
    """Return features and classes of samples from all over a file."""
    import pandas as pd
    from pyarrow.parquet import ParquetFile

    with ParquetFile(file) as parquet:
        groups = parquet.num_row_groups
        chosen = range(0, groups, max(1, groups // 8))
        frames = [
            next(parquet.iter_batches(LOOKED_AT // len(chosen), row_groups=[group])).to_pandas() for group in chosen
        ]
    frame = pd.concat(frames, ignore_index=True)
    return frame.drop(columns=target), frame[target]


def fit_from_disk(model: Any, file: Path, target: str, cleaner: TableCleaner, directory: Path) -> Any:
    """Fit what an ordinary ensemble would be; return the ordinary ensemble.

    Parameters
    ----------
    model : KFHEClassifier, SAMMEClassifier, BaggedClassifier or ForestClassifier
        Its parameters are used.
    file : path
    target : str
    cleaner : TableCleaner
        Fitted.
    directory : path
        Where to keep files during the fit.
    """
    from fuselearn import disk

    kind = getattr(disk, f"Disk{type(model).__name__}")
    own = kind(**model.get_params(deep=False) | {"sampling": "poisson", "directory": directory})
    features, tables, targets = tuple(cleaner.feature_names_in_), [], []
    for path, groups, _ in row_groups([file], [target]):
        tables.append(CleanedRows(ParquetRows(path, groups, features), cleaner))
        targets.append(ClassRows(ParquetRows(path, groups, (target,))))
    return own.fit(tables, targets).to_local()


def enlarge_leaves(model: Any, n_samples: int) -> int | None:
    """Let trees that grow as far as they can have larger leaves, and return how large; None if they need not."""
    name = "min_samples_leaf" if hasattr(model, "min_samples_leaf") else "estimator__min_samples_leaf"
    params = model.get_params()
    if params[name] not in (None, 1) or params.get("estimator__complexity", -1) >= 0:
        return None
    size = max(1, round(SMALLEST_LEAF * n_samples))
    model.set_params(**{name: size})
    return size
