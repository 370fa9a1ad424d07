"""Datasets: by name, from the user's own files, made from bundled data, and made noisy.

- `load` finds one of the papers' datasets by name; `available` and `registry` list them.
- `read_table` reads a CSV, Parquet or ARFF file of one's own.
- `TableStream` reads new rows of such a file block by block.
- `make_digit_pairs` makes a real multi-label dataset without a download.
- `corrupt_labels` adds an exact amount of label noise.
"""

from fuselearn.datasets.dataset import Dataset, DatasetError
from fuselearn.datasets.digit_pairs import make_digit_pairs
from fuselearn.datasets.loading import Listing, available, load
from fuselearn.datasets.noise import corrupt_labels
from fuselearn.datasets.registry import DatasetInfo, OpenMLCopy, registry
from fuselearn.datasets.streaming import TableStream, Wanted
from fuselearn.datasets.tables import read_table

__all__ = [
    "Dataset",
    "DatasetError",
    "DatasetInfo",
    "Listing",
    "OpenMLCopy",
    "TableStream",
    "Wanted",
    "available",
    "corrupt_labels",
    "load",
    "make_digit_pairs",
    "read_table",
    "registry",
]
