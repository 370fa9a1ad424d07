"""Summarize results: means over the folds, in the form used by statistics and figures."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from fuselearn._messages import show
from fuselearn._parameters import check_choice
from fuselearn.lab.scoring import SCORES
from fuselearn.lab.store import ResultStore
from fuselearn.lab.suites import Suite

__all__ = ["Totals", "fold_scores", "summarize", "summarize_results", "totals"]

KEYS = ["dataset", "noise", "method"]


@dataclass(frozen=True)
class Totals:
    """The cost of a suite so far.

    Parameters
    ----------
    results, failures : int
        Number of results, and of failures among them.
    expected : int
        Number of results of the whole suite.
    fits : int
        Number of fits; methods that are variants of another one share its fit.
    fit_seconds, predict_seconds : float
        Total over all processes.
    elapsed_seconds : float
        Time from start to last result, summed over the runs.
    finished : str
        The day of the last result, as 2026-11-16; empty if there is none.
    """

    results: int
    failures: int
    expected: int
    fits: int
    fit_seconds: float
    predict_seconds: float
    elapsed_seconds: float
    finished: str


def summarize(store: ResultStore, suite: str | None = None, *, score: str = "macro_f1") -> pd.DataFrame:
    """Average the results of a suite over its folds.

    Parameters
    ----------
    store : ResultStore
        The results.
    suite : str, optional
        Needed only if the store holds several suites.
    score : str, default="macro_f1"
        The score to average in `score` and `sd`, a column of `ResultStore.results`.

    Returns
    -------
    summary : DataFrame
        One row per dataset, noise and method, in the order of the suite, with the columns score (the mean), sd (the
        standard deviation over the folds, divisor n - 1), n (folds that were scored), failed (folds where
        the method raised an error), the means of all scores of the task, and the medians of fit_seconds and
        predict_seconds, which are robust to slow first fits. They are NaN if every fold failed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fuselearn.lab import ResultStore, Suite, run_suite, summarize
    >>> suite = Suite("mine", ["iris"], ["Bayes"], repeats=1, folds=5)
    >>> with ResultStore(pathlib.Path(tempfile.mkdtemp(), "results.db")) as store:
    ...     _ = run_suite(suite, store, estimators={"Bayes": GaussianNB()})
    ...     print(summarize(store)[["dataset", "noise", "method", "n", "failed"]])
      dataset  noise method  n  failed
    0    iris    0.0  Bayes  5       0
    """
    return summarize_results(store.results(suite), store.suite(suite), score=score)


def summarize_results(results: pd.DataFrame, suite: Suite, *, score: str = "macro_f1") -> pd.DataFrame:
    """Average the results of a suite, as `ResultStore.results` returns them, over their folds."""
    check_choice("score", score, SCORES[suite.task])
    groups = results.groupby(KEYS, sort=False)
    summary = pd.DataFrame(
        {
            "score": groups[score].mean(),
            "sd": groups[score].std(),
            "n": groups[score].count(),
            "failed": groups["error"].count(),
            **{name: groups[name].mean() for name in SCORES[suite.task]},
            "fit_seconds": groups["fit_seconds"].median(),
            "predict_seconds": groups["predict_seconds"].median(),
        }
    )
    order = pd.MultiIndex.from_product([suite.datasets, suite.noise, suite.methods], names=KEYS)
    return summary.reindex(order[order.isin(summary.index)]).reset_index()


def fold_scores(
    store: ResultStore, dataset: str, noise: float = 0.0, suite: str | None = None, *, score: str = "macro_f1"
) -> pd.DataFrame:
    """Return the score of every fold, for paired tests.

    Parameters
    ----------
    store, suite, score
        As for `summarize`.
    dataset : str
        A dataset of the suite.
    noise : float, default=0.0
        A level of noise of the suite.

    Returns
    -------
    scores : DataFrame
        One row per (repeat, fold) that every method finished, one column per method; a method
        that failed on all of them is omitted.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fuselearn.lab import ResultStore, Suite, fold_scores, run_suite
    >>> suite = Suite("mine", ["iris"], ["Bayes"], repeats=1, folds=5)
    >>> with ResultStore(pathlib.Path(tempfile.mkdtemp(), "results.db")) as store:
    ...     _ = run_suite(suite, store, estimators={"Bayes": GaussianNB()})
    ...     print(fold_scores(store, "iris").shape)
    (5, 1)
    """
    results, plan = store.results(suite), store.suite(suite)
    check_choice("score", score, SCORES[plan.task])
    for name, value, known in (("dataset", dataset, plan.datasets), ("noise", noise, plan.noise)):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(map(str, known))}; got {show(value)}.")
    chosen = results[(results["dataset"] == dataset) & (results["noise"] == noise)]
    table = chosen.pivot(index=["repeat", "fold"], columns="method", values=score)
    table = table.dropna(axis="columns", how="all")
    return table[[method for method in plan.methods if method in table]].dropna()


def totals(store: ResultStore, suite: str | None = None) -> Totals:
    """Compute the cost of a suite so far.

    Parameters
    ----------
    store, suite
        As for `summarize`.

    Returns
    -------
    totals : Totals

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fuselearn.lab import ResultStore, Suite, run_suite, totals
    >>> suite = Suite("mine", ["iris"], ["Bayes"], repeats=1, folds=5)
    >>> with ResultStore(pathlib.Path(tempfile.mkdtemp(), "results.db")) as store:
    ...     outcome = run_suite(suite, store, estimators={"Bayes": GaussianNB()}, n_jobs=1)
    ...     cost = totals(store)
    >>> cost.fits, cost.failures
    (5, 0)
    """
    results, runs = store.results(suite), store.runs(suite)
    fits = results.drop_duplicates(["dataset", "noise", "repeat", "fold", "seed"])
    last = runs["last_result"]
    return Totals(
        results=len(results),
        failures=int(results["error"].count()),
        expected=store.suite(suite).n_results,
        fits=len(fits),
        fit_seconds=float(fits["fit_seconds"].sum()),
        predict_seconds=float(results["predict_seconds"].sum()),
        elapsed_seconds=float((last - runs["started"]).dt.total_seconds().sum()),
        finished="" if pd.isna(last.max()) else f"{last.max():%Y-%m-%d}",
    )
