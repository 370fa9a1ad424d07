"""Find the label columns of a multi-label table: by number, by names, by a prefix, or as its file says."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from fuselearn.datasets.arff import meka_label_count, read_mulan_labels
from fuselearn.datasets.dataset import DatasetError
from fuselearn.datasets.targets import LABEL_PREFIX, code_labels, name_columns, require_columns

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "LabelColumns",
    "Labels",
    "choose_label_columns",
    "find_label_columns",
    "mulan_file",
    "read_label_file",
]

Labels = Sequence[str] | str | int | os.PathLike[str]

_NUMBER = re.compile(r"([+-]?)(\d+)")
_PART = re.compile(r"[-_. ].*?(train|test|tra|tst|fold).*", re.IGNORECASE)
"""What follows the name of a dataset in the name of one of its parts."""


class LabelColumns(NamedTuple):
    """The label columns of a table, and the prefix that is no part of the labels' names."""

    columns: list[str]
    prefix: str = ""

    @property
    def names(self) -> list[str]:
        """The names of the labels."""
        return [column.removeprefix(self.prefix) for column in self.columns]


class Table(Protocol):
    """A table with named columns; an ARFF file also has a relation."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""

    def frame(self, names: Sequence[str]) -> pd.DataFrame:
        """Return some of the columns."""


def find_label_columns(table: Table, labels: Labels | None, path: Path) -> LabelColumns | None:
    """Return the label columns of a table.

    Parameters
    ----------
    table : Table
        The table.
    labels : list of str, str, int, path or None
        As for `fuselearn.datasets.read_table`.
    path : Path
        The file of the table.

    Returns
    -------
    LabelColumns or None
        None if neither the argument nor the file defines labels.
    """
    if labels is None:
        return _declared_by_file(table, path)

    def has_labels(found: LabelColumns) -> bool:
        try:
            code_labels(table.frame(found.columns), str(path))
        except DatasetError:
            return False
        return True

    return choose_label_columns(table.columns, labels, path, has_labels, "hold 0 and 1 only")


def choose_label_columns(
    columns: Sequence[str], labels: Labels, path: Path, fits: Callable[[LabelColumns], bool], fitting: str
) -> LabelColumns:
    """Return the label columns that an argument names.

    Parameters
    ----------
    columns : sequence of str
        The columns of the table.
    labels, path
        As for `find_label_columns`.
    fits : callable
        Decides which end of the table holds the labels, if they are a number without a sign.
    fitting : str
        What `fits` checks, for messages.
    """
    columns = list(columns)
    if isinstance(labels, int):
        return _at_end(columns, labels, path)
    if isinstance(labels, os.PathLike) or (isinstance(labels, str) and is_label_file(labels)):
        return _listed_in(Path(labels), columns, path)
    if not isinstance(labels, str):
        return _named(list(labels), columns, path)
    if labels in columns:
        return LabelColumns([labels])
    number = _NUMBER.fullmatch(labels.strip())
    if number is None:
        if labels.endswith("*") or "," not in labels:
            return _starting_with(labels.removesuffix("*"), columns, path)
        return _named([name.strip() for name in labels.split(",")], columns, path)
    sign, count = number[1], int(number[2])
    ends = [_at_end(columns, count, path), _at_end(columns, -count, path)]
    if sign:
        return ends[sign == "-"]
    fitting_ends = [end for end in ends if fits(end)]
    if len(fitting_ends) == 1:
        return fitting_ends[0]
    which = "Both the first and the last" if fitting_ends else "Neither the first nor the last"
    raise DatasetError(
        f"{which} {count} columns of {path} {fitting}; pass +{count} for the first, as MEKA does, -{count} for the "
        "last, or the names of the label columns."
    )


def mulan_file(path: Path) -> Path:
    """Return the path of the label file of an ARFF file, which may be shared by its parts.

    The file of ``emotions.arff`` is ``emotions.xml``; so is that of ``emotions-train.arff`` and of
    ``emotions-5-1tst.arff``, unless they have one of their own.
    """
    stem = path.with_suffix("") if path.suffix == ".gz" else path
    if stem.suffix.lower() != ".arff":
        return Path(os.devnull)  # only an ARFF file has a label file; any other XML file is unrelated
    own = stem.with_suffix(".xml")
    if own.is_file() or not own.parent.is_dir():
        return own
    shared = [
        xml
        for xml in own.parent.glob("*.xml")
        if own.stem.startswith(xml.stem) and _PART.fullmatch(own.stem.removeprefix(xml.stem))
    ]
    return max(shared, key=lambda xml: len(xml.stem), default=own)


def is_label_file(labels: str) -> bool:
    """Return whether an argument is the name of Mulan's XML file."""
    return labels.lower().endswith(".xml")


def read_label_file(path: Path) -> list[str]:
    """Read the names of the labels from Mulan's XML file, if it is there."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no label file {path}.")
    return read_mulan_labels(path)


def _declared_by_file(table: Table, path: Path) -> LabelColumns | None:
    count = meka_label_count(getattr(table, "relation", ""))
    if count is not None:
        return _at_end(table.columns, count, path)
    xml = mulan_file(path)
    if xml.is_file():
        return _listed_in(xml, table.columns, path)
    if any(column.startswith(LABEL_PREFIX) for column in table.columns):
        return _starting_with(LABEL_PREFIX, table.columns, path)
    return None


def _at_end(columns: list[str], count: int, path: Path) -> LabelColumns:
    """Return the first columns, or the last ones if the number is negative, as MEKA does."""
    if not 0 < abs(count) < len(columns):
        raise DatasetError(f"{path} has {len(columns)} columns, of which {abs(count)} cannot be labels.")
    return LabelColumns(columns[:count] if count > 0 else columns[count:])


def _listed_in(xml: Path, columns: list[str], path: Path) -> LabelColumns:
    names = read_label_file(xml)
    known = set(columns)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise DatasetError(
            f"{xml} lists {name_columns(unknown)}, of which {path} has no column. The columns are "
            f"{name_columns(columns)}."
        )
    return _once(names, columns, str(xml), path)


def _starting_with(prefix: str, columns: list[str], path: Path) -> LabelColumns:
    found = [column for column in columns if column.startswith(prefix)]
    if not found:
        raise DatasetError(f"No column of {path} starts with {prefix!r}. The columns are {name_columns(columns)}.")
    if len(found) == len(columns):
        raise DatasetError(f"All columns of {path} start with {prefix!r}; none would be left as a feature.")
    # A label that has no name but the prefix keeps it.
    return LabelColumns(found, prefix="" if prefix in found else prefix)


def _named(names: list[str], columns: list[str], path: Path) -> LabelColumns:
    if not names:
        raise DatasetError(f"labels is empty; {path} needs at least one label column.")
    require_columns(columns, names, str(path), "use as a label")
    return _once(names, columns, "labels", path)


def _once(names: list[str], columns: list[str], source: str, path: Path) -> LabelColumns:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DatasetError(f"{source} names the label {twice[0]!r} twice.")
    if len(names) == len(columns):
        raise DatasetError(f"{source} names all {len(columns)} columns of {path}; none is left as a feature.")
    return LabelColumns(names)
