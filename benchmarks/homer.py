"""E-HOMER against the same algorithm written plainly with SVC, and against a forest; memory of KFHE-HOMER.

Both draw 2n rows per HOMER, both on one thread. The plain program trains the first HOMERs with the same settings as
ours, its time is scaled to 20. Neither calibrates (``probability="logistic"``); the time with Platt's calibration by
cross-validation, the default, is printed beside it. Then both ensembles of HOMERs, with calibration and without, are
compared with a PCT forest of as many trees, by processor time. At last KFHE-HOMER with 100 members, calibrated on five
folds, the default, and on two, and the fused classifier are compared with scikit-learn's random forest of 100 trees:
processor time and peak memory, each in a process of its own, and the processor time of predicting a single sample.
Without the data (see ``FUSELEARN_DATA``), random tables of the same shape are used instead.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_multilabel_classification
from sklearn.preprocessing import StandardScaler

from benchmarks.plain_homer import PlainHOMER
from benchmarks.tables import load_labels
from benchmarks.timing import pick, print_limit, print_ratio, seconds
from fuselearn import SVMClassifier, datasets
from fuselearn.multilabel import EnsembleHOMERClassifier, KFHEHOMERClassifier, PCTForestClassifier

N_COMPONENTS = pick(20, 2)

MANY = pick(100, 2)


class Shape(NamedTuple):
    """Size of a dataset, and how many labels its rows have on average."""

    n_rows: int
    n_columns: int
    n_labels: int
    cardinality: float


SHAPES = {
    "emotions": Shape(593, 72, 6, 1.9),
    "enron": Shape(1702, 1001, 53, 3.4),
    "yeast": Shape(2417, 103, 14, 4.2),
}
PLAIN_COMPONENTS = pick({"emotions": 20, "enron": 3, "yeast": 3}, {"emotions": 2})

COST_PROGRAM = """
import sys, time, warnings
from sklearn.ensemble import RandomForestClassifier
from benchmarks.homer import load
from fuselearn import SVMClassifier
from fuselearn.multilabel import FusedMultilabelClassifier, KFHEHOMERClassifier

def memory(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024

warnings.simplefilter("ignore")
X, Y, _ = load(sys.argv[1])
many = int(sys.argv[3])
model = {
    "KFHE-HOMER": KFHEHOMERClassifier(n_estimators=many),
    "KFHE-HOMER, cv=2": KFHEHOMERClassifier(SVMClassifier(cv=2), many, varied={"kernel": ["rbf", "linear"]}),
    "fused": FusedMultilabelClassifier(),
    "forest": RandomForestClassifier(many),
}[sys.argv[2]].set_params(random_state=0)
model.fit(X[:100], Y[:100])
before, start = memory("VmRSS"), time.process_time()
model.fit(X, Y)
print(time.process_time() - start, memory("VmHWM") - before, len(X))
times = []
for i in range(51):
    start = time.process_time()
    model.predict(X[i : i + 1])
    times.append(1000 * (time.process_time() - start))
print(sorted(times)[25])
"""


class Cost(NamedTuple):
    """What a fit costs."""

    seconds: float
    megabytes: float
    n_rows: float
    sample_milliseconds: float
    """Median time of predicting a single sample."""


def cost_of(kind: str, name: str) -> Cost:
    """Fit a model in a process of its own."""
    words = [sys.executable, "-c", COST_PROGRAM, name, kind, str(MANY)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return Cost(*map(float, done.stdout.split()))


def load(name: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Give a dataset as arrays, or a random one of its shape, and a name that tells which."""
    try:
        X, Y = load_labels(name)
        return X.to_numpy(dtype=float), Y, name
    except datasets.DatasetError:
        n_rows, n_columns, n_labels, cardinality = SHAPES[name]
        X, Y = make_multilabel_classification(
            n_rows, n_columns, n_classes=n_labels, n_labels=round(cardinality), random_state=0
        )
        return X, Y, f"{name}-sized"


def fit_plainly(X: np.ndarray, Y: np.ndarray, settings: list[tuple[str, int, str]]) -> None:
    X = StandardScaler().fit_transform(X)
    rng = np.random.default_rng(0)
    for clustering, n_clusters, kernel in settings:
        drawn = rng.integers(len(X), size=2 * len(X))
        PlainHOMER(clustering, n_clusters, kernel, int(rng.integers(2**31))).fit(X[drawn], Y[drawn])


def compare_with_forest(X: np.ndarray, Y: np.ndarray, title: str) -> None:
    """Print what ensembles of HOMERs cost, in costs of a forest, with and without Platt's calibration."""
    uncalibrated, kernels = SVMClassifier(probability="logistic"), {"kernel": ["rbf", "linear"]}
    forest = _processor_seconds(PCTForestClassifier(N_COMPONENTS, random_state=0), X, Y)
    for ensemble in (EnsembleHOMERClassifier, KFHEHOMERClassifier):
        whole = _processor_seconds(ensemble(None, N_COMPONENTS, varied=kernels, random_state=0), X, Y)
        plain = _processor_seconds(ensemble(uncalibrated, N_COMPONENTS, varied=kernels, random_state=0), X, Y)
        costs = f"{whole / forest:.1f} times a PCT forest, {plain / forest:.1f} times without calibration"
        print(f"  {ensemble.__name__}, {title}: {costs}", flush=True)


def _processor_seconds(model: Any, X: np.ndarray, Y: np.ndarray) -> float:
    model.fit(X[:100], Y[:100])
    start = time.process_time()
    model.fit(X, Y)
    return time.process_time() - start


def main() -> None:
    for name, n_plain in PLAIN_COMPONENTS.items():
        X, Y, title = load(name)
        EnsembleHOMERClassifier(n_estimators=2, random_state=0).fit(X[:100], Y[:100])
        uncalibrated, kernels = SVMClassifier(probability="logistic"), {"kernel": ["rbf", "linear"]}
        ours = EnsembleHOMERClassifier(uncalibrated, N_COMPONENTS, varied=kernels, random_state=0)
        ours_time = min(seconds(lambda: ours.fit(X, Y)) for _ in range(pick(2, 1)))  # noqa: B023
        settings = [
            (homer.clustering, homer.n_clusters, homer.estimator.kernel) for homer in ours.estimators_[:n_plain]
        ]
        plain_time = seconds(lambda: fit_plainly(X, Y, settings)) * N_COMPONENTS / n_plain  # noqa: B023
        print_ratio(f"E-HOMER fit, {N_COMPONENTS} components, {title}", ours_time, plain_time, 20)
        platt = EnsembleHOMERClassifier(n_estimators=N_COMPONENTS, random_state=0)
        print(f"  with Platt's calibration: {seconds(lambda: platt.fit(X, Y)):.2f} s")  # noqa: B023
        compare_with_forest(X, Y, title)
    if sys.platform != "linux":
        print("peak memory is measured on Linux only")
        return
    for name in PLAIN_COMPONENTS:
        title, forest = load(name)[2], cost_of("forest", name)
        for kind, limit in (("KFHE-HOMER", 1.5), ("KFHE-HOMER, cv=2", 1.5), ("fused", 3.0)):
            cost = cost_of(kind, name)
            times, memory = cost.seconds / forest.seconds, cost.megabytes / max(forest.megabytes, 1.0)
            print_limit(f"time of {kind}, {title}", times, limit, "of a random forest")
            print_limit(f"memory of {kind}, {title}", memory, 1.5, f"of a random forest ({forest.megabytes:.0f} MB)")
            print_limit(f"one sample predicted by {kind}, {title}", cost.sample_milliseconds, 5, "ms")
            if kind == "KFHE-HOMER" and name == "enron":
                beyond = cost.megabytes - 2 * 4 * cost.n_rows**2 / 2**20
                print_limit(f"memory of KFHE-HOMER, 100 components, {title}, beyond Gram", beyond, 300, "MB")


if __name__ == "__main__":
    main()
