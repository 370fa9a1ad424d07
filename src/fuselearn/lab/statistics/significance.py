"""Non-parametric tests on a score table, and tests of two methods.

There are two families of tests over datasets. The *plain* Friedman test ranks the methods within
each dataset. The *aligned* one subtracts each dataset's mean score and ranks all differences
together, so that a large difference counts for more than a small one. Each has an omnibus test
(do the methods differ at all?) and a post-hoc test (which ones do?), and `finner` corrects the
p-values of the latter for multiple comparisons.

Datasets are independent, and `wilcoxon_test` compares two methods over them. The folds of one dataset are not: they
share training samples, so a test that assumes independence finds differences where there are none.
`resampled_t_test` corrects for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from fuselearn._messages import show
from fuselearn.lab.statistics.ranks import aligned_ranks, check_scores, merge_rounding_errors, mid_ranks

__all__ = [
    "OmnibusTest",
    "PostHoc",
    "ResampledTTest",
    "WilcoxonTest",
    "aligned_posthoc",
    "aligned_test",
    "finner",
    "friedman_posthoc",
    "friedman_test",
    "indistinct_groups",
    "resampled_t_test",
    "wilcoxon_test",
]


@dataclass(frozen=True, eq=False)
class OmnibusTest:
    """Whether the methods differ at all.

    Under the null hypothesis that they do not, `statistic` follows a chi-square distribution
    with `degrees_of_freedom`. `mean_ranks` is indexed by method.
    """

    name: str
    statistic: float
    degrees_of_freedom: int
    p_value: float
    mean_ranks: pd.Series


@dataclass(frozen=True, eq=False)
class PostHoc:
    """Comparisons of pairs of methods.

    `pairs` has one row per comparison, in the order of the score table's columns: method,
    versus, z, p_value (two-sided, raw) and p_corrected, which equals p_value without a
    correction. `mean_ranks` is indexed by method.
    """

    name: str
    control: Any
    mean_ranks: pd.Series
    pairs: pd.DataFrame

    def p_corrected(self, method: Any, versus: Any) -> float:
        """Return the corrected p-value of two methods, in either order."""
        pairs = self.pairs
        found = ((pairs["method"] == method) & (pairs["versus"] == versus)) | (
            (pairs["method"] == versus) & (pairs["versus"] == method)
        )
        if not found.any():
            raise ValueError(f"method {method!r} and versus {versus!r} were not compared.")
        return float(pairs.loc[found, "p_corrected"].iloc[0])


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


def friedman_test(scores: Any, *, higher_is_better: bool = True, digits: int | None = None) -> OmnibusTest:
    """Test with Friedman's ranks whether any method differs from the others.

    With k methods, n datasets and mean ranks r_j, up to SciPy's correction for ties::

        statistic = 12 n / (k (k + 1)) * (sum_j r_j ** 2  -  k (k + 1) ** 2 / 4)

    Parameters
    ----------
    scores : DataFrame or array-like of shape (n_datasets, n_methods)
        The score table, with three methods or more.

    higher_is_better : bool, default=True
        Whether the highest score is the best.

    digits : int, default=None
        Round the scores to this many decimals first.

    Returns
    -------
    test : OmnibusTest

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
    table = check_scores(scores, higher_is_better=higher_is_better, digits=digits, min_datasets=2, min_methods=3)
    ranks = mid_ranks(table)
    statistic, p_value = 0.0, 1.0
    # SciPy divides zero by zero if the methods tie on every dataset.
    if np.ptp(ranks.to_numpy(), axis=1).any():
        found = stats.friedmanchisquare(*ranks.to_numpy().T)
        statistic, p_value = float(found.statistic), float(found.pvalue)
    return OmnibusTest("Friedman", statistic, len(table.columns) - 1, p_value, ranks.mean())


def friedman_posthoc(
    scores: Any,
    *,
    control: Any = None,
    correction: str | None = "finner",
    higher_is_better: bool = True,
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

    correction : {"finner", None}, default="finner"
        How the p-values are corrected for multiple comparisons.

    higher_is_better, digits
        As for `friedman_test`.

    Returns
    -------
    result : PostHoc

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
    table = check_scores(scores, higher_is_better=higher_is_better, digits=digits, min_datasets=2, min_methods=2)
    n, k = table.shape
    error = np.sqrt(k * (k + 1) / (6 * n))
    return _compare("Friedman", mid_ranks(table).mean(), error, control, correction)


def aligned_test(
    scores: Any, *, higher_is_better: bool = True, digits: int | None = None, tie_tolerance: float = 1e-13
) -> OmnibusTest:
    """Test with aligned ranks whether any method differs from the others.

    With k methods, n datasets, and the aligned ranks summed per method (R_j) and per dataset
    (R_i)::

                    (k - 1) [sum_j R_j ** 2  -  (k n ** 2 / 4) (k n + 1) ** 2]
        statistic = ----------------------------------------------------------
                     k n (k n + 1) (2 k n + 1) / 6  -  (1 / k) sum_i R_i ** 2

    Parameters
    ----------
    scores, higher_is_better, digits, tie_tolerance
        As for `aligned_ranks`.

    Returns
    -------
    test : OmnibusTest

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
    table = check_scores(scores, higher_is_better=higher_is_better, digits=digits, min_datasets=2, min_methods=2)
    n, k = table.shape
    ranks = aligned_ranks(table, tie_tolerance=tie_tolerance)
    per_method, per_dataset = ranks.sum(axis=0), ranks.sum(axis=1)
    between = (per_method**2).sum() - k * n**2 / 4 * (k * n + 1) ** 2
    within = k * n * (k * n + 1) * (2 * k * n + 1) / 6 - (per_dataset**2).sum() / k
    statistic = float((k - 1) * between / within)
    p_value = float(stats.chi2.sf(statistic, k - 1))
    return OmnibusTest("Friedman aligned ranks", statistic, k - 1, p_value, ranks.mean())


def aligned_posthoc(
    scores: Any,
    *,
    control: Any = None,
    correction: str | None = "finner",
    higher_is_better: bool = True,
    digits: int | None = None,
    tie_tolerance: float = 1e-13,
) -> PostHoc:
    """Compare methods in pairs, or with a control, by their mean aligned ranks.

    With k methods, n datasets and mean aligned ranks r::

        z = |r_i - r_j| / sqrt(k (k n + 1) / 6),    p = 2 (1 - Phi(z))

    Parameters
    ----------
    scores, control, correction
        As for `friedman_posthoc`.

    higher_is_better, digits, tie_tolerance
        As for `aligned_ranks`.

    Returns
    -------
    result : PostHoc

    References
    ----------
    S. García, A. Fernández, J. Luengo and F. Herrera, "Advanced nonparametric tests for multiple
    comparisons in the design of experiments in computational intelligence and data mining",
    Information Sciences 180, 2010.

    Notes
    -----
    The standard error neglects that ranks aligned within a dataset depend on each other. With few methods
    the test therefore finds differences too often: for two methods that do not differ, in about one of
    seven tables at the level of 0.05. `friedman_posthoc` keeps the level.

    Examples
    --------
    >>> from fuselearn.lab.statistics import aligned_posthoc
    >>> result = aligned_posthoc([[0.9, 0.8, 0.7], [0.6, 0.5, 0.4], [0.3, 0.2, 0.1]], control=0)
    >>> round(result.p_corrected(0, 1), 3)
    0.18
    """
    table = check_scores(scores, higher_is_better=higher_is_better, digits=digits, min_datasets=2, min_methods=2)
    n, k = table.shape
    error = np.sqrt(k * (k * n + 1) / 6)
    mean_ranks = aligned_ranks(table, tie_tolerance=tie_tolerance).mean()
    return _compare("Friedman aligned ranks", mean_ranks, error, control, correction)


def indistinct_groups(result: PostHoc, *, alpha: float = 0.05) -> list[tuple[Any, Any]]:
    """Return the groups of methods that a rank diagram joins with bars.

    From each method, the best first, a group reaches to the farthest worse-ranked method whose
    corrected p-value exceeds `alpha`; a group within an earlier one is omitted.

    Parameters
    ----------
    result : PostHoc
        Comparison of all pairs of methods.

    alpha : float, default=0.05
        The level of significance.

    Returns
    -------
    groups : list of (best method, worst method)

    Examples
    --------
    >>> from fuselearn.lab.statistics import friedman_posthoc, indistinct_groups
    >>> result = friedman_posthoc([[0.9, 0.8, 0.7], [0.6, 0.5, 0.4], [0.3, 0.2, 0.1]])
    >>> indistinct_groups(result)
    [(0, 1), (1, 2)]
    """
    if result.control is not None:
        raise ValueError("result must compare all pairs of methods; call the test without control.")
    methods = result.mean_ranks.sort_values(kind="stable").index
    groups: list[tuple[Any, Any]] = []
    reached = 0
    for start, best in enumerate(methods):
        alike = [end for end in range(start + 1, len(methods)) if result.p_corrected(best, methods[end]) > alpha]
        if alike and alike[-1] > reached:
            reached = alike[-1]
            groups.append((best, methods[reached]))
    return groups


def _compare(name: str, mean_ranks: pd.Series, error: float, control: Any, correction: str | None) -> PostHoc:
    """Compare mean ranks whose differences have the standard error `error`."""
    methods = list(mean_ranks.index)
    if correction not in ("finner", None):
        raise ValueError(f"correction must be 'finner' or None; got {show(correction)}.")
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
    pairs["p_corrected"] = finner(pairs["p_value"]) if correction else pairs["p_value"]
    return PostHoc(name, control, mean_ranks, pairs)


@dataclass(frozen=True)
class WilcoxonTest:
    """Whether one method's scores differ from another's.

    `mean_difference` is positive if the first method is better; `n_used` counts the scores that differ; `exact` is
    whether the p-value is exact or a normal approximation.
    """

    statistic: float
    p_value: float
    mean_difference: float
    n_used: int
    exact: bool


@dataclass(frozen=True)
class ResampledTTest:
    """Whether one method's fold scores differ from another's; `mean_difference` is the first minus the second."""

    statistic: float
    degrees_of_freedom: int
    p_value: float
    mean_difference: float


def wilcoxon_test(scores: npt.ArrayLike, versus: npt.ArrayLike, *, higher_is_better: bool = True) -> WilcoxonTest:
    """Compare two methods over the same datasets or folds with Wilcoxon's signed-rank test, two-sided.

    The differences that are not zero are ranked by size; the statistic is the smaller of the sum of the ranks of the
    positive and of the negative ones. Its p-value is exact for fewer than 50 differences without zeros and ties, and
    otherwise a normal approximation with correction for continuity and ties, as in R.

    Parameters
    ----------
    scores, versus : array-like of shape (n_scores,)
        The two methods' scores, in the same order.

    higher_is_better : bool, default=True
        Decides the sign of `mean_difference` only.

    Returns
    -------
    test : WilcoxonTest
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
    mean_difference = float(np.mean(first - second)) * (1 if higher_is_better else -1)
    if not len(used):
        return WilcoxonTest(0.0, 1.0, mean_difference, 0, exact=True)
    exact = len(used) == len(first) < 50 and len(np.unique(sizes)) == len(sizes)
    found = stats.wilcoxon(used, correction=True, method="exact" if exact else "approx")
    return WilcoxonTest(float(found.statistic), float(found.pvalue), mean_difference, len(used), exact)


def resampled_t_test(scores: npt.ArrayLike, versus: npt.ArrayLike, *, n_splits: int) -> ResampledTTest:
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
    test : ResampledTTest
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
        equal = abs(mean) <= tolerance
        return ResampledTTest(
            0.0 if equal else float(np.copysign(np.inf, mean)), n - 1, 1.0 if equal else 2.0 ** (1 - n), mean
        )
    statistic = mean / float(np.sqrt((1 / n + 1 / (n_splits - 1)) * differences.var(ddof=1)))
    return ResampledTTest(statistic, n - 1, float(2 * stats.t.sf(abs(statistic), n - 1)), mean)


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
