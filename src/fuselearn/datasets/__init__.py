"""Load datasets by name, read tables from files, generate multi-label data, and add label noise.

- `load` loads a dataset by name: those of the papers, of scikit-learn, and of packages that carry tables;
  `available` and `registry` list them.
- `read_table` reads your own CSV, Parquet or ARFF file; `read_parts` a dataset in parts or folds that are given.
- `TableCleaner` turns raw columns, including dates and text, into features; `SparseColumns` names sparse features.
- `TableStream` reads new samples from such a file block by block.
- `make_digit_pairs` generates a multi-label dataset from real images, without a download.
- `corrupt_labels` adds an exact amount of label noise.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fuselearn.datasets.dataset import Dataset, DatasetError
from fuselearn.datasets.delimited import TextFormat
from fuselearn.datasets.digit_pairs import make_digit_pairs
from fuselearn.datasets.loading import Listing, available, load
from fuselearn.datasets.noise import corrupt_labels
from fuselearn.datasets.parts import Parts, read_parts
from fuselearn.datasets.registry import DatasetInfo, OpenMLCopy, PackagedFile, registry
from fuselearn.datasets.streaming import TableStream, Wanted
from fuselearn.datasets.tables import read_table

if TYPE_CHECKING:
    from fuselearn.datasets.cleaning import TableCleaner
    from fuselearn.datasets.sparse_columns import SparseColumns

__all__ = [
    "Dataset",
    "DatasetError",
    "DatasetInfo",
    "Listing",
    "OpenMLCopy",
    "PackagedFile",
    "Parts",
    "SparseColumns",
    "TableCleaner",
    "TableStream",
    "TextFormat",
    "Wanted",
    "available",
    "corrupt_labels",
    "load",
    "make_digit_pairs",
    "read_parts",
    "read_table",
    "registry",
]

_TRANSFORMERS = {"SparseColumns": "sparse_columns", "TableCleaner": "cleaning"}


def __getattr__(name: str) -> Any:
    """Import the transformers on first access, so that listing datasets does not wait for scikit-learn."""
    if name in _TRANSFORMERS:
        return getattr(import_module(f"{__name__}.{_TRANSFORMERS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
