"""The progress of a run, as numbers and as a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn
from rich.progress import Progress as Bar

from fuselearn._messages import format_seconds

__all__ = ["Progress", "ProgressCallback", "progress_bar"]


@dataclass(frozen=True)
class Progress:
    """The progress that a run reports each time results arrive.

    Parameters
    ----------
    done, total : int
        Results of this run, and the number that was missing when it started.
    failures : int
        Number of failures among them.
    share : float
        The fraction of the work that is done; expensive datasets count for more.
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
