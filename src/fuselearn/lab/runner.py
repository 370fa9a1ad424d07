"""Run a suite: distribute the missing tasks over processes, and write each result as it arrives.

A task is one fit, so that a killed run loses only the fits in progress. Tasks are defined in
`fuselearn.lab.protocol`, distributed by joblib, and their results kept in a `ResultStore`.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from typing import Literal

from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator

from fuselearn.lab.methods import Variant, format_settings, make_contenders
from fuselearn.lab.progress import Progress, ProgressCallback, progress_bar
from fuselearn.lab.protocol import FitTask, fit_cost, fit_tasks, quietly, run_fit
from fuselearn.lab.store import Cell, Result, ResultStore
from fuselearn.lab.suites import Suite

__all__ = ["Outcome", "RunError", "run_suite"]


class RunError(RuntimeError):
    """Raised if a run had to stop; finished results are kept."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run.

    Parameters
    ----------
    added : int
        Number of new results.
    kept : int
        Number of results of the suite that the store held before.
    failures : int
        Number of failures among the new results; the store holds the error messages.
    seconds : float
        Duration of the run.
    """

    added: int
    kept: int
    failures: int
    seconds: float


def run_suite(
    suite: Suite,
    store: ResultStore | str | os.PathLike[str],
    *,
    n_jobs: int | None = None,
    estimators: Mapping[str, BaseEstimator | Variant] | None = None,
    retry_failures: bool = False,
    progress: ProgressCallback | Literal["bar"] | None = "bar",
) -> Outcome:
    """Run the tasks of a suite whose results are not yet in a store.

    Stop it at any time, with Ctrl-C or by killing the process, and call it again: it continues where
    it stopped, and the results are those of an uninterrupted run. They do not depend on `n_jobs`, on
    joblib's backend or on the order in which the fits finish.

    Parameters
    ----------
    suite : Suite
        What to run.
    store : ResultStore or path
        Where to write the results; a path is opened, and created if necessary.
    n_jobs : int, optional
        Number of processes; -1 uses all processors. None means 1 unless in joblib's `parallel_config` context, which
        also chooses another backend than processes, such as ``"dask"``.
    estimators : mapping of str to estimator or Variant, optional
        User-defined classifiers for names in ``suite.methods``; they replace the library's methods of
        the same name. Their ``random_state``, if they have one, is set for every fit.
    retry_failures : bool, default=False
        Whether to retry methods that failed in an earlier run.
    progress : callable, "bar" or None, default="bar"
        Called each time results arrive with an object that has the attributes done, total, failures, share (of the
        work), seconds, remaining and dataset; ``"bar"`` shows a progress bar if standard error is a terminal.

    Returns
    -------
    outcome : Outcome

    Raises
    ------
    DatasetError
        If a dataset that is still needed is not available; raised before any fit.
    StoreError
        If the store holds another suite of the same name.
    RunError
        If a worker process dies.
    ValueError
        If a method is not known, or is no classifier.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fuselearn.lab import Suite, run_suite
    >>> suite = Suite("mine", ["iris"], ["Bayes"], noise=[0, 0.1], repeats=1, folds=5)
    >>> path = pathlib.Path(tempfile.mkdtemp(), "results.db")
    >>> run_suite(suite, path, estimators={"Bayes": GaussianNB()}).added
    10
    >>> run_suite(suite, path, estimators={"Bayes": GaussianNB()}).added
    0
    """
    contenders = make_contenders(suite.methods, estimators, suite.task)
    with ExitStack() as stack:
        if not isinstance(store, ResultStore):
            store = stack.enter_context(ResultStore(store))
        store.register(suite, {name: format_settings(contender.estimator) for name, contender in contenders.items()})
        if retry_failures:
            store.forget_failures(suite.name)
        finished = store.finished(suite.name)
        counts = _count_missing(suite, contenders, finished)
        data = {name: suite.load(name) for name in counts}
        tasks = fit_tasks(suite, data, contenders, finished)
        tracker = _Tracker(counts, {name: fit_cost(data[name].X) for name in counts})
        tell = progress
        if tell == "bar":
            tell = stack.enter_context(progress_bar(suite.name))
        stack.enter_context(quietly())
        # In a batch, finished results would have to wait for slower ones.
        parallel = Parallel(n_jobs, return_as="generator_unordered", batch_size=1)
        jobs = effective_n_jobs(parallel.n_jobs)
        run = store.start_run(suite.name, jobs=jobs)
        for results in _spread(parallel, tasks):
            tracker.added += store.add(suite.name, results, run=run)
            tracker.count(results)
            if callable(tell):
                tell(tracker.progress())
    return Outcome(tracker.added, len(finished), tracker.failures, tracker.progress().seconds)


class _Tracker:
    """Count the results that have arrived."""

    def __init__(self, counts: Mapping[str, int], costs: Mapping[str, float]) -> None:
        self.start = time.perf_counter()
        self.total = sum(counts.values())
        self.total_cost = sum(costs[name] * count for name, count in counts.items())
        self.costs = costs
        self.added = self.done = self.failures = 0
        self.done_cost = 0.0
        self.dataset = ""

    def count(self, results: list[Result]) -> None:
        self.done += len(results)
        self.failures += sum(result.error is not None for result in results)
        self.dataset = results[-1].cell.dataset
        self.done_cost += self.costs[self.dataset] * len(results)

    def progress(self) -> Progress:
        return Progress(
            done=self.done,
            total=self.total,
            failures=self.failures,
            share=min(self.done_cost / self.total_cost, 1.0) if self.total else 1.0,
            seconds=time.perf_counter() - self.start,
            dataset=self.dataset,
        )


def _count_missing(suite: Suite, methods: Iterable[str], finished: Set[Cell]) -> dict[str, int]:
    """Return the number of missing results of each incomplete dataset."""
    cells = product(suite.datasets, suite.noise, range(suite.repeats), range(suite.n_test_folds), methods)
    return Counter(cell[0] for cell in cells if cell not in finished)


def _spread(parallel: Parallel, tasks: Iterator[FitTask]) -> Iterator[list[Result]]:
    """Yield the results of each task as soon as it is done."""
    arriving = parallel(delayed(run_fit)(task) for task in tasks)
    try:
        yield from arriving
    except BrokenExecutor as error:
        raise RunError(
            "A worker process died, probably because it ran out of memory. Finished results are kept: "
            "run again with fewer jobs to continue."
        ) from error
    finally:
        arriving.close()
