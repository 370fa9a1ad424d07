"""The experiment itself: how data are dealt out and corrupted, and what one fold does.

The protocol is that of the KFHE papers. For each repeat the rows are dealt into stratified folds
(iteratively stratified ones, where rows have labels); for each repeat and level of noise a fraction
of all labels is corrupted once. Every method trains on the corrupted labels of the same training
rows and is scored on the clean labels of the same test rows.

A `FoldTask` carries its data, so that the process that runs it needs no file, no environment
variable and no memory of earlier tasks; pickling a table takes about a millisecond.
"""

from __future__ import annotations

import platform
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from math import log2
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import StratifiedKFold

import fuselearn
from fuselearn.datasets import Dataset, corrupt_labels
from fuselearn.lab.methods import METHODS, compiles, count_components, fit_name, seeded
from fuselearn.lab.scoring import Scores, score_fold, score_labels
from fuselearn.lab.store import Cell, Predictions, Result
from fuselearn.lab.suites import Suite, derive_seed
from fuselearn.multilabel import IterativeStratifiedKFold
from fuselearn.multilabel.labels import read_probabilities

__all__ = ["FoldTask", "corrupted", "deal_folds", "fit_cost", "fold_tasks", "quietly", "run_fold"]

Codes = npt.NDArray[np.intp]

LONGEST_ERROR = 2000
# With it, the times of KFHE on iris, breast_cancer and digits are in proportion.
FIXED_COST = 40_000

_WARM: set[tuple[str, str]] = set()


@dataclass(frozen=True, eq=False)
class FoldTask:
    """Some methods, most often all, on one fold.

    Parameters
    ----------
    dataset, noise, repeat, fold
        Which fold it is, as in `fuselearn.lab.store.Cell`.
    X : DataFrame
        The whole dataset.
    truth, labels : array of int, shape (n_rows,) or (n_rows, n_labels)
        The numbers of the clean and of the corrupted classes, or zeros and ones for labels.
    classes : array of str
        The names of the classes or labels.
    test : array of int
        The rows to score on; the others train.
    estimators : mapping of str to estimator
        By method.
    seeds : mapping of str to int
        By method.
    keep_predictions : bool
        Whether the results carry their predictions.
    """

    dataset: str
    noise: float
    repeat: int
    fold: int
    X: pd.DataFrame
    truth: Codes
    labels: Codes
    classes: npt.NDArray[Any]
    test: Codes
    estimators: Mapping[str, BaseEstimator]
    seeds: Mapping[str, int]
    keep_predictions: bool = False

    def cell(self, method: str) -> Cell:
        """Return where a method's result belongs."""
        return Cell(self.dataset, self.noise, self.repeat, self.fold, method)


def fit_cost(X: pd.DataFrame) -> float:
    """Say how long one fit takes, relative to other datasets.

    Growing a tree sorts every column; on small tables the work around it counts as much.
    """
    rows, columns = X.shape
    return FIXED_COST + rows * log2(rows) * columns


def deal_folds(suite: Suite, dataset: str, y: npt.ArrayLike, repeat: int) -> list[Codes]:
    """Deal the rows into stratified folds, the same for every method and every level of noise.

    Parameters
    ----------
    suite : Suite
        Its seed and its number of folds count.
    dataset : str
        The name of the dataset.
    y : array-like of shape (n_rows,) or (n_rows, n_labels)
        The clean classes or labels.
    repeat : int
        From 0.

    Returns
    -------
    folds : list of arrays of int
        The test rows of each fold.
    """
    seed = derive_seed("folds", suite.seed, dataset, repeat)
    kind = StratifiedKFold if np.ndim(y) == 1 else IterativeStratifiedKFold
    splitter = kind(suite.folds, shuffle=True, random_state=seed)
    return [test for _, test in splitter.split(np.zeros((np.shape(y)[0], 1)), y)]


def corrupted(suite: Suite, dataset: str, y: npt.ArrayLike, noise: float, repeat: int) -> Codes:
    """Corrupt a fraction of all labels, the same for every method and every fold.

    Parameters
    ----------
    suite, dataset, y, repeat
        As for `deal_folds`.
    noise : float
        The fraction.

    Returns
    -------
    labels : array of shape (n_rows,)
    """
    seed = derive_seed("noise", suite.seed, dataset, noise, repeat)
    return corrupt_labels(np.asarray(y), noise, suite.noise_kind, random_state=seed)


def fold_tasks(
    suite: Suite,
    data: Mapping[str, Dataset],
    estimators: Mapping[str, BaseEstimator],
    finished: Set[Cell] = frozenset(),
    *,
    keep_predictions: bool = False,
) -> Iterator[FoldTask]:
    """Yield what remains to be done, the costly datasets first.

    Parameters
    ----------
    suite : Suite
        What to run.
    data : mapping of str to Dataset
        The datasets that are not finished.
    estimators : mapping of str to estimator
        The methods that can run here.
    finished : set of Cell
        What is done already.
    keep_predictions : bool, default=False
        Whether the results carry their predictions.
    """
    for name, dataset in sorted(data.items(), key=lambda item: -fit_cost(item[1].X)):
        classes, truth = _number(dataset)
        for repeat in range(suite.repeats):
            folds = deal_folds(suite, name, truth, repeat)
            for noise in suite.noise:
                labels = corrupted(suite, name, truth, noise, repeat)
                for fold, test in enumerate(folds):
                    missing = {
                        method: estimator
                        for method, estimator in estimators.items()
                        if Cell(name, noise, repeat, fold, method) not in finished
                    }
                    seeds = {
                        method: derive_seed(suite.seed, name, noise, repeat, fold, fit_name(method))
                        for method in missing
                    }
                    if missing:
                        yield FoldTask(
                            name, noise, repeat, fold, dataset.X, truth, labels, classes, test,
                            missing, seeds, keep_predictions,
                        )  # fmt: skip


def _number(dataset: Dataset) -> tuple[npt.NDArray[Any], Codes]:
    """Return the names of the classes or labels, and the target in numbers."""
    if dataset.task == "multilabel":
        return np.array([str(name) for name in dataset.y.columns]), np.asarray(dataset.y, dtype=np.intp)
    return np.unique(np.asarray(dataset.y, dtype=str), return_inverse=True)


def run_fold(task: FoldTask) -> list[Result]:
    """Fit and score every method of a task; one that fails is reported, the others go on.

    Parameters
    ----------
    task : FoldTask

    Returns
    -------
    results : list of Result
    """
    train = np.ones(len(task.truth), dtype=bool)
    train[task.test] = False
    X_train, X_test = task.X[train], task.X.iloc[task.test]
    fits: dict[str, Fit] = {}
    with quietly():
        return [_run_method(task, method, train, X_train, X_test, fits) for method in task.estimators]


class Fit(NamedTuple):
    """A fitted estimator, and how long fitting it took."""

    estimator: Any
    seconds: float


def _run_method(
    task: FoldTask,
    method: str,
    train: npt.NDArray[np.bool_],
    X_train: pd.DataFrame,
    X_test: pd.DataFrame,
    fits: dict[str, Fit],
) -> Result:
    cell, seed = task.cell(method), task.seeds[method]
    # A suite runs for hours on estimators of any origin: whatever one raises is its result.
    try:
        fit = _fit(task, method, X_train, task.labels[train], fits)
        start = time.perf_counter()
        predicted = np.asarray(fit.estimator.predict(X_test))
        predict_seconds = time.perf_counter() - start
        scores = _score(task, fit.estimator, X_test, task.labels[train], predicted)
        components = count_components(fit.estimator)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"[:LONGEST_ERROR]
        return Result(cell, seed, error=text, versions=_versions())
    return Result(
        cell,
        seed,
        scores,
        fit_seconds=fit.seconds,
        predict_seconds=predict_seconds,
        components=components,
        versions=_versions(),
        predictions=_keep(task, predicted) if task.keep_predictions else None,
    )


def _fit(task: FoldTask, method: str, X: pd.DataFrame, labels: Codes, fits: dict[str, Fit]) -> Fit:
    """Fit a method, or make it from the fit of another that it shares."""
    lead = fit_name(method)
    if lead not in fits:
        estimator = seeded(task.estimators[method] if lead == method else METHODS[lead].make(), task.seeds[method])
        if compiles(estimator):
            _warm_up(estimator, X, labels, (lead, task.dataset))
        start = time.perf_counter()
        estimator.fit(X, labels)
        fits[lead] = Fit(estimator, time.perf_counter() - start)
    adapt = METHODS[method].adapt if lead != method else None
    if adapt is None:
        return fits[lead]
    start = time.perf_counter()
    adapted = adapt(fits[lead].estimator, X, labels)
    return Fit(adapted, fits[lead].seconds + time.perf_counter() - start)


def _score(task: FoldTask, estimator: Any, X: pd.DataFrame, labels: Codes, predicted: npt.NDArray[Any]) -> Scores:
    truth = task.truth[task.test]
    if truth.ndim == 2:
        scores = read_probabilities(estimator.predict_proba(X), truth.shape[1]) if _has_scores(estimator) else None
        return score_labels(truth, predicted, scores)
    probabilities = _probabilities(estimator, X, labels, len(task.classes))
    return score_fold(truth, predicted, len(task.classes), probabilities)


def _has_scores(estimator: Any) -> bool:
    return hasattr(estimator, "predict_proba")


def _keep(task: FoldTask, predicted: npt.NDArray[Any]) -> Predictions:
    if predicted.ndim == 1:
        return Predictions(task.test.tolist(), task.classes[predicted].tolist())
    return Predictions(task.test.tolist(), [task.classes[row == 1].tolist() for row in predicted])


def _warm_up(estimator: BaseEstimator, X: pd.DataFrame, labels: Codes, kind: tuple[str, str]) -> None:
    """Compile what a method needs for a dataset, once per process, so that no time includes it."""
    if kind not in _WARM:
        _WARM.add(kind)
        small = clone(estimator)
        if "n_estimators" in small.get_params():
            small.set_params(n_estimators=2)
        small.fit(X, labels).predict_proba(X)


def _probabilities(
    estimator: BaseEstimator, X: pd.DataFrame, labels: Codes, n_classes: int
) -> npt.NDArray[np.float64] | None:
    """Return a column for every class of the dataset, also for those that training never saw."""
    if not _has_scores(estimator):
        return None
    table = np.zeros((len(X), n_classes))
    table[:, getattr(estimator, "classes_", np.unique(labels))] = estimator.predict_proba(X)
    return table


@contextmanager
def quietly() -> Iterator[None]:
    """Drop warnings, which thousands of fits would repeat; scores tell what went wrong.

    Warning filters belong to a whole process, so only its main thread changes them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@cache
def _versions() -> dict[str, str]:
    return {
        "fuselearn": fuselearn.__version__,
        "numpy": np.__version__,
        "scikit_learn": sklearn.__version__,
        "python": platform.python_version(),
    }
