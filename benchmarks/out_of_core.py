"""KFHE from Parquet files that are larger than memory, beside LightGBM: time and peak memory, each in a process."""

from __future__ import annotations

import importlib.util
import resource
import subprocess
import sys
import time
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.timing import pick

N_FEATURES, N_TREES, DEPTH, N_THREADS = 20, 10, 6, 2
SAMPLES_PER_GROUP, GROUPS_PER_FILE = pick(2**19, 2**7), 10


def make_files(folder: Path, n_samples: int) -> None:
    """Write numbers of single precision and two classes, 10 % of them wrong."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    names = [*(f"x{f}" for f in range(N_FEATURES)), "y"]
    for number, first in enumerate(range(0, n_samples, SAMPLES_PER_GROUP * GROUPS_PER_FILE)):
        writer = None
        last = min(first + SAMPLES_PER_GROUP * GROUPS_PER_FILE, n_samples)
        for start in range(first, last, SAMPLES_PER_GROUP):
            rng = np.random.default_rng(start)
            X = rng.standard_normal((min(SAMPLES_PER_GROUP, last - start), N_FEATURES), dtype=np.float32)
            y = (X[:, :4].sum(axis=1) + np.sin(3 * X[:, 4]) > 0) ^ (rng.random(len(X)) < 0.1)
            table = pa.table([*X.T, y.astype(np.int8)], names=names)
            writer = writer or ParquetWriter(folder / f"{number:03}.parquet", table.schema, compression="none")
            writer.write_table(table)
        if writer is not None:
            writer.close()


def fit_ours(folder: Path) -> Any:
    from fuselearn import CARTClassifier, KFHEClassifier
    from fuselearn.scale import DiskEnsemble

    tree = CARTClassifier(complexity=None, max_depth=DEPTH)
    model = KFHEClassifier(tree, N_TREES - 1, sampling="poisson", random_state=0, n_jobs=N_THREADS)
    return DiskEnsemble(model, directory=folder).fit(folder, "y")


def fit_lightgbm(folder: Path) -> Any:
    """Fit by a Dataset of sequences, its documentation's way for data that do not fit into memory."""
    import lightgbm
    from pyarrow.parquet import ParquetFile

    @lru_cache(maxsize=2)
    def read(path: Path, group: int) -> Any:
        table = ParquetFile(path).read_row_group(group, [f"x{f}" for f in range(N_FEATURES)])
        return np.column_stack([column.to_numpy() for column in table.columns]).astype(np.float64)

    class Group(lightgbm.Sequence):
        batch_size = 2**16

        def __init__(self, path: Path, group: int) -> None:
            self.place, self.size = (path, group), ParquetFile(path).metadata.row_group(group).num_rows

        def __getitem__(self, index: Any) -> Any:
            return read(*self.place)[index]

        def __len__(self) -> int:
            return self.size

    files = sorted(folder.glob("*.parquet"))
    groups = [Group(path, group) for path in files for group in range(ParquetFile(path).num_row_groups)]
    y = np.concatenate([ParquetFile(path).read(["y"]).column(0).to_numpy() for path in files])
    data = lightgbm.Dataset(groups, y, params={"max_bin": 255, "num_threads": N_THREADS})
    settings = {
        "objective": "binary", "num_leaves": 2**DEPTH, "max_depth": DEPTH, "num_threads": N_THREADS, "verbosity": -1,
        "max_bin": 255,
    }  # fmt: skip
    return lightgbm.train(settings, data, num_boost_round=N_TREES)


def run_alone(program: str, folder: Path) -> None:
    """Fit in this process, and print the time, the peak memory and the accuracy on the first samples."""
    from pyarrow.parquet import ParquetFile

    started = time.perf_counter()
    model = {"ours": fit_ours, "lightgbm": fit_lightgbm}[program](folder)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    first = ParquetFile(min(folder.glob("*.parquet"))).read_row_group(0).to_pandas()
    predicted = model.predict(first.drop(columns="y"))
    accuracy = np.mean((predicted > 0.5) == first["y"])
    print(f"{program:>9}: {seconds:7.1f} s, {peak:5.2f} GiB at most, accuracy {accuracy:.3f} on the first samples")


def main(n_samples: int = pick(1_000_000, 400), folder: str | None = None) -> None:
    programs = ["ours", *(["lightgbm"] if importlib.util.find_spec("lightgbm") else [])]
    with TemporaryDirectory(dir=folder) as made:
        make_files(Path(made), n_samples)
        size = sum(path.stat().st_size for path in Path(made).iterdir()) / 2**30
        print(
            f"{n_samples:,} x {N_FEATURES}, {size:.1f} GiB of files, {N_TREES} trees of {2**DEPTH} leaves", flush=True
        )
        for program in programs:
            subprocess.run([sys.executable, "-m", "benchmarks.out_of_core", program, made], check=True)


if __name__ == "__main__":
    if sys.argv[1] in ("ours", "lightgbm"):
        run_alone(sys.argv[1], Path(sys.argv[2]))
    else:
        main(int(sys.argv[1]), *sys.argv[2:])
