"""Suites: the methods, datasets, noise levels, folds and seed of a comparison.

A suite is plain data. All results are reproducible from its definition, because the folds, the label noise and the seed
of every fit are derived from it (`derive_seed`). Methods are named here and created in `fuselearn.lab.methods`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fuselearn._messages import show
from fuselearn._parameters import check_choice, check_whole_number
from fuselearn.datasets import Dataset, DatasetError, TableCleaner, load_dataset, read_table
from fuselearn.datasets.arff import read_mulan_labels
from fuselearn.datasets.files import TextFormat, read_whole
from fuselearn.datasets.noise import KINDS, LABEL_KINDS
from fuselearn.datasets.tables import Labels, is_label_file, split_table
from fuselearn.fusion.held_out import stratified_sample

__all__ = ["DEMO", "LOSSES", "SCORES", "Suite", "Table", "derive_seed", "find_tables", "table_suite"]

SCORES = {
    "multiclass": ("macro_f1", "accuracy", "balanced_accuracy", "log_loss", "auc", "brier", "calibration_error"),
    "multilabel": (
        "macro_f1", "accuracy", "log_loss", "micro_f1", "hamming_loss", "auc", "calibration_error", "example_f1",
        "macro_precision", "micro_precision", "example_precision", "macro_recall", "micro_recall", "example_recall",
        "macro_jaccard", "micro_jaccard", "example_jaccard", "one_error", "coverage", "ranking_loss",
        "label_ranking_average_precision", "micro_auc", "macro_average_precision", "micro_average_precision",
    ),
}  # fmt: skip
"""The scores of a fold, by task."""
LOSSES = ("log_loss", "hamming_loss", "brier", "calibration_error", "one_error", "coverage", "ranking_loss")
"""The scores for which lower is better."""
NOISE_DRAWS = ("per_repeat", "once")
MOST_LETTERS = 60
TABLE_FILE = re.compile(r"^[^.].*\.((csv|tsv|arff)(\.gz)?|parquet|pq)$", re.IGNORECASE)
USUAL_METHODS: Mapping[str, tuple[str, ...]] = {
    "multiclass": (
        "fused", "kfhe", "adaboost", "bagging", "cart", "random-forest", "random-forest(min_samples_leaf=3)",
        "extra-trees", "hist-gradient-boosting",
    ),
    "multilabel": (
        "fused", "kfhe-homer", "e-homer", "homer", "ecc", "cc", "pct-forest", "adaboost-mh", "random-forest",
    ),
}  # fmt: skip
"""The default methods for the user's tables, for each task."""


@dataclass(frozen=True)
class Table:
    """The user's own file as a dataset of a suite.

    Parameters
    ----------
    name : str
        The name of the dataset within the suite.
    path : str
        The file, for :func:`fuselearn.datasets.read_table`. It may be moved, since it is identified by its content.
    target : str or None
        The column with the classes.
    sha256 : str
        The SHA-256 digest of the file, to detect changes.
    reading : mapping, default={}
        Options of :func:`fuselearn.datasets.read_table`: separator, encoding, decimal mark.
    cleaning : mapping, default={}
        Options of :class:`fuselearn.datasets.TableCleaner`, which converts the columns.
    labels : str, int, list of str or None, default=None
        The label columns of a multi-label table, as for :func:`fuselearn.datasets.read_table`.

    See Also
    --------
    table_suite : Compare methods on your own tables.
    """

    name: str
    path: str
    target: str | None
    sha256: str
    reading: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    cleaning: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    labels: str | int | list[str] | None = None

    @classmethod
    def of(
        cls,
        path: str | os.PathLike[str],
        target: str | None = None,
        *,
        reading: Mapping[str, Any] | None = None,
        cleaning: Mapping[str, Any] | Callable[[list[str]], Mapping[str, Any]] | None = None,
        labels: Labels | None = None,
    ) -> Table:
        """Return the table of a file in its current state; the parameters are those of the class.

        `cleaning` may be a function that returns the options for given columns. The file and the labels in Mulan's XML
        file are read, since both may change.
        """
        name, found = Path(path).name.split(".")[0], str(Path(path).resolve())
        digest, seen = hashlib.sha256(), _stamp(found)
        content = read_whole(Path(path), TextFormat(**reading or {}), digest=digest)
        cleaning = cleaning(content.columns) if callable(cleaning) else cleaning or {}
        if isinstance(labels, os.PathLike) or (isinstance(labels, str) and is_label_file(labels)):
            labels = read_mulan_labels(Path(labels))
        elif labels is not None and not isinstance(labels, str | int):
            labels = list(labels)
        table = cls(name, found, target, digest.hexdigest(), reading or {}, cleaning, labels)
        vars(table)["data"] = split_table(content, target, labels, table.cleaner).dense()
        vars(table)["seen"] = seen
        return table

    def is_current(self) -> bool:
        """Return whether the file is unchanged; it is read only if its size or time differs."""
        return bool(self.path) and (vars(self).get("seen") == _stamp(self.path) or _digest(self.path) == self.sha256)

    @cached_property
    def cleaner(self) -> TableCleaner:
        """The transformer of the columns; fitted once `data` is read, unless the file has sparse samples."""
        return TableCleaner(**self.cleaning)

    @cached_property
    def data(self) -> Dataset:
        """The features, as a DataFrame, and the classes or labels; the file is read once."""
        return read_table(self.path, self.target, self.labels, cleaner=self.cleaner, **self.reading).dense()


@dataclass(frozen=True)
class Suite:
    """A comparison of methods: datasets x noise levels x methods x repeated stratified folds.

    Parameters
    ----------
    name : str
        The name of the suite in a store; one store may hold several suites.
    datasets : sequence of str
        Names of datasets of :mod:`fuselearn.datasets`, or names of `tables`.
    methods : sequence of str
        Names listed by `fuselearn methods`, import paths such as ``"lightgbm:LGBMClassifier"``, or names of estimators
        passed to `run_suite`. Names and import paths may have parameters in parentheses: ``"kfhe(n_estimators=200)"``.
    noise : sequence of float, default=(0.0,)
        Fractions of training labels to corrupt, 0.05 for 5 %.
    noise_kind : str, default="uniform"
        The kind of noise, as for :func:`fuselearn.datasets.corrupt_labels`; ``"uniform"`` or ``"forgotten"`` in a
        multi-label suite.
    noise_draw : {"per_repeat", "once"}, default="per_repeat"
        Whether labels are corrupted anew in each repeat, which averages over the noise, or once per dataset and level,
        as in the KFHE paper.
    repeats, folds : int, default=10
        Number of repeats of cross-validation, and of stratified folds in each.
    test_folds : int or None, default=None
        Number of test folds in each repeat; None means all folds.
    seed : int, default=0
        Seed from which all other seeds are derived.
    tables : sequence of Table, default=()
        The user's own files.
    task : {"multiclass", "multilabel"}, default="multiclass"
        The task.
    max_samples : int or None, default=None
        Larger datasets are reduced to a stratified random subset of this size.
    zero_division : float, default=0.0
        In a multi-label suite, the precision, recall, F1 and Jaccard index of a label that is neither true nor
        predicted in a fold, as in scikit-learn; many papers count it as 1.

    Examples
    --------
    >>> from fuselearn.lab import Suite
    >>> suite = Suite("mine", ["iris", "wine"], ["kfhe", "cart"], noise=[0, 0.1], repeats=2)
    >>> suite.n_results
    160
    """

    name: str
    datasets: Sequence[str]
    methods: Sequence[str]
    noise: Sequence[float] = (0.0,)
    noise_kind: str = "uniform"
    noise_draw: str = "per_repeat"
    repeats: int = 10
    folds: int = 10
    seed: int = 0
    tables: Sequence[Table] = ()
    task: str = "multiclass"
    max_samples: int | None = None
    test_folds: int | None = None
    zero_division: float = 0.0

    def __post_init__(self) -> None:
        """Validate the fields; keep sequences as tuples."""
        if not self.name:
            raise ValueError("name must not be empty: it identifies the suite in a store.")
        for field, plural in (("datasets", "dataset"), ("methods", "method")):
            self._freeze(field, _names(field, plural, getattr(self, field)))
        self._freeze("noise", _noise_levels(self.noise))
        self._freeze("tables", tuple(self.tables))
        check_choice("task", self.task, tuple(SCORES))
        check_choice("noise_draw", self.noise_draw, NOISE_DRAWS)
        check_choice("noise_kind", self.noise_kind, LABEL_KINDS if self.task == "multilabel" else KINDS)
        for field, least in (("repeats", 1), ("folds", 2), ("seed", 0), ("max_samples", 2), ("test_folds", 1)):
            value = getattr(self, field)
            if value is not None or field not in ("max_samples", "test_folds"):
                check_whole_number(field, value, least)
        if self.zero_division not in (0, 1):
            raise ValueError(f"zero_division must be 0 or 1; got {show(self.zero_division)}.")
        if self.n_test_folds > self.folds:
            raise ValueError(f"test_folds must be at most folds, {self.folds}; got {self.test_folds}.")

    def _freeze(self, field: str, value: Any) -> None:
        object.__setattr__(self, field, value)

    @property
    def n_test_folds(self) -> int:
        """Number of test folds in each repeat."""
        return self.folds if self.test_folds is None else self.test_folds

    @property
    def n_results(self) -> int:
        """Number of results of the whole suite."""
        cells = len(self.datasets) * len(self.noise) * len(self.methods)
        return cells * self.repeats * self.n_test_folds

    def definition(self) -> dict[str, Any]:
        """Return everything that determines the results, in JSON-compatible types.

        The paths of the tables are not included, since they do not affect results.
        """
        plain: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(self)))
        for table in plain["tables"]:
            del table["path"]
        return plain

    @classmethod
    def from_definition(cls, definition: Mapping[str, Any]) -> Suite:
        """Return the suite of a `definition`; its tables have no path."""
        return cls(**{**definition, "tables": [Table(path="", **table) for table in definition["tables"]]})

    def load(self, dataset: str) -> Dataset:
        """Load one dataset of the suite. A dataset that cannot be split into the folds raises an error.

        Raises
        ------
        DatasetError
            If the data are not available, have changed since the suite was created, or do not match the suite.
        """
        table = next((table for table in self.tables if table.name == dataset), None)
        if table is None:
            data = load_dataset(dataset)
        elif not table.is_current():
            raise DatasetError(
                f"The file {table.path or dataset!r} is missing or has changed since the suite {self.name!r} was "
                "created; create the suite again from the current file."
            )
        else:
            data = table.data
        if self.max_samples is not None and len(data.X) > self.max_samples:
            data = _stratified_part(data, self.max_samples, derive_seed("part", self.seed, dataset))
        self._refuse_unfit(dataset, data)
        return data

    def _refuse_unfit(self, dataset: str, data: Dataset) -> None:
        if data.task != self.task:
            needs = "one class per sample" if self.task == "multiclass" else "label columns"
            raise DatasetError(f"{dataset!r} is a {data.task} dataset; the suite {self.name!r} needs {needs}.")
        if self.task == "multilabel":
            if len(data.X) < self.folds:
                raise DatasetError(f"{dataset!r} has {len(data.X)} samples, too few for {self.folds} folds.")
            return
        sizes = data.y.value_counts()
        if len(sizes) < 2 or sizes.max() < self.folds:
            raise DatasetError(
                f"{dataset!r} must have at least two classes, one of them with {self.folds} samples "
                f"or more, for {self.folds} stratified folds; it has {len(sizes)}, the largest "
                f"with {sizes.max()} samples. Use fewer folds."
            )


def _stratified_part(data: Dataset, n_samples: int, seed: int) -> Dataset:
    """Draw a stratified random subset; multi-label samples are drawn without stratification."""
    classes = np.asarray(data.y, dtype=str) if data.task == "multiclass" else np.zeros(len(data.X))
    chosen = stratified_sample(classes, n_samples, np.random.default_rng(seed))
    return dataclasses.replace(
        data, X=data.X.iloc[chosen].reset_index(drop=True), y=data.y.iloc[chosen].reset_index(drop=True)
    )


def derive_seed(*parts: str | int | float) -> int:
    """Derive a seed from names and numbers that is the same in every process and on every machine.

    Python's own `hash` differs from process to process; this is the start of a SHA-256 digest.

    Parameters
    ----------
    *parts : str, int or float
        The purpose of the seed; order and types matter.

    Returns
    -------
    seed : int
        From 0 to 2**32 - 1, valid for scikit-learn's `random_state` and NumPy's generators.

    Examples
    --------
    >>> from fuselearn.lab.suites import derive_seed
    >>> derive_seed(0, "iris", 0.1, 3, 7, "KFHE")
    2547850418
    """
    text = json.dumps(parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def table_suite(
    tables: Table | str | os.PathLike[str] | Sequence[Table | str | os.PathLike[str]],
    target: str | None = None,
    *,
    labels: Labels | None = None,
    methods: Sequence[str] | None = None,
    noise: Sequence[float] = (0.0,),
    noise_kind: str = "uniform",
    repeats: int = 3,
    folds: int = 5,
    seed: int = 0,
    name: str | None = None,
) -> Suite:
    r"""Return a suite that compares methods on your own tables.

    Parameters
    ----------
    tables : Table, str, path, or a list of them
        Files for :func:`fuselearn.datasets.read_table`, or folders of such files. A `Table` also defines its target and
        reading options.
    target : str, optional
        The column with the classes; ``class`` by default.
    labels : optional
        The label columns of multi-label tables, as for :func:`fuselearn.datasets.read_table`.
    methods : sequence of str, optional
        As for `Suite`; the usual methods for the task by default.
    noise, noise_kind, repeats, folds, seed
        As for `Suite`.
    name : str, optional
        Name of the suite; by default ``compare-`` and the names of the files without their extensions.

    Returns
    -------
    suite : Suite

    Raises
    ------
    DatasetError
        If a file cannot be read, or cannot be split into the folds.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fuselearn.lab import table_suite
    >>> path = pathlib.Path(tempfile.mkdtemp(), "fruit.csv")
    >>> _ = path.write_text("weight,kind\n" + "150,apple\n" * 9 + "120,pear\n" * 9)
    >>> suite = table_suite(path, "kind", methods=["kfhe", "cart"], noise=[0, 0.2])
    >>> suite.name, suite.datasets, suite.n_results
    ('compare-fruit', ('fruit',), 60)
    """
    read: list[Table] = []
    for each in [tables] if isinstance(tables, Table | str | os.PathLike) else tables:
        found = [each] if isinstance(each, Table) else find_tables(each)
        read += [one if isinstance(one, Table) else Table.of(one, target, labels=labels) for one in found]
    tasks = {table.data.task: table.name for table in read}
    if len(tasks) != 1:
        raise DatasetError(
            f"tables must all have classes, or all have labels; {tasks['multiclass']!r} has classes and "
            f"{tasks['multilabel']!r} has labels."
            if tasks
            else "tables must name at least one file; got none."
        )
    (task,) = tasks
    names = [table.name for table in read]
    suite = Suite(
        name=name or f"compare-{'-'.join(names)[:MOST_LETTERS]}",
        datasets=names,
        methods=USUAL_METHODS[task] if methods is None else methods,
        noise=noise,
        noise_kind=noise_kind,
        repeats=repeats,
        folds=folds,
        seed=seed,
        tables=read,
        task=task,
    )
    for table in read:
        suite._refuse_unfit(table.name, table.data)
    return suite


def find_tables(path: str | os.PathLike[str]) -> list[Path]:
    """Return the file, or the tables in a folder, in alphabetical order."""
    if not Path(path).is_dir():
        return [Path(path)]
    found = sorted(each for each in Path(path).iterdir() if TABLE_FILE.search(each.name))
    if not found:
        raise DatasetError(f"The folder {path} contains no table: .csv, .tsv, .arff (also with .gz) or .parquet.")
    return found


def _names(field: str, what: str, values: Sequence[str]) -> tuple[str, ...]:
    if isinstance(values, str):
        raise ValueError(f"{field} must be a list of names; got the single text {show(values)}.")
    names = tuple(values)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"{field} must name at least one {what}; got {show(values)}.")
    if len(set(names)) < len(names):
        raise ValueError(f"{field} must name every {what} once; got {', '.join(names)}.")
    return names


def _noise_levels(values: Sequence[float]) -> tuple[float, ...]:
    try:
        levels = tuple(float(level) for level in values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"noise must be a list of fractions; got {show(values)}.") from error
    if not levels or not all(math.isfinite(level) and 0 <= level < 1 for level in levels):
        raise ValueError(f"noise must contain fractions of at least 0 and below 1, 0.05 for 5 %; got {show(values)}.")
    if len(set(levels)) < len(levels):
        raise ValueError(f"noise must name every level once; got {show(values)}.")
    return levels


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size


def _digest(path: str | os.PathLike[str]) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DatasetError(f"{os.fspath(path)} cannot be read: {error.strerror}.") from error


DEMO = Suite(
    "demo",
    ("digits", "claims", "breast_cancer"),
    ("fused", "kfhe", "random-forest", "random-forest(min_samples_leaf=3)", "hist-gradient-boosting"),
    (0.0, 0.1, 0.2, 0.3, 0.4),
    repeats=1,
    folds=2,
    test_folds=1,
)
"""The suite of `fuselearn demo`."""
