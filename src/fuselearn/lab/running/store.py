"""A persistent store of results: an SQLite file with one row per finished fit.

The file is in write-ahead-log mode and every batch of results is one transaction. A killed process
leaves complete rows or none, and an existing result is never replaced: a run that starts again
queries what is `finished` and continues from there. Several runs on one machine may write to the same
store at once (SQLite's log does not work over network file systems).
"""

from __future__ import annotations

import dataclasses
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from fuselearn.lab.running.scoring import SCORES, Scores
from fuselearn.lab.running.suites import Suite

__all__ = ["Cell", "Predictions", "Result", "ResultStore", "StoreError"]

APPLICATION_ID = int.from_bytes(b"FUSE", "big")
SCHEMA_VERSION = 5
MAGIC = b"SQLite format 3\0"
BUSY_SECONDS = 60.0
KEY = ("dataset", "noise", "repeat", "fold", "method")
PACKAGES = ("fuselearn", "numpy", "scikit_learn", "python")

_KEY_COLUMNS = """
    suite TEXT NOT NULL, dataset TEXT NOT NULL, noise REAL NOT NULL, repeat INTEGER NOT NULL,
    fold INTEGER NOT NULL, method TEXT NOT NULL
"""
_PRIMARY_KEY = "PRIMARY KEY (suite, dataset, noise, repeat, fold, method)"
_LABEL_COLUMNS = (
    "example_f1", "macro_precision", "micro_precision", "example_precision", "macro_recall", "micro_recall",
    "example_recall", "macro_jaccard", "micro_jaccard", "example_jaccard", "one_error", "coverage", "ranking_loss",
    "label_ranking_average_precision", "micro_auc", "macro_average_precision", "micro_average_precision",
)  # fmt: skip
_LABEL_TABLE = f"CREATE TABLE label_scores ({_KEY_COLUMNS}, scores TEXT NOT NULL, {_PRIMARY_KEY}) WITHOUT ROWID;"
_SCHEMA = f"""
CREATE TABLE suites (name TEXT PRIMARY KEY, definition TEXT NOT NULL, created TEXT NOT NULL);
CREATE TABLE methods (
    suite TEXT NOT NULL, method TEXT NOT NULL, settings TEXT NOT NULL, PRIMARY KEY (suite, method)
);
CREATE TABLE runs (
    run INTEGER PRIMARY KEY, suite TEXT NOT NULL, started TEXT NOT NULL, last_result TEXT,
    results INTEGER NOT NULL, jobs INTEGER, backend TEXT
);
CREATE TABLE results (
    {_KEY_COLUMNS},
    macro_f1 REAL, accuracy REAL, balanced_accuracy REAL, log_loss REAL,
    fit_seconds REAL, predict_seconds REAL, components INTEGER, seed INTEGER NOT NULL, error TEXT,
    fuselearn TEXT, numpy TEXT, scikit_learn TEXT, python TEXT, finished TEXT NOT NULL,
    micro_f1 REAL, hamming_loss REAL, auc REAL, brier REAL, calibration_error REAL,
    {", ".join(f"{column} REAL" for column in _LABEL_COLUMNS)},
    {_PRIMARY_KEY}
) WITHOUT ROWID;
CREATE TABLE predictions (
    {_KEY_COLUMNS}, test_rows TEXT NOT NULL, predicted TEXT NOT NULL, {_PRIMARY_KEY}
) WITHOUT ROWID;
{_LABEL_TABLE}
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
"""

_UPGRADES = {
    1: """
ALTER TABLE results ADD COLUMN micro_f1 REAL;
ALTER TABLE results ADD COLUMN hamming_loss REAL;
PRAGMA user_version = 2;
""",
    2: """
ALTER TABLE results ADD COLUMN auc REAL;
PRAGMA user_version = 3;
""",
    3: """
ALTER TABLE results ADD COLUMN brier REAL;
ALTER TABLE results ADD COLUMN calibration_error REAL;
PRAGMA user_version = 4;
""",
    4: f"""
{";".join(f"ALTER TABLE results ADD COLUMN {column} REAL" for column in _LABEL_COLUMNS)};
{_LABEL_TABLE}
PRAGMA user_version = 5;
""",
}
"""The migration from each older format to the next one."""


class StoreError(ValueError):
    """Raised if a store cannot be opened or used."""


class Cell(NamedTuple):
    """The key of a result within its suite; `repeat` and `fold` count from 0."""

    dataset: str
    noise: float
    repeat: int
    fold: int
    method: str


@dataclass(frozen=True)
class Predictions:
    """The indices of the test samples, and the class, or the list of labels, predicted for each."""

    rows: list[int]
    predicted: list[str] | list[list[str]]


@dataclass(frozen=True)
class Result:
    """One finished fit.

    Parameters
    ----------
    cell : Cell
        The key of the result.
    seed : int
        The random state of the estimator.
    scores : Scores or None
        None if the method failed.
    fit_seconds, predict_seconds : float or None
        Wall-clock times.
    components : int or None
        Number of trees, or other models, in the ensemble.
    error : str or None
        Why the method failed.
    versions : mapping of str to str
        Versions of fuselearn, numpy, scikit_learn and python.
    predictions : Predictions or None
        The predictions, if kept.
    label_scores : DataFrame or None
        The scores of each label, as `fuselearn.multilabel.label_scores` returns them; None for classes.
    """

    cell: Cell
    seed: int
    scores: Scores | None = None
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    components: int | None = None
    error: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    predictions: Predictions | None = None
    label_scores: pd.DataFrame | None = None


class ResultStore:
    """An SQLite file of results; use it in a ``with`` statement.

    Parameters
    ----------
    path : str or path
        The file. While it is open, SQLite keeps two more files, ``-wal`` and ``-shm``, in the same folder.
    create : bool, default=True
        Whether to create a file that does not exist.

    Raises
    ------
    StoreError
        If the file cannot be opened, is not a store, or has another version.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fuselearn.lab.running.store import Cell, Result, ResultStore
    >>> from fuselearn.lab.running.suites import Suite
    >>> path = pathlib.Path(tempfile.mkdtemp(), "results.db")
    >>> suite = Suite("mine", ["iris"], ["CART"], repeats=1, folds=2)
    >>> with ResultStore(path) as store:
    ...     store.register(suite, {"CART": "CARTClassifier()"})
    ...     store.add("mine", [Result(Cell("iris", 0.0, 0, 1, "CART"), seed=7)])
    ...     store.add("mine", [Result(Cell("iris", 0.0, 0, 1, "CART"), seed=8)])
    ...     store.finished("mine")
    1
    0
    {Cell(dataset='iris', noise=0.0, repeat=0, fold=1, method='CART')}
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool = True) -> None:
        self.path = Path(path)
        if not create and not self.path.is_file():
            raise StoreError(f"There is no results store {self.path}.")
        _refuse_other_files(self.path)
        try:
            self._connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
        except sqlite3.Error as error:
            raise StoreError(f"The results store {self.path} cannot be opened: {error}.") from error
        try:
            self._prepare(create)
        except sqlite3.DatabaseError as error:
            self.close()
            raise StoreError(f"{self.path} cannot be used as a results store: {error}.") from error
        except StoreError:
            self.close()
            raise

    def __enter__(self) -> ResultStore:
        """Return the open store."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file; the store cannot be used afterwards."""
        self._connection.close()

    def _prepare(self, create: bool) -> None:
        if self._is_empty():
            if not create:
                raise StoreError(f"{self.path} is an empty file, not a results store.")
            with self._writing():
                if self._is_empty():
                    for statement in _SCHEMA.split(";")[:-1]:
                        self._connection.execute(statement)
        if self._pragma("application_id") != APPLICATION_ID:
            raise StoreError(f"{self.path} is an SQLite file of another program, not a results store.")
        version = self._upgrade()
        if version != SCHEMA_VERSION:
            raise StoreError(
                f"The results store {self.path} has format {version}; this version of fuselearn reads "
                f"format {SCHEMA_VERSION}. Use the version that wrote it, or a new file."
            )
        self._use_write_ahead_log()
        # Safe for a killed process; a power cut may lose the last results, but never the file.
        self._pragma("synchronous = NORMAL")

    def _use_write_ahead_log(self) -> None:
        """Change the journal mode, for which SQLite does not wait until other processes have opened the file."""
        deadline = time.monotonic() + BUSY_SECONDS
        while self._pragma("journal_mode") != "wal":
            try:
                self._pragma("journal_mode = WAL")
            except sqlite3.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _upgrade(self) -> int:
        """Migrate a store of an older format, and return its new format."""
        version: int = self._pragma("user_version")
        while version in _UPGRADES:
            with self._writing():
                if self._pragma("user_version") == version:  # another process may have been faster
                    for statement in _UPGRADES[version].split(";")[:-1]:
                        self._connection.execute(statement)
            version = self._pragma("user_version")
        return version

    def _is_empty(self) -> bool:
        tables = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        return not tables and self._pragma("application_id") == 0

    def _pragma(self, text: str) -> Any:
        row = self._connection.execute(f"PRAGMA {text}").fetchone()
        return None if row is None else row[0]

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Run the block as one transaction, after waiting for other writers."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def register(self, suite: Suite, settings: Mapping[str, str]) -> None:
        """Register a suite, or check that it equals the registered one.

        Parameters
        ----------
        suite : Suite
            Must be registered before its first result is added.
        settings : mapping of str to str
            The settings of those of its methods that can run here.

        Raises
        ------
        StoreError
            If the store holds another suite of this name, or a method with other settings.
        """
        definition = suite.definition()
        with self._writing() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO suites VALUES (?, ?, ?)",
                (suite.name, json.dumps(definition), _now()),
            )
            connection.executemany(
                "INSERT OR IGNORE INTO methods VALUES (?, ?, ?)",
                [(suite.name, method, text) for method, text in settings.items()],
            )
            # Inside the transaction, so that a refused suite leaves no trace.
            self._refuse_change(suite.name, self._definition(suite.name), definition, "")
            known = self.settings(suite.name)
            for method, text in settings.items():
                was, now = {"settings": known[method]}, {"settings": text}
                self._refuse_change(suite.name, was, now, f" for the method {method!r}")

    def _refuse_change(self, suite: str, was: Mapping[str, Any], now: Mapping[str, Any], where: str) -> None:
        changed = [key for key in now if was.get(key) != now[key]]
        if changed:
            changes = "; ".join(f"{key} was {was.get(key)} and is {now[key]}" for key in changed)
            raise StoreError(
                f"The results store {self.path} holds another suite named {suite!r}{where}: "
                f"{changes}. Use another store, or rename the suite."
            )

    def suites(self) -> list[str]:
        """Return the names of the suites in the store, in the order of registration."""
        rows = self._connection.execute("SELECT name FROM suites ORDER BY created, name")
        return [name for (name,) in rows]

    def only_suite(self) -> str:
        """Return the name of the suite, if the store holds exactly one."""
        names = self.suites()
        if len(names) != 1:
            held = f"the suites {', '.join(map(repr, names))}; name one" if names else "no suite"
            raise StoreError(f"The results store {self.path} holds {held}.")
        return names[0]

    def suite(self, name: str | None = None) -> Suite:
        """Return the suite as it was registered, without its description."""
        return Suite.from_definition(self._definition(self.only_suite() if name is None else name))

    def _definition(self, name: str) -> dict[str, Any]:
        row = self._connection.execute("SELECT definition FROM suites WHERE name = ?", (name,)).fetchone()
        if row is None:
            held = ", ".join(map(repr, self.suites())) or "none"
            raise StoreError(f"The results store {self.path} holds no suite {name!r}; it holds {held}.")
        definition: dict[str, Any] = json.loads(row[0])
        return definition

    def settings(self, suite: str) -> dict[str, str]:
        """Return the settings of the methods that ran, by name."""
        return dict(self._connection.execute("SELECT method, settings FROM methods WHERE suite = ?", (suite,)))

    def finished(self, suite: str) -> set[Cell]:
        """Return the cells that need not run again, failed ones included."""
        rows = self._connection.execute(f"SELECT {', '.join(KEY)} FROM results WHERE suite = ?", (suite,))
        return {Cell(*row) for row in rows}

    def start_run(self, suite: str, *, jobs: int | None, backend: str | None) -> int:
        """Record the start of a run, and return its number for `add`."""
        with self._writing() as connection:
            cursor = connection.execute(
                "INSERT INTO runs (suite, started, results, jobs, backend) VALUES (?, ?, 0, ?, ?)",
                (suite, _now(), jobs, backend),
            )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def add(self, suite: str, results: Iterable[Result], *, run: int | None = None) -> int:
        """Write results in one transaction; those of existing cells are dropped.

        Returns
        -------
        added : int
            Number of new results.
        """
        added = 0
        with self._writing() as connection:
            now = _now()
            for result in results:
                row = _row(suite, result, now)
                new = connection.execute(_insert("results", row), row).rowcount
                if new and result.predictions is not None:
                    row = _predictions_row(suite, result.cell, result.predictions)
                    connection.execute(_insert("predictions", row), row)
                if new and result.label_scores is not None:
                    row = _label_row(suite, result.cell, result.label_scores)
                    connection.execute(_insert("label_scores", row), row)
                added += new
            connection.execute(
                "UPDATE runs SET last_result = ?, results = results + ? WHERE run = ?",
                (now, added, run),
            )
        return added

    def forget_failures(self, suite: str) -> int:
        """Delete the results of methods that failed, so that they run again; return their number."""
        with self._writing() as connection:
            return connection.execute("DELETE FROM results WHERE suite = ? AND error IS NOT NULL", (suite,)).rowcount

    def results(self, suite: str | None = None) -> pd.DataFrame:
        """Return one row per result, ordered by dataset, noise, repeat, fold and method.

        Parameters
        ----------
        suite : str, optional
            Needed only if the store holds several suites.
        """
        suite = self.suite(suite).name
        query = f"SELECT * FROM results WHERE suite = ? ORDER BY {', '.join(KEY)}"
        frame = pd.read_sql_query(query, self._connection, params=(suite,))
        numbers = [*SCORES, "fit_seconds", "predict_seconds"]
        return frame.astype({**dict.fromkeys(numbers, float), "components": "Int64"})

    def runs(self, suite: str | None = None) -> pd.DataFrame:
        """Return one row per run: its start, its last result, and the number of results added."""
        suite = self.suite(suite).name
        query = "SELECT * FROM runs WHERE suite = ? ORDER BY run"
        frame = pd.read_sql_query(query, self._connection, params=(suite,))
        for column in ("started", "last_result"):
            frame[column] = pd.to_datetime(frame[column], format="ISO8601", utc=True)
        return frame

    def predictions(self, suite: str | None = None) -> pd.DataFrame:
        """Return one row per kept prediction: the cell, the index of the sample, the class."""
        suite = self.suite(suite).name
        columns = [*KEY, "test_rows", "predicted"]
        query = f"SELECT {', '.join(columns)} FROM predictions WHERE suite = ?"
        frame = pd.read_sql_query(query, self._connection, params=(suite,))
        for column in ("test_rows", "predicted"):
            frame[column] = [json.loads(text) for text in frame[column]]
        frame = frame.explode(["test_rows", "predicted"], ignore_index=True)
        return frame.rename(columns={"test_rows": "row"}).astype({"row": int})

    def label_scores(self, suite: str | None = None) -> pd.DataFrame:
        """Return one row per result and label: the cell, the name of the label, its scores; empty for classes."""
        suite = self.suite(suite).name
        query = f"SELECT {', '.join(KEY)}, scores FROM label_scores WHERE suite = ? ORDER BY {', '.join(KEY)}"
        tables = [
            pd.DataFrame(json.loads(text)).assign(**dict(zip(KEY, cell, strict=True)))
            for *cell, text in self._connection.execute(query, (suite,))
        ]
        if not tables:
            return pd.DataFrame(columns=[*KEY, "label"])
        table = pd.concat(tables, ignore_index=True)
        return table[[*KEY, *table.columns.drop(list(KEY))]]


def _refuse_other_files(path: Path) -> None:
    """Check the first bytes, because SQLite overwrites a very short file of another kind."""
    if path.is_file():
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
        if start not in (b"", MAGIC):
            raise StoreError(f"{path} is not a results store.")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _row(suite: str, result: Result, now: str) -> dict[str, Any]:
    scores = dict.fromkeys(SCORES) if result.scores is None else dataclasses.asdict(result.scores)
    return {
        "suite": suite,
        **result.cell._asdict(),
        **scores,
        "fit_seconds": result.fit_seconds,
        "predict_seconds": result.predict_seconds,
        "components": result.components,
        "seed": result.seed,
        "error": result.error,
        **{package: result.versions.get(package) for package in PACKAGES},
        "finished": now,
    }


def _predictions_row(suite: str, cell: Cell, predictions: Predictions) -> dict[str, Any]:
    return {
        "suite": suite,
        **cell._asdict(),
        "test_rows": json.dumps(predictions.rows),
        "predicted": json.dumps(predictions.predicted),
    }


def _label_row(suite: str, cell: Cell, scores: pd.DataFrame) -> dict[str, Any]:
    columns = scores.astype(object).where(scores.notna(), None).reset_index().to_dict("list")
    return {"suite": suite, **cell._asdict(), "scores": json.dumps(columns)}


def _insert(table: str, row: Mapping[str, Any]) -> str:
    return (
        f"INSERT INTO {table} ({', '.join(row)}) "
        f"VALUES ({', '.join(':' + column for column in row)}) ON CONFLICT DO NOTHING"
    )
