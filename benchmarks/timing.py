"""Measure two programs in turns, and print how they compare."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, TypeVar

SMALL = os.environ.get("BENCHMARK_SIZE") == "small"
"""Whether benchmarks only show that they run, on few samples: ``BENCHMARK_SIZE=small python -m benchmarks``."""

T = TypeVar("T")


def pick(whole: T, small: T) -> T:
    """Return the size that a claim is about, or that of a small run."""
    return small if SMALL else whole


def seconds(work: Callable[[], Any]) -> float:
    """Time one run."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def best_of_turns(ours: Callable[[], Any], other: Callable[[], Any], turns: int) -> tuple[float, float]:
    """Time both in turns, so that a busy spell of the machine hits both, and give the best time of each."""
    times = [(seconds(ours), seconds(other)) for _ in range(pick(turns, 1))]
    return min(t[0] for t in times), min(t[1] for t in times)


def print_ratio(claim: str, ours: float, other: float, at_least: float) -> None:
    """Print a comparison and whether it reaches what is claimed."""
    ratio = other / ours
    verdict = "ok" if ratio >= at_least else "MISSED"
    times = f"ours {_time(ours):>9}  other {_time(other):>9}"
    print(f"{claim:<58} {times}  ratio {ratio:7.1f}x  (at least {at_least:g}x: {verdict})", flush=True)


def print_limit(claim: str, measured: float, at_most: float, unit: str) -> None:
    """Print a measurement and whether it stays below a limit."""
    verdict = "ok" if measured <= at_most else "MISSED"
    print(f"{claim:<58} {measured:.2f} {unit}  (at most {at_most:g} {unit}: {verdict})", flush=True)


def _time(t: float) -> str:
    return f"{t * 1e6:.0f} us" if t < 1e-3 else f"{t * 1e3:.2f} ms" if t < 1 else f"{t:.2f} s"
