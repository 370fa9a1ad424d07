"""Compare methods over datasets, or over the folds of one: ranks and tests.

A *score table* has one row per dataset and one column per method: a DataFrame, whose index and columns name them, or
any two-dimensional array, with datasets and methods numbered from 0. Higher scores are better; pass losses with a
minus. ``summary.pivot(index="dataset", columns="method", values="score")`` makes one from the means at one noise level,
as :func:`fuselearn.lab.summarize` returns them.

- `average_ranks` ranks the methods on each dataset, `aligned_ranks` over all datasets together; `win_tie_loss` counts
  wins, ties and losses.
- `friedman_test` and `aligned_test` test whether any method differs from the others; `friedman_posthoc` and
  `aligned_posthoc` test pairs. `finner` corrects p-values for multiple comparisons, and
  :func:`fuselearn.lab.figures.critical_difference` plots them.
- `wilcoxon_test` compares two methods over datasets, `resampled_t_test` over the folds of one dataset, which are not
  independent: they share training samples.

The *plain* Friedman tests rank the methods within each dataset. The *aligned* tests subtract each dataset's mean score
and rank all differences together, so that a large difference counts more than a small one.
"""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from fuselearn._messages import show

__all__ = [
    "aligned_posthoc",
    "aligned_ranks",
    "aligned_test",
    "average_ranks",
    "finner",
    "friedman_posthoc",
    "friedman_test",
    "resampled_t_test",
    "wilcoxon_test",
    "win_tie_loss",
]


class Significance(NamedTuple):
    """The statistic of a test, and its p-value."""

    statistic: float
    p_value: float


class PostHoc(NamedTuple):
    """Comparisons of pairs of methods.

    `pairs` has one row per comparison, in the order of the score table's columns: method, versus, z, p_value
    (two-sided, raw) and p_corrected, by Finner's correction. `mean_ranks` is indexed by method.
    """

    name: str
    control: Any
    mean_ranks: pd.Series
    pairs: pd.DataFrame

    def p_corrected(self, method: Any, versus: Any) -> float:
        """Return the corrected p-value of two methods, in either order."""
        for row in self.pairs.itertuples():
            if {row.method, row.versus} == {method, versus}:
                return float(row.p_corrected)
        raise ValueError(f"method {method!r} and versus {versus!r} were not compared.")


def average_ranks(scores: Any, *, digits: int | None = None) -> pd.Series:
    """Average the ranks of each method over the datasets: the best has rank 1, ties share their mid-rank.

    ::

        rank of method j on dataset i
            = 1 + (methods better than j on i) + (other methods equal to j on i) / 2

    Parameters
    ----------
    scores : DataFrame or array-like of shape (n_datasets, n_methods)
        The score table.

    digits : int, default=None
        Round the scores to this many decimals first, so that scores that are equal when printed tie.
        Without it, only equal floating-point numbers tie.

    Returns
    -------
    ranks : Series of shape (n_methods,)
        In the order of the score table's columns.

    References
    ----------
    J. Demšar, "Statistical Comparisons of Classifiers over Multiple Data Sets", Journal of
    Machine Learning Research 7, 2006.

    Examples
    --------
    >>> from fuselearn.lab.statistics import average_ranks
    >>> average_ranks([[0.9, 0.8], [0.7, 0.6], [0.5, 0.4], [0.2, 0.3]]).to_list()
    [1.25, 1.75]
    """
    return check_scores(scores, digits=digits).rank(axis=1, ascending=False).mean()


def aligned_ranks(scores: Any, *, digits: int | None = None, tie_tolerance: float = 1e-13) -> pd.DataFrame:
    """Rank all scores of the table together, each minus the mean score of its dataset.

    Parameters
    ----------
    scores, digits
        As for `average_ranks`.

    tie_tolerance : float, default=1e-13
        Scores minus their mean that differ by no more than this fraction of the largest score tie, since
        0.9 - 0.8 and 0.8 - 0.7 are different floating-point numbers. With 0, rounding errors break such ties.

    Returns
    -------
    ranks : DataFrame of shape (n_datasets, n_methods)
        The numbers 1 (best) to n_datasets * n_methods; ties share their mid-rank.

    References
    ----------
    J. Hodges and E. Lehmann, "Rank Methods for Combination of Independent Experiments in
    Analysis of Variance", Annals of Mathematical Statistics 33, 1962.

    Examples
    --------
    >>> from fuselearn.lab.statistics import aligned_ranks
    >>> aligned_ranks([[0.9, 0.5], [0.3, 0.2]])
         0    1
    0  1.0  4.0
    1  2.0  3.0
    """
    if not 0 <= tie_tolerance < 1:
        raise ValueError(f"tie_tolerance must be at least 0 and below 1; got {tie_tolerance}.")
    table = check_scores(scores, digits=digits)
    values = table.to_numpy()
    aligned = values - values.mean(axis=1, keepdims=True)
    tolerance = tie_tolerance * float(np.abs(values).max(initial=0))
    ranks = stats.rankdata(-merge_rounding_errors(aligned.ravel(), tolerance)).reshape(values.shape)
    return pd.DataFrame(ranks, index=table.index, columns=table.columns)


def win_tie_loss(scores: Any, *, digits: int | None = None) -> pd.DataFrame:
    """Count the datasets on which each method wins against, ties with and loses to each other method.

    Parameters
    ----------
    scores, digits
        As for `average_ranks`.

    Returns
    -------
    counts : DataFrame
        Indexed by method and versus, with the columns wins, ties and losses.

    Examples
    --------
    >>> from fuselearn.lab.statistics import win_tie_loss
    >>> win_tie_loss([[0.9, 0.8], [0.7, 0.7], [0.5, 0.4]]).loc[(0, 1)].to_list()
    [2, 1, 0]
    """
    table = check_scores(scores, digits=digits)
    values, pairs = table.to_numpy(), list(permutations(range(table.shape[1]), 2))
    first, second = np.reshape(pairs, (-1, 2)).T.astype(np.intp)
    signs = np.sign(values[:, first] - values[:, second])
    counts = {name: (signs == sign).sum(axis=0) for name, sign in (("wins", 1), ("ties", 0), ("losses", -1))}
    names = [table.columns[first], table.columns[second]]
    return pd.DataFrame(counts, index=pd.MultiIndex.from_arrays(names, names=["method", "versus"]))


def finner(p_values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Correct p-values for multiple comparisons with Finner's step-down procedure.

    With m p-values sorted so that p_(1) <= ... <= p_(m)::

        corrected p_(j) = max over i <= j of  1 - (1 - p_(i)) ** (m / i)

    Parameters
    ----------
    p_values : array-like of shape (n_tests,)
        Raw p-values of one family of tests.

    Returns
    -------
    corrected : ndarray of shape (n_tests,)
        Corrected p-values in the order given.

    References
    ----------
    H. Finner, "On a Monotonicity Problem in Step-Down Multiple Test Procedures", Journal of the
    American Statistical Association 88, 1993.

    Examples
    --------
    >>> from fuselearn.lab.statistics import finner
    >>> finner([0.5, 0.01]).round(4)
    array([0.5   , 0.0199])
    """
    p = np.asarray(p_values, dtype=float)
    if p.ndim != 1:
        raise ValueError(f"p_values must have one dimension; got an array of shape {p.shape}.")
    if not ((p >= 0) & (p <= 1)).all():
        wrong = int(np.flatnonzero(~((p >= 0) & (p <= 1)))[0])
        raise ValueError(f"p_values must be between 0 and 1; number {wrong} is {p[wrong]}.")
    order = np.argsort(p, kind="stable")
    exponent = len(p) / np.arange(1, len(p) + 1)
    with np.errstate(divide="ignore"):
        # Equal to 1 - (1 - p) ** exponent, but without losing tiny p-values to rounding.
        stepped = -np.expm1(exponent * np.log1p(-p[order]))
    corrected = np.empty_like(p)
    corrected[order] = np.maximum.accumulate(stepped)
    return corrected


def friedman_test(scores: Any, *, digits: int | None = None) -> Significance:
    """Test with Friedman's ranks whether any method differs from the others.

    With k methods, n datasets and mean ranks r_j, up to SciPy's correction for ties::

        statistic = 12 n / (k (k + 1)) * (sum_j r_j ** 2  -  k (k + 1) ** 2 / 4)

    Parameters
    ----------
    scores : DataFrame or array-like of shape (n_datasets, n_methods)
        The score table, with three methods or more.

    digits : int, default=None
        Round the scores to this many decimals first.

    Returns
    -------
    test : named tuple (statistic, p_value)

    References
    ----------
    M. Friedman, "The Use of Ranks to Avoid the Assumption of Normality Implicit in the Analysis
    of Variance", Journal of the American Statistical Association 32, 1937.

    Examples
    --------
    >>> from fuselearn.lab.statistics import friedman_test
    >>> test = friedman_test([[0.9, 0.8, 0.7], [0.6, 0.5, 0.4], [0.3, 0.2, 0.1]])
    >>> test.statistic, round(test.p_value, 4)
    (6.0, 0.0498)
    """
    table = check_scores(scores, digits=digits, min_datasets=2, min_methods=3)
    if not np.ptp(table.to_numpy(), axis=1).any():  # SciPy divides zero by zero
        return Significance(0.0, 1.0)
    found = stats.friedmanchisquare(*table.to_numpy().T)
    return Significance(float(found.statistic), float(found.pvalue))


def friedman_posthoc(
    scores: Any,
    *,
    control: Any = None,
    digits: int | None = None,
) -> PostHoc:
    """Compare methods in pairs by their average ranks.

    With k methods, n datasets and average ranks r::

        z = |r_i - r_j| / sqrt(k (k + 1) / (6 n)),    p = 2 (1 - Phi(z))

    Parameters
    ----------
    scores : DataFrame or array-like of shape (n_datasets, n_methods)
        The score table.

    control : method, default=None
        Compare each method with this one only. None compares all pairs.

    digits
        As for `friedman_test`.

    Returns
    -------
    result : named tuple (name, control, mean_ranks, pairs)
        `pairs` has one row per comparison: method, versus, z, p_value (two-sided) and p_corrected.
        ``result.p_corrected(method, versus)`` returns one of them.

    References
    ----------
    S. García, A. Fernández, J. Luengo and F. Herrera, "Advanced nonparametric tests for multiple
    comparisons in the design of experiments in computational intelligence and data mining",
    Information Sciences 180, 2010.

    Examples
    --------
    >>> from fuselearn.lab.statistics import friedman_posthoc
    >>> result = friedman_posthoc([[0.9, 0.8, 0.7], [0.6, 0.5, 0.4], [0.3, 0.2, 0.1]])
    >>> result.pairs[["method", "versus", "p_value", "p_corrected"]].round(3)
       method  versus  p_value  p_corrected
    0       0       1    0.221        0.312
    1       0       2    0.014        0.042
    2       1       2    0.221        0.312
    """
    table = check_scores(scores, digits=digits, min_datasets=2, min_methods=2)
    n, k = table.shape
    error = np.sqrt(k * (k + 1) / (6 * n))
    return _compare("Friedman", average_ranks(table), error, control)


def aligned_test(scores: Any, *, digits: int | None = None, tie_tolerance: float = 1e-13) -> Significance:
    """Test with aligned ranks whether any method differs from the others.

    With k methods, n datasets, and the aligned ranks summed per method (R_j) and per dataset
    (R_i)::

                    (k - 1) [sum_j R_j ** 2  -  (k n ** 2 / 4) (k n + 1) ** 2]
        statistic = ----------------------------------------------------------
                     k n (k n + 1) (2 k n + 1) / 6  -  (1 / k) sum_i R_i ** 2

    Parameters
    ----------
    scores, digits, tie_tolerance
        As for `aligned_ranks`.

    Returns
    -------
    test : named tuple (statistic, p_value)

    References
    ----------
    S. García, A. Fernández, J. Luengo and F. Herrera, "Advanced nonparametric tests for multiple
    comparisons in the design of experiments in computational intelligence and data mining",
    Information Sciences 180, 2010.

    Examples
    --------
    >>> from fuselearn.lab.statistics import aligned_test
    >>> test = aligned_test([[0.9, 0.8, 0.7], [0.6, 0.5, 0.4], [0.3, 0.2, 0.1]])
    >>> round(test.statistic, 4), round(test.p_value, 4)
    (5.4, 0.0672)
    """
    table = check_scores(scores, digits=digits, min_datasets=2, min_methods=2)
    n, k = table.shape
    ranks = aligned_ranks(table, tie_tolerance=tie_tolerance)
    per_method, per_dataset = ranks.sum(axis=0), ranks.sum(axis=1)
    between = (per_method**2).sum() - k * n**2 / 4 * (k * n + 1) ** 2
    within = k * n * (k * n + 1) * (2 * k * n + 1) / 6 - (per_dataset**2).sum() / k
    statistic = float((k - 1) * between / within)
    return Significance(statistic, float(stats.chi2.sf(statistic, k - 1)))


def aligned_posthoc(
    scores: Any,
    *,
    control: Any = None,
    digits: int | None = None,
    tie_tolerance: float = 1e-13,
) -> PostHoc:
    """Compare methods in pairs, or with a control, by their mean aligned ranks.

    With k methods, n datasets and mean aligned ranks r::

        z = |r_i - r_j| / sqrt(k (k n + 1) / 6),    p = 2 (1 - Phi(z))

    Parameters
    ----------
    scores, control
        As for `friedman_posthoc`.

    digits, tie_tolerance
        As for `aligned_ranks`.

    Returns
    -------
    result : named tuple
        As for `friedman_posthoc`.

    References
    ----------
    S. García, A. Fernández, J. Luengo and F. Herrera, "Advanced nonparametric tests for multiple
    comparisons in the design of experiments in computational intelligence and data mining",
    Information Sciences 180, 2010.

    Notes
    -----
    The standard error ignores the dependence of ranks aligned within a dataset. With few methods the test therefore
    rejects too often: for two equal methods, in about one of seven tables at the level of 0.05. `friedman_posthoc`
    keeps the level.

    Examples
    --------
    >>> from fuselearn.lab.statistics import aligned_posthoc
    >>> result = aligned_posthoc([[0.9, 0.8, 0.7], [0.6, 0.5, 0.4], [0.3, 0.2, 0.1]], control=0)
    >>> round(result.p_corrected(0, 1), 3)
    0.18
    """
    table = check_scores(scores, digits=digits, min_datasets=2, min_methods=2)
    n, k = table.shape
    error = np.sqrt(k * (k * n + 1) / 6)
    mean_ranks = aligned_ranks(table, tie_tolerance=tie_tolerance).mean()
    return _compare("Friedman aligned ranks", mean_ranks, error, control)


def _compare(name: str, mean_ranks: pd.Series, error: float, control: Any) -> PostHoc:
    """Compare mean ranks whose differences have the standard error `error`."""
    methods = list(mean_ranks.index)
    if control is None:
        compared = list(combinations(methods, 2))
    elif control in methods:
        compared = [(control, method) for method in methods if method != control]
    else:
        raise ValueError(f"control must be one of the methods {methods}; got {show(control)}.")
    z = np.array([abs(mean_ranks[a] - mean_ranks[b]) for a, b in compared]) / error
    pairs = pd.DataFrame(compared, columns=["method", "versus"])
    pairs["z"] = z
    pairs["p_value"] = 2 * stats.norm.sf(z)
    pairs["p_corrected"] = finner(pairs["p_value"])
    return PostHoc(name, control, mean_ranks, pairs)


def wilcoxon_test(scores: npt.ArrayLike, versus: npt.ArrayLike) -> Significance:
    """Compare two methods over the same datasets or folds with Wilcoxon's signed-rank test, two-sided.

    Nonzero differences are ranked by absolute value; the statistic is the smaller of the rank sums of the positive and
    the negative differences. Its p-value is exact for fewer than 50 differences without zeros and ties, and otherwise a
    normal approximation with correction for continuity and ties, as in R.

    Parameters
    ----------
    scores, versus : array-like of shape (n_scores,)
        The two methods' scores, in the same order.

    Returns
    -------
    test : named tuple (statistic, p_value)
        The p-value is 1 if all scores are equal.

    References
    ----------
    F. Wilcoxon, "Individual Comparisons by Ranking Methods", Biometrics Bulletin 1, 1945.

    Examples
    --------
    >>> from fuselearn.lab.statistics import wilcoxon_test
    >>> better = [0.71, 0.72, 0.73, 0.74, 0.75, 0.76, 0.77, 0.78, 0.79, 0.80]
    >>> worse = [0.70, 0.70, 0.70, 0.70, 0.70, 0.70, 0.70, 0.70, 0.70, 0.70]
    >>> wilcoxon_test(better, worse).p_value
    0.001953125
    """
    first, second = _check_pair(scores, versus)
    tolerance = 1e-13 * float(max(np.abs(first).max(), np.abs(second).max()))
    # The leading zero turns a difference that is only rounding error into a zero.
    sizes = merge_rounding_errors(np.abs(np.append(0.0, first - second)), tolerance)[1:]
    differences = np.sign(first - second) * sizes
    used = differences[sizes > 0]
    if not len(used):
        return Significance(0.0, 1.0)
    exact = len(used) == len(first) < 50 and len(np.unique(sizes)) == len(sizes)
    found = stats.wilcoxon(used, correction=True, method="exact" if exact else "approx")
    return Significance(float(found.statistic), float(found.pvalue))


def resampled_t_test(scores: npt.ArrayLike, versus: npt.ArrayLike, *, n_splits: int) -> Significance:
    """Compare two methods over the folds of one dataset with the corrected resampled t-test, two-sided.

    With n differences d of mean m and variance s ** 2, from folds of one n_splits-th of the samples::

        t = m / sqrt((1 / n + 1 / (n_splits - 1)) s ** 2),    n - 1 degrees of freedom

    The second term, the ratio of test to training samples, is the correction: without it, t would grow with the
    number of repeats although there are no new data.

    Parameters
    ----------
    scores, versus : array-like of shape (n_folds,)
        The two methods' scores, fold by fold, of one repeat or several.

    n_splits : int
        The number of folds of one repeat.

    Returns
    -------
    test : named tuple (statistic, p_value)
        The p-value is 1 if all folds are equal. If all differences are the same and not zero, t is infinite, and
        the p-value is that of the sign test, 2 ** (1 - n).

    References
    ----------
    C. Nadeau and Y. Bengio, "Inference for the Generalization Error", Machine Learning 52, 2003.

    R. Bouckaert and E. Frank, "Evaluating the Replicability of Significance Tests for Comparing Learning Algorithms",
    PAKDD 2004.

    Examples
    --------
    >>> from fuselearn.lab.statistics import resampled_t_test
    >>> better = [0.71, 0.72, 0.73, 0.74, 0.75, 0.76, 0.77, 0.78, 0.79, 0.80]
    >>> worse = [0.70, 0.70, 0.70, 0.70, 0.70, 0.70, 0.70, 0.70, 0.70, 0.70]
    >>> round(resampled_t_test(better, worse, n_splits=5).p_value, 3)
    0.013
    """
    first, second = _check_pair(scores, versus)
    if n_splits < 2:
        raise ValueError(f"n_splits must be at least 2; got {n_splits}.")
    n = len(first)
    if n < 2:
        raise ValueError("scores and versus must have at least two folds; got one.")
    differences = first - second
    mean = float(differences.mean())
    tolerance = 1e-13 * float(max(np.abs(first).max(), np.abs(second).max()))
    if np.ptp(differences) <= tolerance:
        is_zero = abs(mean) <= tolerance
        return Significance(0.0, 1.0) if is_zero else Significance(float(np.copysign(np.inf, mean)), 2.0 ** (1 - n))
    statistic = mean / float(np.sqrt((1 / n + 1 / (n_splits - 1)) * differences.var(ddof=1)))
    return Significance(statistic, float(2 * stats.t.sf(abs(statistic), n - 1)))


def _check_pair(
    scores: npt.ArrayLike, versus: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    first, second = np.asarray(scores, dtype=float), np.asarray(versus, dtype=float)
    if first.ndim != 1 or first.shape != second.shape or not len(first):
        raise ValueError(
            "scores and versus must be two vectors with one number per fold; "
            f"got the shapes {first.shape} and {second.shape}."
        )
    for name, values in (("scores", first), ("versus", second)):
        if not np.isfinite(values).all():
            fold = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ValueError(f"{name} must be finite numbers; fold {fold} has {values[fold]}.")
    return first, second


def check_scores(
    scores: Any,
    *,
    digits: int | None = None,
    min_datasets: int = 1,
    min_methods: int = 1,
) -> pd.DataFrame:
    """Return the score table as a DataFrame of floats in which higher is better.

    Examples
    --------
    >>> check_scores([[0.91, float("nan")]])
    Traceback (most recent call last):
    ...
    ValueError: scores must be finite numbers; method 1 on dataset 0 has nan.
    """
    if not isinstance(scores, pd.DataFrame):
        array = np.asarray(scores)
        if array.ndim != 2:
            raise ValueError(
                f"scores must have two dimensions, datasets by methods; got an array of shape {array.shape}."
            )
        scores = pd.DataFrame(array)
    if len(scores) < min_datasets or len(scores.columns) < min_methods:
        raise ValueError(
            f"scores must have at least {min_datasets} datasets (rows) and {min_methods} methods "
            f"(columns); got {len(scores)} and {len(scores.columns)}."
        )
    for what, names in (("dataset", scores.index), ("method", scores.columns)):
        if names.has_duplicates:
            name = names[names.duplicated()][0]
            raise ValueError(f"scores must name every {what} once; {name!r} is repeated.")
    try:
        values = scores.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(f"scores must be finite numbers; {error}.") from error
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(
            f"scores must be finite numbers; method {show(scores.columns[column])} on dataset "
            f"{show(scores.index[row])} has {values[row, column]}."
        )
    if digits is not None:
        values = np.round(values, digits)
    return pd.DataFrame(values, index=scores.index, columns=scores.columns)


def merge_rounding_errors(values: npt.NDArray[np.float64], tolerance: float) -> npt.NDArray[np.float64]:
    """Give neighboring values that differ by no more than `tolerance` the smallest value of their group."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts_group = np.append(True, np.diff(ordered) > tolerance)
    merged = np.empty_like(values)
    merged[order] = ordered[starts_group][np.cumsum(starts_group) - 1]
    return merged
