"""Find features that alone predict the target almost perfectly, such as a copy of the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

THRESHOLD = 0.99
"""Balanced accuracy above which a feature is suspicious; petal width, the best feature of iris, has 0.93."""
MOST_SAMPLES, FEWEST_SAMPLES = 2_000, 200
MOST_CELLS = 3e7
"""Maximum of samples x features x classes (or labels) to check; wide tables are subsampled."""
FEWEST_OF_A_KIND = 10
"""Minimum number of samples per class, or with and without a label; fewer may be separated by chance."""


def find_leaks(X: Any, y: Any, names: Sequence[str]) -> list[tuple[str, str, float]]:
    """Find features that alone predict the target almost perfectly.

    Each sample is predicted from the other samples with the same value of the feature or, if there are none, from the
    samples with the next smaller and the next larger value. A class or label is predicted if it is more frequent among
    them than among all samples.

    Parameters
    ----------
    X : DataFrame or sparse array of shape (n_samples, n_features)
    y : Series or DataFrame
        Classes, or an indicator matrix.
    names : sequence of str
        The names of the features.

    Returns
    -------
    list of (feature, target, score)
        The target is the name of y, or of one of its labels. The score is the balanced accuracy on a subsample; for
        classes, the lowest over the classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> find_leaks(X, y, list(X.columns))
    []
    >>> find_leaks(X.assign(code=10 * y), y, [*X.columns, "code"])
    [('code', 'target', 1.0)]
    """
    n_kinds = y.nunique() if y.ndim == 1 else y.shape[1]
    n_used = int(np.clip(MOST_CELLS / max(1, len(names) * n_kinds), FEWEST_SAMPLES, MOST_SAMPLES))
    chosen = np.random.default_rng(0).permutation(len(y))
    if y.ndim == 1:  # as many samples of each class, as far as there are
        rank = y.iloc[chosen].groupby(y.iloc[chosen], observed=True).cumcount()
        chosen = chosen[np.argsort(rank, kind="stable")]
    chosen = np.sort(chosen[:n_used])
    X = sparse.csc_array(X[chosen]) if sparse.issparse(X) else X.iloc[chosen]
    truth = pd.get_dummies(y.iloc[chosen].astype(object)) if y.ndim == 1 else y.iloc[chosen].astype(bool)
    truth = truth.loc[:, (truth.sum() >= FEWEST_OF_A_KIND) & ((~truth).sum() >= FEWEST_OF_A_KIND)]
    if truth.empty:
        return []
    found = []
    for number, feature in enumerate(names):
        values, is_ordered = _rank(X[:, [number]].toarray().ravel() if sparse.issparse(X) else X.iloc[:, number])
        scores = _scores(values, truth.to_numpy(), is_ordered)
        if y.ndim == 1:
            named = {str(y.name): scores.min()}
        else:
            named = dict(zip(map(str, truth.columns), scores, strict=True))
        found += [(str(feature), name, float(score)) for name, score in named.items() if score >= THRESHOLD]
    return found


def _rank(column: Any) -> tuple[npt.NDArray[np.intp], bool]:
    """Encode values as numbers, in sorted order if possible; missing values are a separate value."""
    cells = pd.Series(column)
    is_ordered = pd.api.types.is_numeric_dtype(cells.dtype)
    return pd.factorize(cells, sort=is_ordered, use_na_sentinel=False)[0], is_ordered


def _scores(values: npt.NDArray[np.intp], truth: npt.NDArray[np.bool_], is_ordered: bool) -> npt.NDArray[np.float64]:
    """Return the balanced accuracy, for each column of the truth, of predictions from samples with similar values."""
    both = np.hstack([truth, ~truth])
    counts = np.zeros((values.max() + 3, both.shape[1]))  # with a value more at each end
    np.add.at(counts, values + 1, both)
    others = counts[values + 1] - both
    alone = np.bincount(values)[values] == 1
    if is_ordered:
        others[alone] = counts[values[alone]] + counts[values[alone] + 2]
    present, absent = np.hsplit(others / both.sum(axis=0), 2)
    is_right = np.where(truth, present > absent, absent > present)
    recall = (is_right & truth).sum(axis=0) / truth.sum(axis=0)
    specificity = (is_right & ~truth).sum(axis=0) / (~truth).sum(axis=0)
    return np.asarray((recall + specificity) / 2)
