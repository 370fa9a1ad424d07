"""Many classes from two-class classifiers, one per bit of the classes' codewords."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator

from fuselearn._parameters import check_choice, check_whole_number, count_threads
from fuselearn.codes.codebook import CodeBook, count_splits, exhaustive_code, min_distance, random_code, read_code
from fuselearn.codes.decoding import DECODINGS, class_probabilities, codeword_distances
from fuselearn.codes.search import search_code
from fuselearn.ensembles.components import ComponentEnsemble
from fuselearn.ensembles.table_classifier import TableClassifier
from fuselearn.learners import Component, Sensor, TreeComponent, are_counts
from fuselearn.learners.fusion import StoredComponents
from fuselearn.learners.tree import PackedTrees

CODES = ("auto", "exhaustive", "hamming", "random")
BITS_PER_DOUBLING = 10


class ErrorCorrectingCodeClassifier(ComponentEnsemble, TableClassifier):
    """Error-correcting output codes: learn each bit of the classes' codewords, predict the class of the nearest one.

    With W_cb the b-th bit of the codeword of class c, and p_b(x) the probability that the b-th classifier gives to
    a 1, ::

        class of x = argmin_c sum_b |W_cb - p_b(x)|.

    If any two codewords differ in at least d bits, floor((d - 1) / 2) wrong bits are always corrected.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Learner of the bits: any scikit-learn classifier. None means ``CARTClassifier()``.
    code : {"auto", "exhaustive", "hamming", "random"} or array of shape (n_classes, n_bits), default="auto"
        Which bits stand for which class. ``"exhaustive"``: one bit for each of the 2^(C-1) - 1 splits of C classes into
        two groups. ``"hamming"``: the largest mutual Hamming distance that a search finds. ``"random"``: drawn at
        random. ``"auto"``: exhaustive if that takes no more than the default number of bits, as for up to five classes;
        otherwise by search. Or a code book of 0 and 1, with one row per class in the order of ``classes_``.
    n_bits : int, optional
        Bits of ``"hamming"``, ``"random"`` and ``"auto"`` codes, at least log2(C). More bits correct more errors. By
        default 10 log2(C), rounded up, or all 2^(C-1) - 1 splits if they are fewer.
    decoding : {"l1", "hamming", "loss"}, default="l1"
        Distance of predicted bits from a codeword: the formula above, the same with bits rounded to 0 and 1, or their
        log loss, in which confident bits count more.
    random_state : int, RandomState or None, default=None
        Seed of the code book and of the learners.
    n_jobs : int or None, default=None
        Bits learned at the same time. Results do not depend on it.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        The classes; the number of features; their names, if fitted on a DataFrame whose column names are text.
    code_book_ : int8 array of shape (n_classes, n_bits)
    min_distance_ : int
        The least Hamming distance d of two codewords.
    estimators_ : list of classifiers
        One for each bit, with the classes 0 and 1.

    See Also
    --------
    fuselearn.codes.search_code : Search for a code book with a large minimum distance.
    sklearn.multiclass.OutputCodeClassifier : Random codes, in scikit-learn.

    Notes
    -----
    If the learner takes no ``sample_weight``, samples are repeated by whole numbers, and drawn by other ones.
    Probabilities are explained at :func:`~fuselearn.codes.decoding.class_probabilities`. A learner without
    ``predict_proba`` gives bits of 0 and 1. A bit that is the same for all samples with positive weight is not
    learned but always predicted; it does not change the distances' order.

    References
    ----------
    Dietterich, T. G. and Bakiri, G. (1995). Solving multiclass learning problems via error-correcting output codes.
    Journal of Artificial Intelligence Research 2, 263-286.
    Allwein, E. L., Schapire, R. E. and Singer, Y. (2000). Reducing multiclass to binary: a unifying approach for margin
    classifiers. Journal of Machine Learning Research 1, 113-141.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import cross_val_score
    >>> from fuselearn import CARTClassifier
    >>> from fuselearn.codes import ErrorCorrectingCodeClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> coded = ErrorCorrectingCodeClassifier(random_state=0)
    >>> float(round(cross_val_score(coded, X, y, cv=5).mean(), 2))
    0.89
    >>> float(round(cross_val_score(CARTClassifier(), X, y, cv=5).mean(), 2))
    0.73
    >>> coded.fit(X, y).code_book_.shape, coded.min_distance_
    ((10, 34), 18)
    """

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        code: str | npt.ArrayLike = "auto",
        n_bits: int | None = None,
        decoding: str = "l1",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.code = code
        self.n_bits = n_bits
        self.decoding = decoding
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_choice("decoding", self.decoding, DECODINGS)
        if isinstance(self.code, str):
            check_choice("code", self.code, CODES)
        if self.n_bits is not None:
            check_whole_number("n_bits", self.n_bits, 1)

    def _fit_sensor(
        self, sensor: Sensor, X: Any, weights: npt.NDArray[np.float64] | None, rng: np.random.Generator
    ) -> None:
        self.code_book_ = make_code(self.code, len(self.classes_), self.n_bits, rng)
        self.min_distance_ = min_distance(self.code_book_)

        sensor.learner.n_threads = 1  # bits are learned side by side instead
        seeds = rng.integers(2**62, size=(self.code_book_.shape[1],)).tolist()
        components = Parallel(n_jobs=self.n_jobs, prefer=sensor.learner.prefer)(
            delayed(_learn_bit)(sensor, bit, weights, seed) for bit, seed in zip(self.code_book_.T, seeds, strict=True)
        )
        sensor.learner.unbind()
        self._fused_ = BitModels(components)  # type: ignore[assignment]
        # The rule of succession: so sure may one be after as many samples of one kind as there are.
        self._least_probability_ = 1.0 / (_count_rows(weights, sensor.n_rows) + 2)

    def _class_scores(self, X: Any) -> npt.NDArray[np.float64]:
        return class_probabilities(self._distances(X), self.code_book_.shape[1], self.decoding)

    def _decision_scores(self, X: Any) -> npt.NDArray[np.float64]:
        return -self._distances(X)

    def _distances(self, X: Any) -> npt.NDArray[np.float64]:
        return codeword_distances(
            self.predict_bits(X), self.code_book_, self.decoding, least_probability=self._least_probability_
        )

    def predict_bits(self, X: Any) -> npt.NDArray[np.float64]:
        """Predict the probability of a 1 in each bit of a sample's codeword.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_bits)
        """
        rows = self._read_rows(X)
        return self._fused_.scores(rows, count_threads(self.n_jobs))

    def _as_estimator(self, component: Any, base: Any) -> Any:
        estimator = super()._as_estimator(component, base)
        if hasattr(base, "_wrap"):
            estimator.classes_ = np.array([0, 1])
        return estimator


class BitModels(StoredComponents):
    """The models of all bits; trees are packed into one forest, other models are asked one by one.

    Parameters
    ----------
    components : sequence of Component
        With two classes each.
    """

    def __init__(self, components: Sequence[Component]) -> None:
        self.components = components
        self.packed = None

    def scores(self, X: Any, n_threads: int = 1) -> npt.NDArray[np.float64]:
        """Return the probability of a 1 in each bit for each sample of ``X``."""
        trees = [component for component in self.components if isinstance(component, TreeComponent)]
        if len(trees) < len(self.components):
            return np.column_stack([component.scores(X)[:, 1] for component in self.components])
        if self.packed is None:  # packing waits for the first prediction
            self.packed = PackedTrees(trees, np.ones(len(trees)), np.zeros(len(trees), dtype=bool))
        leaves = self.packed.leaves(X, n_threads)
        return np.column_stack([tree.tree.shares()[leaf, 1] for tree, leaf in zip(trees, leaves.T, strict=True)])


def make_code(code: str | npt.ArrayLike, n_classes: int, n_bits: int | None, rng: np.random.Generator) -> CodeBook:
    """Make the code book that the parameters of the classifier ask for.

    Examples
    --------
    >>> make_code("auto", 3, None, np.random.default_rng(0))
    array([[1, 1, 1],
           [0, 0, 1],
           [0, 1, 0]], dtype=int8)
    """
    if not isinstance(code, str):
        book = read_code(code, n_classes)
        if n_bits not in (None, book.shape[1]):
            raise ValueError(f"n_bits is {n_bits}, but the given code has {book.shape[1]} bits; leave n_bits out.")
        return book
    if code == "exhaustive":
        if n_bits not in (None, count_splits(n_classes)):
            raise ValueError(
                f"n_bits is {n_bits}, but an exhaustive code for {n_classes} classes has {count_splits(n_classes)} "
                "bits; leave n_bits out, or set code='hamming'."
            )
        return exhaustive_code(n_classes)
    if n_bits is None:
        n_bits = min(int(np.ceil(BITS_PER_DOUBLING * np.log2(n_classes))), count_splits(n_classes))
    if code == "random":
        return random_code(n_classes, n_bits, random_state=rng)
    if code == "auto" and n_bits == count_splits(n_classes):
        return exhaustive_code(n_classes)
    return search_code(n_classes, n_bits, random_state=rng)


def _learn_bit(
    sensor: Sensor, bit: npt.NDArray[np.int8], weights: npt.NDArray[np.float64] | None, seed: int
) -> Component:
    component = sensor.regroup(bit).measure_all(weights, seed)
    component.unbind()  # or the training data would travel back from a worker process with each component
    return component


def _count_rows(weights: npt.NDArray[np.float64] | None, n_rows: int) -> float:
    """Count the samples, each as often as its weight says if that is a whole number."""
    if weights is None:
        return n_rows
    return float(weights.sum() if are_counts(weights) else np.count_nonzero(weights))
