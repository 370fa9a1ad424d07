"""The commands `info`, about a model file or a table, and `audit`, about the labels of a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fuselearn.cli.commands import spell
from fuselearn.cli.errors import WRONG_USE, leave, sentences, wrong_use
from fuselearn.cli.outputs import SUSPECT_COLUMNS, Force, Kind, Output, check_output
from fuselearn.cli.progress import spinner
from fuselearn.cli.reading import (
    Json,
    Labels,
    Reading,
    Seed,
    TableFile,
    Target,
    Threads,
    TrustClasses,
    describe,
    explain,
    input_files,
    listed,
    reads_table,
    refuse_measurements,
)

if TYPE_CHECKING:
    import pandas as pd

    from fuselearn.diagnosis import LabelAudit
    from fuselearn.multilabel.statistics import LabelStatistics

__all__ = ["audit", "info"]

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
    from fuselearn.io import read_header

    statistics = None
    with sentences(), wrong_use():
        if TABLE_ENDINGS & set(file.suffixes[-2:]):
            said, statistics = _describe_table(file, target, labels, reading)
        else:
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
    versions = (f"{name} {version}" for name, version in header.get("versions", {}).items())
    return {
        "model": header.get("model"),
        "trained on": f"{shape[0]} samples, {shape[1]} features" if shape else None,
        "saved": header.get("date"),
        "by": ", ".join([f"fuselearn {header.get('fuselearn')}", *versions]),
        "classes": listed(header["classes"]) if "classes" in header else None,
        "labels": listed(header["labels"]) if "labels" in header else None,
        "columns": listed(map(_spell_column, header.get("columns", []))),
        "left out": listed(header["left_out"]) if header.get("left_out") else None,
        "file format": header.get("format"),
    }


def _spell_column(column: dict[str, Any]) -> str:
    kind, name = column.get("type"), str(column["name"])
    if "categories" in column:
        return f"{name} ({column['categories']} categories)"
    words = f", {', '.join(column['words'])} missing" if column.get("words") else ""
    return name if kind in (None, "number") and not words else f"{name} ({kind}{words})"


def _describe_table(
    file: Path, target: str | None, labels: str | None, reading: Reading
) -> tuple[dict[str, Any], LabelStatistics | None]:
    """Describe how `train` would read the columns of a table, and its labels, if samples have several."""
    from fuselearn.datasets.tables import find_target, is_sparse
    from fuselearn.multilabel import describe_labels

    table, cleaner = reading.read(file)
    found = find_target(table, target, labels)
    features = [name for name in table.columns if found is None or name not in found.columns]
    if is_sparse(table, cleaner.choose(features, "the table")):
        about = {"type": "number", "used": True, "missing": 0, "note": None}
        columns = [{"name": name, **about} for name in features]
    else:
        frame = table.frame(features)
        columns = [
            {
                "name": column.name,
                "type": column.kind,
                "used": column.is_feature,
                "missing": int(frame[column.name].isna().sum()),
                "note": describe(column),
            }
            for column in cleaner.fit(frame).columns_
        ]
    said: dict[str, Any] = {"file": str(file), "rows": table.n_rows, "columns": columns}
    if found is None:
        return said, None
    y = found.read(table)
    if found.labels is None:
        classes = {str(name): int(count) for name, count in y.value_counts().items()}
        return said | {"target": {"name": y.name, "classes": classes}}, None
    statistics = describe_labels(y)
    about = {**_finite(statistics.summary()), "by_label": _finite(statistics.to_frame().T.to_dict())}
    return said | {"labels": about}, statistics


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    """Replace NaN, which JSON does not know, by None."""
    return {
        name: _finite(value) if isinstance(value, dict) else None if value != value else value
        for name, value in values.items()
    }


def _table_lines(said: dict[str, Any]) -> dict[str, str]:
    columns, labels = said["columns"], said.get("labels", {}).get("by_label", {})
    lines = {"table": f"{said['file']}: {said['rows']} rows, {len(columns) + len(labels)} columns"}
    if "target" in said:
        classes = said["target"]["classes"]
        sizes = listed(f"{name} ({count})" for name, count in classes.items())
        lines["target"] = f"{said['target']['name']}: {len(classes)} classes, {sizes}"
    if labels:
        lines["labels"] = listed(labels)
    if len(columns) > MOST_COLUMNS:
        columns = [column for column in columns if column["note"] or column["missing"] or column["type"] != "number"]
        lines["numbers"] = f"{len(said['columns']) - len(columns)} columns without missing values"
    for column in columns:
        missing = f"; {column['missing']} missing" if column["missing"] else ""
        lines[column["name"]] = f"{column['note'] or column['type']}{missing}"
    return lines


@reads_table
def audit(
    *,
    context: typer.Context,
    file: TableFile,
    target: Target = None,
    labels: Labels = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="CSV file to write; by default the suspects are printed.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="HTML file to write: the suspects beside trusted samples.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="List all samples, the most doubtful first.")] = False,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Audits to average, each on other folds.")] = 1,
    seed: Seed = 0,
    jobs: Threads = -1,
    reading: Reading,
    classes: TrustClasses = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """List the samples of your own table whose label is likely to be wrong.

    Each label is judged by models that have not seen its sample. Columns are prepared as by `fuselearn train`.
    The list has the number of the sample in the file, from 1, its label, the most likely other one, and the
    probability of both. If samples have several labels, each label of a sample is judged on its own, and may be there
    without cause (1 is given) or missing (0 is given).

    **Examples**

    - `fuselearn audit customers.csv --target churned -o suspects.csv`

    - `fuselearn audit customers.csv --target churned --index customer -o suspects.csv --html suspects.html`

    - `fuselearn audit customers.csv --target churned --all -o ranked.csv`

    - `fuselearn audit songs.arff --labels 6 -o suspects.csv --html suspects.html`
    """
    from fuselearn._replacing import replacing
    from fuselearn.datasets.tables import split_table
    from fuselearn.diagnosis import audit_labels
    from fuselearn.lab.audit_page import render_audit

    with sentences(), wrong_use():
        for path, kind in ((output, Kind.SUSPECTS), (html, Kind.AUDIT)):
            if path is not None:
                check_output(Output(path, kind), input_files(file, labels), force=force)
        if output is not None and html is not None and output.resolve() == html.resolve():
            leave(f"{output} is named twice: the list and the page need different files.", WRONG_USE)
        table, cleaner = reading.read(file)
        data = split_table(table, target, labels, cleaner).dense()
        refuse_measurements(data, file, trusted=classes)
        if not as_json:
            explain(cleaner)
        with spinner(f"Auditing {data.y.size:,} labels"):
            found = audit_labels(data.X, data.y, n_repeats=repeats, random_state=seed, n_jobs=jobs)
        index = reading.index
        names = None if index is None else table.frame([index])[index]
        text = _list(found, index, names, every=every).to_csv(index=False, float_format="%.6g", lineterminator="\n")
        if output is not None:
            with replacing(output) as out:
                out.write(text.encode())
        if html is not None:
            called = [f"row {k + 1}" for k in range(len(data.X))] if names is None else [f"{index} {k}" for k in names]
            page = render_audit(found, data.X, data.y, title=file.name, names=called, command=spell(context))
            with replacing(html) as out:
                out.write(page.encode())
    if as_json:
        said = {"samples": len(found.probabilities), "suspects": found.n_wrong, "noise_rate": found.noise_rate}
        files = {name: None if path is None else str(path) for name, path in (("file", output), ("page", html))}
        typer.echo(json.dumps(said | files))
        return
    typer.echo(text if output is None else f"Suspects written to {output}", nl=output is not None)
    if html is not None:
        typer.echo(f"Page written to {html}", err=output is None)
    sentence = str(found)
    typer.echo(f"{sentence[0].upper()}{sentence[1:]}.", err=output is None)


def _list(found: LabelAudit, index: str | None, names: Sequence[Any] | None, *, every: bool) -> pd.DataFrame:
    """Return the lines of the output."""
    rows = found.rows if every else found.suspects
    of_labels = ["label"] if "label" in rows else []  # which of several labels of a sample is listed
    lines = rows[[*of_labels, *SUSPECT_COLUMNS[1:]]].copy()
    lines.insert(0, SUSPECT_COLUMNS[0], rows.index + 1)
    if names is not None:
        lines.insert(1, index, names.iloc[rows.index].to_numpy())  # type: ignore[attr-defined]
    return lines
