"""How far a run is: the numbers, and a bar for whoever sits at a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn
from rich.progress import Progress as Bar

__all__ = ["Progress", "ProgressCallback", "format_seconds", "progress_bar"]


@dataclass(frozen=True)
class Progress:
    """What a run reports each time results arrive.

    Parameters
    ----------
    done, total : int
        Results of this run, and how many were missing when it started.
    failures : int
        How many of those done are errors.
    share : float
        The part of the work that is done, from 0 to 1. Costly datasets count for more.
    seconds : float
        Since the start of the run.
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
        """An estimate of the seconds left; None as long as nothing is known."""
        if not self.share:
            return None
        return self.seconds * (1 - self.share) / self.share


ProgressCallback = Callable[[Progress], None]


def format_seconds(seconds: float) -> str:
    """Write a length of time as one would say it.

    Examples
    --------
    >>> from fuselearn.lab.running.progress import format_seconds
    >>> format_seconds(42.4), format_seconds(95), format_seconds(3 * 3600 + 59)
    ('42 s', '1 min 35 s', '3 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(whole / 60)
    return f"{minutes // 60} h {minutes % 60} min"


@contextmanager
def progress_bar(title: str, console: Console | None = None) -> Iterator[ProgressCallback]:
    """Show a bar on standard error while the block runs, and give the callback that moves it.

    Nothing is written where standard error is no terminal.

    Parameters
    ----------
    title : str
        What stands before the bar.
    console : rich.console.Console, optional
        Where to draw; by default standard error.
    """
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[state]}"),
    )
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
