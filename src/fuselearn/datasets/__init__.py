"""Load datasets by name, read tables from files, generate multi-label data, and add label noise.

- `load_dataset` loads a dataset by name: those of the papers, of scikit-learn, and of packages that carry tables;
  `available` lists them.
- `read_table` reads your own CSV, Parquet or ARFF file; `read_parts` a dataset in parts or folds that are given.
- `TableCleaner` turns raw columns, including dates and text, into features.
- `make_digit_pairs` generates a multi-label dataset from real images, without a download.
- `corrupt_labels` adds an exact amount of label noise.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fuselearn._extras import require
from fuselearn.datasets.dataset import Dataset, DatasetError
from fuselearn.datasets.noise import corrupt_labels

if TYPE_CHECKING:
    from fuselearn.datasets.cleaning import TableCleaner
    from fuselearn.datasets.digit_pairs import make_digit_pairs
    from fuselearn.datasets.loading import available, load_dataset
    from fuselearn.datasets.tables import Parts, read_parts, read_table

__all__ = [
    "Dataset",
    "DatasetError",
    "Parts",
    "TableCleaner",
    "available",
    "corrupt_labels",
    "load_dataset",
    "make_digit_pairs",
    "read_parts",
    "read_table",
]

_MODULES = {
    "cleaning": ["TableCleaner"],
    "digit_pairs": ["make_digit_pairs"],
    "loading": ["available", "load_dataset"],
    "tables": ["Parts", "read_parts", "read_table"],
}


def __getattr__(name: str) -> Any:
    """Import on first access what needs pandas, which is optional and takes long to import."""
    for module, names in _MODULES.items():
        if name in names:
            require(f"fuselearn.datasets.{name}", "pandas")
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
