"""Add label noise: change an exact number of classes or labels.

Experiments on noisy labels need the same noise for every method and a known amount of it. So the
number of changed labels is not itself random: it is the fraction of the samples, rounded to the
nearest integer, halves to the even one.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from fuselearn._messages import show
from fuselearn._random import make_generator
from fuselearn.datasets.feature_noise import Changes, draw_boundary, draw_classes, draw_dependent, draw_neighbour

Labels = TypeVar("Labels")

FEATURE_KINDS = {"boundary": draw_boundary, "neighbour": draw_neighbour, "feature-dependent": draw_dependent}
KINDS = ("uniform", "pair", "class-conditional", *FEATURE_KINDS)
LABEL_KINDS = ("uniform", "forgotten")


def corrupt_labels(
    y: Labels,
    fraction: float,
    kind: str = "uniform",
    *,
    X: Any = None,
    transition: Any = None,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
) -> Labels:
    """Change the class of a fraction of the samples, or flip a fraction of the labels.

    Exactly ``round(n * fraction)`` samples are chosen (halves round to the even number), and each
    of them gets a class other than its own.

    Parameters
    ----------
    y : list, tuple, array, Series or DataFrame
        One class per sample; or a 2-D table of 0 and 1 with one column per label, in which that
        fraction of the entries is flipped. It is not modified.
    fraction : float
        Between 0 and 1.
    kind : str, default="uniform"
        Which samples change, and to which class. A multi-label `y` supports ``"uniform"``, which flips any entries, and
        ``"forgotten"`` only.

        - ``"uniform"``: any samples, to any other class present, all equally likely.
        - ``"pair"``: any samples, to the next class in sorted order, the first one after the last.
          (A pandas categorical has the order of its categories.)
        - ``"class-conditional"``: by `transition`.
        - ``"boundary"``: the samples nearest to the border of their class: those with the largest
          ratio of the distance to the nearest sample of their own class to the distance to the
          nearest one of another class, whose class they get [2]_. Only ties are random.
        - ``"neighbour"``: any samples, to the class of the nearest sample of another class [3]_.
        - ``"feature-dependent"``: a sample x of class c with a probability proportional to
          sigmoid(2 x.w_cc), to class j with a probability proportional to exp(2 x.w_cj), where
          the directions w are drawn from a normal distribution, and all x.w are scaled to mean 0
          and variance 1 over the samples: sigmoid noise [4]_ with part-dependent classes [5]_.
        - ``"forgotten"``: of a multi-label `y`, that fraction of the ones becomes 0, and no 0 changes: people who label
          samples forget labels more often than they invent them.
    X : {array-like, DataFrame} of shape (n_samples, n_features), optional
        The features, which the last three kinds need and the others ignore. Numbers are scaled to
        mean 0 and variance 1; two categories are as far apart as one standard deviation; missing
        numbers count as the mean.
    transition : array of shape (n_classes, n_classes), optional
        For ``"class-conditional"``: row c holds the probabilities with which class c is observed
        as each class, in the order of ``"pair"``; rows sum to 1. A sample of class c is drawn with a
        probability proportional to 1 - transition[c, c], and its new class follows the rest of
        that row of the matrix. None draws each row of the matrix from the flat Dirichlet
        distribution, with `random_state`.
    random_state : int, Generator, RandomState or None
        Pass an int for reproducible noise, whatever the container of `y`.

    Returns
    -------
    corrupted : same type as `y`
        With the same index, names and dtype.

    Warns
    -----
    UserWarning
        If no sample has the label of some class any more.

    References
    ----------
    The R package noisemodel, J. A. Saez (2022), Mathematics 10(20), 3736, has the same kinds of noise and others.

    .. [1] A. Pakrashi and B. Mac Namee (2019). Kalman Filter-based Heuristic Ensemble (KFHE).
       Information Sciences 485, section on noise: ``"uniform"``.
    .. [2] L. P. F. Garcia, J. Lehmann, A. de Carvalho and A. C. Lorena (2019). New label noise injection methods for
       the evaluation of noise filters. Knowledge-Based Systems 163, 693-704.
    .. [3] P. H. Seo, G. Kim and B. Han (2019). Combinatorial inference against label noise. NeurIPS 32.
    .. [4] J. Cheng, T. Liu, K. Ramamohanarao and D. Tao (2020). Learning with bounded instance- and label-dependent
       label noise. ICML, PMLR 119, 1789-1799.
    .. [5] X. Xia et al. (2020). Part-dependent label noise: towards instance-dependent label noise. NeurIPS 33.

    Examples
    --------
    >>> from fuselearn.datasets import corrupt_labels
    >>> clean = ["ant", "bee", "cat"] * 10
    >>> noisy = corrupt_labels(clean, 0.2, random_state=0)
    >>> sum(a != b for a, b in zip(clean, noisy))
    6
    >>> corrupt_labels(["ant", "bee", "cat"], 1.0, kind="pair")
    ['bee', 'cat', 'ant']
    >>> corrupt_labels([[0, 1], [1, 1]], 1.0)
    [[1, 0], [0, 0]]
    >>> corrupt_labels([[0, 1], [1, 1]], 1.0, kind="forgotten")
    [[0, 0], [0, 0]]

    The third of five samples on a line is the nearest to the other class:

    >>> corrupt_labels(["ant", "ant", "ant", "bee", "bee"], 0.2, kind="boundary", X=[[0], [1], [4], [6], [7]])
    ['ant', 'ant', 'bee', 'bee', 'bee']
    """
    known = dict.fromkeys((*KINDS, *LABEL_KINDS))
    if kind not in known:
        raise ValueError(f"kind must be one of {', '.join(map(repr, known))}, not {kind!r}.")
    if not 0 <= fraction <= 1:
        raise ValueError(f"fraction must be between 0 and 1, not {show(fraction)}.")
    if transition is not None and kind != "class-conditional":
        raise ValueError("transition is only used with kind='class-conditional'.")
    if kind in FEATURE_KINDS and X is None:
        raise ValueError(f"kind={kind!r} depends on the features: pass X.")
    if hasattr(y, "tocsr"):
        raise ValueError("y is a sparse matrix; pass y.toarray().")
    rng = make_generator(random_state)
    if _is_two_dimensional(y):
        if kind not in LABEL_KINDS:
            raise ValueError(f"kind={kind!r} needs one class per sample; use 'uniform' or 'forgotten' for labels.")
        return _flip_cells(y, fraction, rng, only_ones=kind == "forgotten")
    if kind == "forgotten":
        raise ValueError("kind='forgotten' needs a multi-label y: a 2-D table of 0 and 1, one column per label.")
    classes, codes = _encode(y)
    count = round(len(codes) * fraction)
    if count == 0:
        return _replaced(y, np.empty(0, dtype=np.intp), classes[:0])
    if len(classes) < 2:
        raise ValueError(f"y holds the single class {show(classes[0])}; there is no other to change to.")
    if kind in FEATURE_KINDS:
        from fuselearn.datasets.scaling import scale_features  # needs scikit-learn, which takes long to import

        features = scale_features(X)
        if len(features) != len(codes):
            raise ValueError(f"X and y have inconsistent numbers of samples: {len(features)} and {len(codes)}.")
        rows, new = FEATURE_KINDS[kind](features, codes, count, rng)
    elif kind == "class-conditional":
        matrix = _transition(transition, len(classes), rng)
        rows, new = _draw_conditional(codes, count, matrix, rng)
    else:
        rows = rng.choice(len(codes), count, replace=False)
        # A step of 1 to c-1 around the circle of classes never returns to the start.
        step: Any = 1 if kind == "pair" else rng.integers(1, len(classes), size=count)
        new = (codes[rows] + step) % len(classes)
    _warn_of_lost_classes(codes, rows, new, classes)
    return _replaced(y, rows, classes[new])


def _warn_of_lost_classes(codes: np.ndarray, rows: np.ndarray, new: np.ndarray, classes: np.ndarray) -> None:
    noisy = codes.copy()
    noisy[rows] = new
    counts = np.bincount(noisy, minlength=len(classes))
    if not counts.all():
        names = ", ".join(map(repr, classes[counts == 0].tolist()))
        warnings.warn(f"No sample is labelled with these classes any more: {names}.", stacklevel=3)


def _draw_conditional(codes: np.ndarray, count: int, matrix: np.ndarray, rng: np.random.Generator) -> Changes:
    leaving = matrix.copy()
    np.fill_diagonal(leaving, 0.0)
    rates = leaving.sum(axis=1)
    chance = rates[codes]
    if np.count_nonzero(chance) < count:
        raise ValueError(
            f"{count} samples should change, but transition lets only {np.count_nonzero(chance)} leave their class."
        )
    rows = rng.choice(len(codes), count, replace=False, p=chance / chance.sum())
    return rows, draw_classes(leaving[codes[rows]], rng)


def _transition(transition: Any, n_classes: int, rng: np.random.Generator) -> np.ndarray:
    if transition is None:
        return rng.dirichlet(np.ones(n_classes), size=n_classes)
    matrix = np.asarray(transition, dtype=float)
    if matrix.shape != (n_classes, n_classes):
        raise ValueError(
            f"transition must have shape ({n_classes}, {n_classes}) for the {n_classes} classes "
            f"in y, not {matrix.shape}."
        )
    if not (np.isfinite(matrix).all() and (matrix >= 0).all()):
        raise ValueError("transition must hold probabilities; negative entries are not allowed.")
    if not np.allclose(matrix.sum(axis=1), 1.0):
        worst = int(np.argmax(np.abs(matrix.sum(axis=1) - 1.0)))
        raise ValueError(f"Each row of transition must sum to 1; row {worst} sums to {matrix[worst].sum():g}.")
    return matrix


def _is_two_dimensional(y: Any) -> bool:
    if hasattr(y, "ndim") or hasattr(y, "shape"):
        dimensions = len(y.shape)
    elif isinstance(y, Sequence) and not isinstance(y, str):
        dimensions = 2 if len(y) and isinstance(y[0], (list, tuple, np.ndarray)) else 1
    else:
        raise TypeError(f"y must be a list, an array, a Series or a DataFrame, not {type(y)!r}.")
    if dimensions not in (1, 2):
        raise ValueError(f"y must have one or two dimensions, not {dimensions}.")
    return dimensions == 2


def _is_pandas(y: Any) -> bool:
    return hasattr(y, "iloc")


def _encode(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes present, in order, and the class number of each sample."""
    if _is_pandas(y):
        if y.isna().any():
            raise ValueError("y has missing values.")
        if hasattr(y, "cat"):
            present, codes = np.unique(y.cat.codes.to_numpy(), return_inverse=True)
            return y.cat.categories.to_numpy()[present], codes
    if isinstance(y, (list, tuple)):
        values = np.empty(len(y), dtype=object)
        values[:] = y
    else:
        values = np.asarray(y)
    if any(value is None or value != value for value in values.tolist()):
        raise ValueError("y has missing values.")
    try:
        return np.unique(values, return_inverse=True)
    except TypeError as error:
        raise ValueError("y mixes classes that cannot be ordered, such as 1 and 'a'.") from error


def _replaced(y: Any, rows: np.ndarray, values: np.ndarray) -> Any:
    """Return a copy of `y` with other values for some samples."""
    if _is_pandas(y):
        copy = y.copy()
        if len(rows):
            copy.iloc[rows] = values
        return copy
    if isinstance(y, np.ndarray):
        copy = y.copy()
        copy[rows] = values
        return copy
    copy = list(y)
    for row, value in zip(rows, values, strict=True):
        copy[row] = value
    if type(y).__module__.startswith("polars"):
        return type(y)(y.name, copy, dtype=y.dtype)
    return copy if isinstance(y, list) else tuple(copy) if isinstance(y, tuple) else np.array(copy)


def _flip_cells(y: Any, fraction: float, rng: np.random.Generator, *, only_ones: bool) -> Any:
    cells = np.array(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if cells.dtype.kind not in "biufO" or not np.isin(cells, (0, 1)).all():
        raise ValueError("A 2-D y must hold only 0 and 1, one column per label.")
    candidates = np.flatnonzero(cells) if only_ones else np.arange(cells.size)
    picked = rng.choice(candidates, round(len(candidates) * fraction), replace=False)
    rows, columns = np.unravel_index(picked, cells.shape)
    cells[rows, columns] = 1 - cells[rows, columns]
    if _is_pandas(y):
        copy = y.copy()
        for column in np.unique(columns):
            copy.isetitem(column, cells[:, column].astype(y.dtypes.iloc[column]))
        return copy
    if type(y).__module__.startswith("polars"):
        return type(y)(cells, schema=y.schema)
    if isinstance(y, np.ndarray):
        return cells
    return type(y)(type(row)(new) for row, new in zip(y, cells.tolist(), strict=True))
