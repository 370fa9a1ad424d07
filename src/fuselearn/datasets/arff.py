"""A reader of ARFF files, dense and sparse, and of the label files that go with them.

ARFF is the format of Weka, and with additions of the multi-label tools Mulan and MEKA. Mulan names
the labels in an XML file beside the ARFF file; MEKA writes ``-C n`` into the relation's name: the
first n attributes are labels, or the last n if n is negative.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree

import numpy as np

from fuselearn.datasets.dataset import DatasetError

if TYPE_CHECKING:
    import pandas as pd

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s{{'\"]+)\s*(.*)", re.IGNORECASE)
_CELL = re.compile(rf"\s*({_QUOTED}|[^\s,'\"][^,]*|)\s*(?:,|$)")
_SPARSE_CELL = re.compile(rf"\s*(\d+)\s+({_QUOTED}|[^\s,'\"][^,]*)\s*(?:,|$)")
_TOKEN = re.compile(rf"{_QUOTED}|%|[^%'\"]+|['\"]")
_WEIGHT = re.compile(r",\s*\{\s*[-+.\deE]+\s*\}$")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_MEKA_LABELS = re.compile(r"(?:^|\s)-C\s+(-?\d+)")

Cell = str | None


class ArffTable(NamedTuple):
    """A table with the name of its relation."""

    relation: str
    frame: pd.DataFrame


@dataclass(frozen=True)
class _Attribute:
    name: str
    kind: str
    values: tuple[str, ...] = ()

    @property
    def sparse_default(self) -> str:
        """What a sparse row means by leaving the attribute out."""
        return {"nominal": self.values[0] if self.values else "", "string": ""}.get(self.kind, "0")


def read_arff(path: Path, encoding: str = "utf-8") -> ArffTable:
    r"""Read an ARFF file, gzipped or not.

    Numeric attributes become numbers, nominal ones categories with the declared values, ``?`` a
    missing value. In a sparse row, an attribute that is left out is 0, or has its first value.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "small.arff")
    >>> _ = path.write_text(
    ...     "@relation small\n@attribute 'a b' real\n@attribute c {x, y}\n@data\n1.5,x\n{1 y}\n"
    ... )
    >>> print(read_arff(path).frame)
       a b  c
    0  1.5  x
    1  0.0  y
    """
    lines = _numbered_lines(path, encoding)
    relation, attributes = _read_header(lines, path)
    rows: list[list[Cell]] = []
    numbers: list[int] = []
    for number, text in lines:
        rows.append(_read_row(text, attributes, f"Line {number} of {path}"))
        numbers.append(number)
    return ArffTable(relation, _to_frame(attributes, rows, numbers, path))


def meka_label_count(relation: str) -> int | None:
    """Find the number of labels that MEKA writes into the relation's name.

    >>> meka_label_count("Music: -C 6"), meka_label_count("enron: -C -53"), meka_label_count("iris")
    (6, -53, None)
    """
    match = _MEKA_LABELS.search(relation)
    return int(match.group(1)) if match else None


def read_mulan_labels(path: Path) -> list[str]:
    """Read the names of the labels from Mulan's XML file; nested labels count like the others."""
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise DatasetError(f"{path} is not a readable XML file of labels: {error}.") from error
    names = [element.get("name", "") for element in root.iter() if element.tag.split("}")[-1] == "label"]
    if not names or "" in names:
        raise DatasetError(f"{path} must hold <label name='...'> elements, each with a name.")
    return names


def _numbered_lines(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that say something, without comments, with their numbers."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding=encoding) as file:
        for number, line in enumerate(file, start=1):
            text = line.lstrip("\ufeff").strip()
            text = _cut_comment(text) if "%" in text else text
            if text:
                yield number, text


def _cut_comment(text: str) -> str:
    """Cut the line at the first per cent sign outside quotes."""
    for token in _TOKEN.finditer(text):
        if token.group() == "%":
            return text[: token.start()].strip()
    return text


def _read_header(lines: Iterable[tuple[int, str]], path: Path) -> tuple[str, list[_Attribute]]:
    relation = ""
    attributes: dict[str, _Attribute] = {}
    for number, text in lines:
        where = f"Line {number} of {path}"
        keyword = text.split(None, 1)[0].lower()
        if keyword == "@relation":
            relation = _unquote(text[len("@relation") :].strip())
        elif keyword == "@attribute":
            attribute = _read_attribute(text, where)
            if attribute.name in attributes:
                raise DatasetError(f"{where} declares the attribute {attribute.name!r} again.")
            attributes[attribute.name] = attribute
        elif keyword == "@data":
            if not attributes:
                raise DatasetError(f"{where} starts the data, but no @attribute came before.")
            return relation, list(attributes.values())
        else:
            raise DatasetError(f"{where} is neither @relation, @attribute nor @data: {text[:60]!r}.")
    raise DatasetError(f"{path} has no @data line; it is not an ARFF file, or it was cut off.")


def _read_attribute(text: str, where: str) -> _Attribute:
    match = _ATTRIBUTE.fullmatch(text)
    if not match or not match.group(2):
        raise DatasetError(f"{where} is not '@attribute name type': {text[:60]!r}.")
    name, declared = _unquote(match.group(1)), match.group(2).strip()
    if declared.startswith("{"):
        if not declared.endswith("}"):
            raise DatasetError(f"{where} opens the values of {name!r} but does not close them.")
        values = tuple(_unquote(cell) for cell in _raw_cells(declared[1:-1], where))
        if len(set(values)) < len(values):
            raise DatasetError(f"{where} lists a value of {name!r} twice.")
        return _Attribute(name, "nominal", values)
    kind = declared.split()[0].lower()
    if kind in ("numeric", "real", "integer", "string"):
        return _Attribute(name, {"real": "numeric"}.get(kind, kind))
    raise DatasetError(
        f"{where} gives {name!r} the type {kind!r}; only numeric, string and nominal attributes can be read."
    )


def _read_row(text: str, attributes: list[_Attribute], where: str) -> list[Cell]:
    if _WEIGHT.search(text):
        raise DatasetError(f"{where} ends with an instance weight, which is not supported.")
    if text.startswith("{"):
        return _read_sparse_row(text, attributes, where)
    cells = _cells(text, where)
    if len(cells) != len(attributes):
        raise DatasetError(f"{where} has {len(cells)} values for {len(attributes)} attributes.")
    return cells


def _read_sparse_row(text: str, attributes: list[_Attribute], where: str) -> list[Cell]:
    if not text.endswith("}"):
        raise DatasetError(f"{where} opens a sparse row but does not close it.")
    row: list[Cell] = [attribute.sparse_default for attribute in attributes]
    inside, position, seen = text[1:-1].strip(), 0, set()
    while position < len(inside):
        match = _SPARSE_CELL.match(inside, position)
        if not match:
            found = inside[position : position + 30]
            raise DatasetError(f"{where} should hold 'index value' pairs, but has {found!r}.")
        index = int(match.group(1))
        if index >= len(attributes):
            last = len(attributes) - 1
            raise DatasetError(f"{where} uses the index {index}; the last attribute is {last}.")
        if index in seen:
            raise DatasetError(f"{where} gives the index {index} twice.")
        seen.add(index)
        row[index] = _value(match.group(2))
        position = match.end()
    return row


def _cells(text: str, where: str) -> list[Cell]:
    if "'" not in text and '"' not in text and "\\" not in text:
        cells = (cell.strip() for cell in text.split(","))
        return [None if cell == "?" else cell for cell in cells]
    return [_value(cell) for cell in _raw_cells(text, where)]


def _raw_cells(text: str, where: str) -> list[str]:
    """Split at the commas that are outside quotes."""
    cells: list[str] = []
    position = 0
    while True:
        match = _CELL.match(text, position)
        if not match:
            found = text[position : position + 30]
            raise DatasetError(f"{where} has a quote that does not match, near {found!r}.")
        cells.append(match.group(1).strip())
        position = match.end()
        if not match.group().endswith(","):
            return cells


def _value(raw: str) -> Cell:
    raw = raw.strip()
    return None if raw == "?" else _unquote(raw)


def _unquote(raw: str) -> str:
    if len(raw) < 2 or raw[0] != raw[-1] or raw[0] not in "'\"":
        return raw
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), raw[1:-1])


def _to_frame(attributes: list[_Attribute], rows: list[list[Cell]], numbers: list[int], path: Path) -> pd.DataFrame:
    import pandas as pd

    columns = {}
    for index, attribute in enumerate(attributes):
        cells = [row[index] for row in rows]
        if attribute.kind == "nominal":
            _refuse_undeclared(attribute, cells, numbers, path)
            columns[attribute.name] = pd.Categorical(cells, categories=list(attribute.values))
        elif attribute.kind == "string":
            columns[attribute.name] = pd.Series(cells, dtype="object")
        else:
            columns[attribute.name] = _to_numbers(attribute, cells, numbers, path)
    return pd.DataFrame(columns)


def _refuse_undeclared(attribute: _Attribute, cells: list[Cell], numbers: list[int], path: Path) -> None:
    undeclared = set(cells) - set(attribute.values) - {None}
    if undeclared:
        row = next(i for i, cell in enumerate(cells) if cell in undeclared)
        raise DatasetError(
            f"Line {numbers[row]} of {path} has {cells[row]!r} for {attribute.name!r}, which is "
            "not among its declared values."
        )


def _to_numbers(attribute: _Attribute, cells: list[Cell], numbers: list[int], path: Path) -> np.ndarray:
    column = np.empty(len(cells))
    for row, cell in enumerate(cells):
        try:
            column[row] = np.nan if cell is None else float(cell)
        except ValueError as error:
            raise DatasetError(
                f"Line {numbers[row]} of {path} has {cell!r} for {attribute.name!r}, which is not a number."
            ) from error
    whole = attribute.kind == "integer" and np.equal(np.mod(column, 1), 0).all()
    return column.astype(np.int64) if whole else column
