"""Reading of tables in commands: options, and notes about columns and the target."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from fuselearn.cli.guarding import leave

if TYPE_CHECKING:
    from fuselearn.datasets import Dataset, TableCleaner
    from fuselearn.datasets.columns import Column
    from fuselearn.datasets.files import TextFormat

TableFile = Annotated[Path, typer.Argument(help="CSV, TSV, Parquet or ARFF file; all but Parquet also gzipped (.gz).")]
Target = Annotated[str | None, typer.Option("--target", "-t", help="Column with the classes; 'class' by default.")]


def _number_or_text(labels: str | None) -> Any:
    """Return a number of columns as a number."""
    return int(labels) if labels is not None and re.fullmatch(r"\s*[-+]?\d+\s*", labels) else labels


Labels = Annotated[
    str | None,
    typer.Option(
        "--labels",
        callback=_number_or_text,
        help="Labels of multi-label data: a number of columns, 6 for the first 6, -6 for the last 6, as in MEKA; or "
        "names separated by commas, a prefix such as 'label_*', or Mulan's .xml file. Not needed if the file "
        "defines them: MEKA's -C, an .xml file with the same name, columns label:NAME.",
    ),
]
Sep = Annotated[
    str | None, typer.Option("--sep", help="Separator of CSV files, such as ';' or tab; detected by default.")
]
Encoding = Annotated[str, typer.Option("--encoding", help="Encoding of CSV and ARFF files, such as latin-1 or utf-16.")]
Decimal = Annotated[str, typer.Option("--decimal", help="Decimal mark in CSV files, such as ','.")]
Drop = Annotated[list[str] | None, typer.Option("--drop", help="Columns to drop, separated by commas; repeatable.")]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", help="Columns to use as features, separated by commas; all others are dropped."),
]
Keep = Annotated[
    list[str] | None, typer.Option("--keep", help="Columns to use even if they look like identifiers or free text.")
]
Index = Annotated[
    str | None, typer.Option("--index", help="Column that identifies the samples; not used as a feature.")
]
TrustClasses = Annotated[
    bool,
    typer.Option(
        "--classes", help="Treat each value of the target as a class, even if the values look like measurements."
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed for all random choices.")]
Threads = Annotated[int, typer.Option("--jobs", "-j", help="Number of threads; -1 uses all processors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@dataclass(frozen=True)
class Reading:
    """The options for reading a table; see `reads_table`."""

    drop: Drop = None
    only: Only = None
    keep: Keep = None
    index: Index = None
    sep: Sep = None
    encoding: Encoding = "utf-8"
    decimal: Decimal = "."

    @property
    def text_options(self) -> dict[str, Any]:
        """Arguments of `read_table` and `TextFormat` that differ from the defaults."""
        named = {"tab": "\t", r"\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "bar": "|", "pipe": "|"}
        given = {"sep": named.get(self.sep or "", self.sep), "encoding": self.encoding, "decimal": self.decimal}
        return {name: value for name, value in given.items() if value != getattr(Reading, name)}

    def form(self) -> TextFormat:
        """Return the text format of the files."""
        from fuselearn.datasets.files import TextFormat

        return TextFormat(**self.text_options)

    def read(self, file: Path) -> tuple[Any, TableCleaner]:
        """Read a file; return its content, and the transformer of its columns."""
        from fuselearn.datasets import TableCleaner
        from fuselearn.datasets.files import read_whole

        table = read_whole(file, self.form())
        return table, TableCleaner(**self.cleaner_options(table.columns))

    def split(self, file: Path, target: str | None, labels: Any) -> tuple[Dataset, TableCleaner]:
        """Read a file; return its features and target, and the fitted transformer of its columns."""
        from fuselearn.datasets.tables import split_table

        table, cleaner = self.read(file)
        return split_table(table, target, labels, cleaner), cleaner

    def cleaner_options(self, columns: Collection[str]) -> dict[str, list[str]]:
        """Return the arguments of `TableCleaner` that differ from the defaults."""
        index = [] if self.index is None else [self.index]
        names = {"drop": [*(self.drop or []), *index], "only": self.only or [], "keep": self.keep or []}
        return {option: split_names(given, columns) for option, given in names.items() if given}


def reads_table(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameter ``reading`` of a command by the options of `Reading`."""
    options = signature(Reading).parameters
    hints = get_type_hints(command, include_extras=True) | get_type_hints(Reading, include_extras=True)

    @wraps(command)
    def read(**given: Any) -> None:
        command(reading=Reading(**{name: given.pop(name) for name in options}), **given)

    parameters = [
        parameter.replace(annotation=hints[parameter.name], kind=Parameter.KEYWORD_ONLY)
        for own in signature(command).parameters.values()
        for parameter in (options.values() if own.name == "reading" else [own])
    ]
    read.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    read.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return read


def input_files(file: Path, labels: str | None) -> list[Path]:
    """List the files that are read: the table and, for Mulan's format, the labels."""
    from fuselearn.datasets.tables import is_label_file, mulan_file

    return [file, Path(labels) if labels is not None and is_label_file(labels) else mulan_file(file)]


def split_names(names: Sequence[str], columns: Collection[str]) -> list[str]:
    """Split names at commas, unless a column has the whole name."""
    known = set(columns)
    parts = ([text] if text in known else [part.strip() for part in text.split(",")] for text in names)
    return [name for group in parts for name in group]


def explain(cleaner: TableCleaner) -> None:
    """Print to standard error how each column is converted or that it is dropped."""
    for column in getattr(cleaner, "columns_", ()):  # not fitted to sparse samples, which are used unchanged
        said = describe(column)
        if said is not None:
            typer.echo(f"{column.name}: {said}.", err=True)


def describe(column: Column) -> str | None:
    """Return how a column is converted, or None if it is used unchanged."""
    from fuselearn.datasets.dataset import name_columns

    if column.kind in ("identifier", "text"):
        looks = "an identifier" if column.kind == "identifier" else "free text"
        return (
            f"dropped; it looks like {looks}, with {column.n_values} different values in {column.n_cells} samples "
            f"(--keep {shlex.quote(column.name)} uses it)"
        )
    missing = f", with {name_columns(column.words, 3)} read as missing" if column.words else ""
    if column.format.startswith("%H"):
        return f"times such as {column.example!r}, used as parts of a day{missing}"
    if column.kind == "date":
        form = f" ({_spell_out(column.format)})" if column.format not in ("", "ISO8601") else ""
        return f"dates such as {column.example!r}{form}, used as days since 1970-01-01{missing}"
    return f"numbers{missing}" if missing else None


def listed(names: Any, most: int = 12) -> str:
    """Join names for a message, only the first names if there are many."""
    names = list(map(str, names))
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def check_target(data: Dataset, file: Path, trusted: bool, *, quiet: bool = False) -> None:
    """Exit with a message if the target looks like measurements, unless --classes is set; warn of leaks."""
    from fuselearn.datasets.tables import doubt_classes

    doubt = None if trusted or data.task == "multilabel" else doubt_classes(data.y)
    if doubt is not None:
        leave(
            f"The target {data.y.name!r} of {file} {doubt}. fuselearn predicts classes. If each value is a "
            "class, pass --classes; otherwise group the values or choose another target."
        )
    for leak in [] if quiet else list_leaks(data):
        typer.echo(f"Warning: {leak}", err=True)


def list_leaks(data: Dataset) -> list[str]:
    """Return a sentence for each feature that alone predicts the target almost perfectly."""
    from fuselearn.diagnosis.leaks import THRESHOLD, find_leaks

    return [
        f"{feature} alone predicts {target} with a balanced accuracy of {score:.3f} ({THRESHOLD:g} or more is "
        f"suspicious): is it available before {target} is known? If not, use --drop {shlex.quote(feature)}."
        for feature, target, score in find_leaks(data.X, data.y, data.feature_names)
    ]


_WORDS = {
    **{"%Y": "year", "%y": "year", "%m": "month", "%b": "month", "%B": "month", "%d": "day"},
    **{"%H": "hour", "%I": "hour", "%M": "minute", "%S": "second", "%p": "am/pm"},
}


def _spell_out(form: str) -> str:
    """Write a date format in words.

    >>> _spell_out("%d.%m.%Y %H:%M")
    'day.month.year hour:minute'
    """
    return re.sub("%[A-Za-z]", lambda code: _WORDS[code.group()], form)
