"""Fit time from 10,000 to 1,000,000 rows, and peak memory of the largest fit."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np

from benchmarks.timing import pick, print_limit, seconds
from fuselearn import KFHEClassifier

SIZES = pick((10_000, 100_000, 1_000_000), (200, 300, 400))

MEMORY_PROGRAM = """
import re
from pathlib import Path
from benchmarks.scaling import SIZES, make_table
from fuselearn import KFHEClassifier

def memory(field):
    return int(re.search(field + r":\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1e6

KFHEClassifier(n_estimators=1, random_state=0).fit(*make_table(SIZES[0]))
X, y = make_table(SIZES[-1])
Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here on
before = memory("VmRSS")
KFHEClassifier(n_estimators=10, random_state=0).fit(X, y)
print(memory("VmHWM") - before)
"""


def make_table(n_rows: int):  # type: ignore[no-untyped-def]
    """Make float32 columns and three classes that depend on some of them, chunk by chunk to keep the peak low."""
    rng = np.random.default_rng(0)
    X = np.empty((n_rows, 30), dtype=np.float32)
    for start in range(0, n_rows, 50_000):
        X[start : start + 50_000] = rng.normal(size=X[start : start + 50_000].shape)
    score = X[:, 0] * X[:, 1] + X[:, 2] - 0.5 * X[:, 3] ** 2 + rng.normal(scale=0.5, size=n_rows).astype(np.float32)
    return X, np.digitize(score, [-0.8, 0.5]).astype(np.int64)


def main() -> None:
    times = {}
    for n_rows in SIZES:
        X, y = make_table(n_rows)
        KFHEClassifier(n_estimators=1, random_state=0).fit(X[:5000], y[:5000])
        runs = 3 if n_rows < 1_000_000 else 1
        times[n_rows] = min(
            seconds(lambda: KFHEClassifier(n_estimators=10, random_state=0).fit(X, y))  # noqa: B023
            for _ in range(runs)
        )
        per = times[n_rows] / (n_rows * math.log2(n_rows))
        print(
            f"  {n_rows:>9,} rows x 30, 10 components: {times[n_rows]:.2f} s, {per * 1e9:.1f} ns per row x log2(rows)"
        )
    growth = times[SIZES[-1]] / times[SIZES[0]]
    n_log_n = 100 * math.log2(1_000_000) / math.log2(10_000)
    print_limit("growth of fit time from 10,000 to 1,000,000 rows", growth, n_log_n, "times (n log n)")
    done = subprocess.run([sys.executable, "-c", MEMORY_PROGRAM], capture_output=True, text=True, check=True)
    print_limit("peak memory of a fit on 1,000,000 x 30, beyond X", float(done.stdout), 1.0, "GB")


if __name__ == "__main__":
    main()
