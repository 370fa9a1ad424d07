"""The datasets of the two papers, those bundled with scikit-learn, and those in data packages.

The entries are in ``registry.toml``. The sizes are those of the datasets that `load_dataset` returns. Where they differ
from the sizes printed in the paper, `difference` says how and why. Paper ``"kfhe"`` is Pakrashi and Mac Namee (2019),
*Kalman Filter-based Heuristic Ensemble*; ``"kfhe-homer"`` is their multi-label sequel.

The packages' tables heart, penbased, satimage, segment, splice, vehicle and vowel are left out on purpose, together
with those derived from them, so that no development uses them and they remain unseen for evaluations. So is cleveland,
whose patients are those of heart.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """One entry of the registry.

    Parameters
    ----------
    name : str
        The name for `load_dataset`.
    rows, features, classes : int
        Number of samples, of features, and of classes or labels; 0 if they are not known.
    description : str
        Its topic and origin.
    task : {"multiclass", "multilabel"}
        Whether a sample has one class or a set of labels.
    paper : {"kfhe", "kfhe-homer"} or None
        The paper whose experiments use it.
    difference : str
        How the data differs from what the paper prints, or how the paper's was inferred.
    openml : int or None
        The number on OpenML of the copy to download; None if no copy is known.
    no_openml : str
        Why there is none, as the end of a sentence.
    bundled : bool
        Whether scikit-learn ships it.
    file : str
        The stem of its file in a data folder, where that is not the name.
    positives : int or None
        Multi-label: total number of ones in the labels. It distinguishes datasets of the same
        size with different labels.
    unavailable : str
        Why it cannot be loaded, if so.
    packaged : str or None
        The name under which a data package is imported, and the path of the file in it.
    target : int
        Position of the column with the classes in that file.
    identifiers : sequence of int
        Positions of columns in that file that only identify a sample, and are dropped.

    Examples
    --------
    >>> iris = registry()["iris"]
    >>> iris.task, iris.rows, iris.features, iris.classes, iris.paper
    ('multiclass', 150, 4, 3, 'kfhe')
    """

    name: str
    rows: int
    features: int
    classes: int
    description: str
    task: str = "multiclass"
    paper: str | None = None
    difference: str = ""
    openml: int | None = None
    no_openml: str = ""
    bundled: bool = False
    file: str = ""
    positives: int | None = None
    unavailable: str = ""
    packaged: str | None = None
    target: int = -1
    identifiers: Sequence[int] = ()


@cache
def registry() -> Mapping[str, DatasetInfo]:
    """Return the registry of datasets, read-only and in the order of the papers' tables.

    >>> [name for name, info in registry().items() if info.unavailable]
    ['physio']
    """
    entries = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return MappingProxyType({name: _read_entry(name, **entry) for name, entry in entries.items()})


def _read_entry(name: str, size: tuple[int, int, int], **more: Any) -> DatasetInfo:
    rows, features, classes = size
    return DatasetInfo(name, rows, features, classes, **more)


def find_by_number(name: str) -> DatasetInfo | None:
    """Describe the OpenML dataset with the number in a name such as ``"openml-61"``; None for any other name."""
    number = name.removeprefix("openml-")
    if number == name or not (number.isascii() and number.isdecimal()):
        return None
    return DatasetInfo(name, 0, 0, 0, "a dataset on OpenML", openml=int(number))
