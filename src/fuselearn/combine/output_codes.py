"""Output codes: multi-class classification by one binary classifier per bit of the classes' codewords.

The distance between the predicted bits p_b of a sample and the codeword W_c of a class is one of

    l1         sum_b |W_cb - p_b|,                                    the expected number of wrong bits
    hamming    the same, after rounding each p_b to 0 or 1,           the number of wrong bits
    loss       - sum_b log(p_b if W_cb is 1, else 1 - p_b),           the log loss of the bits

The class with the smallest distance is predicted; ties are broken in favor of the first. The sums are over the bits
that use the class: all bits, unless the code is ternary.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator

from fuselearn._parameters import check_choice, check_whole_number, count_threads
from fuselearn.base import as_estimator, clip_probabilities, predict_samples
from fuselearn.combine.code_books import KINDS, CodeBook, count_bits, make_code, min_distance, read_bits, read_code
from fuselearn.ensembles.ensemble import EnsembleClassifier
from fuselearn.fusion import Problem, Trained, WeightedSum
from fuselearn.learners import TreeModel, are_counts
from fuselearn.learners.learner import Scores, Weights

DECODINGS = ("l1", "hamming", "loss")
# Relative tolerance for ties, since the order of summation depends on the processor.
ROUNDING = 1e-12


def train_output_codes(problem: Problem, code: str | npt.ArrayLike = "auto", n_bits: int | None = None) -> Trained:
    """Train a model per bit; the parameters are those of :class:`ErrorCorrectingCodeClassifier`."""
    n_classes = problem.target.n_columns
    if isinstance(code, str):
        book = make_code(n_classes, n_bits, kind=code, random_state=problem.rng)
    else:
        book = read_code(code, n_classes)
        if n_bits not in (None, book.shape[1]):
            raise ValueError(f"n_bits is {n_bits}, but the given code has {book.shape[1]} bits; omit n_bits.")
    problem.learner.n_threads = 1  # bits are learned in parallel instead
    seeds = problem.rng.integers(2**62, size=(book.shape[1],)).tolist()
    ones, zeros = read_bits(book)
    models = Parallel(n_jobs=problem.n_jobs, prefer=problem.learner.prefer)(
        delayed(_train_bit)(_pose_bit(problem, is_one, is_one + is_zero), seed)
        for is_one, is_zero, seed in zip(ones.T, zeros.T, seeds, strict=True)
    )
    trace = {
        "code_book_": book,
        "min_distance_": min_distance(book),
        # The rule of succession: the least probability after n samples of one kind.
        "_least_probability_": 1.0 / (_count_samples(problem.weights, problem.n_draws) + 2),
    }
    return Trained(WeightedSum(models, np.ones(len(models)), 2), trace)


def _pose_bit(problem: Problem, is_one: npt.NDArray[np.int8], takes_part: npt.NDArray[np.int8]) -> Problem:
    """Return the problem of learning one bit; samples of classes that the bit ignores have the weight 0."""
    target = problem.target.regroup(is_one)
    weights = problem.initial_weights * takes_part[problem.target.values]
    if takes_part.all() or not weights.any():  # without a sample, the bit is 0
        return replace(problem, target=target)
    return replace(problem, target=target, weights=weights)


def _train_bit(problem: Problem, seed: int) -> Any:
    return problem.train_on_all(seed)


def _count_samples(weights: Weights | None, n_samples: int) -> float:
    """Return the number of samples; integer weights are treated as copies."""
    if weights is None:
        return n_samples
    return float(weights.sum() if are_counts(weights) else np.count_nonzero(weights))


class ErrorCorrectingCodeClassifier(EnsembleClassifier):
    """Error-correcting output codes: learn each bit of the codewords, and predict the class of the nearest one.

    With W_cb the b-th bit of the codeword of class c, and p_b(x) the probability of a 1 by the b-th classifier, ::

        class of x = argmin_c sum_b |W_cb - p_b(x)|.

    If any two codewords differ in at least d bits, floor((d - 1) / 2) wrong bits are always corrected.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Base estimator of the bits: any scikit-learn classifier. None means ``CARTClassifier()``.
    code : {"auto", "exhaustive", "hamming", "random", "one-vs-rest", "one-vs-one"} or array, default="auto"
        The code book. ``"exhaustive"``: one bit for each of the 2^(C-1) - 1 divisions of C classes into two groups.
        ``"hamming"``: a large minimum Hamming distance, by search. ``"random"``: a random book. ``"auto"``: exhaustive
        if this needs no more than the default number of bits, as for up to five classes; otherwise "hamming".
        ``"one-vs-rest"``: one bit per class. ``"one-vs-one"``: one bit per pair of classes, trained on their samples
        only; with ``decoding="hamming"`` the class that wins most pairs is predicted. An array of shape (n_classes,
        n_bits), with rows in the order of ``classes_``, contains 0 and 1, or -1, 0 and 1, where a bit ignores the
        classes with 0.
    n_bits : int, optional
        Number of bits of ``"hamming"``, ``"random"`` and ``"auto"`` codes, at least log2(C). More bits correct more
        errors. By default 10 log2(C), rounded up, but at most 2^(C-1) - 1.
    decoding : {"l1", "hamming", "loss"}, default="l1"
        Distance between predicted bits and a codeword: "l1" is the formula above, "hamming" first rounds the bits to 0
        and 1, and "loss" is their log loss, in which confident bits count more.
    random_state : int, RandomState or None, default=None
        Seed of the code book and of the base estimators.
    n_jobs : int or None, default=None
        Number of bits learned in parallel. Results do not depend on it.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        The classes; the number of features; their names, if ``X`` is a DataFrame with string column names.
    code_book_ : int8 array of shape (n_classes, n_bits)
        Code book with entries 0 and 1, or -1, 0 and 1.
    min_distance_ : int
        The minimum Hamming distance d of two codewords, over the bits that use both classes.
    estimators_ : list of classifiers
        One classifier per bit, with the classes 0 and 1.

    See Also
    --------
    fuselearn.combine.make_code : Exhaustive, searched or random code books.
    sklearn.multiclass.OutputCodeClassifier, sklearn.multiclass.OneVsRestClassifier, \
sklearn.multiclass.OneVsOneClassifier : Random codes, one-vs-rest and one-vs-one in scikit-learn.

    Notes
    -----
    If the base estimator does not support ``sample_weight``, samples are repeated for integer weights, and resampled
    otherwise. Probabilities are explained in :func:`~fuselearn.combine.output_codes.class_probabilities`. Bits are 0
    and 1 if the base estimator has no ``predict_proba``. A bit that is constant over all samples with positive weight
    is not learned; it does not change the order of the distances.

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
    >>> from fuselearn.combine import ErrorCorrectingCodeClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> coded = ErrorCorrectingCodeClassifier(random_state=0)
    >>> float(round(cross_val_score(coded, X, y, cv=5).mean(), 2))
    0.89
    >>> float(round(cross_val_score(CARTClassifier(), X, y, cv=5).mean(), 2))
    0.73
    >>> coded.fit(X, y).code_book_.shape, coded.min_distance_
    ((10, 34), 18)
    """

    code_book_: npt.NDArray[np.int8]
    min_distance_: int
    _least_probability_: float
    _shares_table = False  # the sum of the models is meaningless; their outputs are separate bits

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
            check_choice("code", self.code, KINDS)
        if self.n_bits is not None:
            check_whole_number("n_bits", self.n_bits, 1)

    def _pose(self, problem: Problem) -> Problem:
        return problem  # no progress report, as bits are not members

    def _train(self, problem: Problem) -> Trained:
        return train_output_codes(problem, self.code, self.n_bits)

    def predict_bits(self, X: Any) -> Scores:
        """Predict the probability of a 1 in each bit of a sample's codeword.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_bits)
        """
        return predict_samples(self, X, self._score_bits)

    def predict_proba(self, X: Any) -> Scores:
        """Predict class probabilities from the distances to the codewords.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            They sum to one; classes are in the order of ``classes_``.
        """
        return class_probabilities(self._distances(X), count_bits(self.code_book_), self.decoding)

    def _score_bits(self, X: Any) -> Scores:
        models = self._fused_.models
        if not all(isinstance(model, TreeModel) for model in models):
            return np.column_stack([model.scores(X)[:, 1] for model in models])
        leaves = self._fused_.leaves(X, count_threads(self.n_jobs))
        return np.column_stack([one.tree.shares()[leaf, 1] for one, leaf in zip(models, leaves.T, strict=True)])

    def _decision_scores(self, X: Any) -> Scores:
        return -self._distances(X)

    def _distances(self, X: Any) -> Scores:
        return codeword_distances(
            self.predict_bits(X), self.code_book_, self.decoding, least_probability=self._least_probability_
        )

    def _as_estimator(self, model: Any, base: Any) -> Any:
        return as_estimator(model, base, self._coder_, np.array([0, 1]), vars(self).get("feature_names_in_"))


def codeword_distances(
    bits: Scores, code: CodeBook, decoding: str = "l1", *, least_probability: float = 1e-6
) -> Scores:
    """Compute the distance between the predicted bits of each sample and the codeword of each class.

    Parameters
    ----------
    bits : array of shape (n_samples, n_bits)
        Probabilities that each bit is 1.
    code : int8 array of shape (n_classes, n_bits)
        With entries 0 and 1, or -1, 0 and 1; a bit ignores classes with 0.
    decoding : {"l1", "hamming", "loss"}
    least_probability : float, default=1e-6
        For ``"loss"``: minimum probability of 0 and 1. Without it, a single certain but wrong bit would exclude the
        correct class.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)

    Examples
    --------
    >>> code = np.array([[0, 0, 0], [1, 1, 1]], dtype=np.int8)
    >>> codeword_distances(np.array([[0.9, 0.2, 0.8]]), code)
    array([[1.9, 1.1]])
    >>> codeword_distances(np.array([[0.9, 0.2, 0.8]]), code, "hamming")
    array([[2., 1.]])
    """
    if decoding == "loss":
        bits = np.clip(bits, least_probability, 1.0 - least_probability)
        if_one, if_zero = -np.log(bits), -np.log1p(-bits)
    else:
        # A bit with probability 0.5 counts as half wrong for every class.
        ones = np.where(bits == 0.5, 0.5, bits > 0.5) if decoding == "hamming" else bits
        if_one, if_zero = 1.0 - ones, ones
    ones, zeros = (bits.astype(np.float64) for bits in read_bits(code))
    return if_one @ ones.T + if_zero @ zeros.T


def class_probabilities(distances: Scores, n_bits: int, decoding: str = "l1") -> Scores:
    """Convert distances to the codewords to class probabilities.

    With log loss they are likelihoods under independent bits, ::

        P(c) proportional to prod_b p_b^W_cb (1 - p_b)^(1 - W_cb).

    Otherwise all bits are assumed to be wrong with the same probability e, so for d wrong bits ::

        P(c) proportional to (e / (1 - e))^d_c.

    The error e is estimated from the sample: its nearest codeword differs in d_min bits, so e = (d_min + 1/2) / (n_bits
    + 1). Samples far from every codeword therefore have nearly uniform probabilities, even if the classifiers of the
    bits are overconfident. For a single bit, P(c) = 1 - d_c.

    Parameters
    ----------
    distances : array of shape (n_samples, n_classes)
        Result of ``codeword_distances``.
    n_bits : int
        Number of bits that use a class.
    decoding : {"l1", "hamming", "loss"}

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        Rows sum to one, and the nearest codeword has the largest probability.

    Examples
    --------
    >>> class_probabilities(np.array([[0.0, 2.0, 2.0], [1.0, 1.0, 1.0]]), n_bits=3).round(2)
    array([[0.96, 0.02, 0.02],
           [0.33, 0.33, 0.33]])
    """
    if decoding != "loss" and n_bits == 1:
        return clip_probabilities(1.0 - distances)
    nearest = distances.min(axis=1, keepdims=True)
    exponents = nearest - distances
    exponents[exponents >= -ROUNDING * (1.0 + nearest)] = 0.0
    if decoding != "loss":
        # Above one half, which codes with few bits can reach, the nearest codeword would be the least likely one.
        error = np.minimum((nearest + 0.5) / (n_bits + 1), n_bits / (2 * n_bits + 2))
        exponents *= np.log((1.0 - error) / error)
    likelihoods = np.exp(exponents)
    return likelihoods / likelihoods.sum(axis=1, keepdims=True)
