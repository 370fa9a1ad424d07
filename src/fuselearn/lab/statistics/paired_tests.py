"""Test whether two methods differ, with one score per dataset or per fold.

Datasets are independent, and `wilcoxon_test` compares two methods over them. The folds of one dataset are not: they
share training samples, so a test that assumes independence finds differences where there are none.
`resampled_t_test` corrects for that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from fuselearn.lab.statistics.ranks import merge_rounding_errors

__all__ = ["ResampledTTest", "WilcoxonTest", "resampled_t_test", "wilcoxon_test"]


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
    >>> from fuselearn.lab.statistics.paired_tests import wilcoxon_test
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
    >>> from fuselearn.lab.statistics.paired_tests import resampled_t_test
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
