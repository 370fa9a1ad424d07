"""Load datasets by name, read tables from files, generate multi-label data, and add label noise.

- `load_dataset` loads a dataset by name: those of the papers, of scikit-learn, and of packages that carry tables;
  `available` lists them.
- `read_table` reads your own CSV, Parquet or ARFF file; `TableCleaner` turns raw columns, including dates and text,
  into features.
- `make_digit_pairs` generates a multi-label dataset from real images, `make_claims` a table with text categories and
  missing values, both without a download.
- `corrupt_labels` adds an exact amount of label noise.
"""

from fuselearn.datasets.cleaning import TableCleaner
from fuselearn.datasets.dataset import Dataset, DatasetError
from fuselearn.datasets.loading import available, load_dataset, make_claims, make_digit_pairs
from fuselearn.datasets.noise import corrupt_labels
from fuselearn.datasets.tables import read_table

__all__ = [
    "Dataset",
    "DatasetError",
    "TableCleaner",
    "available",
    "corrupt_labels",
    "load_dataset",
    "make_claims",
    "make_digit_pairs",
    "read_table",
]
