"""Fixed rules: combine the scores of K members to one score per sample and class.

The level of a rule is the member output that it uses: the class, the ranking of the classes, or the class
probabilities.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from fuselearn._core import sum_leads
from fuselearn._messages import show
from fuselearn._parameters import check_choice, check_number, check_whole_number
from fuselearn.base import clip_probabilities
from fuselearn.learners.learner import Weights

Scores = npt.NDArray[np.floating]

ROUNDING = 1e-12
SORTED_CELLS = 6400  # cells sorted at once, which keeps temporary arrays small

MOST_PAIRED_CLASSES = 40  # from there on, sorting is faster than comparing all pairs

TWO_CLASS_RULES = ("and", "or", "k_of_n")
CLASS_RULES = (*TWO_CLASS_RULES, "majority")
PROBABILITY_RULES = ("mean", "median", "product", "min", "max")
UNWEIGHTED_RULES = ("and", "or", "min", "max")
RULES = (*CLASS_RULES, "borda", *PROBABILITY_RULES)


def combine_scores(
    scores: npt.ArrayLike,
    rule: str = "mean",
    *,
    weights: npt.ArrayLike | None = None,
    k: float | None = None,
    positive_class: int | None = None,
) -> npt.NDArray[np.float64]:
    """Combine the class scores of several members by a fixed rule.

    With s_k(i) the score that member k gives to class i of a sample, the combined score of class i is::

        "mean"      sum_k w_k s_k(i) / sum_k w_k
        "median"    the weighted median of s_1(i), ..., s_K(i)
        "product"   prod_k s_k(i)^(w_k K / sum w), divided by the sum over the classes
        "min"       min_k s_k(i)
        "max"       max_k s_k(i)
        "borda"     sum_k w_k (classes that k scores below i + half of the others that it scores equal)
        "majority"  sum_k w_k [k votes for i] / sum_k w_k
        "and"       1 for the positive class if all members vote for it, else 1 for the other class
        "or"        the same if at least one member votes for it
        "k_of_n"    the same if the weights of those that vote for it sum up to at least k

    The class with the largest combined score is predicted.

    Ties: a member votes for the first class with its largest score. Of equal combined scores the first is chosen, as by
    ``argmax``; scores that differ from the largest only by rounding are set to the largest.

    Parameters
    ----------
    scores : array of shape (n_members, n_samples, n_classes)
        Comparable scores, possibly infinite, for rules that count votes or ranks; finite scores for other rules,
        non-negative for "product".
    rule : str, default="mean"
        The rule.
    weights : array of shape (n_members,), optional
        Non-negative and not all zero; None means equal weights. Not supported by "and", "or", "min" and "max".
    k : float, optional
        For "k_of_n": an integer from 1 to n_members or, with weights, a number above 0 and at most their sum.
    positive_class : {0, 1}, optional
        For "and", "or" and "k_of_n", which combine two classes: the index of the positive one, by default 1.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)

    References
    ----------
    Kittler, J., Hatef, M., Duin, R. P. W. and Matas, J. (1998). On combining classifiers. IEEE Transactions on Pattern
    Analysis and Machine Intelligence 20(3), 226-239.
    Ho, T. K., Hull, J. J. and Srihari, S. N. (1994). Decision combination in multiple classifier systems. IEEE
    Transactions on Pattern Analysis and Machine Intelligence 16(1), 66-75.

    Examples
    --------
    Two of three members prefer the first class; the third is certain of the second.

    >>> from fuselearn.combine import combine_scores
    >>> scores = [[[0.5, 0.3, 0.2]], [[0.5, 0.4, 0.1]], [[0.0, 0.9, 0.1]]]
    >>> combine_scores(scores, "majority").round(3)
    array([[0.667, 0.333, 0.   ]])
    >>> combine_scores(scores, "mean").round(3)
    array([[0.333, 0.533, 0.133]])
    >>> combine_scores(scores, "borda")
    array([[4., 4., 1.]])
    """
    check_choice("rule", rule, RULES)
    table = _read_scores(scores)
    n_members, _, n_classes = table.shape
    member_weights = None
    if weights is not None:
        refuse_weights(rule)
        member_weights = read_member_weights(weights, n_members)
    if rule in TWO_CLASS_RULES:
        if n_classes != 2:
            raise ValueError(f"rule={show(rule)} is defined for two classes, but scores has {n_classes}.")
        if positive_class not in (None, 0, 1):
            raise ValueError(f"positive_class must be 0 or 1, the index of a class, not {show(positive_class)}.")
        needed = votes_needed(rule, k, n_members, member_weights)
        return _agree(table, member_weights, needed, 1 if positive_class is None else positive_class)
    return _settle_ties(_COMBINE[rule](table, member_weights))


def as_probabilities(combined: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Divide combined scores by their sum over the classes; if all are zero, return equal probabilities.

    Examples
    --------
    >>> as_probabilities(np.array([[0.2, 0.6], [0.0, 0.0]]))
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    sums = combined.sum(axis=-1, keepdims=True)
    equal = np.full_like(combined, 1 / combined.shape[-1])
    return clip_probabilities(np.divide(combined, sums, out=equal, where=sums > 0))


def refuse_weights(rule: str) -> None:
    """Raise an error for weights with a rule that does not support them."""
    if rule in UNWEIGHTED_RULES:
        raise ValueError(f"rule={show(rule)} does not support weights: use weights=None.")


def votes_needed(rule: str, k: Any, n_members: int, weights: Weights | None) -> float:
    """Return the number of votes, or the sum of their weights, required for the positive class."""
    if rule == "and":
        return n_members
    if rule == "or":
        return 1
    if k is None:
        raise ValueError("rule='k_of_n' needs k, the number of members that must vote for the positive class.")
    if weights is None:
        if check_whole_number("k", k, 1) > n_members:
            raise ValueError(f"k must be at most the number of members, {n_members}, not {k}.")
    elif not 0 < check_number("k", k, 0) <= weights.sum() * (1 + ROUNDING):
        raise ValueError(f"k must be above 0 and at most the sum of the weights, {weights.sum():g}, not {show(k)}.")
    return float(k)


def read_member_weights(weights: npt.ArrayLike, n_members: int) -> Weights:
    """Check that there is a non-negative weight for each member, and that they are not all zero."""
    try:
        read = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"weights must be {n_members} numbers, one for each member, not {show(weights)}.") from error
    if read.shape != (n_members,):
        raise ValueError(f"weights must be {n_members} numbers, one for each member; their shape is {read.shape}.")
    if not np.isfinite(read).all() or (read < 0).any():
        raise ValueError(f"weights must be finite numbers of at least 0, not {read.tolist()}.")
    if not read.any():
        raise ValueError("weights are all zero; at least one weight must be positive.")
    return read


def mean_of_middle(values: Scores, n_cut: int) -> npt.NDArray[np.float64]:
    """Average the members' values of each cell without the ``n_cut`` smallest and largest ones.

    Parameters
    ----------
    values : float array of shape (n_members, n_cells)
    n_cut : int
        From 0, the mean, to (n_members - 1) // 2, the median.

    Returns
    -------
    array of shape (n_cells,)
        NaN where a cell has a NaN.

    Examples
    --------
    >>> values = np.array([[1.0, 5.0], [2.0, 5.0], [9.0, 7.0], [3.0, 0.0]])
    >>> mean_of_middle(values, 1)
    array([2.5, 5. ])
    """
    means = np.empty(values.shape[1])
    for start in range(0, values.shape[1], SORTED_CELLS):
        ranked = np.sort(values[:, start : start + SORTED_CELLS], axis=0)
        middle = ranked[n_cut : len(ranked) - n_cut].mean(axis=0, dtype=np.float64)
        means[start : start + SORTED_CELLS] = np.where(np.isnan(ranked[-1]), np.nan, middle)
    return means


def weighted_median(values: Scores, weights: Weights) -> npt.NDArray[np.float64]:
    """Return the value at which the sorted members of a cell reach half of the weight.

    If the weight up to a value is exactly half (but for rounding), it is the mean of that value and the next one, so
    equal weights give the plain median.

    Parameters
    ----------
    values : float array of shape (n_members, n_cells)
    weights : array of shape (n_members,)
        Non-negative, and not all zero. Members with weight zero are ignored.

    Returns
    -------
    array of shape (n_cells,)

    Examples
    --------
    >>> weighted_median(np.array([[1.0], [2.0], [9.0]]), np.array([1.0, 1.0, 3.0]))
    array([9.])
    >>> weighted_median(np.array([[1.0], [2.0], [9.0]]), np.array([1.0, 1.0, 2.0]))
    array([5.5])
    """
    medians = np.empty(values.shape[1])
    for start in range(0, values.shape[1], SORTED_CELLS):
        part = values[:, start : start + SORTED_CELLS]
        order = part.argsort(axis=0, kind="stable")
        reached = weights[order].cumsum(axis=0)
        half = reached[-1] / 2
        lower = (reached >= half * (1 - ROUNDING)).argmax(axis=0)
        upper = (reached > half * (1 + ROUNDING)).argmax(axis=0)
        cells = np.arange(part.shape[1])
        middle = [part[order[rank, cells], cells].astype(np.float64) for rank in (lower, upper)]
        medians[start : start + SORTED_CELLS] = (middle[0] + middle[1]) / 2
    return medians


def _read_scores(scores: npt.ArrayLike) -> Scores:
    try:
        table = np.asarray(scores)
    except ValueError as error:
        raise ValueError("scores must have the same samples and classes for every member.") from error
    if table.ndim != 3 or 0 in (table.shape[0], table.shape[2]):
        raise ValueError(f"scores must have the shape (n_members, n_samples, n_classes), not {table.shape}.")
    return table if table.dtype in (np.float32, np.float64) else table.astype(np.float64)


def _require_finite(scores: Any) -> Any:
    if not np.isfinite(scores).all():
        raise ValueError("scores has NaN or infinite entries; expected finite scores of every member for every sample.")
    return scores


def _refuse_missing(is_missing: Any) -> None:
    if is_missing:
        raise ValueError("scores has NaN; every member must score every class of every sample.")


def _settle_ties(combined: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Set scores that differ from the largest of their sample only by rounding to the largest."""
    largest = combined.max(axis=1, keepdims=True)
    return np.where(combined >= largest - ROUNDING * np.abs(largest), largest, combined)


def _equal_if_none(weights: Weights | None, scores: Scores) -> Weights:
    return np.ones(len(scores)) if weights is None else weights


def _mean(scores: Scores, weights: Weights | None) -> npt.NDArray[np.float64]:
    fractions = None if weights is None else weights / weights.sum()
    means = scores.mean(axis=0, dtype=np.float64) if fractions is None else np.tensordot(fractions, scores, axes=1)
    return _require_finite(means)


def _median(scores: Scores, weights: Weights | None) -> npt.NDArray[np.float64]:
    cells = scores.reshape(len(scores), -1)
    if weights is None:
        medians = mean_of_middle(cells, (len(scores) - 1) // 2)
    else:
        medians = weighted_median(_require_finite(cells), weights)
    return _require_finite(medians).reshape(scores.shape[1:])


def _product(scores: Scores, weights: Weights | None) -> npt.NDArray[np.float64]:
    """Multiply by adding logarithms, so that the products of hundreds of members do not become zero."""
    if (_require_finite(scores) < 0).any():
        raise ValueError("rule='product' multiplies probabilities, but scores has negative entries.")
    weights = _equal_if_none(weights, scores)
    exponents = weights * (len(weights) / weights.sum())
    totals = np.zeros(scores.shape[1:])
    with np.errstate(divide="ignore"):
        for k in np.flatnonzero(exponents):  # the others would give zero times minus infinity
            totals += exponents[k] * np.log(scores[k], dtype=np.float64)
    largest = totals.max(axis=1, keepdims=True)
    products = np.exp(totals - np.where(largest > -np.inf, largest, 0.0))
    return products / np.maximum(products.sum(axis=1, keepdims=True), 1.0)  # the sum is 0 or at least 1


def _majority(scores: Scores, weights: Weights | None) -> npt.NDArray[np.float64]:
    weights = _equal_if_none(weights, scores)
    fractions = np.zeros(scores.shape[1:])
    samples = np.arange(scores.shape[1])
    for votes, weight in zip(_votes(scores), weights, strict=True):
        fractions[samples, votes] += weight
    return fractions / weights.sum()


def _agree(scores: Scores, weights: Weights | None, needed: float, positive: int) -> npt.NDArray[np.float64]:
    """Return 1 for the positive class if enough members vote for it, else 1 for the other class."""
    weights = _equal_if_none(weights, scores)
    decided = weights @ (_votes(scores) == positive) >= needed - ROUNDING * weights.sum()
    return np.eye(2)[np.where(decided, positive, 1 - positive)]


def _votes(scores: Scores) -> npt.NDArray[np.intp]:
    """Return the class that each member predicts for each sample; ties go to the first class."""
    votes = scores.argmax(axis=2)
    # argmax returns the index of a NaN if there is one, so it suffices to check the chosen scores.
    _refuse_missing(np.isnan(np.take_along_axis(scores, votes[:, :, None], axis=2)).any())
    return votes


def _borda(scores: Scores, weights: Weights | None) -> npt.NDArray[np.float64]:
    n_classes = scores.shape[2]
    weights = _equal_if_none(weights, scores)
    if n_classes > MOST_PAIRED_CLASSES:
        _refuse_missing(np.isnan(scores).any())
        below = [weight * (rankdata(member, axis=1) - 1) for member, weight in zip(scores, weights, strict=True)]
        return np.sum(below, axis=0)
    leads, n_missing = sum_leads(scores, weights)
    _refuse_missing(n_missing)
    return (leads + weights.sum() * (n_classes - 1)) / 2


_COMBINE: dict[str, Callable[[Scores, Any], npt.NDArray[np.float64]]] = {
    "majority": _majority,
    "borda": _borda,
    "mean": _mean,
    "median": _median,
    "product": _product,
    "min": lambda scores, _: _require_finite(scores).min(axis=0).astype(np.float64),
    "max": lambda scores, _: _require_finite(scores).max(axis=0).astype(np.float64),
}
