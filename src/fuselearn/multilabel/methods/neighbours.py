"""The nearest training samples of new samples, and of the training samples themselves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from fuselearn.learners import Bound, Learner
from fuselearn.learners.numbers import NumberEncoder

# How many neighbors are searched beyond those asked for, to see which of equally near ones come first.
SPARE = 8
# Distances are computed to about 1e-16 of the squared length of samples; closer ones are equal.
RESOLUTION = 1e-13
BLOCK_DISTANCES = 10_000_000
# Features without a larger number are not scaled, since the inverse of the smallest numbers is infinite.
SMALLEST = 1e-300

METRICS = ("euclidean", "manhattan", "cosine")
SCALINGS = ("standard", "minmax")

Floats = npt.NDArray[np.float64]


class Neighbours(NamedTuple):
    """The nearest training samples of each sample, the nearest first.

    Attributes
    ----------
    places : int array of shape (n_samples, n_neighbours)
    distances : array of shape (n_samples, n_neighbours)
    """

    places: npt.NDArray[np.intp]
    distances: Floats


class NumberTable(Learner):
    """A table as numbers, of which distances are measured; categories become columns of 0 and 1.

    Parameters
    ----------
    X : {array, sparse matrix, DataFrame} of shape (n_samples, n_features)
    user : str
        What takes the numbers, for messages.
    """

    def __init__(self, X: Any, user: str) -> None:
        self.n_samples = X.shape[0]
        self.n_threads = 1
        self.coder = NumberEncoder(user)
        self.bound = Bound(self.coder.fit_transform(X))

    def fits(self, estimator: Any) -> bool:
        """Return True: whoever takes numbers takes these."""
        return True

    def release(self) -> None:
        """Release the numbers."""
        self.bound.release()


class NeighbourSearch:
    """Scaled training samples among which neighbors are searched; of equally near ones, the first are taken.

    Parameters
    ----------
    X : float array or sparse matrix of shape (n_samples, n_features)
        The training samples.
    metric : {"euclidean", "manhattan", "cosine"}
        How distances are measured.
    scaling : {"standard", "minmax"} or None
        As for `measure_scale`.

    Examples
    --------
    >>> search = NeighbourSearch(np.array([[0.0], [2.0], [3.0]]), "euclidean", None)
    >>> search.find(np.array([[1.9]]), 2).places
    array([[1, 2]])
    >>> search.find_others(1).places.ravel()
    array([1, 2, 1])
    """

    def __init__(self, X: Any, metric: str, scaling: str | None) -> None:
        self.metric = metric
        self._factors = measure_scale(X, scaling)
        self._rows = scale(X, self._factors)
        self._step = RESOLUTION * (1.0 if metric == "cosine" else _mean_length(self._rows, metric))
        self._index: Any = None

    @property
    def n_samples(self) -> int:
        """Number of training samples."""
        return int(self._rows.shape[0])

    def find(self, X: Any, n_neighbours: int, n_jobs: int | None = None) -> Neighbours:
        """Find the nearest training samples of new samples."""
        return self._search(scale(X, self._factors), n_neighbours, n_jobs)

    def find_others(self, n_neighbours: int, n_jobs: int | None = None) -> Neighbours:
        """Find the nearest other training samples of each training sample."""
        return self._search(None, n_neighbours, n_jobs)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the search index, which is made again when it is needed."""
        return {**self.__dict__, "_index": None}

    def _search(self, rows: Any, n_neighbours: int, n_jobs: int | None) -> Neighbours:
        """Search among all training samples, or, without rows, among the others of each."""
        asked, own = (self._rows, 1) if rows is None else (rows, 0)
        if n_neighbours == 0:
            return Neighbours(np.empty((asked.shape[0], 0), dtype=np.intp), np.empty((asked.shape[0], 0)))
        if self._index is None:
            from sklearn.neighbors import NearestNeighbors  # takes long to import

            self._index = NearestNeighbors(metric=self.metric).fit(self._rows)
        index = self._index.set_params(n_jobs=n_jobs)
        n_found = min(n_neighbours + SPARE, self.n_samples - own)
        distances, places = index.kneighbors(rows, n_found)
        steps = self._round(distances)
        found = _take_first(places, distances, steps, n_neighbours)
        if n_found < self.n_samples - own:  # where more samples than were found are equally near, all are sorted
            unsettled = np.flatnonzero(steps[:, n_neighbours - 1] == steps[:, -1])
            for part in np.array_split(unsettled, 1 + len(unsettled) * self.n_samples // BLOCK_DISTANCES):
                if len(part):
                    distances, places = index.kneighbors(asked[part], self.n_samples)
                    if own:
                        others = places != part[:, None]
                        distances, places = (table[others].reshape(len(part), -1) for table in (distances, places))
                    settled = _take_first(places, distances, self._round(distances), n_neighbours)
                    found.places[part], found.distances[part] = settled
        return found

    def _round(self, distances: Floats) -> Floats:
        """Return distances, or their squares, in steps within which they are equal."""
        if self.metric == "euclidean":
            return np.rint(distances**2 / self._step)
        return np.rint(distances / self._step)


def _take_first(places: npt.NDArray[np.intp], distances: Floats, steps: Floats, n_neighbours: int) -> Neighbours:
    """Sort neighbors by their distance, and equally near ones by their place."""
    order = np.lexsort((places, steps), axis=1)[:, :n_neighbours]
    kept = np.where(np.take_along_axis(steps, order, 1) > 0, np.take_along_axis(distances, order, 1), 0.0)
    return Neighbours(np.take_along_axis(places, order, 1), kept)


def _mean_length(rows: Any, metric: str) -> float:
    """Return the mean squared length of samples, or of their absolute values for the metric that adds these."""
    values = rows.data if sparse.issparse(rows) else rows
    total = float((values**2 if metric == "euclidean" else np.abs(values)).sum())
    return total / rows.shape[0] or 1.0


def scale(rows: Any, factors: Floats) -> Any:
    """Multiply each feature by a factor."""
    if not sparse.issparse(rows):
        return rows * factors
    return sparse.csr_array(rows @ sparse.diags_array(factors))


def measure_scale(rows: Any, scaling: str | None) -> Floats:
    """Return the factor of each feature with which distances mean something; 1 for a constant one.

    Features are not shifted, which would change no distance but make sparse matrices dense.

    Parameters
    ----------
    rows : float array or sparse matrix
    scaling : {"standard", "minmax"} or None
        Whether features are divided by their standard deviation, by their range, or not at all.

    Examples
    --------
    >>> measure_scale(np.array([[1.0], [5.0]]), "minmax")
    array([0.25])
    """
    if scaling is None:
        return np.ones(rows.shape[1])
    # Of numbers near the end of the range, squares would be infinite.
    largest = np.asarray(abs(rows).max(axis=0).todense() if sparse.issparse(rows) else np.abs(rows).max(axis=0)).ravel()
    units = 1.0 / np.where(largest > SMALLEST, largest, 1.0)
    if sparse.issparse(rows):
        scaled = sparse.csr_matrix(scale(rows, units))
        low, high = (np.asarray(end.todense()).ravel() for end in (scaled.min(axis=0), scaled.max(axis=0)))
        spread = np.sqrt(mean_variance_axis(scaled, axis=0)[1]) if scaling == "standard" else high - low
    else:
        scaled = scale(rows, units)
        spread = scaled.std(axis=0) if scaling == "standard" else np.ptp(scaled, axis=0)
    # A constant feature may keep a rounding error.
    return units / np.where(spread > 1e-12, spread, 1.0)
