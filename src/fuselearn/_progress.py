"""Lines of progress during a fit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from fuselearn._messages import format_seconds

Member = TypeVar("Member")

N_LINES = 10
# A fit that is silent for longer prints a line at the next member.
MOST_SILENCE = 30.0


class ProgressLines:
    """Print the progress and the remaining time of a fit.

    Parameters
    ----------
    name : str
        Name of the estimator.
    verbose : int
        0 for no lines, 1 for about ten lines, 2 for one line per member.
    total : int
        Total number of members.
    n_before : int
        Number of members of the previous fit.
    clock : callable
        Returns the time in seconds.
    noun : str
        Name of the members in messages.

    Examples
    --------
    >>> progress = ProgressLines("KFHEClassifier", 1, 20, clock=iter([0.0, 3.0, 6.0]).__next__)
    >>> progress.report(1, {})
    >>> progress.report(2, {"error": 0.25, "gain": 0.5})
    [KFHEClassifier] 2 of 20 members: error 0.250, gain 0.500; 6 s, about 54 s left.
    """

    def __init__(
        self,
        name: str,
        verbose: int,
        total: int,
        n_before: int = 0,
        clock: Callable[[], float] = time.monotonic,
        noun: str = "members",
    ) -> None:
        self.name, self.verbose, self.total, self.n_before, self.noun = name, verbose, total, n_before, noun
        self._clock = clock
        self._started = self._last = clock()

    def report(self, number: int, facts: Mapping[str, float]) -> None:
        """Print a line after a member is trained, if one is due."""
        if not self.verbose:
            return
        now = self._clock()
        is_due = number == self.total or number % max(1, self.total // N_LINES) == 0
        if not (is_due or self.verbose > 1 or now - self._last >= MOST_SILENCE):
            return
        said = ", ".join(f"{name} {value:.3f}" for name, value in facts.items())
        self._print(number, now, f": {said}" if said else "")

    def _print(self, number: int, now: float, said: str = "") -> None:
        self._last, seconds = now, now - self._started
        times = format_seconds(seconds)
        if self.n_before < number < self.total:
            left = seconds / (number - self.n_before) * (self.total - number)
            times += f", about {format_seconds(left)} left"
        print(f"[{self.name}] {number} of {self.total} {self.noun}{said}; {times}.", flush=True)

    def follow(self, members: Iterable[Member], plan: str = "") -> Iterator[Member]:
        """Yield members and report each of them.

        Prints the number of members first. If members take long, prints a line every 30 seconds.
        """
        if self.verbose and plan:
            print(f"[{self.name}] {plan}", flush=True)
        number = self.n_before
        with self._lines_while_silent(lambda: number):
            for member in members:
                yield member
                number += 1
                self.report(number, {})

    @contextmanager
    def _lines_while_silent(self, count: Callable[[], int]) -> Iterator[None]:
        """Print a line from another thread after 30 seconds without one."""
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(max(0.01, self._last + MOST_SILENCE - self._clock())):
                if self._clock() - self._last >= MOST_SILENCE:
                    self._print(count(), self._clock())

        watcher = threading.Thread(target=watch, daemon=True)
        if self.verbose:
            watcher.start()
        try:
            yield
        finally:
            ended.set()
            if self.verbose:
                watcher.join()


def make_reporter(
    estimator: Any, n_members: int, as_estimator: Callable[[Any], Any], n_before: int = 0
) -> Callable[..., bool]:
    """Return the function to call after each member: it prints progress and runs the callback; True ends the fit.

    Parameters
    ----------
    estimator : estimator
        With the parameters ``verbose`` and ``callback``.
    n_members : int
        Total number of members.
    as_estimator : callable
        Converts a model to the estimator that is passed to ``callback``.
    n_before : int
        Number of members of the previous fit.
    """
    progress = ProgressLines(type(estimator).__name__, estimator.verbose, n_members, n_before)

    def report(number: int, model: Any, **facts: float) -> bool:
        progress.report(number, facts)
        # Only a Boolean ends training: what a function such as ``list.append`` returns means nothing.
        answer = None if estimator.callback is None else estimator.callback(number, as_estimator(model))
        return isinstance(answer, bool | np.bool_) and bool(answer)

    return report
