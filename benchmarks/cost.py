"""Processor time and memory of a fit by samples x features (x labels); writes them to the file that is named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.timing import pick

CLASSES = pick(((1_000, 20), (10_000, 20), (100_000, 20), (10_000, 200)), ((100, 5),))
LABELS = pick(
    ((1_000, 50, 10), (10_000, 50, 10), (1_000, 500, 10), (1_000, 50, 100), (50_000, 50, 100)), ((100, 5, 3),)
)
FEW_SAMPLES = pick(((1_000, 50, 10), (3_000, 50, 10), (1_000, 500, 10), (1_000, 50, 100)), ((100, 5, 3),))
METHODS = {
    "fuselearn:FusedClassifier()": CLASSES,
    "fuselearn:KFHEClassifier()": CLASSES,
    "fuselearn.diagnosis:audit_labels": CLASSES,
    "sklearn.ensemble:RandomForestClassifier()": CLASSES,
    "fuselearn.multilabel:FusedMultilabelClassifier()": LABELS,
    "fuselearn.multilabel:KFHEHOMERClassifier()": FEW_SAMPLES,
    "fuselearn.multilabel:PCTForestClassifier()": LABELS,
}
PROGRAM = """
import re, sys, time, warnings
from importlib import import_module
from pathlib import Path
from benchmarks.cost import make_table

def memory(field):
    return int(re.search(field + r":\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1e3

warnings.simplefilter("ignore")
module, name = sys.argv[1].split(":")
found = getattr(import_module(module), name.removesuffix("()"))
fit = (lambda X, y: found().fit(X, y)) if name.endswith("()") else found
sizes = [int(size) for size in sys.argv[2:]]
fit(*make_table(100, *sizes[1:]))  # loads what the fit needs
X, y = make_table(*sizes)
Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here on
before, start = memory("VmRSS"), time.process_time()
fit(X, y)
print(time.process_time() - start, memory("VmHWM") - before)
"""


def make_table(n_samples: int, n_features: int, n_labels: int = 0):  # type: ignore[no-untyped-def]
    """Return features, and three classes or an indicator matrix, which depend on some of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, n_features))
    if n_labels:
        return X, (X @ rng.normal(size=(n_features, n_labels)) > n_features**0.5).astype(np.int64)
    score = X[:, 0] * X[:, 1] + X[:, 2] - 0.5 * X[:, 3] ** 2 + rng.normal(scale=0.5, size=n_samples)
    return X, np.digitize(score, [-0.8, 0.5])


def measure(method: str, size: tuple[int, ...]) -> tuple[float, float]:
    """Return the processor time in seconds and the peak memory in MB of a fit in a process of its own."""
    command = [sys.executable, "-c", PROGRAM, method, *map(str, size)]
    seconds, megabytes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(seconds), float(megabytes)


def main(path: str = "") -> None:
    rows = []
    for method, sizes in METHODS.items():
        for size in sizes:
            seconds, megabytes = measure(method, size)
            name = method.partition(":")[2].removesuffix("()")
            shown = " x ".join(f"{number:,}" for number in size)
            rows.append((name, shown, f"{float(f'{seconds:.2g}'):g}", f"{max(1, round(megabytes)):,}"))
            print("  {:<28} {:<18} {:>8} s {:>8} MB".format(*rows[-1]), flush=True)
    if path:
        columns = ["method", "samples x features (x labels)", "processor seconds", "memory in MB"]
        pd.DataFrame(rows, columns=columns).to_csv(Path(path), index=False, lineterminator="\n")
