"""The file format of data folders and of the cache: one gzipped CSV file per dataset.

A multi-class file ends with the column ``class``; a multi-label file has label columns whose names
start with ``label:`` and whose cells are 0 or 1. An empty cell is a missing value. Nothing else is
read as missing, so that a class may be called ``NA`` or ``none``.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from fuselearn._replacing import replacing
from fuselearn.datasets.dataset import DatasetError
from fuselearn.datasets.targets import CLASS_COLUMN, LABEL_PREFIX, split_classes, split_labels

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".csv.gz", ".csv")


def is_before_pandas_3_1() -> bool:
    """Return whether pandas is too old to parse floats exactly and to see all surplus cells on its own."""
    import pandas as pd

    return tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)


def exact_floats() -> dict[str, str]:
    """Return the option with which pandas reads back exactly the floats that it wrote.

    From pandas 3.1 on, this is the default and the option is deprecated.
    """
    return {"float_precision": "round_trip"} if is_before_pandas_3_1() else {}


def read_stored(path: Path) -> tuple[pd.DataFrame, pd.Series | pd.DataFrame]:
    """Read one file of a data folder or of the cache."""
    import pandas as pd

    try:
        frame = pd.read_csv(
            path, dtype={CLASS_COLUMN: str}, keep_default_na=False, na_values=[""], low_memory=False, **exact_floats()
        )
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise DatasetError(f"{path} cannot be read as a table: {error}") from error
    labels = [name for name in frame.columns if name.startswith(LABEL_PREFIX)]
    if labels:
        X, Y = split_labels(frame, labels, str(path))
        return X, Y.rename(columns=lambda name: name.removeprefix(LABEL_PREFIX))
    if frame.columns[-1] != CLASS_COLUMN:
        raise DatasetError(f"{path} has neither a last column 'class' nor columns whose names start with 'label:'.")
    return split_classes(frame, CLASS_COLUMN, str(path))


def write_stored(path: Path, X: pd.DataFrame, y: pd.Series | pd.DataFrame) -> None:
    """Write one file atomically."""
    if y.ndim == 2:
        frame = X.join(y.add_prefix(LABEL_PREFIX))
    else:
        frame = X.assign(**{CLASS_COLUMN: y})
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as out:
        out.write(frame.to_csv(index=False, lineterminator="\n").encode())
