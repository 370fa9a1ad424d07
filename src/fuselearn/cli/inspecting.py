"""The commands `info`, about a model file or a table, and `audit`, about the labels of a table."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fuselearn._progress import working
from fuselearn.cli import tables
from fuselearn.cli.comparing import spell
from fuselearn.cli.guarding import (
    AUDIT,
    CORRECTED,
    SUSPECT_COLUMNS,
    SUSPECTS,
    Force,
    check_output,
    leave,
    sentences,
)

if TYPE_CHECKING:
    import pandas as pd

    from fuselearn.diagnosis import LabelAudit

MOST_COLUMNS = 100
"""Maximum number of columns for a complete list."""
TABLE_ENDINGS = {".csv", ".tsv", ".parquet", ".pq", ".arff"}
MOST_PAIRS = 10
"""Maximum number of pairs of classes to print."""
LEVELS = (0.99, 0.95, 0.9, 0.8, 0.7, 0.5)
"""Levels of confidence to choose from."""


@tables.reads_table
def info(
    *,
    file: Annotated[Path, typer.Argument(help="Model file, or a table in any format supported by `train`.")],
    target: Annotated[str | None, typer.Option("--target", "-t", help="Column with the classes of a table.")] = None,
    labels: tables.Labels = None,
    reading: tables.Reading,
    as_json: tables.Json = False,
) -> None:
    """Describe a model file without loading the model, or the columns of a table as `train` would read them.

    For multi-label tables, it also prints label statistics.

    **Examples**

    - `fuselearn info churn.fuse`

    - `fuselearn info churn.fuse --json`

    - `fuselearn info customers.csv --target churned --drop name`

    - `fuselearn info songs.arff --labels 6`
    """
    from fuselearn.io import read_header

    with sentences():
        if TABLE_ENDINGS & set(file.suffixes[-2:]):
            said, statistics = _describe_table(file, target, labels, reading)
            lines = _table_lines(said)
        else:
            said, statistics = read_header(file), ""
            lines = _model_lines(said)
    if as_json:
        typer.echo(json.dumps(said))
        return
    for name, text in lines.items():
        typer.echo(f"{name:12} {text}")
    if statistics:
        typer.echo(f"\n{statistics}")


def _model_lines(header: dict[str, Any]) -> dict[str, str]:
    known: dict[str, Any] = dict.fromkeys(("classes", "labels", "columns", "left_out"), ()) | header
    versions = (f"{name} {version}" for name, version in header.get("versions", {}).items())
    lines = {
        "model": header.get("model"),
        "trained on": "{} samples, {} features".format(*header.get("training_shape", ("", ""))),
        "saved": header.get("date"),
        "by": ", ".join([f"fuselearn {header.get('fuselearn')}", *versions]),
        "classes": tables.listed(known["classes"]),
        "labels": tables.listed(known["labels"]),
        "columns": tables.listed(map(_spell_column, known["columns"])),
        "left out": tables.listed(known["left_out"]),
        "file format": str(header.get("format")),
    }
    return {name: text for name, text in lines.items() if text and text != " samples,  features"}


def _spell_column(column: dict[str, Any]) -> str:
    kind, name = column.get("type"), str(column["name"])
    if "categories" in column:
        return f"{name} ({column['categories']} categories)"
    words = f", {', '.join(column['words'])} missing" if column.get("words") else ""
    return name if kind in (None, "number") and not words else f"{name} ({kind}{words})"


def _describe_table(file: Path, target: str | None, labels: Any, reading: tables.Reading) -> tuple[dict[str, Any], str]:
    """Describe the columns of a table as `train` would read them, and the labels of a multi-label table."""
    from fuselearn.datasets import Dataset
    from fuselearn.datasets.tables import find_target, is_sparse
    from fuselearn.multilabel import describe_labels

    table, cleaner = reading.read(file)
    found = find_target(table, target, labels)
    features = [name for name in table.columns if found is None or name not in found.columns]
    chosen = cleaner.choose(features, "the table")
    if is_sparse(table, chosen):
        X = table.matrix(chosen)
        about = {"type": "number", "used": True, "missing": 0, "note": None}
        columns = [{"name": name, **about} for name in features]
    else:
        frame = table.frame(features)
        X = cleaner.fit_transform(frame)
        missing = frame.isna().sum()
        columns = [
            {
                "name": column.name,
                "type": column.kind,
                "used": column.is_feature,
                "missing": int(missing[column.name]),
                "note": tables.describe(column),
            }
            for column in cleaner.columns_
        ]
    said: dict[str, Any] = {"file": str(file), "rows": table.n_rows, "columns": columns}
    if found is None:
        return said, ""
    y = found.read(table)
    said["leaks"] = tables.list_leaks(
        Dataset(X, y, file.stem, "", str(file), chosen if is_sparse(table, chosen) else ())
    )
    if found.labels is None:
        classes = {str(name): int(count) for name, count in y.value_counts().items()}
        return said | {"target": {"name": y.name, "classes": classes}}, ""
    statistics = describe_labels(y)
    by_label = {name: _finite(values) for name, values in statistics.to_frame().T.to_dict().items()}
    return said | {"labels": {**_finite(statistics.summary()), "by_label": by_label}}, str(statistics)


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    """Replace NaN, which JSON does not support, by None."""
    return {name: None if value != value else value for name, value in values.items()}


def _table_lines(said: dict[str, Any]) -> dict[str, str]:
    columns, labels = said["columns"], said.get("labels", {}).get("by_label", {})
    lines = {"table": f"{said['file']}: {said['rows']} rows, {len(columns) + len(labels)} columns"}
    if "target" in said:
        classes = said["target"]["classes"]
        sizes = tables.listed(f"{name} ({count})" for name, count in classes.items())
        lines["target"] = f"{said['target']['name']}: {len(classes)} classes, {sizes}"
    if labels:
        lines["labels"] = tables.listed(labels)
    if said.get("leaks"):
        lines["warning"] = " ".join(said["leaks"])
    if len(columns) > MOST_COLUMNS:
        columns = [column for column in columns if column["note"] or column["missing"] or column["type"] != "number"]
        lines["numbers"] = f"{len(said['columns']) - len(columns)} columns without missing values"
    for column in columns:
        missing = f"; {column['missing']} missing" if column["missing"] else ""
        lines[column["name"]] = f"{column['note'] or column['type']}{missing}"
    return lines


@tables.reads_table
def audit(
    *,
    context: typer.Context,
    file: tables.TableFile,
    target: tables.Target = None,
    labels: tables.Labels = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="CSV file to write; by default the suspects are printed.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", help="HTML file to write, with the suspects beside similar trusted samples."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="List all samples, the most suspicious first.")] = False,
    fix: Annotated[
        Path | None,
        typer.Option("--fix", help="Table to write: a copy of the file with the suggested labels of suspects."),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(
            "--confidence",
            min=0,
            max=1,
            help="Minimum confidence of the suggested labels that --fix writes; a terminal prompts for it.",
        ),
    ] = None,
    repeats: Annotated[
        int, typer.Option("--repeats", min=1, help="Number of audits to average, each with different folds.")
    ] = 1,
    seed: tables.Seed = 0,
    jobs: tables.Threads = -1,
    reading: tables.Reading,
    classes: tables.TrustClasses = False,
    force: Force = False,
    as_json: tables.Json = False,
) -> None:
    """List the samples of your own table that are likely mislabeled.

    Each label is checked with models that were not trained on its sample. Columns are prepared as in `fuselearn train`.
    The list contains the number of the sample in the file, from 1, its label, the most likely other label, the
    probabilities of both, and the confidence in the other label, given the estimated noise. For multi-label data, each
    label of a sample is checked separately: a given 1 may be wrong, a given 0 may be missing.

    **Examples**

    - `fuselearn audit customers.csv --target churned -o suspects.csv`

    - `fuselearn audit customers.csv --target churned --index customer -o suspects.csv --html suspects.html`

    - `fuselearn audit customers.csv --target churned --all -o ranked.csv`

    - `fuselearn audit customers.csv --target churned --fix corrected.csv --confidence 0.9`

    - `fuselearn audit songs.arff --labels 6 -o suspects.csv --html suspects.html`
    """
    from fuselearn._replacing import replacing
    from fuselearn.datasets.tables import find_target, split_table
    from fuselearn.diagnosis import audit_labels
    from fuselearn.lab.audit_page import render_audit

    with sentences():
        outputs = [(path, kind) for path, kind in ((output, SUSPECTS), (html, AUDIT), (fix, CORRECTED)) if path]
        for path, kind in outputs:
            check_output(path, kind, tables.input_files(file, labels), force=force)
        for k, (path, _) in enumerate(outputs):
            if path.resolve() in [other.resolve() for other, _ in outputs[:k]]:
                leave(f"{path} is named twice; the list, the page and the corrected table must be different files.")
        _check_fix(fix, confidence, file, force=force)
        index = reading.index
        with working(f"Reading {file}"):
            table, cleaner = reading.read(file)
            data = split_table(table, target, labels, cleaner).dense()
            names = None if index is None else table.frame([index])[index]
            columns = find_target(table, target, labels).columns  # type: ignore[union-attr]
        tables.check_target(data, file, classes, quiet=True)
        if not as_json:
            tables.explain(cleaner)
        with working(f"Auditing {data.y.size:,} labels"):
            found = audit_labels(data.X, data.y, n_repeats=repeats, random_state=seed, n_jobs=jobs)
        text = _list(found, index, names, every=every).to_csv(index=False, float_format="%.6g", lineterminator="\n")
        if output is not None:
            with replacing(output) as out:
                out.write(text.encode())
        if html is not None:
            called = [f"row {k + 1}" for k in range(len(data.X))] if names is None else [f"{index} {k}" for k in names]
            page = render_audit(found, data.X, data.y, title=file.name, names=called, command=spell(context))
            with replacing(html) as out:
                out.write(page.encode())
        if not as_json:
            typer.echo(text if output is None else f"Suspects written to {output}", nl=output is not None)
            if html is not None:
                typer.echo(f"Page written to {html}", err=output is None)
            typer.echo(_sum_up(found), err=output is None)
        n_corrected = None
        if fix is not None:
            least = _ask_confidence(found) if confidence is None else confidence
            corrected = found.corrected_labels(least).to_numpy().reshape(len(data.X), -1)
            n_corrected = _write_corrected(fix, file, reading, columns, data.y, corrected)
            if not as_json:
                said = f"Corrected {n_corrected} labels with a confidence of at least {least:g}."
                typer.echo(f"{said} Table written to {fix}", err=output is None)
    if as_json:
        about = {"samples": len(found.probabilities), "suspects": found.n_wrong, "noise_rate": found.noise_rate}
        paths = {"file": output, "page": html, "table": fix}
        files = {name: None if path is None else str(path) for name, path in paths.items()}
        pairs = json.loads(found.pairs.to_json(orient="records"))
        typer.echo(json.dumps(about | files | {"corrected": n_corrected, "pairs": pairs}))


def _check_fix(fix: Path | None, confidence: float | None, file: Path, *, force: bool) -> None:
    """Exit with a message if the corrected table has another format than its input, or would be written by accident."""
    from fuselearn.datasets.files import file_kind

    if fix is None:
        if confidence is not None:
            leave("--confidence is for --fix, which writes a corrected table.")
        return
    if fix.exists() and not force:
        leave(f"{fix} exists; use --force to replace it.")
    kind = file_kind(file)
    endings = {".arff": (".csv", ".csv.gz"), ".parquet": (".parquet", ".pq")}.get(kind, (kind, f"{kind}.gz"))
    if not fix.name.lower().endswith(endings):
        leave(f"The name of the corrected table must end with {' or '.join(endings)}, not {fix.name}.")
    if confidence is None and not _is_terminal():
        leave(
            "--fix needs --confidence, such as --confidence 0.9, the minimum confidence to replace a label "
            "by the suggested one. In a terminal, a prompt asks for it."
        )


def _write_corrected(
    fix: Path, file: Path, reading: tables.Reading, columns: Sequence[str], labels: Any, corrected: Any
) -> int:
    """Write a copy of a file with corrected labels, and return how many differ."""
    from fuselearn._replacing import replacing
    from fuselearn.datasets.files import replace_cells

    given = labels.to_numpy().reshape(corrected.shape)
    content = replace_cells(file, reading.form(), columns, given, corrected)
    with replacing(fix) as out:
        out.write(gzip.compress(content) if fix.suffix.lower() == ".gz" else content)
    return int((corrected != given).sum())


def _is_terminal() -> bool:
    return sys.stdin.isatty()


def _ask_confidence(found: LabelAudit) -> float:
    """Prompt for the minimum confidence, after printing the number of suspects at several levels."""
    if not found.n_wrong:
        return 1.0
    counts = [f"{(found.suspects['confidence'] >= level).sum()} of at least {level:g}" for level in LEVELS]
    typer.echo(f"Suspects by the confidence in the suggested label: {', '.join(counts)}.", err=True)
    while True:
        least: float = typer.prompt("Minimum confidence to correct a label", default=0.9, type=float, err=True)
        if 0 <= least <= 1:
            return least
        typer.echo("The confidence must be a number from 0 to 1.", err=True)


def _sum_up(found: LabelAudit) -> str:
    """Describe the estimated noise, with the suspects for each given and suggested label."""
    sentence = f"{str(found)[0].upper()}{str(found)[1:]}."
    if not found.n_wrong:
        return sentence
    pairs = found.pairs.head(MOST_PAIRS).to_string(index=False, float_format="{:.2f}".format)
    n_more = len(found.pairs) - MOST_PAIRS
    return f"{sentence}\n{pairs}" + (f"\nand {n_more} more pairs" if n_more > 0 else "")


def _list(found: LabelAudit, index: str | None, names: Sequence[Any] | None, *, every: bool) -> pd.DataFrame:
    """Return the table of suspects to write."""
    rows = found.rows if every else found.suspects
    of_labels = ["label"] if "label" in rows else []  # which of several labels of a sample is listed
    lines = rows[[*of_labels, *SUSPECT_COLUMNS[1:]]].copy()
    lines.insert(0, SUSPECT_COLUMNS[0], rows.index + 1)
    if names is not None:
        lines.insert(1, index, names.iloc[rows.index].to_numpy())  # type: ignore[attr-defined]
    return lines
