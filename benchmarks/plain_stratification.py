"""Iterative stratification as one would write it from the paper: the rival of the stratification benchmark."""

from __future__ import annotations

import numpy as np


def plain_folds(Y, n_folds: int, seed: int = 0):  # type: ignore[no-untyped-def]
    """Deal the rows of a dense label array into folds, and give the fold of each row."""
    rng = np.random.default_rng(seed)
    n_rows, n_labels = Y.shape
    room = np.full(n_folds, n_rows / n_folds)
    wishes = np.tile(Y.sum(axis=0) / n_folds, (n_folds, 1))
    left = {label: set(np.flatnonzero(Y[:, label])) for label in range(n_labels)}
    folds = np.full(n_rows, -1)
    while any(left.values()):
        rarest = min((label for label in left if left[label]), key=lambda label: (len(left[label]), rng.random()))
        for row in list(left[rarest]):
            best = np.flatnonzero(wishes[:, rarest] == wishes[:, rarest].max())
            best = best[room[best] == room[best].max()]
            fold = rng.choice(best)
            folds[row] = fold
            room[fold] -= 1
            wishes[fold] -= Y[row]
            for label in np.flatnonzero(Y[row]):
                left[label].discard(row)
    for row in np.flatnonzero(folds < 0):
        folds[row] = room.argmax()
        room[folds[row]] -= 1
    return folds
