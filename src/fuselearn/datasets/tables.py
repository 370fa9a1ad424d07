"""Read a table from a file, and separate its target (classes or labels) from its features.

`where` and `path` name the table in error messages.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fuselearn.datasets.arff import ArffTable, meka_label_count, read_mulan_labels
from fuselearn.datasets.cleaning import LABEL_PREFIX, TableCleaner, warn_of_labels
from fuselearn.datasets.columns import tidy_features
from fuselearn.datasets.dataset import Dataset, DatasetError, name_columns, require_columns
from fuselearn.datasets.files import MISSING, FrameTable, TextFormat, read_whole

CLASS_COLUMN = "class"

FRAME_FEATURES = 100
"""A sparse ARFF file with more numeric features than this becomes a sparse array."""

FEW_CLASSES, MANY_CLASSES = 10, 50

Labels = Sequence[str] | str | int | os.PathLike[str]
Table = FrameTable | ArffTable
"""The content of a file: its columns by name."""

_LABEL_WORDS = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1, "no": 0, "yes": 1}
_PART = re.compile(r"[-_. ].*?(train|test|tra|tst|fold).*", re.IGNORECASE)
"""The suffix of a part of a dataset in a file name."""


def read_table(
    path: str | os.PathLike[str],
    target: str | None = None,
    labels: Labels | None = None,
    *,
    sep: str | None = None,
    missing: Sequence[str] = MISSING,
    encoding: str = "utf-8",
    decimal: str = ".",
    cleaner: TableCleaner | None = None,
) -> Dataset:
    r"""Read a table with classes or labels from a file.

    Parameters
    ----------
    path : str or path
        A ``.csv``, ``.tsv``, ``.parquet`` or ``.arff`` file; CSV, TSV and ARFF also gzipped (``.gz``). The first line
        of a CSV file contains the column names.
    target : str, optional
        The column with the classes.
    labels : optional
        The label columns of a multi-label table, in one of these forms: a number n for the first n columns, negative
        for the last n, as in MEKA; a list of names, or text with names separated by commas; a common prefix with a
        star, which is removed, such as ``"label_*"``; Mulan's XML file (a path that ends with ``.xml``).
    sep : str, optional
        Separator of a CSV file. By default it is detected among comma, semicolon, tab and bar; for TSV it is a tab.
    missing : sequence of str
        Cells of a CSV file to read as missing. "None" is not included by default, since it is often a category.
    encoding : str, default="utf-8"
        Encoding of CSV and ARFF files.
    decimal : str, default="."
        The decimal mark in CSV files.
    cleaner : TableCleaner, optional
        Transformer to fit on the features. By default, numeric columns remain numbers and all others become categories.
        Columns with names that start with ``label:`` are features only if the cleaner names them.

    Returns
    -------
    Dataset
        It unpacks into ``X, y``. X is a DataFrame, or a sparse array if an ARFF file has sparse samples with more than
        100 features, all of them numbers.

    Notes
    -----
    Without `target` and `labels`, the target is the first that exists of: MEKA's ``-C n`` in the relation of an ARFF
    file; Mulan's XML file next to the ARFF file, with the same stem, or with that of the dataset whose part it is
    (``emotions.xml`` for ``emotions-train.arff``); columns whose names start with ``label:``; a column ``class``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fuselearn.datasets import read_table
    >>> path = pathlib.Path(tempfile.mkdtemp(), "fruit.csv")
    >>> _ = path.write_text("weight,color,kind\n150,red,apple\n120,yellow,pear\n")
    >>> X, y = read_table(path, target="kind")
    >>> X["color"].dtype.name, y.tolist()
    ('category', ['apple', 'pear'])
    """
    return split_table(read_whole(Path(path), TextFormat(sep, encoding, decimal, missing)), target, labels, cleaner)


def split_table(
    table: Table,
    target: str | None = None,
    labels: Labels | None = None,
    cleaner: TableCleaner | None = None,
) -> Dataset:
    """Return the features and the target of a table that has been read; the parameters are those of `read_table`."""
    where = str(table.path)
    if table.n_rows == 0:
        raise DatasetError(f"{where} has column names but no samples.")
    found = find_target(table, target, labels)
    if found is None:
        known = name_columns(table.columns)
        raise DatasetError(f"{where} does not define a target: name it, or the label columns. The columns are {known}.")
    y, taken = found.read(table), set(found.columns)
    names = [column for column in table.columns if column not in taken]
    if not names:
        raise DatasetError(f"{where} has no feature columns besides the target.")
    chosen = (cleaner or TableCleaner()).choose(names, where)
    if cleaner is not None and not is_sparse(table, chosen):
        X: Any = cleaner.fit_transform(table.frame(names))
    else:
        warn_of_labels((cleaner or TableCleaner()).find_labels(names))
        X = table.matrix(chosen) if is_sparse(table, chosen) else tidy_features(table.frame(chosen), where)  # type: ignore[union-attr]
    file = table.path.name
    return Dataset(X, y, file.split(".")[0], f"The table {file}.", where, chosen)


def is_sparse(table: Table, names: Sequence[str]) -> bool:
    """Return whether these columns are read as a sparse array."""
    return len(names) > FRAME_FEATURES and table.fits_matrix(names)


class TargetColumns(NamedTuple):
    """The target columns, and the names of the labels; None if there is a column of classes."""

    columns: list[str]
    labels: list[str] | None = None
    hint: str = ""

    def read(self, table: Table) -> pd.Series | pd.DataFrame:
        """Return the classes, or the labels as 0 and 1."""
        frame = table.frame(self.columns)
        if self.labels is None:
            return class_names(frame[self.columns[0]], str(table.path))
        try:
            return code_labels(frame, str(table.path)).set_axis(self.labels, axis=1)
        except DatasetError as error:
            raise DatasetError(f"{error}{self.hint}") from None


def find_target(table: Table, target: str | None, labels: Labels | None) -> TargetColumns | None:
    """Return the target columns of a table, as defined in `read_table`, or None without a definition."""
    if target is not None:
        if labels is not None:
            raise DatasetError("Pass either target (one class per sample) or labels, not both.")
        require_columns(table.columns, [target], str(table.path), "use as the target")
        return TargetColumns([target])
    if labels is not None:
        return choose_label_columns(table.columns, labels, table.path)
    count = meka_label_count(table.relation)
    if count is not None:
        return _at_end(table.columns, count, table.path)
    xml = mulan_file(table.path)
    if xml.is_file():
        return _listed(read_mulan_labels(xml), table.columns, str(xml), table.path)
    if any(column.startswith(LABEL_PREFIX) for column in table.columns):
        return _starting_with(LABEL_PREFIX, table.columns, table.path)
    return TargetColumns([CLASS_COLUMN]) if CLASS_COLUMN in table.columns else None


def choose_label_columns(columns: Sequence[str], labels: Labels, path: Path) -> TargetColumns:
    """Return the label columns that the argument of `read_table` names; `path` is the file of the table."""
    columns = list(columns)
    if isinstance(labels, Integral):
        if str(labels) in columns:
            raise DatasetError(
                f"labels={labels} may mean the first {labels} columns of {path} or its column {str(labels)!r}; pass "
                f"the names of the label columns, ['{labels}'] for that one ('{labels},' on the command line)."
            )
        return _at_end(columns, int(labels), path)
    if is_label_file(labels):
        return _listed(read_mulan_labels(Path(labels)), columns, str(labels), path)  # type: ignore[arg-type]
    if not isinstance(labels, str):
        return _listed(list(labels), columns, "labels", path)  # type: ignore[arg-type]
    if labels in columns:
        return TargetColumns([labels], [labels])
    if labels.endswith("*"):
        return _starting_with(labels.removesuffix("*"), columns, path)
    if labels.strip().lstrip("+-").isdecimal():
        raise DatasetError(
            f"{path} has no column labels={labels!r}. Pass the names of the label columns, or a number for the "
            f"first columns (6) or the last columns (-6), as in MEKA."
        )
    return _listed([name.strip() for name in labels.split(",") if name.strip()], columns, "labels", path)


def is_label_file(labels: Labels | None) -> bool:
    """Return whether an argument names Mulan's XML file."""
    return isinstance(labels, os.PathLike) or (isinstance(labels, str) and labels.lower().endswith(".xml"))


def mulan_file(path: Path) -> Path:
    """Return the path of the label file of an ARFF file; the parts of a dataset may share one.

    The label file of ``emotions.arff`` is ``emotions.xml``. It is also used for ``emotions-train.arff`` and
    ``emotions-5-1tst.arff``, unless they have their own.
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


def _at_end(columns: list[str], count: int, path: Path) -> TargetColumns:
    """Return the first columns, or the last ones if the number is negative, as MEKA does."""
    if not 0 < abs(count) < len(columns):
        raise DatasetError(f"{path} has {len(columns)} columns; {abs(count)} of them cannot be labels.")
    found = columns[:count] if count > 0 else columns[count:]
    other = "last" if count > 0 else "first"
    return TargetColumns(found, found, f" ({-count} takes the {other} {abs(count)} columns instead.)")


def _starting_with(prefix: str, columns: list[str], path: Path) -> TargetColumns:
    found = [column for column in columns if column.startswith(prefix)]
    if not found:
        raise DatasetError(f"No column of {path} starts with {prefix!r}. The columns are {name_columns(columns)}.")
    if len(found) == len(columns):
        raise DatasetError(f"All columns of {path} start with {prefix!r}; no feature is left.")
    # A label that has no name but the prefix keeps it.
    return TargetColumns(found, found if prefix in found else [name.removeprefix(prefix) for name in found])


def _listed(names: list[str], columns: list[str], source: str, path: Path) -> TargetColumns:
    if not names:
        raise DatasetError(f"{source} is empty; {path} needs at least one label column.")
    require_columns(columns, names, str(path), "use as a label" + (f" of {source}" if is_label_file(source) else ""))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DatasetError(f"{source} names the label {twice!r} twice.")
    if len(names) == len(columns):
        raise DatasetError(f"{source} names all {len(columns)} columns of {path}; no feature is left.")
    return TargetColumns(names, names)


def class_names(column: pd.Series, where: str) -> pd.Series:
    """Validate a column of classes: no missing values, no fractional numbers."""
    _refuse_missing(column, where, "target")
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.astype(column.cat.categories.dtype)
    if pd.api.types.is_float_dtype(column.dtype):
        if not np.equal(np.mod(column.to_numpy(dtype=float), 1), 0).all():
            said = f"The target column {column.name!r} of {where} contains fractional numbers"
            raise DatasetError(f"{said}, which are measurements and not classes; choose a column of classes.")
        return column.astype("int64")
    return column.copy()


def doubt_classes(classes: pd.Series) -> str | None:
    """Return why the values of a target look like measurements or free text instead of classes, or None.

    Numbers with more than 50 distinct values, or with fewer than five samples per value on average, look like
    measurements; text with fewer than two samples per value looks like free text. Up to ten classes are always
    accepted.

    >>> doubt_classes(pd.Series(range(30)))
    'has 30 different numbers in 30 samples, which look like measurements'
    >>> doubt_classes(pd.Series(["a", "b", "c"]))
    """
    n_samples, n_classes = len(classes), classes.nunique()
    if n_classes <= FEW_CLASSES:
        return None
    if pd.api.types.is_numeric_dtype(classes.dtype):
        if n_classes > MANY_CLASSES or n_samples < 5 * n_classes:
            return f"has {n_classes} different numbers in {n_samples} samples, which look like measurements"
    elif n_samples < 2 * n_classes:
        return f"has {n_classes} different values in {n_samples} samples, which look like names or free text"
    return None


def code_labels(frame: pd.DataFrame, where: str) -> pd.DataFrame:
    """Encode label columns as 0 and 1, also from true/false and yes/no."""
    coded = {name: _code_label(frame[name], where) for name in frame.columns}
    return pd.DataFrame(coded, index=frame.index, columns=frame.columns)


def _code_label(column: pd.Series, where: str) -> Any:
    _refuse_missing(column, where, "label")
    codes = {value: _LABEL_WORDS.get(str(value).strip().lower()) for value in column.unique()}
    for value, code in codes.items():
        if code is None:
            said = f"The label column {column.name!r} of {where} contains {str(value)!r}"
            raise DatasetError(f"{said}; a label must be 0 or 1, false or true, no or yes.")
    return column.map(codes).to_numpy(dtype=np.int64)


def _refuse_missing(column: pd.Series, where: str, role: str) -> None:
    missing = column.isna().to_numpy()
    if missing.any():
        said = f"{missing.sum()} missing value(s), the first in data row {np.argmax(missing) + 1}"
        raise DatasetError(f"The {role} column {column.name!r} of {where} has {said}.")
