"""Iterative stratification: folds that preserve the frequency of every label, also of rare ones.

The splitters and `iterative_train_test_split` choose the sizes of the folds; `fuselearn.multilabel.data.assignment`
assigns samples or groups to them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.model_selection import BaseCrossValidator, train_test_split
from sklearn.utils import check_consistent_length, indexable

from fuselearn._compat import take_rows
from fuselearn._parameters import check_flag, check_whole_number
from fuselearn._random import make_generator
from fuselearn.multilabel.data.assignment import Folds, assign_groups, assign_samples, read_groups
from fuselearn.multilabel.data.labels import read_sparse_labels

Split = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]


class IterativeStratifiedKFold(BaseCrossValidator):
    """K-fold cross-validator with iteratively stratified folds for multi-label data.

    Folds have the same number of samples and, as nearly as possible, of positive samples of every label. Each fold
    starts with a demand for samples and, per label, for a fraction of its positive samples::

        demand(fold, label) = positives(label) · size(fold) / n_samples

    The label with the fewest samples left is assigned first, while there is still a choice: each of its samples goes to
    the fold with the largest demand for the label; ties go to the fold with the most capacity left. The demands for all
    labels of the sample decrease by one. Samples without labels fill the remaining capacity.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    shuffle : bool, default=True
        Whether samples are visited in random order and ties are broken at random. Otherwise samples are visited in
        order and ties go to the first label and the first fold.
    random_state : int, Generator, RandomState or None, default=None
        Controls the order and the ties. Pass an int for the same folds at every call of ``split``.

    Notes
    -----
    Two choices differ from other implementations. Demands are fractions, as in the paper, stored as exact multiples of
    1 / n_samples; utiml truncates them to integers, which makes no difference for folds of one size but would favour
    the larger part of a train-test split. And a full fold takes no more samples, so that sizes differ by one sample at
    most; in the paper the number of samples only breaks ties, and on small data folds differ by several percent.

    A label with fewer positive samples than folds is missing from some folds; there is no warning, as such labels are
    common.

    See Also
    --------
    IterativeStratifiedGroupKFold : Folds that keep groups of samples together.

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
    """

    n_repeats = 1

    def __init__(self, n_splits: int = 5, *, shuffle: bool = True, random_state: Any = None) -> None:
        self.n_splits = check_whole_number("n_splits", n_splits, 2)
        self.shuffle = check_flag("shuffle", shuffle)
        if not shuffle and random_state is not None:
            raise ValueError("random_state has no effect with shuffle=False; leave it at None or set shuffle=True.")
        self.random_state = random_state

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """Yield the indices of the training and test samples of each fold, repetition by repetition.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Only its number of samples is used.
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            Zeros and ones.
        groups : object
            Ignored, with a warning, as by scikit-learn's ``StratifiedKFold``: samples of one group may be in both the
            training and the test set.

        Yields
        ------
        train, test : ndarray of int
            In ascending order.
        """
        labels = read_sparse_labels(y)
        check_consistent_length(X, labels)
        assign = self._prepare(labels, groups)
        rng = make_generator(self.random_state) if self.shuffle else None
        # All errors and warnings are raised by the call, not by the first fold.
        return (
            (np.flatnonzero(folds != fold), np.flatnonzero(folds == fold))
            for folds in map(assign, [rng] * self.n_repeats)
            for fold in range(self.n_splits)
        )

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the total number of folds; the arguments are ignored."""
        return self.n_splits * self.n_repeats

    def _prepare(self, labels: sparse.csr_array, groups: Any) -> Callable[[np.random.Generator | None], Folds]:
        """Return a function that assigns the samples to folds."""
        n_samples, name = labels.shape[0], type(self).__name__
        if groups is not None:
            warnings.warn(
                f"groups is ignored by {name}: a group may be in both the training and the test set. "
                f"{name.replace('KFold', 'GroupKFold')} keeps groups together.",
                UserWarning,
                stacklevel=3,
            )
        if self.n_splits > n_samples:
            raise ValueError(f"n_splits must be at most the number of samples, {n_samples}, not {self.n_splits}.")
        sizes = n_samples // self.n_splits + (np.arange(self.n_splits) < n_samples % self.n_splits)
        # Folds that are larger by one sample must not demand more of each label: they would get all the rare ones.
        return lambda rng: assign_samples(labels, sizes, rng, fractions=np.ones(self.n_splits))


class RepeatedIterativeStratifiedKFold(IterativeStratifiedKFold):
    """Repeated `IterativeStratifiedKFold` cross-validator, with a different randomization in each repetition.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    n_repeats : int, default=10
        Number of repetitions.
    random_state : int, Generator, RandomState or None, default=None
        Controls the randomization of all repetitions. Pass an int for the same folds at every call of ``split``.

    Examples
    --------
    >>> from fuselearn.datasets import make_digit_pairs
    >>> from fuselearn.multilabel import RepeatedIterativeStratifiedKFold
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, Y = make_digit_pairs(200, random_state=0)
    >>> folds = RepeatedIterativeStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
    >>> scores = cross_val_score(DecisionTreeClassifier(), X, Y, cv=folds, scoring="f1_macro")
    >>> len(scores)
    10
    """

    def __init__(self, n_splits: int = 5, n_repeats: int = 10, *, random_state: Any = None) -> None:
        super().__init__(n_splits, random_state=random_state)
        self.n_repeats = check_whole_number("n_repeats", n_repeats, 1)


class IterativeStratifiedGroupKFold(IterativeStratifiedKFold):
    """K-fold cross-validator for multi-label data that keeps groups of samples together.

    All samples of a group, such as a patient or an album, are in the same fold. Folds have nearly the same number of
    samples and of positive samples of every label: the groups with the largest fraction of any label are assigned
    first, each to the fold for which the squared deviations of the folds from equal fractions increase least.

    .. versionadded:: 0.2

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2 and at most the number of groups.
    shuffle : bool, default=True
        Whether groups of the same size are visited in random order and ties are broken at random.
    random_state : int, Generator, RandomState or None, default=None
        Controls the order and the ties. Pass an int for the same folds at every call of ``split``.

    Notes
    -----
    A label whose positive samples are all in one group is in one fold only, and a group with more samples than a fold
    should have makes its fold larger than the others.

    See Also
    --------
    RepeatedIterativeStratifiedGroupKFold : Several repetitions.

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn.multilabel import IterativeStratifiedGroupKFold
    >>> Y = np.zeros((1000, 2), dtype=int)
    >>> Y[:500, 0] = Y[::20, 1] = 1
    >>> patients = np.arange(1000) // 10
    >>> folds = IterativeStratifiedGroupKFold(n_splits=5, random_state=0)
    >>> for train, test in folds.split(Y, Y, groups=patients):
    ...     print(len(test), Y[test].sum(axis=0), set(patients[train]) & set(patients[test]))
    200 [100  10] set()
    200 [100  10] set()
    200 [100  10] set()
    200 [100  10] set()
    200 [100  10] set()
    """

    # Under scikit-learn's metadata routing, as for its own group splitters.
    __metadata_request__split: ClassVar[dict[str, bool]] = {"groups": True}

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """Yield the indices of the training and test samples of each fold, repetition by repetition.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Only its number of samples is used.
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            Zeros and ones.
        groups : array-like of shape (n_samples,)
            The group of each sample.

        Yields
        ------
        train, test : ndarray of int
            In ascending order.
        """
        return super().split(X, y, groups)

    def _prepare(self, labels: sparse.csr_array, groups: Any) -> Callable[[np.random.Generator | None], Folds]:
        groups = read_groups(groups, labels.shape[0])
        n_groups = int(groups.max()) + 1
        if n_groups < self.n_splits:
            raise ValueError(
                f"groups has {n_groups} different group(s), which cannot be split into {self.n_splits} folds: "
                "n_splits must be at most the number of groups."
            )
        return lambda rng: assign_groups(labels, groups, np.full(self.n_splits, 1 / self.n_splits), rng)


class RepeatedIterativeStratifiedGroupKFold(RepeatedIterativeStratifiedKFold, IterativeStratifiedGroupKFold):
    """Repeated `IterativeStratifiedGroupKFold` cross-validator, with a different randomization in each repetition.

    .. versionadded:: 0.2

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2 and at most the number of groups.
    n_repeats : int, default=10
        Number of repetitions.
    random_state : int, Generator, RandomState or None, default=None
        Controls the randomization of all repetitions. Pass an int for the same folds at every call of ``split``.

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn.multilabel import RepeatedIterativeStratifiedGroupKFold
    >>> Y, albums = np.eye(4, dtype=int)[np.arange(40) % 4], np.arange(40) // 2
    >>> folds = RepeatedIterativeStratifiedGroupKFold(n_splits=2, n_repeats=3, random_state=0)
    >>> len(list(folds.split(Y, Y, groups=albums)))
    6
    """


def iterative_train_test_split(
    *arrays: Any,
    stratify: Any = None,
    groups: Any = None,
    test_size: float | int | None = None,
    train_size: float | int | None = None,
    random_state: Any = None,
) -> list[Any]:
    """Split arrays into training and test sets that preserve the frequency of every label.

    It is called like scikit-learn's ``train_test_split``; samples are assigned as in `IterativeStratifiedKFold`, to two
    folds of unequal size.

    Parameters
    ----------
    *arrays : arrays, sparse matrices, DataFrames or lists
        Inputs with the same number of samples.
    stratify : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels), optional
        The labels, zeros and ones. The last of ``arrays`` by default.
    groups : array-like of shape (n_samples,), optional
        Groups of samples, such as patients, each of which is in one of the sets, as in `IterativeStratifiedGroupKFold`.
        The sizes of the sets are then those that groups allow.
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
    tables = indexable(*arrays)
    labels = read_sparse_labels(arrays[-1] if stratify is None else stratify, "the label array")
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
