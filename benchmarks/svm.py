"""One weighted SVM on a slice of a Gram matrix, against ``SVC(kernel="precomputed")`` with the same weights.

Both start from a Gram matrix of all rows, in the number type that suits them (float32 here, float64 there), take the
slice of the drawn rows and train to the same tolerance on one thread. The weights are how often a row was drawn in 2n
draws. The rows with "Platt" calibrate by cross-validation over 5 folds: ours over drawn copies, the other
(``CalibratedClassifierCV``) over rows. Without the data (see ``FUSELEARN_DATA``), random tables of the same shape are
used instead.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.calibration import CalibratedClassifierCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.homer import load
from benchmarks.timing import best_of_turns, print_ratio
from fuselearn._core import take_block
from fuselearn.learners.kernels import compute_gram
from fuselearn.learners.svm import deal_folds, train_columns

N_SLICE = 2_000
TURNS = 7

Array = npt.NDArray[Any]


def train_ours(gram: Array, rows: Array, y: Array, counts: Array, platt: bool) -> None:
    folds = deal_folds(counts[rows], 5, 0) if platt else None
    signs = np.where(y[rows] > 0, 1.0, -1.0)[None]
    train_columns(take_block(gram, rows), signs, counts[rows].astype(float), 1.0, folds=folds)


def train_other(gram: Array, rows: Array, y: Array, counts: Array, platt: bool) -> None:
    machine = SVC(kernel="precomputed")
    if platt:
        machine = CalibratedClassifierCV(machine, ensemble=False, cv=5)
    machine.fit(gram[np.ix_(rows, rows)], y[rows], sample_weight=counts[rows])


def compare(title: str, X: Array, y: Array, kernel: str, n_rows: int | None, platt: bool, at_least: float) -> None:
    counts = np.bincount(np.random.default_rng(0).integers(len(X), size=2 * len(X)), minlength=len(X))
    rows = np.flatnonzero(counts)[:n_rows]
    gram = compute_gram(StandardScaler().fit_transform(X), kernel, 1 / X.shape[1])
    sample: tuple[Any, ...] = (rows, y, counts, platt)
    train_ours(gram, *sample)
    other = partial(train_other, gram.astype(np.float64), *sample)
    times = best_of_turns(partial(train_ours, gram, *sample), other, TURNS)
    print_ratio(f"{title}, {kernel}{', Platt' * platt}, {len(rows)} rows", *times, at_least)


def main() -> None:
    for name in ("yeast", "emotions", "enron"):
        X, Y, title = load(name)
        for kernel in ("rbf", "linear"):
            if name == "yeast":
                compare(f"SVM on a slice of {title}", X, Y[:, 0], kernel, N_SLICE, False, 3)
            compare(f"SVM, {title}", X, Y[:, 0], kernel, None, False, 3)
            compare(f"SVM, {title}", X, Y[:, 0], kernel, None, True, 3)


if __name__ == "__main__":
    main()
