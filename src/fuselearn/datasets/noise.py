"""Label noise: change an exact number of classes or labels.

Experiments with label noise need the same, known amount of noise for every method. So the number of changed labels is
not random: it is ``round(n * fraction)``.
"""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from fuselearn._messages import show
from fuselearn._parameters import make_generator
from fuselearn.base import read_table
from fuselearn.learners.table import TableCoder, as_frame

Labels = TypeVar("Labels")
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.integer]
Changes = tuple[Codes, Codes]

# At one standard deviation on either side of the mean, probabilities are as 7 to 1.
STEEPNESS = 2.0


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

    Exactly ``round(n * fraction)`` samples are chosen (halves are rounded to even), and each gets a different class.

    Parameters
    ----------
    y : list, tuple, array, Series or DataFrame
        One class per sample, or a multi-label indicator matrix, in which the fraction of the entries is flipped. It is
        not modified.
    fraction : float
        Between 0 and 1.
    kind : str, default="uniform"
        The kind of noise: which samples change, and to which class. A multi-label `y` supports only ``"uniform"``,
        which flips random entries, and ``"forgotten"``.

        - ``"uniform"``: random samples change to another class, all equally likely.
        - ``"pair"``: random samples change to the next class in sorted order; the last class changes to the first. (A
          pandas categorical has the order of its categories.)
        - ``"class-conditional"``: random samples change by the probabilities in `transition`.
        - ``"boundary"``: the samples nearest to the boundary of their class change to the class on the other side [2]_.
          They have the largest ratio of the distance to the nearest sample of their own class to the distance to the
          nearest sample of another class. Only ties are random.
        - ``"neighbor"``: random samples change to the class of the nearest sample of another class [3]_.
        - ``"feature-dependent"``: a sample x of class c changes with a probability proportional to sigmoid(2 x.w_cc),
          to class j with a probability proportional to exp(2 x.w_cj), where the directions w are drawn from a normal
          distribution, and all x.w are scaled to mean 0 and variance 1 over the samples: sigmoid noise [4]_ with
          part-dependent classes [5]_.
        - ``"forgotten"``: the fraction of the ones of a multi-label `y` becomes 0, and no 0 changes. Annotators forget
          labels more often than they add wrong ones.
    X : {array-like, DataFrame} of shape (n_samples, n_features), optional
        The features, required for ``"boundary"``, ``"neighbor"`` and ``"feature-dependent"``, ignored otherwise.
        Numbers are scaled to mean 0 and variance 1; two different categories have a distance of one standard deviation;
        missing numbers are replaced by the mean.
    transition : array of shape (n_classes, n_classes), optional
        For ``"class-conditional"``: row c contains the probabilities that class c is observed as each class, in sorted
        order; rows sum to 1. A sample of class c is drawn with a probability proportional to 1 - transition[c, c], and
        its new class by the rest of that row. None draws each row from the uniform Dirichlet distribution.
    random_state : int, Generator, RandomState or None
        Pass an int for reproducible noise.

    Returns
    -------
    corrupted : same type as `y`
        With the same index, names and dtype.

    Warns
    -----
    UserWarning
        If a class has no sample left.

    References
    ----------
    The R package noisemodel, J. A. Saez (2022), Mathematics 10(20), 3736, provides these and more kinds of noise.

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

    The third of five samples on a line is nearest to the other class:

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
    n_dimensions = np.ndim(y)  # type: ignore[arg-type]
    if n_dimensions == 0:
        raise TypeError(f"y must be a list, an array, a Series or a DataFrame, not {type(y)!r}.")
    if n_dimensions > 2:
        raise ValueError(f"y must have one or two dimensions, not {n_dimensions}.")
    if n_dimensions == 2:
        if kind not in LABEL_KINDS:
            raise ValueError(
                f"kind={kind!r} needs one class per sample; use 'uniform' or 'forgotten' for multi-label y."
            )
        return _flip_cells(y, fraction, rng, only_ones=kind == "forgotten")
    if kind == "forgotten":
        raise ValueError("kind='forgotten' needs a multi-label y: an indicator matrix, with one column per label.")
    values, classes, codes = _encode(y)
    count = round(len(codes) * fraction)
    if count == 0:
        return _like(y, values)
    if len(classes) < 2:
        raise ValueError(f"y has the single class {show(classes[0])}; at least two classes are needed.")
    if kind in FEATURE_KINDS:
        features = scale_features(X)
        if len(features) != len(codes):
            raise ValueError(f"X and y have inconsistent numbers of samples: {len(features)} and {len(codes)}.")
        rows, new = FEATURE_KINDS[kind](features, codes, count, rng)
    elif kind == "class-conditional":
        rows, new = _draw_conditional(codes, count, _transition(transition, len(classes), rng), rng)
    else:
        rows = rng.choice(len(codes), count, replace=False)
        # A step of 1 to c-1 around the circle of classes never returns to the start.
        step: Any = 1 if kind == "pair" else rng.integers(1, len(classes), size=count)
        new = (codes[rows] + step) % len(classes)
    values[rows], codes[rows] = classes[new], new
    counts = np.bincount(codes, minlength=len(classes))
    if not counts.all():
        names = ", ".join(map(repr, classes[counts == 0].tolist()))
        warnings.warn(f"These classes have no sample left: {names}.", stacklevel=2)
    return _like(y, values)


def _encode(y: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a copy of y as an array, the classes present in order, and the class index of each sample."""
    if isinstance(y, list | tuple):
        values = np.empty(len(y), dtype=object)
        values[:] = y
    else:
        values = np.array(y)
    if any(value is None or value != value for value in values.tolist()):
        raise ValueError("y has missing values.")
    if hasattr(y, "cat") and hasattr(y, "iloc"):  # the order of pandas' categories
        present, codes = np.unique(y.cat.codes.to_numpy(), return_inverse=True)
        return values, y.cat.categories.to_numpy()[present], codes
    try:
        return values, *np.unique(values, return_inverse=True)
    except TypeError as error:
        raise ValueError("y mixes classes that cannot be ordered, such as 1 and 'a'.") from error


def _like(y: Any, values: np.ndarray) -> Any:
    """Return values in a container like y, with its index, names and dtypes."""
    if hasattr(y, "iloc"):
        names = {"columns": y.columns} if values.ndim == 2 else {"name": y.name}
        return type(y)(values, index=y.index, **names).astype(y.dtypes)
    if type(y).__module__.startswith("polars"):
        return type(y)(values, schema=y.schema) if values.ndim == 2 else type(y)(y.name, values.tolist(), dtype=y.dtype)
    return type(y)(values.tolist()) if isinstance(y, list | tuple) else values


def _flip_cells(y: Any, fraction: float, rng: np.random.Generator, *, only_ones: bool) -> Any:
    cells = np.array(y)
    if cells.dtype.kind not in "biufO" or not np.isin(cells, (0, 1)).all():
        raise ValueError("A 2-D y must be an indicator matrix: only 0 and 1, one column per label.")
    candidates = np.flatnonzero(cells) if only_ones else np.arange(cells.size)
    picked = rng.choice(candidates, round(len(candidates) * fraction), replace=False)
    rows, columns = np.unravel_index(picked, cells.shape)
    cells[rows, columns] = 1 - cells[rows, columns]
    return _like(y, cells)


def _draw_conditional(codes: Codes, count: int, matrix: Floats, rng: np.random.Generator) -> Changes:
    leaving = matrix.copy()
    np.fill_diagonal(leaving, 0.0)
    probability = leaving.sum(axis=1)[codes]
    n_leaving = np.count_nonzero(probability)
    if n_leaving < count:
        raise ValueError(
            f"{count} samples should change, but transition allows only {n_leaving} to change their class."
        )
    rows = rng.choice(len(codes), count, replace=False, p=probability / probability.sum())
    return rows, _draw_classes(leaving[codes[rows]], rng)


def _transition(transition: Any, n_classes: int, rng: np.random.Generator) -> np.ndarray:
    if transition is None:
        return rng.dirichlet(np.ones(n_classes), size=n_classes)
    matrix = np.asarray(transition, dtype=float)
    if matrix.shape != (n_classes, n_classes):
        expected = f"({n_classes}, {n_classes}) for the {n_classes} classes in y"
        raise ValueError(f"transition must have shape {expected}, not {matrix.shape}.")
    if not (np.isfinite(matrix).all() and (matrix >= 0).all()):
        raise ValueError("transition must contain probabilities; negative entries are not allowed.")
    if not np.allclose(matrix.sum(axis=1), 1.0):
        worst = int(np.argmax(np.abs(matrix.sum(axis=1) - 1.0)))
        raise ValueError(f"Each row of transition must sum to 1; row {worst} sums to {matrix[worst].sum():g}.")
    return matrix


def _draw_boundary(features: Floats, codes: Codes, count: int, rng: np.random.Generator) -> Changes:
    """Change the samples nearest to the boundary of their class to the class on the other side."""
    inside, _ = _find_nearest(features, codes, same=True)
    outside, enemy = _find_nearest(features, codes, same=False)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = inside / outside
    ratio[outside == 0] = np.inf  # an equal sample of another class: nothing is nearer to the border
    ratio[np.isinf(inside)] = 0.0  # the only sample of its class has no border
    rows = np.lexsort((rng.random(len(codes)), -ratio))[:count]
    return rows, codes[enemy[rows]]


def _draw_neighbor(features: Floats, codes: Codes, count: int, rng: np.random.Generator) -> Changes:
    """Change randomly drawn samples to the class of the nearest sample of another class."""
    rows = rng.choice(len(codes), count, replace=False)
    _, enemy = _find_nearest(features, codes, same=False)
    return rows, codes[enemy[rows]]


def _draw_dependent(features: Floats, codes: Codes, count: int, rng: np.random.Generator) -> Changes:
    """Change samples far along a random direction of their class, to classes drawn by other random directions."""
    n_classes = int(codes.max()) + 1
    scores = np.empty((len(codes), n_classes))
    for c in range(n_classes):
        directions = rng.standard_normal((features.shape[1], n_classes))
        scores[codes == c] = StandardScaler().fit_transform(features @ directions)[codes == c]
    scores *= STEEPNESS
    probability = expit(np.take_along_axis(scores, codes[:, None], axis=1)[:, 0])
    rows = rng.choice(len(codes), count, replace=False, p=probability / probability.sum())
    others = scores[rows]
    others[np.arange(count), codes[rows]] = -np.inf
    return rows, _draw_classes(softmax(others, axis=1), rng)


def _draw_classes(weights: Floats, rng: np.random.Generator) -> Codes:
    """Draw a class for each sample, with probabilities proportional to its row of weights."""
    ends = np.cumsum(weights, axis=1)
    # Scaling by the last cumulative sum, instead of dividing by it, keeps rounding from choosing an impossible class.
    points = rng.random(len(weights)) * ends[:, -1]
    return (points[:, None] >= ends).sum(axis=1)


def _find_nearest(features: Floats, codes: Codes, *, same: bool) -> tuple[Floats, Codes]:
    """Find the nearest sample of the same class, or of any other, for each sample.

    Returns
    -------
    distances : array of shape (n_samples,)
        Infinite if there is none.
    nearest : int array of shape (n_samples,)
        Index of that sample; the sample's own index if there is none.
    """
    distances, nearest = np.full(len(codes), np.inf), np.arange(len(codes))
    for c in np.unique(codes):
        members = np.flatnonzero(codes == c)
        pool = members if same else np.flatnonzero(codes != c)
        if len(pool) <= same:
            continue
        search = NearestNeighbors(n_neighbors=1).fit(features[pool])
        # Without a query, a sample is not its own neighbor.
        found, places = search.kneighbors() if same else search.kneighbors(features[members])
        distances[members], nearest[members] = found[:, 0], pool[places[:, 0]]
    return distances, nearest


def scale_features(X: Any) -> Floats:
    """Scale numbers to mean 0 and variance 1, and one-hot encode categories.

    Samples of different categories have a distance of 1 in that feature. A missing number becomes the mean, and a
    missing category is all zeros.

    Parameters
    ----------
    X : {array-like, DataFrame} of shape (n_samples, n_features)

    Returns
    -------
    array of shape (n_samples, n_scaled)

    Examples
    --------
    >>> scale_features([[1.0], [3.0], [None]])
    array([[-1.],
           [ 1.],
           [ 0.]])
    """
    if sparse.issparse(X):
        raise ValueError("X is a sparse matrix, which is not supported here; pass X.toarray().")
    table = read_table("X", X)
    coder = TableCoder()
    if as_frame(table) is None:
        try:
            coded = coder.fit_transform(np.asarray(table, dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise ValueError(f"X must be a numeric array, or a DataFrame, which may contain text: {error}.") from error
        if np.isinf(coded).any():
            raise ValueError("X has infinite values; expected finite numbers, or NaN for missing values.")
    else:
        coded = coder.fit_transform(table)
    parts = coder.one_hot(coded)
    return np.hstack([part / np.sqrt(2) if part.dtype == bool else _standardize(part) for part in parts])


def _standardize(column: npt.NDArray[np.floating]) -> Floats:
    """Scale a feature; a constant one, or one without any value, becomes 0."""
    if np.isnan(column).all():
        return np.zeros_like(column)
    # Divided by the largest value first, numbers near the end of the range have a finite variance.
    scaled = StandardScaler().fit_transform(column / (np.nanmax(np.abs(column)) or 1.0))
    return np.nan_to_num(scaled)


FEATURE_KINDS = {"boundary": _draw_boundary, "neighbor": _draw_neighbor, "feature-dependent": _draw_dependent}
KINDS = ("uniform", "pair", "class-conditional", *FEATURE_KINDS)
LABEL_KINDS = ("uniform", "forgotten")
