"""The data of a suite, as far as they are here when its report is written."""

from __future__ import annotations

from collections.abc import Iterator

from fuselearn.datasets import Dataset, DatasetError, load_dataset
from fuselearn.lab.running.suites import Suite

__all__ = ["available_data"]


def available_data(suite: Suite) -> Iterator[tuple[str, Dataset]]:
    """Yield the datasets of a suite that are available locally, by name; nothing is downloaded."""
    own = {table.name for table in suite.tables}
    for name in suite.datasets:
        try:
            yield name, suite.load(name) if name in own else load_dataset(name, download=False)
        except (DatasetError, FileNotFoundError):
            continue
