"""The command audit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    explain,
    input_files,
    reads_table,
    refuse_measurements,
)

if TYPE_CHECKING:
    import pandas as pd

    from fuselearn.datasets import Dataset
    from fuselearn.diagnosis import LabelAudit

__all__ = ["audit"]

LABEL_COLUMN = "label"
"""Which of several labels of a sample is listed."""


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
    from fuselearn.datasets import TableCleaner, read_table
    from fuselearn.datasets.tables import read_whole
    from fuselearn.diagnosis import audit_labels

    with sentences(), wrong_use((ValueError, TypeError)):
        for path, kind in ((output, Kind.SUSPECTS), (html, Kind.AUDIT)):
            if path is not None:
                check_output(Output(path, kind), input_files(file, labels), force=force)
        if output is not None and html is not None and output.resolve() == html.resolve():
            leave(f"{output} is named twice: the list and the page need different files.", WRONG_USE)
        cleaner = TableCleaner(**reading.cleaner_options(file))
        data = read_table(file, target, labels, cleaner=cleaner, **reading.text_options).dense()
        refuse_measurements(data, file, trusted=classes)
        if not as_json:
            explain(cleaner)
        with spinner(f"Auditing {data.y.size:,} labels"):
            found = audit_labels(data.X, data.y, n_repeats=repeats, random_state=seed, n_jobs=jobs)
        index = reading.index
        names = None if index is None else read_whole(file, reading.form()).frame([index]).iloc[:, 0]
        listed = _list(found, index, names, every=every)
        if output is not None:
            _write(output, _as_csv(listed))
        if html is not None:
            _write(html, _page(found, data, file, index, names, spell(context)))
    _say(found, listed, output, html, as_json)


def _list(found: LabelAudit, index: str | None, names: pd.Series | None, *, every: bool) -> pd.DataFrame:
    """Return the lines of the output."""
    rows = found.rows if every else found.suspects
    of_labels = [LABEL_COLUMN] if LABEL_COLUMN in rows else []
    listed = rows[[*of_labels, *SUSPECT_COLUMNS[1:]]].copy()
    listed.insert(0, SUSPECT_COLUMNS[0], rows.index + 1)
    if names is not None:
        listed.insert(1, index, names.iloc[rows.index].to_numpy())
    return listed


def _page(
    found: LabelAudit, data: Dataset, file: Path, index: str | None, names: pd.Series | None, command: str
) -> str:
    from fuselearn.lab.audit_page import render_audit

    called = [f"row {k + 1}" for k in range(len(data.X))] if names is None else [f"{index} {name}" for name in names]
    return render_audit(found, data.X, data.y, title=file.name, names=called, command=command)


def _as_csv(listed: pd.DataFrame) -> str:
    return listed.to_csv(index=False, float_format="%.6g", lineterminator="\n")


def _write(path: Path, text: str) -> None:
    from fuselearn._replacing import replacing

    with replacing(path) as file:
        file.write(text.encode())


def _say(found: LabelAudit, listed: pd.DataFrame, output: Path | None, html: Path | None, as_json: bool) -> None:
    if as_json:
        said = {
            "samples": len(found.probabilities),
            "suspects": found.n_wrong,
            "noise_rate": found.noise_rate,
            "file": None if output is None else str(output),
            "page": None if html is None else str(html),
        }
        typer.echo(json.dumps(said))
        return
    if output is None:
        typer.echo(_as_csv(listed), nl=False)
    else:
        typer.echo(f"Suspects written to {output}")
    if html is not None:
        typer.echo(f"Page written to {html}", err=output is None)
    sentence = str(found)
    typer.echo(f"{sentence[0].upper()}{sentence[1:]}.", err=output is None)
