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
BEFORE_TREES = ("describe_part", "sample_values", "find_edges", "find_upper", "raise_upper", "Recipe")
TREE = CARTClassifier(complexity=-1.0, max_depth=6, max_bins=255)


def make_data(n_samples: int) -> tuple[Any, Any]:
    X = da.random.default_rng(0).normal(size=(n_samples, N_FEATURES), chunks=(n_samples // N_PARTS, N_FEATURES))
    return X, (X[:, :4].sum(axis=1) + da.sin(3 * X[:, 4]) > 0).astype(np.int64)


def bytes_received(client: Client, parts: bool) -> int:
    """Sum up what workers have received from each other: parts that Dask gave to an idle worker, or all else.

    What is read or sampled before the first tree is left out.
    """

    def count(dask_worker: Any) -> int:
        total = 0
        for entry in dask_worker.transfer_incoming_log:
            for key, n_bytes in entry["keys"].items():
                name = str(key).split("-")[0]
                if name not in BEFORE_TREES and "(" not in name and (name == "code_part") == parts:
                    total += n_bytes
        return total

    return sum(client.run(count).values())


def main(sizes: tuple[int, ...] = (100_000, 1_000_000)) -> None:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        for n_samples in sizes:
            X, y = (values.persist() for values in make_data(n_samples))
            moved, times = [], []
            for n_estimators in (FEW, FEW, MANY):  # the first compiles kernels
                before = bytes_received(client, parts=False)
                model = DaskKFHEClassifier(TREE, n_estimators, random_state=0, client=client)
                times.append(seconds(lambda model=model, X=X, y=y: model.fit(X, y)))
                moved.append(bytes_received(client, parts=False) - before)
            kilobytes = (moved[2] - moved[1]) / (MANY - FEW) / 1e3
            iteration = (times[2] - times[1]) / (MANY - FEW)
            local = KFHEClassifier(TREE, MANY, sampling="poisson", random_state=0, n_jobs=-1)
            alone = seconds(lambda local=local, X=X, y=y: local.fit(X.compute(), y.compute()))
            copies = bytes_received(client, parts=True) / 1e3
            print(f"{n_samples:,} samples: {kilobytes:.0f} kB between workers and {iteration:.2f} s per iteration")
            print(f"  copies of parts since the start: {copies:.0f} kB")
            print(f"  {MANY} iterations: {times[2]:.1f} s, on one machine: {alone:.1f} s", flush=True)


if __name__ == "__main__":
    main(tuple(int(size) for size in sys.argv[1:]) or (100_000, 1_000_000))
