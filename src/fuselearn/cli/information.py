"""The command `info`: the content of a model file, and how `train` would read a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from fuselearn.cli.errors import sentences, wrong_use
from fuselearn.cli.reading import Json, Reading, describe, listed, reads_table

__all__ = ["info"]

TABLE_ENDINGS = {".csv", ".tsv", ".parquet", ".pq", ".arff"}


@reads_table
def info(
    *,
    file: Annotated[Path, typer.Argument(help="Model file, or a table in any format that `train` reads.")],
    target: Annotated[str | None, typer.Option("--target", "-t", help="Column with the classes of a table.")] = None,
    reading: Reading,
    as_json: Json = False,
) -> None:
    """Describe a model file without loading the model, or how `train` would read the columns of a table.

    **Examples**

    - `fuselearn info churn.fuse`

    - `fuselearn info churn.fuse --json`

    - `fuselearn info customers.csv --target churned --drop name`
    """
    with sentences(), wrong_use((ValueError, TypeError)):
        if file.suffixes and set(file.suffixes[-2:]) & TABLE_ENDINGS:
            said = _table_info(file, target, reading)
        else:
            from fuselearn.io import read_header

            said = read_header(file)
    if as_json:
        typer.echo(json.dumps(said))
        return
    for name, text in (_model_lines(said) if "model" in said else _table_lines(said)).items():
        if text is not None:
            typer.echo(f"{name:12} {text}")


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


def _table_info(file: Path, target: str | None, reading: Reading) -> dict[str, Any]:
    """Describe how `train` would read the columns of a table."""
    from fuselearn.datasets import TableCleaner
    from fuselearn.datasets.tables import read_whole
    from fuselearn.datasets.targets import class_names, require_columns

    table = read_whole(file, reading.form())
    if target is not None:
        require_columns(table.columns, [target], str(file), "use as the target")
    features = [name for name in table.columns if name != target]
    frame = table.frame(features)
    cleaner = TableCleaner(**reading.cleaner_options(file)).fit(frame)
    missing = frame.isna().sum()
    columns = [
        {
            "name": column.name,
            "type": column.kind,
            "used": column.is_feature,
            "missing": int(missing[column.name]),
            "note": describe(column),
        }
        for column in cleaner.columns_
    ]
    said = {"file": str(file), "rows": table.n_rows, "columns": columns}
    if target is not None:
        counts = class_names(table.frame([target])[target], str(file)).value_counts()
        said["target"] = {"name": target, "classes": {str(name): int(count) for name, count in counts.items()}}
    return said


def _table_lines(said: dict[str, Any]) -> dict[str, str]:
    lines = {"table": f"{said['file']}: {said['rows']} rows, {len(said['columns'])} columns"}
    if "target" in said:
        classes = said["target"]["classes"]
        sizes = listed(f"{name} ({count})" for name, count in classes.items())
        lines["target"] = f"{said['target']['name']}: {len(classes)} classes, {sizes}"
    for column in said["columns"]:
        missing = f"; {column['missing']} missing" if column["missing"] else ""
        lines[column["name"]] = f"{column['note'] or column['type']}{missing}"
    return lines


def _describe(column: dict[str, Any]) -> str:
    kind, name = column.get("type"), str(column["name"])
    if "categories" in column:
        return f"{name} ({column['categories']} categories)"
    words = f", {', '.join(column['words'])} missing" if column.get("words") else ""
    return name if kind in (None, "number") and not words else f"{name} ({kind}{words})"
