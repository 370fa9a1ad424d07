"""The experimental protocol: splits, label noise and scores.

The protocol is that of the KFHE papers. For each repeat the samples are split into stratified folds (iteratively
stratified for multi-label data); for each noise level a fraction of all labels is corrupted, once as in the papers or
anew in each repeat. Every method is trained on the corrupted labels of the same training samples and scored on the
clean labels of the same test samples.

A `FitTask` contains its data, so that the process that runs it needs no file, no environment
variable and no state from earlier tasks; pickling a table takes about a millisecond.
"""

from __future__ import annotations

import platform
import threading
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from math import log2
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import sklearn
from sklearn import metrics
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

import fuselearn
from fuselearn._parameters import seed_estimator
from fuselearn.datasets import Dataset, corrupt_labels
from fuselearn.lab.methods import Contender
from fuselearn.lab.store import Cell, Result
from fuselearn.lab.suites import Suite, derive_seed
from fuselearn.learners.clones import read_probabilities
from fuselearn.multilabel import IterativeStratifiedKFold, label_scores
from fuselearn.multilabel.metrics import multilabel_scores

Codes = npt.NDArray[np.intp]
Probabilities = npt.NDArray[np.float64]
Adapt = Callable[[Any, Any, Any], Any]

LONGEST_ERROR = 2000
N_BINS = 10
# Calibrated on the times of KFHE on iris, breast_cancer and digits.
FIXED_COST = 40_000


@dataclass(frozen=True, eq=False)
class FitTask:
    """One fit on one fold, and the methods that share it, usually one.

    Parameters
    ----------
    dataset, noise, repeat, fold
        Which fold it is, as in `Cell`.
    X : DataFrame
        The whole dataset.
    truth, labels : array of int, shape (n_samples,) or (n_samples, n_labels)
        The clean and the corrupted class indices, or indicator matrices for labels.
    names : array of str
        The names of the classes or labels.
    test : array of int
        Indices of the test samples; all others are training samples.
    estimator : estimator
        The estimator to fit.
    methods : mapping of str to callable or None
        For each name, the function that adapts the fitted estimator; None to use it unchanged.
    seed : int
        The random state of the fit.
    zero_division : float
        The score of a label that is neither true nor predicted.
    """

    dataset: str
    noise: float
    repeat: int
    fold: int
    X: pd.DataFrame
    truth: Codes
    labels: Codes
    names: npt.NDArray[Any]
    test: Codes
    estimator: Any
    methods: Mapping[str, Adapt | None]
    seed: int
    zero_division: float


def fit_cost(X: pd.DataFrame) -> float:
    """Estimate the time of one fit, relative to other datasets.

    Growing a tree sorts every feature; on small data the overhead is as large.
    """
    n_samples, n_features = X.shape
    return FIXED_COST + n_samples * log2(n_samples) * n_features


def make_folds(suite: Suite, dataset: str, y: npt.ArrayLike, repeat: int) -> list[Codes]:
    """Return the test samples of each stratified fold, the same for every method and noise level.

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
    """
    seed = derive_seed("folds", suite.seed, dataset, repeat)
    kind = StratifiedKFold if np.ndim(y) == 1 else IterativeStratifiedKFold
    splitter = kind(suite.folds, shuffle=True, random_state=seed)
    return [test for _, test in splitter.split(np.zeros((np.shape(y)[0], 1)), y)]


def corrupted(suite: Suite, dataset: str, X: pd.DataFrame, y: npt.ArrayLike, noise: float, repeat: int) -> Codes:
    """Corrupt a fraction of all labels, the same for all methods and folds, and for all repeats if drawn once.

    Parameters
    ----------
    suite, dataset, y, repeat
        As for `make_folds`.
    X : DataFrame of shape (n_samples, n_features)
        The features, on which some kinds of noise depend.
    noise : float
        The fraction.
    """
    drawn_for = () if suite.noise_draw == "once" else (repeat,)
    seed = derive_seed("noise", suite.seed, dataset, noise, *drawn_for)
    return corrupt_labels(np.asarray(y), noise, suite.noise_kind, X=X, random_state=seed)


def fit_tasks(
    suite: Suite, data: Mapping[str, Dataset], contenders: Mapping[str, Contender], finished: Set[Cell] = frozenset()
) -> Iterator[FitTask]:
    """Yield the remaining tasks, the expensive datasets first.

    Parameters
    ----------
    suite : Suite
        What to run.
    data : mapping of str to Dataset
        The datasets that are not finished.
    contenders : mapping of str to Contender
        Its methods.
    finished : set of Cell
        The finished cells.
    """
    for name, dataset in sorted(data.items(), key=lambda item: -fit_cost(item[1].X)):
        names, truth = _number(dataset)
        for repeat in range(suite.repeats):
            folds = make_folds(suite, name, truth, repeat)[: suite.n_test_folds]
            for noise in suite.noise:
                labels = corrupted(suite, name, dataset.X, truth, noise, repeat)
                for fold, test in enumerate(folds):
                    shared: dict[str, dict[str, Adapt | None]] = defaultdict(dict)
                    for method, contender in contenders.items():
                        if Cell(name, noise, repeat, fold, method) not in finished:
                            shared[contender.fit_name][method] = contender.adapt
                    for fit_name, methods in shared.items():
                        estimator = contenders[next(iter(methods))].estimator
                        seed = derive_seed(suite.seed, name, noise, repeat, fold, fit_name)
                        yield FitTask(
                            name, noise, repeat, fold, dataset.X, truth, labels, names, test, estimator, methods, seed,
                            suite.zero_division,
                        )  # fmt: skip


def _number(dataset: Dataset) -> tuple[npt.NDArray[Any], Codes]:
    """Return the names of the classes or labels, and the encoded target."""
    if dataset.task == "multilabel":
        return np.array([str(name) for name in dataset.y.columns]), np.asarray(dataset.y, dtype=np.intp)
    return np.unique(np.asarray(dataset.y, dtype=str), return_inverse=True)


def run_fit(task: FitTask) -> list[Result]:
    """Fit once, and return the result of every method that shares the fit.

    An exception is recorded as the result, since a suite runs for hours on arbitrary estimators.
    """
    train = np.ones(len(task.truth), dtype=bool)
    train[task.test] = False
    X, labels = task.X[train], task.labels[train]
    with quietly():
        try:
            estimator = seed_estimator(clone(task.estimator), task.seed, same=True)
            start = time.perf_counter()
            estimator.fit(X, labels)
            seconds = time.perf_counter() - start
        except Exception as error:
            return [_failure(task, method, error) for method in task.methods]
        return [_run_method(task, method, estimator, seconds, X, labels) for method in task.methods]


def _run_method(
    task: FitTask, method: str, estimator: Any, fit_seconds: float, X: pd.DataFrame, labels: Codes
) -> Result:
    X_test, truth = task.X.iloc[task.test], task.truth[task.test]
    adapt = task.methods[method]
    by_label = None
    try:
        if adapt is not None:
            start = time.perf_counter()
            estimator = adapt(estimator, X, labels)
            fit_seconds += time.perf_counter() - start
        start = time.perf_counter()
        predicted = np.asarray(estimator.predict(X_test))
        predict_seconds = time.perf_counter() - start
        probabilities = _probabilities(task, estimator, X_test, labels)
        if truth.ndim == 1:
            scores = score_classes(truth, predicted, len(task.names), probabilities)
        else:
            scores = score_labels(truth, predicted, probabilities, zero_division=task.zero_division)
            named = pd.DataFrame(truth, columns=task.names)
            by_label = label_scores(named, predicted, probabilities, empty=task.zero_division)
    except Exception as error:
        return _failure(task, method, error)
    return Result(
        _cell(task, method),
        task.seed,
        scores,
        fit_seconds=fit_seconds,
        predict_seconds=predict_seconds,
        versions=_versions(),
        label_scores=by_label,
    )


def _cell(task: FitTask, method: str) -> Cell:
    return Cell(task.dataset, task.noise, task.repeat, task.fold, method)


def _failure(task: FitTask, method: str, error: Exception) -> Result:
    text = f"{type(error).__name__}: {error}"[:LONGEST_ERROR]
    return Result(_cell(task, method), task.seed, error=text, versions=_versions())


def _probabilities(task: FitTask, estimator: Any, X: pd.DataFrame, labels: Codes) -> Probabilities | None:
    """Return a column for every class or label of the dataset, including classes missing from the training samples."""
    if not hasattr(estimator, "predict_proba"):
        return None
    if labels.ndim == 2:
        return read_probabilities(estimator.predict_proba(X), labels.shape[1])
    table = np.zeros((len(X), len(task.names)))
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
        "fuselearn": fuselearn.__version__,
        "numpy": np.__version__,
        "scikit_learn": sklearn.__version__,
        "python": platform.python_version(),
    }


def score_classes(
    truth: npt.ArrayLike, predicted: npt.ArrayLike, n_classes: int, probabilities: Probabilities | None = None
) -> dict[str, float]:
    """Score the predictions on one fold.

    ::

        F1 of class c  = 2 (correct in c) / (samples of c + samples predicted as c),  0 where 0 / 0
        macro F1       = mean of F1 over all classes of the dataset
        balanced accuracy = mean over the classes in the fold of (correct in c) / (samples of c)
        AUC            = mean over the classes in the fold of the area under the ROC curve against the others
        Brier score    = mean over the samples of the squared error summed over the classes, from 0 to 2

    A class without a sample in the fold counts with an F1 of 0, as in the R package PerfMeas that the KFHE paper used;
    scikit-learn's default ignores a class that is neither in the fold nor predicted. For the log loss, probabilities
    are first divided by their sum over the classes.

    Parameters
    ----------
    truth, predicted : array-like of int, shape (n_samples,)
        Classes, numbered from 0.
    n_classes : int
        Number of classes of the dataset, in this fold or not.
    probabilities : array of shape (n_samples, n_classes), optional
        Needed for log loss, AUC, Brier score and calibration error.

    Returns
    -------
    scores : dict of float
        Keys of ``SCORES["multiclass"]``. The AUC of a single class is missing.

    Examples
    --------
    >>> from fuselearn.lab.protocol import score_classes
    >>> score_classes([0, 0, 1, 1], [0, 0, 1, 0], n_classes=3)
    {'macro_f1': 0.48888..., 'accuracy': 0.75, 'balanced_accuracy': 0.75}
    """
    truth, predicted = np.asarray(truth, dtype=np.intp), np.asarray(predicted, dtype=np.intp)
    classes, present = np.arange(n_classes), np.unique(truth)
    if predicted.min() < 0 or predicted.max() >= n_classes:
        raise ValueError(
            f"predicted must hold classes from 0 to {n_classes - 1}; it has values from "
            f"{predicted.min()} to {predicted.max()}."
        )
    scores = {
        "macro_f1": metrics.f1_score(truth, predicted, labels=classes, average="macro", zero_division=0),
        "accuracy": metrics.accuracy_score(truth, predicted),
        "balanced_accuracy": metrics.recall_score(truth, predicted, labels=present, average="macro"),
    }
    if probabilities is not None:
        table = np.asarray(probabilities, dtype=np.float64)
        table = table / table.sum(axis=1, keepdims=True)
        scores["log_loss"] = metrics.log_loss(truth, table, labels=classes)
        if len(present) > 1:
            scores["auc"] = np.mean([metrics.roc_auc_score(truth == c, table[:, c]) for c in present])
        scores["brier"] = metrics.brier_score_loss(truth, table, labels=classes, scale_by_half=False)
        scores["calibration_error"] = calibration_error(truth, table)
    return {name: float(value) for name, value in scores.items()}


def score_labels(
    truth: npt.ArrayLike,
    predicted: npt.ArrayLike,
    probabilities: Probabilities | None = None,
    *,
    zero_division: float = 0.0,
) -> dict[str, float]:
    """Score the predicted labels of one fold.

    AUC and average precision ignore labels that are constant in the fold. The log loss is the mean over all samples and
    labels, the accuracy the fraction of samples with all labels correct.

    Parameters
    ----------
    truth, predicted : array-like of 0 and 1, shape (n_samples, n_labels)
    probabilities : array of shape (n_samples, n_labels), optional
        Used for the log loss and for the scores of probabilities.
    zero_division : float, default=0.0
        Precision, recall, F1 and Jaccard index of a label that neither occurs in the fold nor is predicted.

    Returns
    -------
    scores : dict of float
        Keys of ``SCORES["multilabel"]``; scores that are undefined on the fold are missing.

    Examples
    --------
    >>> from fuselearn.lab.protocol import score_labels
    >>> scores = score_labels([[1, 0, 0], [1, 1, 0]], [[1, 0, 0], [1, 0, 0]])
    >>> round(scores["macro_f1"], 4), scores["accuracy"], round(scores["hamming_loss"], 4)
    (0.3333, 0.5, 0.1667)
    """
    truth, predicted = np.asarray(truth), np.asarray(predicted)
    if predicted.shape != truth.shape or not np.isin(predicted, (0, 1)).all():
        raise ValueError(f"predicted must hold 0 and 1 in the shape {truth.shape}; it has the shape {predicted.shape}.")
    # Measures that classes have, too, are called as for classes.
    called = {"subset_accuracy": "accuracy", "macro_auc": "auc"}
    found = multilabel_scores(truth, predicted, probabilities, empty=zero_division)
    scores = {called.get(name, name): float(value) for name, value in found.items() if not np.isnan(value)}
    if probabilities is not None:
        scores["log_loss"] = float(metrics.log_loss(truth.ravel(), probabilities.ravel()))
    return scores


def calibration_error(truth: npt.ArrayLike, probabilities: npt.ArrayLike) -> float:
    """Return the expected calibration error of the most probable class, in ten bins of equal width.

    ::

        error = sum over bins of  (samples in the bin / all samples) * |accuracy - mean probability|

    Parameters
    ----------
    truth : array-like of int, shape (n_samples,)
        Classes, numbered from 0.
    probabilities : array-like of shape (n_samples, n_classes)

    Examples
    --------
    >>> from fuselearn.lab.protocol import calibration_error
    >>> round(calibration_error([0, 1], [[0.75, 0.25], [0.75, 0.25]]), 4)
    0.25
    """
    table = np.asarray(probabilities, dtype=np.float64)
    confidence, right = table.max(axis=1), table.argmax(axis=1) == np.asarray(truth)
    bins = np.minimum((confidence * N_BINS).astype(np.intp), N_BINS - 1)
    return float(np.abs(np.bincount(bins, weights=right - confidence)).sum() / len(bins))
