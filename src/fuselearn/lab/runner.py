"""Run a suite: distribute the missing tasks over processes, and write each result as it arrives.

A task is one fit, so that a killed run loses only the fits in progress. Tasks are defined in
`fuselearn.lab.protocol`, distributed by joblib, and their results kept in a `ResultStore`.
"""

from __future__ import annotations

import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Literal

from joblib import Parallel, delayed, effective_n_jobs
from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn
from rich.progress import Progress as Bar
from sklearn.base import BaseEstimator

from fuselearn._messages import format_seconds
from fuselearn.lab.methods import Variant, format_settings, make_contenders
from fuselearn.lab.protocol import FitTask, fit_cost, fit_tasks, quietly, run_fit
from fuselearn.lab.store import Cell, Result, ResultStore
from fuselearn.lab.suites import Suite


class RunError(RuntimeError):
    """Raised if a run stops early; finished results are kept."""


@dataclass(frozen=True)
class Progress:
    """The progress that a run reports each time results arrive.

    Parameters
    ----------
    done, total : int
        Results of this run, and the number of missing results at its start.
    failures : int
        Number of failures among them.
    share : float
        The finished fraction of the work; expensive datasets count more.
    seconds : float
        Time since the start of the run.
    dataset : str
        The dataset of the last results; empty before the first.
    """

    done: int
    total: int
    failures: int
    share: float
    seconds: float
    dataset: str = ""

    @property
    def remaining(self) -> float | None:
        """Estimated seconds left; None before the first result."""
        if not self.share:
            return None
        return self.seconds * (1 - self.share) / self.share


ProgressCallback = Callable[[Progress], None]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run.

    Parameters
    ----------
    added : int
        Number of new results.
    kept : int
        Number of results of the suite in the store at the start.
    failures : int
        Number of failures among the new results; the store contains the error messages.
    failed_methods : dict of str to str
        The methods whose fits all failed, with an error message of each.
    seconds : float
        Duration of the run.
    """

    added: int
    kept: int
    failures: int
    failed_methods: Mapping[str, str]
    seconds: float


def run_suite(
    suite: Suite,
    store: ResultStore | str | os.PathLike[str],
    *,
    n_jobs: int | None = None,
    estimators: Mapping[str, BaseEstimator | Variant] | None = None,
    retry_failures: bool = False,
    progress: ProgressCallback | Literal["bar"] | None = "bar",
    command: str = "",
) -> Outcome:
    """Run the tasks of a suite that are not yet in a store.

    A run can be stopped at any time, with Ctrl-C or by killing the process. Call `run_suite` again to continue; the
    results equal those of an uninterrupted run. They do not depend on `n_jobs`, on joblib's backend or on the order of
    the fits.

    Parameters
    ----------
    suite : Suite
        What to run.
    store : ResultStore or path
        The store for the results; a path is opened, and created if necessary.
    n_jobs : int, optional
        Number of processes; -1 uses all processors. None means 1 unless in a joblib `parallel_config` context, which
        also selects the backend, such as ``"dask"``.
    estimators : mapping of str to estimator or Variant, optional
        User-defined classifiers for names in ``suite.methods``; they replace the library's methods of the same name. A
        ``random_state`` parameter is set for every fit.
    retry_failures : bool, default=False
        Whether to retry methods that failed in an earlier run.
    progress : callable, "bar" or None, default="bar"
        Called each time results arrive with an object that has the attributes done, total, failures, share (of the
        work), seconds, remaining and dataset; ``"bar"`` shows a progress bar if standard error is a terminal.
    command : str, optional
        The command line that runs the suite, for the report; the Python code of the suite by default.

    Returns
    -------
    outcome : Outcome

    Raises
    ------
    DatasetError
        If a required dataset is not available; raised before the first fit.
    StoreError
        If the store contains a different suite with the same name.
    RunError
        If a worker process dies.
    ValueError
        If a method is unknown, or is not a classifier.

    Warns
    -----
    UserWarning
        If every fit of a method failed.

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
        costs = {name: fit_cost(data[name].X) for name in counts}
        work = sum(costs[name] * count for name, count in counts.items())
        start, added, now = time.perf_counter(), 0, Progress(0, sum(counts.values()), 0, share=0.0, seconds=0.0)
        tell = progress
        if tell == "bar":
            tell = stack.enter_context(progress_bar(suite.name))
        stack.enter_context(quietly())
        # Without batches, so that finished results do not wait for slower ones.
        parallel = Parallel(n_jobs, return_as="generator_unordered", batch_size=1)
        jobs = effective_n_jobs(parallel.n_jobs)
        run = store.start_run(suite.name, jobs=jobs, command=command)
        for results in _spread(parallel, tasks):
            added += store.add(suite.name, results, run=run)
            dataset = results[-1].cell.dataset
            now = Progress(
                done=now.done + len(results),
                total=now.total,
                failures=now.failures + sum(result.error is not None for result in results),
                share=min(now.share + costs[dataset] * len(results) / work, 1.0),
                seconds=time.perf_counter() - start,
                dataset=dataset,
            )
            if callable(tell):
                tell(now)
        failed = store.failed_methods(suite.name)
    for method, error in failed.items():
        warnings.warn(f"Every fit of the method {method} failed: {error}", stacklevel=2)
    return Outcome(added, len(finished), now.failures, failed, time.perf_counter() - start)


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


@contextmanager
def progress_bar(title: str, console: Console | None = None) -> Iterator[ProgressCallback]:
    """Show a progress bar on standard error while the block runs, and yield the callback that updates it.

    Nothing is written if standard error is not a terminal.

    Parameters
    ----------
    title : str
        Text before the bar.
    console : rich.console.Console, optional
        Where to draw; standard error by default.
    """
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[state]}"))
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=1.0, state="")

        def move(progress: Progress) -> None:
            bar.update(task, completed=progress.share, state=_state(progress))

        yield move


def _state(progress: Progress) -> str:
    parts = [f"{progress.done} of {progress.total} fits"]
    if progress.remaining is not None and progress.done < progress.total:
        parts.append(f"about {format_seconds(progress.remaining)} left")
    if progress.failures:
        parts.append(f"{progress.failures} failed")
    if progress.dataset:
        parts.append(progress.dataset)
    return ", ".join(parts)
