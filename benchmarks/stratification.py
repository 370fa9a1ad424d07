"""Iterative stratification into 5 folds, alone on a large table and against a plain version on a smaller one."""

from __future__ import annotations

import numpy as np

from benchmarks.plain_stratification import plain_folds
from benchmarks.timing import best_of_turns, pick, print_limit, print_ratio, seconds
from fuselearn.multilabel import IterativeStratifiedKFold


def draw_labels(n_rows: int, n_labels: int, density: float) -> np.ndarray:
    """Draw labels at random, the most frequent one about a hundred times as frequent as the rarest."""
    frequencies = np.geomspace(1, 0.01, n_labels)
    frequencies *= density / frequencies.mean()
    return (np.random.default_rng(0).random((n_rows, n_labels)) < frequencies).astype(np.int64)


def main() -> None:
    splitter = IterativeStratifiedKFold(5, random_state=0)
    small, large = (draw_labels(n_rows, pick(100, 5), 0.05) for n_rows in pick((10_000, 100_000), (100, 200)))
    list(splitter.split(small, small))
    fastest = min(seconds(lambda: list(splitter.split(large, large))) for _ in range(3))
    print_limit("100,000 rows, 100 labels, 5 % of the labels set", fastest, 3, "s")
    times = best_of_turns(lambda: list(splitter.split(small, small)), lambda: plain_folds(small, 5), 3)
    print_ratio("10,000 rows, 100 labels, 5 % set, against plain Python", *times, 10)


if __name__ == "__main__":
    main()
