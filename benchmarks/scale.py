"""KFHE on a Dask cluster of two processes: what travels per iteration as samples grow, and times beside a local fit."""

from __future__ import annotations

import sys
from typing import Any

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

from benchmarks.timing import seconds
from fuselearn import CARTClassifier, KFHEClassifier
from fuselearn.dask import DaskKFHEClassifier

N_FEATURES, N_PARTS = 20, 8
FEW, MANY = 2, 6
TREE = CARTClassifier(complexity=-1.0, max_depth=6, max_bins=255)


def make_data(n_samples: int) -> tuple[Any, Any]:
    X = da.random.default_rng(0).normal(size=(n_samples, N_FEATURES), chunks=(n_samples // N_PARTS, N_FEATURES))
    return X, (X[:, :4].sum(axis=1) + da.sin(3 * X[:, 4]) > 0).astype(np.int64)


def bytes_between_workers(client: Client) -> int:
    """Sum up what workers have received from each other since they were started."""
    received = client.run(lambda dask_worker: sum(entry["total"] for entry in dask_worker.transfer_incoming_log))
    return sum(received.values())


def main(sizes: tuple[int, ...] = (100_000, 1_000_000)) -> None:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        for n_samples in sizes:
            X, y = (values.persist() for values in make_data(n_samples))
            moved, times = [], []
            for n_estimators in (FEW, FEW, MANY):  # the first compiles kernels
                before = bytes_between_workers(client)
                model = DaskKFHEClassifier(TREE, n_estimators, random_state=0, client=client)
                times.append(seconds(lambda model=model, X=X, y=y: model.fit(X, y)))
                moved.append(bytes_between_workers(client) - before)
            kilobytes = (moved[2] - moved[1]) / (MANY - FEW) / 1e3
            iteration = (times[2] - times[1]) / (MANY - FEW)
            local = KFHEClassifier(TREE, MANY, sampling="poisson", random_state=0, n_jobs=-1)
            alone = seconds(lambda local=local, X=X, y=y: local.fit(X.compute(), y.compute()))
            print(
                f"{n_samples:>10,} samples: {kilobytes:8.0f} kB between workers and {iteration:6.2f} s per iteration; "
                f"{MANY} iterations {times[2]:6.1f} s, on one machine {alone:6.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    main(tuple(int(size) for size in sys.argv[1:]) or (100_000, 1_000_000))
