"""The command `info`: the content of a model file, how `train` would read a table, and statistics of its labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fuselearn.cli.errors import WRONG_USE, leave, sentences, wrong_use
from fuselearn.cli.reading import Json, Labels, Reading, describe, listed, reads_table

if TYPE_CHECKING:
    from fuselearn.multilabel import LabelStatistics

__all__ = ["info"]

MOST_COLUMNS = 100
"""Largest number of columns that are all listed."""
TABLE_ENDINGS = {".csv", ".tsv", ".parquet", ".pq", ".arff"}


@reads_table
def info(
    *,
    file: Annotated[Path, typer.Argument(help="Model file, or a table in any format that `train` reads.")],
    target: Annotated[str | None, typer.Option("--target", "-t", help="Column with the classes of a table.")] = None,
    labels: Labels = None,
    reading: Reading,
    as_json: Json = False,
) -> None:
    """Describe a model file without loading the model, or how `train` would read the columns of a table.

    Of a table with several labels per sample, it also prints statistics of the labels.

    **Examples**

    - `fuselearn info churn.fuse`

    - `fuselearn info churn.fuse --json`

    - `fuselearn info customers.csv --target churned --drop name`

    - `fuselearn info songs.arff --labels 6`
    """
    statistics = None
    with sentences(), wrong_use((ValueError, TypeError)):
        if file.suffixes and set(file.suffixes[-2:]) & TABLE_ENDINGS:
            said, statistics = _table_info(file, target, labels, reading)
        else:
            from fuselearn.io import read_header

            said = read_header(file)
    if as_json:
        typer.echo(json.dumps(said))
        return
    for name, text in (_model_lines(said) if "model" in said else _table_lines(said)).items():
        if text is not None:
            typer.echo(f"{name:12} {text}")
    if statistics is not None:
        typer.echo(f"\n{statistics}")


def _model_lines(header: dict[str, Any]) -> dict[str, str | None]:
    shape = header.get("training_shape")
    return {
        "model": header.get("model"),
        "trained on": f"{shape[0]} samples, {shape[1]} features" if shape else None,
        "saved": header.get("date"),
        "by": f"fuselearn {header.get('fuselearn')}, "
        + ", ".join(f"{name} {version}" for name, version in header.get("versions", {}).items()),
        "classes": listed(map(str, header["classes"])) if "classes" in header else None,
        "labels": listed(map(str, header["labels"])) if "labels" in header else None,
        "columns": listed(_describe(column) for column in header.get("columns", [])),
        "left out": listed(header["left_out"]) if header.get("left_out") else None,
        "file format": header.get("format"),
    }


def _table_info(
    file: Path, target: str | None, labels: str | None, reading: Reading
) -> tuple[dict[str, Any], LabelStatistics | None]:
    """Describe how `train` would read the columns of a table, and its labels, if samples have several."""
    from fuselearn.datasets.label_columns import find_label_columns
    from fuselearn.datasets.tables import read_whole
    from fuselearn.datasets.targets import class_names, code_labels, require_columns
    from fuselearn.multilabel import describe_labels

    if target is not None and labels is not None:
        leave("Pass either --target (one class per sample) or --labels, not both.", WRONG_USE)
    table = read_whole(file, reading.form())
    if target is not None:
        require_columns(table.columns, [target], str(file), "use as the target")
    found = find_label_columns(table, labels, file) if target is None else None
    taken = {target} if found is None else set(found.columns)
    features = [name for name in table.columns if name not in taken]
    said: dict[str, Any] = {
        "file": str(file),
        "rows": table.n_rows,
        "columns": _describe_features(table, features, reading.cleaner_options(file)),
    }
    if target is not None:
        counts = class_names(table.frame([target])[target], str(file)).value_counts()
        said["target"] = {"name": target, "classes": {str(name): int(count) for name, count in counts.items()}}
    if found is None:
        return said, None
    coded = code_labels(table.frame(found.columns), str(file)).set_axis(found.names, axis=1)
    statistics = describe_labels(coded)
    said["labels"] = {**_finite(statistics.summary()), "by_label": _finite(statistics.to_frame().T.to_dict())}
    return said, statistics


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    """Replace NaN, which JSON does not know, by None."""
    return {
        name: _finite(value) if isinstance(value, dict) else None if value != value else value
        for name, value in values.items()
    }


def _describe_features(table: Any, names: list[str], options: dict[str, list[str]]) -> list[dict[str, Any]]:
    from fuselearn.datasets import TableCleaner
    from fuselearn.datasets.tables import fits_matrix

    cleaner = TableCleaner(**options)
    if fits_matrix(table, cleaner.choose(names, "the table")):
        return [{"name": name, "type": "number", "used": True, "missing": 0, "note": None} for name in names]
    frame = table.frame(names)
    missing = frame.isna().sum()
    return [
        {
            "name": column.name,
            "type": column.kind,
            "used": column.is_feature,
            "missing": int(missing[column.name]),
            "note": describe(column),
        }
        for column in cleaner.fit(frame).columns_
    ]


def _table_lines(said: dict[str, Any]) -> dict[str, str]:
    n_columns = len(said["columns"]) + len(said["labels"]["by_label"] if "labels" in said else ())
    lines = {"table": f"{said['file']}: {said['rows']} rows, {n_columns} columns"}
    if "target" in said:
        classes = said["target"]["classes"]
        sizes = listed(f"{name} ({count})" for name, count in classes.items())
        lines["target"] = f"{said['target']['name']}: {len(classes)} classes, {sizes}"
    if "labels" in said:
        lines["labels"] = listed(said["labels"]["by_label"])
    columns = said["columns"]
    if len(columns) > MOST_COLUMNS:
        columns = [column for column in columns if column["note"] or column["missing"] or column["type"] != "number"]
        lines["numbers"] = f"{len(said['columns']) - len(columns)} columns without missing values"
    for column in columns:
        missing = f"; {column['missing']} missing" if column["missing"] else ""
        lines[column["name"]] = f"{column['note'] or column['type']}{missing}"
    return lines


def _describe(column: dict[str, Any]) -> str:
    kind, name = column.get("type"), str(column["name"])
    if "categories" in column:
        return f"{name} ({column['categories']} categories)"
    words = f", {', '.join(column['words'])} missing" if column.get("words") else ""
    return name if kind in (None, "number") and not words else f"{name} ({kind}{words})"
