"""The experimental protocol: how data are split and corrupted, and how one fit is scored.

The protocol is that of the KFHE papers. For each repeat the samples are split into stratified folds
(iteratively stratified for multi-label data); for each level of noise a fraction of all labels is
corrupted, once as in the papers or anew in each repeat. Every method is trained on the corrupted
labels of the same training samples and scored on the clean labels of the same test samples.

A `FitTask` contains its data, so that the process that runs it needs no file, no environment
variable and no state from earlier tasks; pickling a table takes about a millisecond.
"""

from __future__ import annotations

import platform
import subprocess
import threading
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from math import log2
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import sklearn
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

import fuselearn
from fuselearn._random import seed_estimator
from fuselearn.datasets import Dataset, corrupt_labels
from fuselearn.lab.running.methods import Contender, count_components
from fuselearn.lab.running.scoring import Scores, score_fold, score_labels
from fuselearn.lab.running.store import Cell, Predictions, Result
from fuselearn.lab.running.suites import Suite, derive_seed
from fuselearn.multilabel import IterativeStratifiedKFold, label_scores
from fuselearn.multilabel.data.labels import read_probabilities

__all__ = ["FitTask", "corrupted", "deal_folds", "fit_cost", "fit_tasks", "quietly", "run_fit"]

Codes = npt.NDArray[np.intp]

LONGEST_ERROR = 2000
# Calibrated on the times of KFHE on iris, breast_cancer and digits.
FIXED_COST = 40_000


@dataclass(frozen=True, eq=False)
class FitTask:
    """One fit on one fold, and the methods that share it, usually one.

    Parameters
    ----------
    dataset, noise, repeat, fold
        Which fold it is, as in `fuselearn.lab.running.store.Cell`.
    X : DataFrame
        The whole dataset.
    truth, labels : array of int, shape (n_samples,) or (n_samples, n_labels)
        The numbers of the clean and of the corrupted classes, or zeros and ones for labels.
    classes : array of str
        The names of the classes or labels.
    test : array of int
        The test samples; the others are used for training.
    contenders : mapping of str to Contender
        By method; all have the same fit.
    seed : int
        The random state of the fit.
    keep_predictions : bool
        Whether the results include predictions.
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
    contenders: Mapping[str, Contender]
    seed: int
    keep_predictions: bool = False

    def cell(self, method: str) -> Cell:
        """Return the cell of a method's result."""
        return Cell(self.dataset, self.noise, self.repeat, self.fold, method)


def fit_cost(X: pd.DataFrame) -> float:
    """Estimate the time of one fit, relative to other datasets.

    Growing a tree sorts every feature; on small data the overhead is as large.
    """
    rows, columns = X.shape
    return FIXED_COST + rows * log2(rows) * columns


def deal_folds(suite: Suite, dataset: str, y: npt.ArrayLike, repeat: int) -> list[Codes]:
    """Split the samples into stratified folds, the same for every method and every level of noise.

    Parameters
    ----------
    suite : Suite
        Its seed and its number of folds are used.
    dataset : str
        The name of the dataset.
    y : array-like of shape (n_samples,) or (n_samples, n_labels)
        The clean classes or labels.
    repeat : int
        From 0.

    Returns
    -------
    folds : list of arrays of int
        The test samples of each fold.
    """
    seed = derive_seed("folds", suite.seed, dataset, repeat)
    kind = StratifiedKFold if np.ndim(y) == 1 else IterativeStratifiedKFold
    splitter = kind(suite.folds, shuffle=True, random_state=seed)
    return [test for _, test in splitter.split(np.zeros((np.shape(y)[0], 1)), y)]


def corrupted(suite: Suite, dataset: str, X: pd.DataFrame, y: npt.ArrayLike, noise: float, repeat: int) -> Codes:
    """Corrupt a fraction of all labels, the same for every method and every fold, and for every repeat if drawn once.

    Parameters
    ----------
    suite, dataset, y, repeat
        As for `deal_folds`.
    X : DataFrame of shape (n_samples, n_features)
        The features, on which some kinds of noise depend.
    noise : float
        The fraction.

    Returns
    -------
    labels : array of shape (n_samples,)
    """
    drawn_for = () if suite.noise_draw == "once" else (repeat,)
    seed = derive_seed("noise", suite.seed, dataset, noise, *drawn_for)
    return corrupt_labels(np.asarray(y), noise, suite.noise_kind, X=X, random_state=seed)


def fit_tasks(
    suite: Suite,
    data: Mapping[str, Dataset],
    contenders: Mapping[str, Contender],
    finished: Set[Cell] = frozenset(),
    *,
    keep_predictions: bool = False,
) -> Iterator[FitTask]:
    """Yield the remaining tasks, the expensive datasets first.

    Parameters
    ----------
    suite : Suite
        What to run.
    data : mapping of str to Dataset
        The datasets that are not finished.
    contenders : mapping of str to Contender
        The methods that can run here.
    finished : set of Cell
        The finished cells.
    keep_predictions : bool, default=False
        Whether the results include predictions.
    """
    for name, dataset in sorted(data.items(), key=lambda item: -fit_cost(item[1].X)):
        classes, truth = _number(dataset)
        for repeat in range(suite.repeats):
            folds = deal_folds(suite, name, truth, repeat)[: suite.n_test_folds]
            for noise in suite.noise:
                labels = corrupted(suite, name, dataset.X, truth, noise, repeat)
                for fold, test in enumerate(folds):
                    fits: dict[str, dict[str, Contender]] = defaultdict(dict)
                    for method, contender in contenders.items():
                        if Cell(name, noise, repeat, fold, method) not in finished:
                            fits[contender.fit_name][method] = contender
                    for fit_name, sharing in fits.items():
                        seed = derive_seed(suite.seed, name, noise, repeat, fold, fit_name)
                        yield FitTask(
                            name, noise, repeat, fold, dataset.X, truth, labels, classes, test,
                            sharing, seed, keep_predictions,
                        )  # fmt: skip


def _number(dataset: Dataset) -> tuple[npt.NDArray[Any], Codes]:
    """Return the names of the classes or labels, and the encoded target."""
    if dataset.task == "multilabel":
        return np.array([str(name) for name in dataset.y.columns]), np.asarray(dataset.y, dtype=np.intp)
    return np.unique(np.asarray(dataset.y, dtype=str), return_inverse=True)


def run_fit(task: FitTask) -> list[Result]:
    """Fit once, and score every method that shares the fit.

    A suite runs for hours on arbitrary estimators: an exception is recorded as the result.

    Parameters
    ----------
    task : FitTask

    Returns
    -------
    results : list of Result
        One per method, in the order of the task.
    """
    train = np.ones(len(task.truth), dtype=bool)
    train[task.test] = False
    X, labels = task.X[train], task.labels[train]
    with quietly():
        try:
            fit = _fit(task, X, labels)
        except Exception as error:
            return [_failure(task, method, error) for method in task.contenders]
        return [_run_method(task, method, fit, X, labels) for method in task.contenders]


class Fit(NamedTuple):
    """A fitted estimator, and its fit time."""

    estimator: Any
    seconds: float


def _fit(task: FitTask, X: pd.DataFrame, labels: Codes) -> Fit:
    contender = next(iter(task.contenders.values()))
    estimator = seed_estimator(clone(contender.trained), task.seed, same=True)
    start = time.perf_counter()
    estimator.fit(X, labels)
    return Fit(estimator, time.perf_counter() - start)


def _run_method(task: FitTask, method: str, shared: Fit, X: pd.DataFrame, labels: Codes) -> Result:
    X_test = task.X.iloc[task.test]
    try:
        fit = _adapt(task.contenders[method], shared, X, labels)
        start = time.perf_counter()
        predicted = np.asarray(fit.estimator.predict(X_test))
        predict_seconds = time.perf_counter() - start
        probabilities = _probabilities(task, fit.estimator, X_test, labels)
        scores = _score(task, predicted, probabilities)
        components = count_components(fit.estimator)
    except Exception as error:
        return _failure(task, method, error)
    return Result(
        task.cell(method),
        task.seed,
        scores,
        fit_seconds=fit.seconds,
        predict_seconds=predict_seconds,
        components=components,
        versions=_versions(),
        predictions=_keep(task, predicted) if task.keep_predictions else None,
        label_scores=_score_each_label(task, predicted, probabilities) if task.truth.ndim == 2 else None,
    )


def _adapt(contender: Contender, shared: Fit, X: pd.DataFrame, labels: Codes) -> Fit:
    if contender.adapt is None:
        return shared
    start = time.perf_counter()
    adapted = contender.adapt(shared.estimator, X, labels)
    return Fit(adapted, shared.seconds + time.perf_counter() - start)


def _failure(task: FitTask, method: str, error: Exception) -> Result:
    text = f"{type(error).__name__}: {error}"[:LONGEST_ERROR]
    return Result(task.cell(method), task.seed, error=text, versions=_versions())


def _score(task: FitTask, predicted: npt.NDArray[Any], probabilities: npt.NDArray[np.float64] | None) -> Scores:
    truth = task.truth[task.test]
    if truth.ndim == 2:
        return score_labels(truth, predicted, probabilities)
    return score_fold(truth, predicted, len(task.classes), probabilities)


def _score_each_label(
    task: FitTask, predicted: npt.NDArray[Any], probabilities: npt.NDArray[np.float64] | None
) -> pd.DataFrame:
    truth = pd.DataFrame(task.truth[task.test], columns=task.classes)
    return label_scores(truth, predicted, probabilities)


def _keep(task: FitTask, predicted: npt.NDArray[Any]) -> Predictions:
    if predicted.ndim == 1:
        return Predictions(task.test.tolist(), task.classes[predicted].tolist())
    return Predictions(task.test.tolist(), [task.classes[row == 1].tolist() for row in predicted])


def _probabilities(task: FitTask, estimator: Any, X: pd.DataFrame, labels: Codes) -> npt.NDArray[np.float64] | None:
    """Return a column for every class or label of the dataset, including classes missing from the training samples."""
    if not hasattr(estimator, "predict_proba"):
        return None
    if labels.ndim == 2:
        return read_probabilities(estimator.predict_proba(X), labels.shape[1])
    table = np.zeros((len(X), len(task.classes)))
    table[:, getattr(estimator, "classes_", np.unique(labels))] = estimator.predict_proba(X)
    return table


@contextmanager
def quietly() -> Iterator[None]:
    """Suppress warnings, which thousands of fits would repeat.

    Warning filters are global to a process, so only its main thread changes them.
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
        "fuselearn": fuselearn.__version__ + _revision(),
        "numpy": np.__version__,
        "scikit_learn": sklearn.__version__,
        "python": platform.python_version(),
    }


def _revision() -> str:
    """Return the commit of a source checkout as a local version label, and an empty text for an installed package."""
    root = Path(fuselearn.__file__).parents[2]
    if not (root / ".git").exists():
        return ""
    describe = ["git", "-C", str(root), "describe", "--always", "--exclude=*", "--dirty=.changed"]
    try:
        answer = subprocess.run(describe, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return f"+{answer.stdout.strip()}"
