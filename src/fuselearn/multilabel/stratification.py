"""Iterative stratification: folds that preserve the frequency of every label, also of rare ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.model_selection import BaseCrossValidator, train_test_split
from sklearn.utils import check_consistent_length, indexable

from fuselearn import _core
from fuselearn._compat import take_rows
from fuselearn._messages import show
from fuselearn._parameters import check_flag, check_whole_number, make_generator
from fuselearn.multilabel.labels import read_sparse_labels

Folds = npt.NDArray[np.int32]
Indices = npt.NDArray[np.intp]


def assign_samples(
    labels: sparse.csr_array,
    sizes: npt.ArrayLike,
    rng: np.random.Generator | None,
    fractions: npt.ArrayLike | None = None,
) -> Folds:
    """Assign samples to folds of given sizes.

    The time is proportional to the stored labels, plus samples times folds, plus the square of the number of labels.

    Parameters
    ----------
    labels : sparse array of shape (n_samples, n_labels)
        As returned by `fuselearn.multilabel.labels.read_sparse_labels`.
    sizes : array of shape (n_folds,)
        Number of samples in each fold; they sum to n_samples.
    rng : Generator or None
        Shuffles the samples and breaks ties; None keeps the order, and ties go to the first fold.
    fractions : array of shape (n_folds,), optional
        Fraction of the positive samples of every label for each fold, as integers of any sum; ``sizes`` by default.

    Returns
    -------
    int32 array of shape (n_samples,)
        The fold of each sample.

    Examples
    --------
    >>> Y = sparse.csr_array(np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0, 0], [0, 0]]))
    >>> assign_samples(Y, [3, 3], rng=None)
    array([0, 1, 0, 1, 0, 1], dtype=int32)
    """
    n_samples, n_labels = labels.shape
    order, label_order, draws = np.arange(n_samples), np.arange(n_labels), np.zeros(n_samples)
    if rng is not None:
        order, label_order, draws = rng.permutation(n_samples), rng.permutation(n_labels), rng.random(n_samples)
        labels = labels[order]
    sizes, fractions = (np.array(part, dtype=np.int64) for part in (sizes, sizes if fractions is None else fractions))
    folds = np.empty(n_samples, dtype=np.int32)
    by_label = labels.tocsc()
    lists = (labels.indptr, labels.indices, by_label.indptr, by_label.indices)
    starts, own_labels, label_starts, samples = (part.astype(np.int64, copy=False) for part in lists)
    folds[order] = _core.deal_samples(starts, own_labels, label_starts, samples, label_order, sizes, fractions, draws)
    return folds


def assign_groups(
    labels: sparse.csr_array, groups: Indices, fractions: npt.ArrayLike, rng: np.random.Generator | None
) -> Folds:
    """Assign groups of samples to folds.

    With p(f, l) the fraction of the positive samples of label l in fold f, and s(f) its fraction of all samples, each
    group is assigned to the fold for which ::

        sum over folds f and labels l of  s(f) · (p(f, l) / s(f) - 1)²

    increases least. An additional label that all samples have keeps the folds at the right size. Groups with the
    largest fraction of any label are assigned first, as they are the most difficult to balance.

    Parameters
    ----------
    labels : sparse array of shape (n_samples, n_labels)
        As returned by `fuselearn.multilabel.labels.read_sparse_labels`.
    groups : int array of shape (n_samples,)
        As returned by `read_groups`.
    fractions : array of shape (n_folds,)
        Fraction of the samples of each fold; they sum to 1.
    rng : Generator or None
        Shuffles groups of the same size and breaks ties; None keeps their order, and ties go to the first fold.

    Returns
    -------
    int32 array of shape (n_samples,)
        The fold of each sample.

    Examples
    --------
    >>> Y = sparse.csr_array(np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 0], [0, 1]]))
    >>> assign_groups(Y, np.array([0, 0, 1, 1, 2, 3]), [0.5, 0.5], rng=None)
    array([0, 0, 1, 1, 1, 0], dtype=int32)
    """
    fractions = np.asarray(fractions, dtype=np.float64)
    n_samples, n_groups = len(groups), int(groups.max()) + 1
    members = sparse.csr_array((np.ones(n_samples), (groups, np.arange(n_samples))), shape=(n_groups, n_samples))
    with_size = sparse.hstack([labels.astype(np.float64), sparse.csr_array(np.ones((n_samples, 1)))], format="csr")
    counts = sparse.csr_array(members @ with_size)
    parts = counts.data / np.asarray(counts.sum(axis=0)).ravel()[counts.indices]
    order = np.arange(n_groups) if rng is None else rng.permutation(n_groups)
    largest = np.maximum.reduceat(parts, counts.indptr[:-1])  # every group has samples
    held = np.zeros((len(fractions), counts.shape[1]))
    chosen = np.empty(n_groups, dtype=np.int32)
    for group in order[np.argsort(-largest[order], kind="stable")]:
        span = slice(counts.indptr[group], counts.indptr[group + 1])
        columns, part = counts.indices[span], parts[span]
        increase = (2 * (held[:, columns] / fractions[:, None] - 1)) @ part + (part**2).sum() / fractions
        best = np.flatnonzero(increase <= increase.min() + 1e-12)
        chosen[group] = best[0] if rng is None else rng.choice(best)
        held[chosen[group], columns] += part
    return chosen[groups]


def read_groups(groups: Any, n_samples: int) -> Indices:
    """Validate groups and return the index of the group of each sample.

    Parameters
    ----------
    groups : array-like of shape (n_samples,)
        Numbers or names, none of them missing.
    n_samples : int

    Examples
    --------
    >>> read_groups(["b", "a", "b"], 3)
    array([1, 0, 1])
    """
    values = np.asarray(groups)
    if values.shape not in ((n_samples,), (n_samples, 1)):
        raise ValueError(f"groups must have one value for each of {n_samples} samples; its shape is {values.shape}.")
    values = values.ravel()
    missing = np.array([value is None or value != value for value in values.tolist()])
    if missing.any():
        raise ValueError(f"groups has {missing.sum()} missing value(s), the first at sample {missing.argmax()}.")
    return np.unique(values.astype(str) if values.dtype == object else values, return_inverse=True)[1]


Split = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]


class IterativeStratifiedKFold(BaseCrossValidator):
    """K-fold cross-validator with iteratively stratified folds for multi-label data.

    Folds have the same number of samples and, as nearly as possible, of positive samples of every label. Each fold
    starts with a demand for samples and, per label, for a fraction of its positive samples::

        demand(fold, label) = positives(label) · size(fold) / n_samples

    The label with the fewest samples left is assigned first, while there is still a choice: each of its samples goes to
    the fold with the largest demand for the label; ties go to the fold with the most capacity left. The demands for all
    labels of the sample decrease by one. Samples without labels fill the remaining capacity.

    With ``groups``, such as patients or albums, all samples of a group are in the same fold. The groups with the
    largest fraction of any label are assigned first, each to the fold for which the squared deviations of the folds
    from equal fractions increase least.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2 and at most the number of samples, or of groups.
    n_repeats : int, default=1
        Number of repetitions, each with other folds.
    shuffle : bool, default=True
        Whether samples are visited in random order and ties are broken at random. Otherwise samples are visited in
        order and ties go to the first label and the first fold.
    random_state : int, Generator, RandomState or None, default=None
        Controls the order and the ties. Pass an int for the same folds at every call of ``split``.

    Notes
    -----
    There are two differences from other implementations. Demands are fractions, as in the paper, stored as exact
    multiples of 1 / n_samples. utiml truncates them to integers, which makes no difference for folds of equal size but
    would favor the larger part of a train-test split. Second, no samples are assigned to a full fold, so sizes differ
    by at most one sample; in the paper the number of samples only breaks ties, and folds of small data differ by
    several percent.

    A label with fewer positive samples than folds is missing from some folds. There is no warning, as such labels are
    common. A group that is larger than n_samples / n_splits makes its fold larger than the others.

    See Also
    --------
    iterative_train_test_split : A single split into training and test samples.
    sklearn.model_selection.StratifiedKFold : Stratified folds for multi-class data.

    References
    ----------
    Sechidis, K., Tsoumakas, G., Vlahavas, I. (2011). On the stratification of multi-label data. Machine Learning and
    Knowledge Discovery in Databases, LNCS 6913, 145-158.

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn.multilabel import IterativeStratifiedKFold
    >>> Y = np.zeros((1000, 3), dtype=int)
    >>> Y[:500, 0] = Y[::20, 1] = Y[:4, 2] = 1
    >>> folds = IterativeStratifiedKFold(n_splits=5, random_state=0)
    >>> for train, test in folds.split(Y, Y):
    ...     print(len(test), Y[test].sum(axis=0))
    200 [100  10   1]
    200 [100  10   1]
    200 [100  10   1]
    200 [100  10   1]
    200 [100  10   0]
    >>> patients = np.arange(1000) // 10
    >>> for train, test in folds.split(Y, Y, groups=patients):
    ...     print(len(test), Y[test, :2].sum(axis=0), set(patients[train]) & set(patients[test]))
    200 [100  10] set()
    200 [100  10] set()
    200 [100  10] set()
    200 [100  10] set()
    200 [100  10] set()
    """

    # Under scikit-learn's metadata routing, as for its own group splitters.
    __metadata_request__split: ClassVar[dict[str, bool]] = {"groups": True}

    def __init__(
        self, n_splits: int = 5, *, n_repeats: int = 1, shuffle: bool = True, random_state: Any = None
    ) -> None:
        self.n_splits = check_whole_number("n_splits", n_splits, 2)
        self.n_repeats = check_whole_number("n_repeats", n_repeats, 1)
        self.shuffle = check_flag("shuffle", shuffle)
        if not shuffle and (random_state is not None or n_repeats > 1):
            raise ValueError("random_state and n_repeats have no effect with shuffle=False; use their defaults.")
        self.random_state = random_state

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """Yield the indices of the training and test samples of each fold, repetition by repetition.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Only its number of samples is used.
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            Zeros and ones.
        groups : array-like of shape (n_samples,), optional
            The group of each sample: all samples of a group are in the same fold.

        Yields
        ------
        train, test : ndarray of int
            In ascending order.
        """
        labels = read_sparse_labels(y)
        check_consistent_length(X, labels)
        assign = self._assign_samples(labels) if groups is None else self._assign_groups(labels, groups)
        rng = make_generator(self.random_state) if self.shuffle else None
        # A generator expression: errors are raised by the call, not by the first iteration.
        return (
            (np.flatnonzero(folds != fold), np.flatnonzero(folds == fold))
            for folds in map(assign, [rng] * self.n_repeats)
            for fold in range(self.n_splits)
        )

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the total number of folds; the arguments are ignored."""
        return self.n_splits * self.n_repeats

    def _assign_samples(self, labels: sparse.csr_array) -> Callable[[np.random.Generator | None], Folds]:
        n_samples = labels.shape[0]
        if self.n_splits > n_samples:
            raise ValueError(f"n_splits must be at most the number of samples, {n_samples}, not {self.n_splits}.")
        sizes = n_samples // self.n_splits + (np.arange(self.n_splits) < n_samples % self.n_splits)
        # Equal demands: folds that are larger by one sample would otherwise get all the rare labels.
        return lambda rng: assign_samples(labels, sizes, rng, fractions=np.ones(self.n_splits))

    def _assign_groups(self, labels: sparse.csr_array, groups: Any) -> Callable[[np.random.Generator | None], Folds]:
        groups = read_groups(groups, labels.shape[0])
        n_groups = int(groups.max()) + 1
        if n_groups < self.n_splits:
            raise ValueError(
                f"groups has {n_groups} different group(s), which cannot be split into {self.n_splits} folds: "
                "n_splits must be at most the number of groups."
            )
        return lambda rng: assign_groups(labels, groups, np.full(self.n_splits, 1 / self.n_splits), rng)


def iterative_train_test_split(
    *arrays: Any,
    stratify: Any = None,
    groups: Any = None,
    test_size: float | int | None = None,
    train_size: float | int | None = None,
    random_state: Any = None,
) -> list[Any]:
    """Split arrays into training and test sets that preserve the frequency of every label.

    The interface is that of scikit-learn's ``train_test_split``; samples are assigned as in `IterativeStratifiedKFold`,
    to two folds of unequal size.

    Parameters
    ----------
    *arrays : arrays, sparse matrices, DataFrames or lists
        Inputs with the same number of samples.
    stratify : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels), optional
        The labels, zeros and ones. The last of ``arrays`` by default.
    groups : array-like of shape (n_samples,), optional
        The group of each sample, such as the patient: all samples of a group are in the same set. The sizes of the sets
        are then approximate.
    test_size, train_size : float, int or None, default=None
        Size of each set, as a fraction or as a number of samples. By default, ``test_size`` is the complement of
        ``train_size``, or 0.25. If the sizes do not add up to all samples, some are in neither set.
    random_state : int, Generator, RandomState or None, default=None
        Seed for all random choices.

    Returns
    -------
    list
        Training and test set of each of ``arrays``, of the same type, with samples in their original order.

    Examples
    --------
    >>> from fuselearn.datasets import make_digit_pairs
    >>> from fuselearn.multilabel import iterative_train_test_split
    >>> X, Y = make_digit_pairs(200, random_state=0)
    >>> X_train, X_test, Y_train, Y_test = iterative_train_test_split(X, Y, test_size=0.2, random_state=0)
    >>> Y["digit_3"].sum(), Y_train["digit_3"].sum(), Y_test["digit_3"].sum()
    (np.int64(29), np.int64(23), np.int64(6))
    """
    if not arrays:
        raise ValueError("At least one array is required, such as X and Y.")
    if np.isscalar(arrays[-1]):
        raise TypeError(f"Sizes are passed by name, such as test_size={show(arrays[-1])}.")
    tables = indexable(*arrays)
    if stratify is None:
        labels = read_sparse_labels(arrays[-1], "The last array, the labels unless stratify= is passed,")
    else:
        labels = read_sparse_labels(stratify, "stratify")
    check_consistent_length(tables[0], labels)
    n_samples = labels.shape[0]
    # scikit-learn validates both sizes.
    train, test = train_test_split(np.empty(n_samples), test_size=test_size, train_size=train_size)
    sizes = [len(train), len(test), n_samples - len(train) - len(test)]
    rng = make_generator(random_state)
    if groups is None:
        folds = assign_samples(labels, sizes, rng)
    else:
        groups = read_groups(groups, n_samples)
        folds = assign_groups(labels, groups, np.array([size for size in sizes if size]) / n_samples, rng)
    parts = np.flatnonzero(folds == 0), np.flatnonzero(folds == 1)
    if not all(map(len, parts)):
        group_sizes = np.bincount(groups)
        raise ValueError(
            "groups cannot be split into training and test samples of these sizes: there are "
            f"{len(group_sizes)} group(s), the largest with {group_sizes.max()} of {n_samples} samples."
        )
    return [take_rows(table, part) for table in tables for part in parts]
