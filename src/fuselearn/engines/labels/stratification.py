"""Iterative stratification: deal samples to folds, those of the rarest label first."""

import numpy as np

from fuselearn._kernels import kernel


@kernel
def deal_samples(row_starts, row_labels, label_starts, label_rows, label_order, room, shares, draws):  # type: ignore[no-untyped-def]
    """Deal the rows of the rarest label that is left, again and again; then the rows without labels."""
    n_rows, n_labels, n_folds = len(row_starts) - 1, len(label_starts) - 1, len(room)
    left = np.empty(n_labels, dtype=np.int64)
    # Wishes times the sum of the shares are whole numbers, so that equal ones are equal.
    whole = shares.sum()
    wishes = np.empty((n_labels, n_folds), dtype=np.int64)
    for label in range(n_labels):
        left[label] = label_starts[label + 1] - label_starts[label]
        for fold in range(n_folds):
            wishes[label, fold] = left[label] * shares[fold]
    folds = np.full(n_rows, -1, dtype=np.int32)

    for _ in range(n_labels):
        rarest = _find_rarest(left, label_order)
        if rarest < 0:
            break
        for i in range(label_starts[rarest], label_starts[rarest + 1]):
            row = label_rows[i]
            if folds[row] < 0:
                fold = _find_neediest(wishes[rarest], room, draws[row])
                folds[row] = fold
                room[fold] -= 1
                for j in range(row_starts[row], row_starts[row + 1]):
                    wishes[row_labels[j], fold] -= whole
                    left[row_labels[j]] -= 1

    for row in range(n_rows):
        if folds[row] < 0:
            folds[row] = _find_neediest(room, room, draws[row])
            room[folds[row]] -= 1
    return folds


@kernel
def _find_rarest(left, label_order):  # type: ignore[no-untyped-def]
    """Find the label with the fewest rows left, the first of equal ones; -1 if no label has any."""
    rarest = -1
    for label in label_order:
        if left[label] > 0 and (rarest < 0 or left[label] < left[rarest]):
            rarest = label
    return rarest


@kernel
def _find_neediest(wishes, room, draw):  # type: ignore[no-untyped-def]
    """Find the fold with the largest wish, then the most room; ``draw`` in [0, 1) chooses between equal ones."""
    best, n_equal = -1, 0
    for fold in range(len(room)):
        if room[fold] > 0:
            if best < 0 or (wishes[fold], room[fold]) > (wishes[best], room[best]):
                best, n_equal = fold, 1
            elif (wishes[fold], room[fold]) == (wishes[best], room[best]):
                n_equal += 1
    chosen = int(draw * n_equal)
    for fold in range(best, len(room)):
        if (wishes[fold], room[fold]) == (wishes[best], room[best]):
            if chosen == 0:
                best = fold
                break
            chosen -= 1
    return best
