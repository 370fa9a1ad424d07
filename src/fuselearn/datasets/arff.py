"""Read dense and sparse ARFF files, and their label files.

ARFF is the format of Weka and, with additions, of the multi-label tools Mulan and MEKA. Mulan lists
the labels in an XML file next to the ARFF file; MEKA writes ``-C n`` into the name of the relation: the
first n attributes are labels, or the last n if n is negative.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

from fuselearn.datasets.dataset import DatasetError

if TYPE_CHECKING:
    import pandas as pd
    from scipy import sparse

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s{{'\"]+)\s*(.*)", re.IGNORECASE)
_CELL = re.compile(rf"\s*({_QUOTED}|[^\s,'\"][^,]*|)\s*(?:,|$)")
_SPARSE_CELL = re.compile(rf"\s*(\d+)\s+({_QUOTED}|[^\s,'\"][^,]*)\s*(?:,|$)")
_TOKEN = re.compile(rf"{_QUOTED}|%|[^%'\"]+|['\"]")
_WEIGHT = re.compile(r",\s*\{\s*[-+.\deE]+\s*\}$")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_MEKA_LABELS = re.compile(r"(?:^|[\s:])-C\s+(-?\d+)")

Cell = str | None
Row = list[Cell] | dict[int, Cell]
Places = Sequence[int] | npt.NDArray[np.intp]


@dataclass(frozen=True)
class _Attribute:
    name: str
    kind: str
    values: tuple[str, ...] = ()

    @property
    def sparse_default(self) -> str:
        """The value of the attribute in a sparse row that omits it."""
        return {"nominal": self.values[0] if self.values else "", "string": ""}.get(self.kind, "0")

    @property
    def is_number(self) -> bool:
        """Whether the attribute is numeric, or a binary feature that Mulan declares as nominal."""
        return self.kind in ("numeric", "integer") or self.values == ("0", "1")


class ArffTable:
    """The content of an ARFF file, as DataFrames or sparse matrices of selected attributes.

    Attributes
    ----------
    relation : str
        The name of the relation.
    columns : list of str
        The names of the attributes.
    n_rows : int
        Number of samples.
    is_sparse : bool
        Whether all samples are written as pairs of index and value.
    """

    def __init__(self, path: Path, relation: str, attributes: list[_Attribute], rows: list[Row], lines: list[int]):
        self.relation = relation
        self.columns = [attribute.name for attribute in attributes]
        self.n_rows = len(rows)
        self.is_sparse = self.n_rows > 0 and all(isinstance(row, dict) for row in rows)
        self._path = path
        self._attributes = dict(zip(self.columns, attributes, strict=True))
        self._places = {name: place for place, name in enumerate(self.columns)}
        self._lines = lines
        self._rows = rows
        self._entries = _Entries(rows, len(attributes)) if self.is_sparse else None

    def frame(self, names: Sequence[str] | None = None) -> pd.DataFrame:
        """Return attributes, all by default, as numbers, categories with the declared values, or text."""
        import pandas as pd

        columns = {name: self._column(name) for name in (self.columns if names is None else names)}
        return pd.DataFrame(columns, index=pd.RangeIndex(self.n_rows))

    def fits_matrix(self, names: Sequence[str]) -> bool:
        """Return whether samples are sparse and the named attributes are numbers, or 0 and 1."""
        return self.is_sparse and all(self._attributes[name].is_number for name in names)

    def matrix(self, names: Sequence[str]) -> sparse.csr_array:
        """Return attributes of sparse samples as a sparse matrix, where `fits_matrix` allows it."""
        from scipy import sparse

        assert self._entries is not None
        rows, cells, ends = self._entries.gather([self._places[name] for name in names])
        for place, name in enumerate(names):
            attribute, span = self._attributes[name], slice(ends[place], ends[place + 1])
            if attribute.kind == "nominal":
                self._refuse_undeclared(attribute, cells[span], rows[span])
        numbers = self._to_numbers(np.repeat(names, np.diff(ends)), cells, rows)
        matrix = sparse.csc_array((numbers, rows, ends), shape=(self.n_rows, len(names)))
        matrix.eliminate_zeros()
        return matrix.tocsr()

    def _column(self, name: str) -> Any:
        import pandas as pd

        attribute, place = self._attributes[name], self._places[name]
        cells, rows = self._cells(place, attribute.sparse_default)
        if attribute.kind == "nominal":
            self._refuse_undeclared(attribute, cells, rows)
            return pd.Categorical(cells, categories=list(attribute.values))
        if attribute.kind == "string":
            return pd.Series(cells, dtype="object")
        column = self._to_numbers([name] * len(cells), cells, rows)
        whole = attribute.kind == "integer" and np.equal(np.mod(column, 1), 0).all()
        return column.astype(np.int64) if whole else column

    def _cells(self, place: int, default: str) -> tuple[list[Cell], Places]:
        """Return all cells of an attribute, and the samples that they belong to."""
        if self._entries is None:
            cells = [row.get(place, default) if isinstance(row, dict) else row[place] for row in self._rows]
            return cells, range(self.n_rows)
        cells = [default] * self.n_rows
        rows, found, _ = self._entries.gather([place])
        for row, cell in zip(rows.tolist(), found, strict=True):
            cells[row] = cell
        return cells, range(self.n_rows)

    def _refuse_undeclared(self, attribute: _Attribute, cells: list[Cell], rows: Places) -> None:
        undeclared = set(cells) - set(attribute.values) - {None}
        if undeclared:
            first = next(i for i, cell in enumerate(cells) if cell in undeclared)
            raise DatasetError(
                f"{self._where(rows[first])} has {cells[first]!r} for {attribute.name!r}, which is not among its "
                "declared values."
            )

    def _to_numbers(self, names: Any, cells: list[Cell], rows: Places) -> npt.NDArray[np.float64]:
        """Return cells as numbers; `names` and `rows` locate each cell for error messages."""
        try:
            return np.array([np.nan if cell is None else float(cell) for cell in cells], dtype=np.float64)
        except ValueError as error:
            bad = next(i for i, cell in enumerate(cells) if cell is not None and not _is_number(cell))
            raise DatasetError(
                f"{self._where(rows[bad])} has {cells[bad]!r} for {str(names[bad])!r}, which is not a number."
            ) from error

    def _where(self, row: int) -> str:
        return f"Line {self._lines[row]} of {self._path}"


class _Entries:
    """The pairs of index and value in sparse samples, by index."""

    def __init__(self, rows: list[Any], n_columns: int) -> None:
        lengths = [len(row) for row in rows]
        columns = np.fromiter((place for row in rows for place in row), dtype=np.intp, count=sum(lengths))
        order = np.argsort(columns, kind="stable")
        cells = [cell for row in rows for cell in row.values()]
        self._rows = np.repeat(np.arange(len(rows)), lengths)[order]
        self._cells = [cells[place] for place in order.tolist()]
        self._starts = np.searchsorted(columns[order], np.arange(n_columns + 1)).tolist()

    def gather(self, places: Sequence[int]) -> tuple[npt.NDArray[np.intp], list[Cell], npt.NDArray[np.intp]]:
        """Return the samples with a value for each attribute, attribute by attribute, and the values.

        The third array holds the position of the first value of each attribute, and the end.
        """
        spans = [slice(self._starts[place], self._starts[place + 1]) for place in places]
        rows = np.concatenate([self._rows[span] for span in spans])
        cells = [cell for span in spans for cell in self._cells[span]]
        return rows, cells, np.cumsum([0, *(span.stop - span.start for span in spans)])


def read_arff(path: Path, encoding: str = "utf-8") -> ArffTable:
    r"""Read an ARFF file, gzipped or not.

    Numeric attributes become numbers, nominal ones categories with the declared values, ``?`` a
    missing value. In a sparse row, an omitted attribute is 0, or its first value.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "small.arff")
    >>> _ = path.write_text(
    ...     "@relation small\n@attribute 'a b' real\n@attribute c {x, y}\n@data\n1.5,x\n{1 y}\n"
    ... )
    >>> print(read_arff(path).frame())
       a b  c
    0  1.5  x
    1  0.0  y
    """
    lines = _numbered_lines(path, encoding)
    relation, attributes = _read_header(lines, path)
    rows: list[Row] = []
    numbers: list[int] = []
    for number, text in lines:
        rows.append(_read_row(text, len(attributes), f"Line {number} of {path}"))
        numbers.append(number)
    return ArffTable(path, relation, attributes, rows, numbers)


def read_attribute_names(path: Path, encoding: str = "utf-8") -> list[str]:
    """Return the names of a file's attributes, without reading its samples."""
    return [attribute.name for attribute in _read_header(_numbered_lines(path, encoding), path)[1]]


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
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise DatasetError(f"{path} is not a readable XML file of labels: {error}.") from error
    names = [element.get("name", "") for element in root.iter() if element.tag.split("}")[-1] == "label"]
    if not names or "" in names:
        raise DatasetError(f"{path} must hold <label name='...'> elements, each with a name.")
    return names


def _numbered_lines(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither empty nor comments, with their numbers."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding=encoding) as file:
        for number, line in enumerate(file, start=1):
            text = line.lstrip("\ufeff").strip()
            text = _cut_comment(text) if "%" in text else text
            if text:
                yield number, text


def _cut_comment(text: str) -> str:
    """Cut the line at the first percent sign outside quotes."""
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
                raise DatasetError(f"{where} starts the data, but no @attribute precedes it.")
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
        f"{where} declares {name!r} as {kind!r}; only numeric, string and nominal attributes can be read."
    )


def _read_row(text: str, n_attributes: int, where: str) -> Row:
    if _WEIGHT.search(text):
        raise DatasetError(f"{where} ends with an instance weight, which is not supported.")
    if text.startswith("{"):
        return _read_sparse_row(text, n_attributes, where)
    cells = _cells(text, where)
    if len(cells) != n_attributes:
        raise DatasetError(f"{where} has {len(cells)} values for {n_attributes} attributes.")
    return cells


def _read_sparse_row(text: str, n_attributes: int, where: str) -> dict[int, Cell]:
    if not text.endswith("}"):
        raise DatasetError(f"{where} opens a sparse row but does not close it.")
    row: dict[int, Cell] = {}
    for index, value in _sparse_cells(text[1:-1].strip(), where):
        if index >= n_attributes:
            raise DatasetError(f"{where} uses the index {index}; the last attribute is {n_attributes - 1}.")
        if index in row:
            raise DatasetError(f"{where} uses the index {index} twice.")
        row[index] = value
    return row


def _sparse_cells(text: str, where: str) -> Iterator[tuple[int, Cell]]:
    position = 0
    while position < len(text):
        match = _SPARSE_CELL.match(text, position)
        if not match:
            found = text[position : position + 30]
            raise DatasetError(f"{where} should hold 'index value' pairs, but has {found!r}.")
        yield int(match.group(1)), _value(match.group(2))
        position = match.end()


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


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
