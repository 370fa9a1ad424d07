"""A persistent result store: an SQLite file with one row per result, and the means over the folds.

The file is in write-ahead-log mode and every batch of results is one transaction. A killed process
leaves complete rows or none, and an existing result is never replaced: a run that starts again
queries what is `finished` and continues from there. Several runs on one machine may write to the same
store at once (SQLite's log does not work over network file systems).
"""

from __future__ import annotations

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

from fuselearn._parameters import check_choice
from fuselearn.lab.suites import SCORES, Suite

APPLICATION_ID = int.from_bytes(b"FUSE", "big")
SCHEMA_VERSION = 7
MAGIC = b"SQLite format 3\0"
BUSY_SECONDS = 60.0
KEY = ("dataset", "noise", "repeat", "fold", "method")
PACKAGES = ("fuselearn", "numpy", "scikit_learn", "python")

_SCHEMA = f"""
CREATE TABLE suites (name TEXT PRIMARY KEY, definition TEXT NOT NULL, settings TEXT NOT NULL, created TEXT NOT NULL);
CREATE TABLE runs (
    run INTEGER PRIMARY KEY, suite TEXT NOT NULL, started TEXT NOT NULL, last_result TEXT, jobs INTEGER,
    command TEXT NOT NULL
);
CREATE TABLE results (
    suite TEXT NOT NULL, dataset TEXT NOT NULL, noise REAL NOT NULL, repeat INTEGER NOT NULL, fold INTEGER NOT NULL,
    method TEXT NOT NULL, scores TEXT, label_scores TEXT, fit_seconds REAL, predict_seconds REAL, seed INTEGER NOT NULL,
    error TEXT, {" TEXT, ".join(PACKAGES)} TEXT, finished TEXT NOT NULL,
    PRIMARY KEY (suite, dataset, noise, repeat, fold, method)
) WITHOUT ROWID;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
"""


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
class Result:
    """The result of one method on one fold.

    Parameters
    ----------
    cell : Cell
        The key of the result.
    seed : int
        The random state of the estimator.
    scores : mapping of str to float, or None
        None if the method failed.
    fit_seconds, predict_seconds : float or None
        Wall-clock times.
    error : str or None
        Why the method failed.
    versions : mapping of str to str
        Versions of fuselearn, numpy, scikit_learn and python.
    label_scores : DataFrame or None
        The scores of each label, as :func:`fuselearn.multilabel.label_scores` returns them; None for classes.
    """

    cell: Cell
    seed: int
    scores: Mapping[str, float] | None = None
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    error: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
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
        If the file cannot be opened, is not a store, or has a different version.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fuselearn.lab import ResultStore, Suite, run_suite
    >>> suite = Suite("mine", ["iris"], ["Bayes"], repeats=1, folds=5)
    >>> with ResultStore(pathlib.Path(tempfile.mkdtemp(), "results.db")) as store:
    ...     _ = run_suite(suite, store, estimators={"Bayes": GaussianNB()})
    ...     print(store.suites(), round(store.results()["accuracy"].mean(), 2))
    ['mine'] 0.95
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
                if self._is_empty():  # another process may have been faster
                    for statement in _SCHEMA.split(";")[:-1]:
                        self._connection.execute(statement)
        if self._pragma("application_id") != APPLICATION_ID:
            raise StoreError(f"{self.path} is an SQLite file of another program, not a results store.")
        version = self._pragma("user_version")
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
        """Register a suite before its first result is added, or check that it equals the registered one.

        Parameters
        ----------
        suite : Suite
        settings : mapping of str to str
            The settings of each of its methods.

        Raises
        ------
        StoreError
            If the store contains a different suite with this name, or a method with different settings.
        """
        definition = suite.definition()
        with self._writing() as connection:
            if suite.name not in self.suites():
                row = (suite.name, json.dumps(definition), json.dumps(dict(settings)), _now())
                connection.execute("INSERT INTO suites VALUES (?, ?, ?, ?)", row)
            self._refuse_change(suite.name, self.suite(suite.name).definition(), definition, "")
            known = self.settings(suite.name)
            for method, text in settings.items():
                was, now = {"settings": known.get(method, text)}, {"settings": text}
                self._refuse_change(suite.name, was, now, f" for the method {method!r}")

    def _refuse_change(self, suite: str, was: Mapping[str, Any], now: Mapping[str, Any], where: str) -> None:
        changed = [key for key in now if was.get(key) != now[key]]
        if changed:
            changes = "; ".join(f"{key} was {was.get(key)} and is {now[key]}" for key in changed)
            raise StoreError(
                f"The results store {self.path} contains a different suite named {suite!r}{where}: "
                f"{changes}. Use another store, or rename the suite."
            )

    def suites(self) -> list[str]:
        """Return the names of the suites in the store, in the order of registration."""
        return [name for (name,) in self._connection.execute("SELECT name FROM suites ORDER BY created, name")]

    def suite(self, name: str | None = None) -> Suite:
        """Return a registered suite; without a name, the only one."""
        return Suite.from_definition(self._describe("definition", name))

    def settings(self, suite: str | None = None) -> dict[str, str]:
        """Return the settings of the methods of a suite, by name."""
        return self._describe("settings", suite)

    def _describe(self, column: str, suite: str | None) -> dict[str, Any]:
        rows = self._connection.execute(f"SELECT name, {column} FROM suites ORDER BY created, name")
        held = dict(rows.fetchall())
        names = ", ".join(map(repr, held))
        if not held:
            raise StoreError(f"The results store {self.path} contains no suite.")
        if suite is None and len(held) > 1:
            raise StoreError(f"The results store {self.path} contains several suites; name one of {names}.")
        if suite not in (None, *held):
            raise StoreError(f"The results store {self.path} contains no suite {suite!r}; it contains {names}.")
        return json.loads(held[suite] if suite else next(iter(held.values())))

    def finished(self, suite: str) -> set[Cell]:
        """Return the finished cells, including failed ones."""
        rows = self._connection.execute(f"SELECT {', '.join(KEY)} FROM results WHERE suite = ?", (suite,))
        return {Cell(*row) for row in rows}

    def start_run(self, suite: str, *, jobs: int | None, command: str = "") -> int:
        """Record the start of a run, and return its number for `add`."""
        with self._writing() as connection:
            row = (suite, _now(), jobs, command)
            cursor = connection.execute("INSERT INTO runs (suite, started, jobs, command) VALUES (?, ?, ?, ?)", row)
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def add(self, suite: str, results: Iterable[Result], *, run: int | None = None) -> int:
        """Write results in one transaction; results of existing cells are dropped.

        Returns
        -------
        added : int
            Number of new results.
        """
        now = _now()
        with self._writing() as connection:
            connection.execute("UPDATE runs SET last_result = ? WHERE run = ?", (now, run))
            return sum(_insert(connection, _row(suite, result, now)) for result in results)

    def forget_failures(self, suite: str) -> int:
        """Delete failed results, so that they run again; return their number."""
        with self._writing() as connection:
            return connection.execute("DELETE FROM results WHERE suite = ? AND error IS NOT NULL", (suite,)).rowcount

    def results(self, suite: str | None = None) -> pd.DataFrame:
        """Return one row per result, ordered by dataset, noise, repeat, fold and method.

        Parameters
        ----------
        suite : str, optional
            Needed only if the store contains several suites.

        Returns
        -------
        DataFrame
            The cell of each result, a column for each score of the task, fit_seconds, predict_seconds, seed, error,
            versions of the packages, and the time when it was finished. Scores of a failure are NaN.
        """
        plan = self.suite(suite)
        found = self._read("*", plan.name).drop(columns=["suite", "label_scores"])
        scores = pd.DataFrame([json.loads(text) for text in found.pop("scores").fillna("{}")], index=found.index)
        scores = scores.reindex(columns=SCORES[plan.task]).astype(float)
        at = len(KEY)
        found = found.astype({"fit_seconds": float, "predict_seconds": float})
        return pd.concat([found.iloc[:, :at], scores, found.iloc[:, at:]], axis=1)

    def label_scores(self, suite: str | None = None) -> pd.DataFrame:
        """Return one row per result and label: the cell, the name of the label, its scores; empty for classes."""
        found = self._read(f"{', '.join(KEY)}, label_scores", self.suite(suite).name).dropna(subset="label_scores")
        tables = [
            pd.DataFrame(json.loads(text)).assign(**dict(zip(KEY, cell, strict=True)))
            for *cell, text in found.itertuples(index=False)
        ]
        if not tables:
            return pd.DataFrame(columns=[*KEY, "label"])
        table = pd.concat(tables, ignore_index=True)
        return table[[*KEY, *table.columns.drop(list(KEY))]]

    def _read(self, columns: str, suite: str) -> pd.DataFrame:
        query = f"SELECT {columns} FROM results WHERE suite = ? ORDER BY {', '.join(KEY)}"
        return pd.read_sql_query(query, self._connection, params=(suite,))

    def totals(self, suite: str | None = None) -> dict[str, Any]:
        """Return the cost of a suite so far.

        Returns
        -------
        totals : dict
            The numbers of results, failures, expected results and fits (methods that share a fit count once);
            fit_seconds and predict_seconds of all processes; elapsed_seconds from start to last result, summed over
            the runs; and finished, the day of the last result, as 2026-11-16.
        """
        results, runs = self.results(suite), self.runs(suite)
        fits = results.drop_duplicates(["dataset", "noise", "repeat", "fold", "seed"])
        last = runs["last_result"]
        return {
            "results": len(results),
            "failures": int(results["error"].count()),
            "expected": self.suite(suite).n_results,
            "fits": len(fits),
            "fit_seconds": float(fits["fit_seconds"].sum()),
            "predict_seconds": float(results["predict_seconds"].sum()),
            "elapsed_seconds": float((last - runs["started"]).dt.total_seconds().sum()),
            "finished": "" if pd.isna(last.max()) else f"{last.max():%Y-%m-%d}",
        }

    def failed_methods(self, suite: str | None = None) -> dict[str, str]:
        """Return the methods whose fits all failed, with the first error message of each."""
        query = (
            "SELECT method, min(error) FROM results WHERE suite = ? GROUP BY method HAVING count(error) = count(*) "
            "ORDER BY method"
        )
        return dict(self._connection.execute(query, (self.suite(suite).name,)))

    def runs(self, suite: str | None = None) -> pd.DataFrame:
        """Return one row per run: its start, its last result, its number of processes, and its command line."""
        query = "SELECT * FROM runs WHERE suite = ? ORDER BY run"
        found = pd.read_sql_query(query, self._connection, params=(self.suite(suite).name,))
        for column in ("started", "last_result"):
            found[column] = pd.to_datetime(found[column], format="ISO8601", utc=True)
        return found


def summarize(store: ResultStore, suite: str | None = None, *, score: str = "macro_f1") -> pd.DataFrame:
    """Average the results of a suite over its folds.

    Parameters
    ----------
    store : ResultStore
        The results.
    suite : str, optional
        Needed only if the store contains several suites.
    score : str, default="macro_f1"
        The score to average in `score` and `sd`, a column of `ResultStore.results`.

    Returns
    -------
    summary : DataFrame
        One row per dataset, noise and method, in the order of the suite, with the columns score (the mean), sd (the
        standard deviation over the folds, divisor n - 1), n (folds that were scored), failed (folds where
        the method raised an error), the means of all scores of the task, and the medians of fit_seconds and
        predict_seconds, which are robust to slow first fits. They are NaN if every fold failed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fuselearn.lab import ResultStore, Suite, run_suite, summarize
    >>> suite = Suite("mine", ["iris"], ["Bayes"], repeats=1, folds=5)
    >>> with ResultStore(pathlib.Path(tempfile.mkdtemp(), "results.db")) as store:
    ...     _ = run_suite(suite, store, estimators={"Bayes": GaussianNB()})
    ...     print(summarize(store)[["dataset", "noise", "method", "n", "failed"]])
      dataset  noise method  n  failed
    0    iris    0.0  Bayes  5       0
    """
    return summarize_results(store.results(suite), store.suite(suite), score=score)


def summarize_results(results: pd.DataFrame, suite: Suite, *, score: str = "macro_f1") -> pd.DataFrame:
    """Average the results of a suite, as `ResultStore.results` returns them, over their folds."""
    check_choice("score", score, SCORES[suite.task])
    keys = ["dataset", "noise", "method"]
    groups = results.groupby(keys, sort=False)
    summary = pd.DataFrame(
        {
            "score": groups[score].mean(),
            "sd": groups[score].std(),
            "n": groups[score].count(),
            "failed": groups["error"].count(),
            **{name: groups[name].mean() for name in SCORES[suite.task]},
            "fit_seconds": groups["fit_seconds"].median(),
            "predict_seconds": groups["predict_seconds"].median(),
        }
    )
    order = pd.MultiIndex.from_product([suite.datasets, suite.noise, suite.methods], names=keys)
    return summary.reindex(order[order.isin(summary.index)]).reset_index()


def _refuse_other_files(path: Path) -> None:
    """Check the first bytes, because SQLite overwrites very short files of other kinds."""
    if path.is_file():
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
        if start not in (b"", MAGIC):
            raise StoreError(f"{path} is not a results store.")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _row(suite: str, result: Result, now: str) -> dict[str, Any]:
    labels = result.label_scores
    if labels is not None:
        labels = labels.astype(object).where(labels.notna(), None).reset_index().to_dict("list")
    return {
        "suite": suite,
        **result.cell._asdict(),
        "scores": None if result.scores is None else json.dumps(dict(result.scores)),
        "label_scores": None if labels is None else json.dumps(labels),
        "fit_seconds": result.fit_seconds,
        "predict_seconds": result.predict_seconds,
        "seed": result.seed,
        "error": result.error,
        **{package: result.versions.get(package) for package in PACKAGES},
        "finished": now,
    }


def _insert(connection: sqlite3.Connection, row: Mapping[str, Any]) -> int:
    values = ", ".join(f":{column}" for column in row)
    return connection.execute(f"INSERT INTO results VALUES ({values}) ON CONFLICT DO NOTHING", row).rowcount
