"""KFHE on a Dask cluster of processes: workers, traffic, cost per member, and LightGBM's Dask classifier.

``python -m benchmarks.scale workers traffic local cost lightgbm`` runs some of the measurements; sizes follow from the
constants below. Times per member are differences between fits of different lengths, without reading and coding.
"""

from __future__ import annotations

import importlib.util
import pickle
import sys
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any
from unittest import mock

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster, wait

from benchmarks.timing import pick, seconds
from fuselearn import CARTClassifier, KFHEClassifier
from fuselearn.scale import DaskEnsemble, DiskEnsemble
from fuselearn.scale.dask_session import DaskSession

N_FEATURES, DEPTH, N_PARTS = 20, 6, 8
FEW, MANY = pick((2, 6), (1, 2))
BEFORE_TREES = (
    "describe_part",
    "sample_values",
    "find_edges",
    "get_upper",
    "reduce",
    "Recipe",
    "sum_weights",
    "_hold",
)


@contextmanager
def cluster(n_workers: int) -> Any:
    """Start a cluster of processes with one thread each."""
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as workers,
        Client(workers) as client,
    ):
        yield client


def make_data(n_samples: int, n_features: int = N_FEATURES, n_classes: int = 2, n_parts: int = N_PARTS) -> Any:
    """Make normal features, and classes that depend on five of them and on noise; workers keep them."""
    chunks = (-(-n_samples // n_parts), n_features)
    X = da.random.default_rng(0).normal(size=(n_samples, n_features), chunks=chunks)
    score = (
        X[:, :4].sum(axis=1) + da.sin(3 * X[:, 4]) + da.random.default_rng(1).normal(size=n_samples, chunks=chunks[0])
    )
    edges = np.quantile(
        np.random.default_rng(0).normal(scale=2.3, size=100_000), np.linspace(0, 1, n_classes + 1)[1:-1]
    )
    X, y = X.persist(), da.digitize(score, edges).persist()
    wait([X, y])
    return X, y


def make_model(n_estimators: int, n_jobs: int | None = None) -> KFHEClassifier:
    tree = CARTClassifier(complexity=None, max_depth=DEPTH, max_bins=255)
    return KFHEClassifier(tree, n_estimators, sampling="poisson", random_state=0, n_jobs=n_jobs)


def per_member(fit: Callable[[int], Any]) -> float:
    """Time a member by fits of few and of many; the first of all fits imports what it needs."""
    fit(1)
    short, long = seconds(lambda: fit(FEW)), seconds(lambda: fit(MANY))
    return (long - short) / (MANY - FEW)


def bytes_received(client: Client, fit: Callable[[], Any]) -> tuple[float, float, float]:
    """Sum what the driver fetches during a fit, and what workers receive from each other once trees grow.

    Coded parts are counted apart: Dask may give some of them to an idle worker.
    """

    def forget(dask_worker: Any) -> None:
        dask_worker.transfer_incoming_log.clear()

    def count(dask_worker: Any) -> list[int]:
        totals = [0, 0]
        for entry in dask_worker.transfer_incoming_log:
            for key, n_bytes in entry["keys"].items():
                name = str(key).split("-")[0]
                if name not in BEFORE_TREES and "(" not in name:
                    totals[name in ("code_part", "Group")] += n_bytes
        return totals

    fetch, fetched = DaskSession.fetch, []

    def fetch_and_count(session: DaskSession, futures: Any) -> Any:
        results = fetch(session, futures)
        fetched.append(len(pickle.dumps(results)))
        return results

    client.run(forget)
    with mock.patch.object(DaskSession, "fetch", fetch_and_count):
        fit()
    counted = list(client.run(count).values())
    return sum(fetched), sum(total[0] for total in counted), sum(total[1] for total in counted)


def compare_workers(n_samples: int = pick(5_000_000, 400)) -> None:
    times = {}
    for n_workers in (1, 2):
        with cluster(n_workers) as client:
            X, y = make_data(n_samples)
            times[n_workers] = per_member(lambda n, X=X, y=y: DaskEnsemble(make_model(n)).fit(X, y))
            del X, y, client
    print(
        f"workers, {n_samples:,} samples: {times[1]:.2f} s per member with 1, {times[2]:.2f} s with 2, "
        f"{times[1] / times[2]:.2f}x",
        flush=True,
    )


def measure_traffic(sizes: tuple[int, ...] = pick((100_000, 1_000_000, 10_000_000), (400,))) -> None:
    with cluster(2) as client:
        for n_samples in sizes:
            X, y = make_data(n_samples)
            moved = [
                bytes_received(client, lambda n=n, X=X, y=y: DaskEnsemble(make_model(n)).fit(X, y))
                for n in (1, FEW, MANY)
            ]
            fetched, sent, copies = ((moved[2][k] - moved[1][k]) / (MANY - FEW) / 1e3 for k in range(3))
            print(
                f"traffic, {n_samples:,} samples: {fetched:,.0f} kB to the driver per member, {sent:,.0f} kB "
                f"between workers, and {copies:,.0f} kB of parts for idle workers",
                flush=True,
            )
            del X, y


def compare_local(n_samples: int = pick(5_000_000, 400)) -> None:
    with cluster(2):
        X, y = make_data(n_samples)
        spread = per_member(lambda n: DaskEnsemble(make_model(n)).fit(X, y))
        X, y = X.compute(), y.compute()
    local = per_member(lambda n: make_model(n, 2).fit(X, y))
    disk = per_member(lambda n: DiskEnsemble(make_model(n, 2)).fit(X, y))
    print(
        f"local, {n_samples:,} samples: {spread:.2f} s per member with 2 workers, {local:.2f} s in memory with 2 "
        f"threads ({spread / local:.1f}x), {disk:.2f} s from disk with 2 threads ({disk / local:.1f}x)",
        flush=True,
    )


def measure_cost() -> None:
    settings = [
        *((n_samples, N_FEATURES, 2) for n_samples in (100_000, 1_000_000, 10_000_000)),
        *((500_000, N_FEATURES, n_classes) for n_classes in (2, 10, 50)),
        *((100_000, n_features, 2) for n_features in (10, 100, 1_000)),
    ]
    with cluster(2):
        for n_samples, n_features, n_classes in pick(settings, [(400, 5, 2)]):
            X, y = make_data(n_samples, n_features, n_classes)
            time = per_member(lambda n, X=X, y=y: DaskEnsemble(make_model(n)).fit(X, y))
            print(f"cost, {n_samples:,} x {n_features}, {n_classes} classes: {time:.2f} s per member", flush=True)
            del X, y


def compare_lightgbm(n_samples: int = pick(2_000_000, 400)) -> None:
    if not importlib.util.find_spec("lightgbm"):
        print("LightGBM is not installed.")
        return
    from lightgbm import DaskLGBMClassifier

    with cluster(2) as client:
        X, y = make_data(n_samples)
        ours = per_member(lambda n: DaskEnsemble(make_model(n)).fit(X, y))
        settings = {"num_leaves": 2**DEPTH, "max_depth": DEPTH, "max_bin": 255, "verbosity": -1, "n_jobs": 1}
        other = per_member(lambda n: DaskLGBMClassifier(n_estimators=n, client=client, **settings).fit(X, y))
        print(
            f"lightgbm, {n_samples:,} samples: {ours:.2f} s per member, {other:.2f} s per tree of LightGBM's Dask "
            f"classifier, {ours / other:.1f}x",
            flush=True,
        )


MEASUREMENTS = {
    "workers": compare_workers,
    "traffic": measure_traffic,
    "local": compare_local,
    "cost": measure_cost,
    "lightgbm": compare_lightgbm,
}


def main(*chosen: str) -> None:
    for name in chosen or MEASUREMENTS:
        MEASUREMENTS[name]()


if __name__ == "__main__":
    main(*sys.argv[1:])
