"""Lines of progress during a fit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from fuselearn._messages import format_seconds

Member = TypeVar("Member")

N_LINES = 10
# A fit that is silent for longer prints a line at the next member.
MOST_SILENCE = 30.0


class ProgressLines:
    """Print how far a fit is, and how long it will take.

    Parameters
    ----------
    name : str
        What is fitted.
    verbose : int
        0 for no lines, 1 for ten lines, more if the fit is long, 2 for a line per member.
    total : int
        Number of members there will be.
    n_before : int
        Number of members that there are already.
    clock : callable
        Returns seconds.
    noun : str
        What is counted.

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
        """Print a line, if it is time, after a member is trained."""
        if not self.verbose:
            return
        now = self._clock()
        is_due = number == self.total or number % max(1, self.total // N_LINES) == 0
        if not (is_due or self.verbose > 1 or now - self._last >= MOST_SILENCE):
            return
        self._last, seconds = now, now - self._started
        said = ", ".join(f"{name} {value:.3f}" for name, value in facts.items())
        times = format_seconds(seconds)
        if number < self.total:
            left = seconds / (number - self.n_before) * (self.total - number)
            times += f", about {format_seconds(left)} left"
        print(f"[{self.name}] {number} of {self.total} {self.noun}{': ' if said else ''}{said}; {times}.", flush=True)

    def follow(self, members: Iterable[Member]) -> Iterator[Member]:
        """Yield members as they are trained, and report each."""
        for number, member in enumerate(members, start=self.n_before + 1):
            yield member
            self.report(number, {})


def make_reporter(
    estimator: Any, n_members: int, as_estimator: Callable[[Any], Any], n_before: int = 0
) -> Callable[..., bool]:
    """Return what is called after each member of an ensemble: it prints progress, and calls back; True ends the fit.

    Parameters
    ----------
    estimator : estimator
        With the parameters ``verbose`` and ``callback``.
    n_members : int
        Number of members there will be.
    as_estimator : callable
        Turns a model into the estimator that ``callback`` gets.
    n_before : int
        Number of members that there are already.
    """
    progress = ProgressLines(type(estimator).__name__, estimator.verbose, n_members, n_before)

    def report(number: int, model: Any, **facts: float) -> bool:
        progress.report(number, facts)
        # Only a Boolean ends training: what a function such as ``list.append`` returns means nothing.
        answer = None if estimator.callback is None else estimator.callback(number, as_estimator(model))
        return isinstance(answer, bool | np.bool_) and bool(answer)

    return report
