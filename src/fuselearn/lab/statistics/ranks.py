"""Score tables, and the ranks of their methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from fuselearn._messages import show

__all__ = [
    "WinTieLoss",
    "aligned_ranks",
    "average_ranks",
    "bootstrap_means",
    "bootstrap_ranks",
    "check_results",
    "check_scores",
    "merge_rounding_errors",
    "mid_ranks",
    "score_table",
    "win_tie_loss",
]

BATCH = 1000  # resamples in memory at once


@dataclass(frozen=True, eq=False)
class WinTieLoss:
    """Number of datasets on which the row's method wins against, ties with or loses to the column's method."""

    wins: pd.DataFrame
    ties: pd.DataFrame

    @property
    def losses(self) -> pd.DataFrame:
        """The losses of each method, which are the wins of the other."""
        return self.wins.T

    def between(self, method: Any, versus: Any) -> tuple[int, int, int]:
        """Return the wins, ties and losses of one method against another."""
        return (
            int(self.wins.loc[method, versus]),
            int(self.ties.loc[method, versus]),
            int(self.wins.loc[versus, method]),
        )


def score_table(results: pd.DataFrame, *, noise: float | None = None, value: str = "score") -> pd.DataFrame:
    """Pivot tidy results into a score table, datasets and methods in order of appearance.

    Parameters
    ----------
    results : DataFrame
        One row per dataset and method with the columns dataset, method and `value`, and a
        column noise if `noise` is given.

    noise : float, default=None
        Keep the rows with this noise only. Needed if `results` holds more than one level.

    value : str, default="score"
        The column that fills the table.

    Returns
    -------
    table : DataFrame of shape (n_datasets, n_methods)
        A pair of dataset and method without a row is NaN.

    Examples
    --------
    >>> import pandas as pd
    >>> from fuselearn.lab.statistics import score_table
    >>> results = pd.DataFrame(
    ...     {"dataset": ["wine", "wine"], "method": ["kfhe", "cart"], "score": [0.94, 0.88]}
    ... )
    >>> score_table(results)
    method   kfhe  cart
    dataset
    wine     0.94  0.88
    """
    check_results(results, ["dataset", "method"] + ([] if noise is None else ["noise"]), [value])
    if noise is not None:
        levels = results["noise"].unique()
        results = results[results["noise"] == noise]
        if results.empty:
            raise ValueError(f"noise must be one of {sorted(levels.tolist())}; got {noise}.")
    table = results.pivot(index="dataset", columns="method", values=value)
    return table.loc[results["dataset"].unique(), results["method"].unique()]


def check_results(results: pd.DataFrame, keys: Sequence[str], values: Sequence[str]) -> None:
    """Refuse tidy results that lack a column, have no rows, or repeat a combination of the keys."""
    needed = [*keys, *values]
    missing = [column for column in needed if column not in results.columns]
    if missing:
        raise ValueError(f"results must have the columns {', '.join(needed)}; {', '.join(missing)} not found.")
    if results.empty:
        raise ValueError("results must have at least one row; got none.")
    repeated = results.duplicated(list(keys))
    if repeated.any():
        row = results[repeated].iloc[0]
        where = ", ".join(f"{key} {show(row[key])}" for key in keys)
        raise ValueError(
            f"results must have one row per {', '.join(keys)}; there are several for {where}. "
            "Average or filter them first."
        )


def check_scores(
    scores: Any,
    *,
    higher_is_better: bool = True,
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
    return pd.DataFrame(values if higher_is_better else -values, index=scores.index, columns=scores.columns)


def mid_ranks(scores: Any, *, higher_is_better: bool = True, digits: int | None = None) -> pd.DataFrame:
    """Rank the methods on each dataset: the best has rank 1, ties share their mid-rank.

    ::

        rank of method j on dataset i
            = 1 + (methods better than j on i) + (other methods equal to j on i) / 2

    Parameters
    ----------
    scores : DataFrame or array-like of shape (n_datasets, n_methods)
        The score table.

    higher_is_better : bool, default=True
        Whether the highest score gets rank 1.

    digits : int, default=None
        Round the scores to this many decimals first, so that scores that are equal when printed tie.
        Without it, only equal floating-point numbers tie.

    Returns
    -------
    ranks : DataFrame of shape (n_datasets, n_methods)

    References
    ----------
    J. Demšar, "Statistical Comparisons of Classifiers over Multiple Data Sets", Journal of
    Machine Learning Research 7, 2006.

    Examples
    --------
    >>> from fuselearn.lab.statistics import mid_ranks
    >>> mid_ranks([[1.0, 1.0, 0.9941, 0.9941], [0.94, 0.95, 0.93, 0.92]])
         0    1    2    3
    0  1.5  1.5  3.5  3.5
    1  2.0  1.0  3.0  4.0
    """
    return check_scores(scores, higher_is_better=higher_is_better, digits=digits).rank(axis=1, ascending=False)


def aligned_ranks(
    scores: Any, *, higher_is_better: bool = True, digits: int | None = None, tie_tolerance: float = 1e-13
) -> pd.DataFrame:
    """Rank all scores of the table together, each minus the mean score of its dataset.

    Parameters
    ----------
    scores, higher_is_better, digits
        As for `mid_ranks`.

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
    table = check_scores(scores, higher_is_better=higher_is_better, digits=digits)
    values = table.to_numpy()
    aligned = values - values.mean(axis=1, keepdims=True)
    tolerance = tie_tolerance * float(np.abs(values).max(initial=0))
    ranks = stats.rankdata(-merge_rounding_errors(aligned.ravel(), tolerance)).reshape(values.shape)
    return pd.DataFrame(ranks, index=table.index, columns=table.columns)


def average_ranks(scores: Any, *, higher_is_better: bool = True, digits: int | None = None) -> pd.Series:
    """Average each method's mid-ranks over the datasets.

    Parameters
    ----------
    scores, higher_is_better, digits
        As for `mid_ranks`.

    Returns
    -------
    ranks : Series of shape (n_methods,)
        In the order of the score table's columns.

    Examples
    --------
    >>> from fuselearn.lab.statistics import average_ranks
    >>> average_ranks([[0.9, 0.8], [0.7, 0.6], [0.5, 0.4], [0.2, 0.3]]).to_list()
    [1.25, 1.75]
    """
    return mid_ranks(scores, higher_is_better=higher_is_better, digits=digits).mean()


def bootstrap_ranks(
    scores: Any,
    *,
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    random_state: int | np.random.Generator | None = 0,
    higher_is_better: bool = True,
    digits: int | None = None,
) -> pd.DataFrame:
    """Compute bootstrap intervals of the mean ranks over datasets.

    Datasets are drawn with replacement, as many as there are, `n_resamples` times; the interval
    of a method is between the quantiles (1 - confidence) / 2 and (1 + confidence) / 2 of its
    mean ranks (the percentile bootstrap).

    Parameters
    ----------
    scores : DataFrame or array-like of shape (n_datasets, n_methods)
        The score table.

    confidence : float, default=0.95
        The nominal coverage, between 0 and 1.

    n_resamples : int, default=10_000
        Number of resamples.

    random_state : int, Generator or None, default=0
        The seed; None draws differently each time.

    higher_is_better, digits
        As for `mid_ranks`.

    Returns
    -------
    intervals : DataFrame
        One row per method with the columns mean, low and high.

    References
    ----------
    B. Efron and R. Tibshirani, "An Introduction to the Bootstrap", chapter 13, 1993.

    Examples
    --------
    >>> from fuselearn.lab.statistics import bootstrap_ranks
    >>> bootstrap_ranks([[0.9, 0.8], [0.7, 0.6], [0.5, 0.4], [0.2, 0.3]])
       mean   low  high
    0  1.25  1.00  1.75
    1  1.75  1.25  2.00
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, both excluded; got {confidence}.")
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be at least 1; got {n_resamples}.")
    ranks = mid_ranks(scores, higher_is_better=higher_is_better, digits=digits)
    return bootstrap_means(ranks, confidence, n_resamples, random_state)


def bootstrap_means(
    ranks: pd.DataFrame,
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    random_state: int | np.random.Generator | None = 0,
) -> pd.DataFrame:
    """Compute the intervals of `bootstrap_ranks` from ranks of shape (n_datasets, n_methods)."""
    mean = low = high = ranks.mean()
    if len(ranks) > 1:  # all resamples of a single dataset are equal
        low, high = stats.bootstrap(
            (ranks.to_numpy(),), np.mean, axis=0, n_resamples=n_resamples, batch=BATCH, confidence_level=confidence,
            method="percentile", random_state=np.random.default_rng(random_state),  # "rng" since SciPy 1.15 only
        ).confidence_interval  # fmt: skip
    return pd.DataFrame({"mean": mean, "low": low, "high": high})


def win_tie_loss(scores: Any, *, higher_is_better: bool = True, digits: int | None = None) -> WinTieLoss:
    """Count the datasets on which each method wins against, ties with and loses to each other method.

    Parameters
    ----------
    scores, higher_is_better, digits
        As for `mid_ranks`.

    Returns
    -------
    counts : WinTieLoss
        The diagonals are 0.

    Examples
    --------
    >>> from fuselearn.lab.statistics import win_tie_loss
    >>> win_tie_loss([[0.9, 0.8], [0.7, 0.7], [0.5, 0.4]]).between(0, 1)
    (2, 1, 0)
    """
    table = check_scores(scores, higher_is_better=higher_is_better, digits=digits)
    values = table.to_numpy()
    row, column = values[:, :, None], values[:, None, :]
    ties = (row == column).sum(axis=0)
    np.fill_diagonal(ties, 0)
    labels = {"index": table.columns, "columns": table.columns}
    return WinTieLoss(wins=pd.DataFrame((row > column).sum(axis=0), **labels), ties=pd.DataFrame(ties, **labels))


def merge_rounding_errors(values: npt.NDArray[np.float64], tolerance: float) -> npt.NDArray[np.float64]:
    """Give neighboring values that differ by no more than `tolerance` the smallest value of their group."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts_group = np.append(True, np.diff(ordered) > tolerance)
    merged = np.empty_like(values)
    merged[order] = ordered[starts_group][np.cumsum(starts_group) - 1]
    return merged
