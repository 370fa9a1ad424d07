"""Read dense and sparse ARFF files, and their label files.

ARFF is the format of Weka and, with additions, of the multi-label tools Mulan and MEKA. Mulan lists
the labels in an XML file next to the ARFF file; MEKA writes ``-C n`` into the name of the relation: the
first n attributes are labels, or the last n if n is negative.

SciPy's reader supports neither sparse samples nor text. liac-arff is no longer released, and its messages name neither
the file nor the attribute.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from fuselearn._messages import find_file
from fuselearn.datasets.dataset import DatasetError

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s{{'\"]+)\s*(.*)", re.IGNORECASE)
_CELL = re.compile(rf"\s*({_QUOTED}|[^\s,'\"][^,]*|)\s*,")
_SPARSE_CELL = re.compile(rf"\s*(\d+)\s+({_QUOTED}|[^\s,'\"][^,]*)\s*,")
_TOKEN = re.compile(rf"{_QUOTED}|%|[^%'\"]+|['\"]")
_WEIGHT = re.compile(r",\s*\{\s*[-+.\deE]+\s*\}$")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_MEKA_LABELS = re.compile(r"(?:^|[\s:])-C\s+(-?\d+)")

Cell = str | None
Sample = list[Cell] | dict[int, Cell]


@dataclass(frozen=True)
class _Attribute:
    name: str
    position: int
    kind: str
    values: tuple[str, ...] = ()

    @property
    def default(self) -> str:
        """The value of the attribute in a sparse sample that omits it."""
        return {"nominal": self.values[0] if self.values else "", "string": ""}.get(self.kind, "0")

    @property
    def is_number(self) -> bool:
        """Whether the attribute is numeric, or a binary feature that Mulan declares as nominal."""
        return self.kind not in ("nominal", "string") or self.values == ("0", "1")


class ArffTable:
    """The content of an ARFF file, as DataFrames or sparse matrices of selected attributes.

    Attributes
    ----------
    path : Path
    relation : str
        The name of the relation.
    columns : list of str
        The names of the attributes.
    n_rows : int
        Number of samples.
    """

    def __init__(self, path: Path, relation: str, attributes: list[_Attribute]) -> None:
        self.path, self.relation, self.n_rows = path, relation, 0
        self.columns = [attribute.name for attribute in attributes]
        self._attributes = dict(zip(self.columns, attributes, strict=True))
        self._lines: list[int] = []
        self._is_sparse = True
        # For each attribute, the samples that give a value for it, and the values.
        self._rows: list[list[int]] = [[] for _ in attributes]
        self._cells: list[list[Cell]] = [[] for _ in attributes]

    def append(self, sample: Sample, line: int) -> None:
        """Append the sample of a line."""
        if isinstance(sample, dict):
            for place, cell in sample.items():
                self._rows[place].append(self.n_rows)
                self._cells[place].append(cell)
        else:
            self._is_sparse = False
            for rows, cells, cell in zip(self._rows, self._cells, sample, strict=True):
                rows.append(self.n_rows)
                cells.append(cell)
        self._lines.append(line)
        self.n_rows += 1

    def frame(self, names: Sequence[str] | None = None) -> pd.DataFrame:
        """Return attributes (all by default) as numbers, categories with the declared values, or text."""
        columns = {name: self._column(self._attributes[name]) for name in (self.columns if names is None else names)}
        return pd.DataFrame(columns, index=pd.RangeIndex(self.n_rows))

    def fits_matrix(self, names: Sequence[str]) -> bool:
        """Return whether samples are sparse and the named attributes are numbers, or 0 and 1."""
        return self._is_sparse and self.n_rows > 0 and all(self._attributes[name].is_number for name in names)

    def matrix(self, names: Sequence[str]) -> sparse.csr_array:
        """Return attributes of sparse samples as a sparse matrix, where `fits_matrix` allows it."""
        attributes = [self._attributes[name] for name in names]
        given = [self._given(attribute) for attribute in attributes]
        numbers = [self._numbers(attribute, *each) for attribute, each in zip(attributes, given, strict=True)]
        rows = np.fromiter((row for rows, _ in given for row in rows), dtype=np.intp)
        ends = np.cumsum([0, *map(len, numbers)])
        matrix = sparse.csc_array((np.concatenate(numbers), rows, ends), shape=(self.n_rows, len(names)))
        matrix.eliminate_zeros()
        return matrix.tocsr()

    def _given(self, attribute: _Attribute) -> tuple[list[int], list[Cell]]:
        """Return the samples that give a value for an attribute, all unless they are sparse, and the values."""
        rows, cells = self._rows[attribute.position], self._cells[attribute.position]
        if attribute.kind == "nominal" and not set(cells) <= {*attribute.values, None}:
            row, cell = next(each for each in zip(rows, cells, strict=True) if each[1] not in {*attribute.values, None})
            raise self._refusal(attribute, row, cell, "not among its declared values")
        return rows, cells

    def _numbers(self, attribute: _Attribute, rows: list[int], cells: list[Cell]) -> npt.NDArray[np.float64]:
        numbers = []
        for row, cell in zip(rows, cells, strict=True):
            try:
                numbers.append(np.nan if cell is None else float(cell))
            except ValueError:
                raise self._refusal(attribute, row, cell, "not a number") from None
        return np.array(numbers, dtype=np.float64)

    def _column(self, attribute: _Attribute) -> Any:
        rows, cells = self._given(attribute)
        if attribute.kind in ("nominal", "string"):
            column = np.full(self.n_rows, attribute.default, dtype=object)
            column[rows] = cells
            is_nominal = attribute.kind == "nominal"
            return pd.Categorical(column, list(attribute.values)) if is_nominal else pd.Series(column, dtype="object")
        numbers = np.zeros(self.n_rows)
        numbers[rows] = self._numbers(attribute, rows, cells)
        is_whole = attribute.kind == "integer" and np.equal(np.mod(numbers, 1), 0).all()
        return numbers.astype(np.int64) if is_whole else numbers

    def _refusal(self, attribute: _Attribute, row: int, cell: Cell, problem: str) -> DatasetError:
        where = f"Line {self._lines[row]} of {self.path}"
        return DatasetError(f"{where} has {cell!r} for {attribute.name!r}, which is {problem}.")


def read_arff(file: BinaryIO, path: Path, encoding: str = "utf-8") -> ArffTable:
    r"""Read an open ARFF file; `path` names it in messages.

    Numeric attributes become numbers, nominal ones categories with the declared values, ``?`` a
    missing value. In a sparse sample, an omitted attribute is 0, or its first value.

    Examples
    --------
    >>> text = b"@relation small\n@attribute 'a b' real\n@attribute c {x, y}\n@data\n1.5,x\n{1 y}\n"
    >>> print(read_arff(io.BytesIO(text), Path("small.arff")).frame())
       a b  c
    0  1.5  x
    1  0.0  y
    """
    lines = _number_lines(file, encoding)
    relation, attributes = _read_header(lines, path)
    table = ArffTable(path, relation, attributes)
    for number, text in lines:
        table.append(_read_sample(text, len(attributes), f"Line {number} of {path}"), number)
    return table


def read_attribute_names(file: BinaryIO, path: Path, encoding: str = "utf-8") -> list[str]:
    """Return the names of a file's attributes, without reading its samples."""
    return [attribute.name for attribute in _read_header(_number_lines(file, encoding), path)[1]]


def meka_label_count(relation: str) -> int | None:
    """Return the number of labels that MEKA writes into the relation's name, or None.

    >>> meka_label_count("Music: -C 6"), meka_label_count("enron: -C -53"), meka_label_count("iris")
    (6, -53, None)
    """
    match = _MEKA_LABELS.search(relation)
    return int(match.group(1)) if match else None


def read_mulan_labels(path: Path) -> list[str]:
    """Read the names of the labels from Mulan's XML file; nested labels are ordinary labels."""
    try:
        root = ElementTree.parse(find_file(path)).getroot()
    except ElementTree.ParseError as error:
        raise DatasetError(f"{path} is not a readable XML file of labels: {error}.") from error
    names = [element.get("name", "") for element in root.iter() if element.tag.split("}")[-1] == "label"]
    if not names or "" in names:
        raise DatasetError(f"{path} must hold <label name='...'> elements, each with a name.")
    return names


def _number_lines(file: BinaryIO, encoding: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither empty nor comments, with their numbers."""
    with io.TextIOWrapper(file, encoding) as lines:
        for number, line in enumerate(lines, start=1):
            text = line.lstrip("\ufeff").strip()
            text = _cut_comment(text) if "%" in text else text
            if text:
                yield number, text


def _cut_comment(text: str) -> str:
    """Cut the line at the first percent sign outside quotes."""
    comment = next((token.start() for token in _TOKEN.finditer(text) if token.group() == "%"), len(text))
    return text[:comment].strip()


def _read_header(lines: Iterable[tuple[int, str]], path: Path) -> tuple[str, list[_Attribute]]:
    relation = ""
    attributes: dict[str, _Attribute] = {}
    for number, text in lines:
        where = f"Line {number} of {path}"
        keyword = text.split(None, 1)[0].lower()
        if keyword == "@relation":
            relation = _unquote(text[len("@relation") :].strip())
        elif keyword == "@attribute":
            attribute = _read_attribute(text, len(attributes), where)
            if attribute.name in attributes:
                raise DatasetError(f"{where} declares the attribute {attribute.name!r} again.")
            attributes[attribute.name] = attribute
        elif keyword == "@data":
            if not attributes:
                raise DatasetError(f"{where} starts the data, but no @attribute precedes it.")
            return relation, list(attributes.values())
        else:
            raise DatasetError(f"{where} is neither @relation, @attribute nor @data: {text[:60]!r}.")
    raise DatasetError(f"{path} has no @data line; it is not an ARFF file, or it was cut off.")


def _read_attribute(text: str, position: int, where: str) -> _Attribute:
    match = _ATTRIBUTE.fullmatch(text)
    if not match or not match.group(2):
        raise DatasetError(f"{where} is not '@attribute name type': {text[:60]!r}.")
    name, declared = _unquote(match.group(1)), match.group(2).strip()
    if declared.startswith("{"):
        if not declared.endswith("}"):
            raise DatasetError(f"{where} opens the values of {name!r} but does not close them.")
        values = tuple(_unquote(cell) for cell in _split(declared[1:-1], where))
        if len(set(values)) < len(values):
            raise DatasetError(f"{where} lists a value of {name!r} twice.")
        return _Attribute(name, position, "nominal", values)
    kind = declared.split()[0].lower()
    if kind in ("numeric", "real", "integer", "string"):
        return _Attribute(name, position, kind)
    raise DatasetError(f"{where} declares {name!r} as {kind!r}; only numbers, strings and nominal values can be read.")


def _read_sample(text: str, n_attributes: int, where: str) -> Sample:
    if _WEIGHT.search(text):
        raise DatasetError(f"{where} ends with an instance weight, which is not supported.")
    if text.startswith("{"):
        if not text.endswith("}"):
            raise DatasetError(f"{where} opens a sparse sample but does not close it.")
        inside = text[1:-1].strip()
        return _read_sparse_sample(inside, n_attributes, where) if inside else {}
    has_quotes = "'" in text or '"' in text or "\\" in text
    cells = _split(text, where) if has_quotes else map(str.strip, text.split(","))
    sample = [_value(cell) for cell in cells]
    if len(sample) != n_attributes:
        raise DatasetError(f"{where} has {len(sample)} values for {n_attributes} attributes.")
    return sample


def _read_sparse_sample(text: str, n_attributes: int, where: str) -> dict[int, Cell]:
    sample: dict[int, Cell] = {}
    for index, cell in (
        _match_all(_SPARSE_CELL, text, where, "should hold 'index value' pairs, but has") if text else ()
    ):
        place = int(index)
        if place >= n_attributes:
            raise DatasetError(f"{where} uses the index {place}; the last attribute is {n_attributes - 1}.")
        if place in sample:
            raise DatasetError(f"{where} uses the index {place} twice.")
        sample[place] = _value(cell.strip())
    return sample


def _split(text: str, where: str) -> list[str]:
    """Split at the commas that are outside quotes."""
    return [cell.strip() for (cell,) in _match_all(_CELL, text, where, "has a quote that does not match, near")]


def _match_all(pattern: re.Pattern[str], text: str, where: str, problem: str) -> Iterator[Any]:
    """Yield the groups of each match of a pattern that ends with a comma; the matches are adjacent."""
    text += ","
    start = 0
    while start < len(text):
        match = pattern.match(text, start)
        if not match:
            raise DatasetError(f"{where} {problem} {text[start : start + 30].removesuffix(',')!r}.")
        yield match.groups()
        start = match.end()


def _value(raw: str) -> Cell:
    return None if raw == "?" else _unquote(raw)


def _unquote(raw: str) -> str:
    if len(raw) < 2 or raw[0] != raw[-1] or raw[0] not in "'\"":
        return raw
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), raw[1:-1])
