"""Summarise results: means over the folds, in the form used by statistics and figures.

`fuselearn.lab.statistics.ranks.score_table` turns a summary into a table of datasets by methods.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import pandas as pd

from fuselearn._messages import show
from fuselearn._parameters import check_choice
from fuselearn.lab.running.methods import METHODS
from fuselearn.lab.running.scoring import SCORES, score_names
from fuselearn.lab.running.store import ResultStore
from fuselearn.lab.running.suites import Suite

__all__ = ["Totals", "fold_scores", "read_summary", "summarise", "summarise_results", "totals", "write_summary"]

KEYS = ["dataset", "noise", "method"]
DECIMALS = {"score": 6, "sd": 6, **dict.fromkeys(SCORES, 6), "fit_seconds": 6, "predict_seconds": 6}


@dataclass(frozen=True)
class Totals:
    """The cost of a suite so far.

    Parameters
    ----------
    results, failures : int
        Number of finished fits, and of failures among them.
    expected : int
        Number of results of the whole suite, including methods that are not installed.
    fits : int
        Number of trained models; methods that differ only in how the fitted model is used share one.
    components : int
        Number of trees, or other models, in the trained ensembles.
    components_by_method : dict of int
        The same for each trained method.
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
    components: int
    components_by_method: dict[str, int]
    fit_seconds: float
    predict_seconds: float
    elapsed_seconds: float
    finished: str


def summarise(store: ResultStore, suite: str | None = None, *, score: str = "macro_f1") -> pd.DataFrame:
    """Average the results of a suite over its folds.

    Parameters
    ----------
    store : ResultStore
        The results.
    suite : str, optional
        Needed only if the store holds several suites.
    score : str, default="macro_f1"
        The score to average in `score` and `sd`, one of `fuselearn.lab.running.scoring.SCORES`.

    Returns
    -------
    summary : DataFrame
        As `summarise_results` returns it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fuselearn.lab.running.runner import run_suite
    >>> from fuselearn.lab.running.store import ResultStore
    >>> from fuselearn.lab.running.suites import Suite
    >>> from fuselearn.lab.statistics.summary import summarise
    >>> suite = Suite("mine", ["iris"], ["Bayes"], repeats=1, folds=5)
    >>> with ResultStore(pathlib.Path(tempfile.mkdtemp(), "results.db")) as store:
    ...     _ = run_suite(suite, store, estimators={"Bayes": GaussianNB()})
    ...     print(summarise(store)[["dataset", "noise", "method", "n", "failed"]])
      dataset  noise method  n  failed
    0    iris    0.0  Bayes  5       0
    """
    plan = store.suite(suite)
    return summarise_results(store.results(suite), plan, score=score)


def summarise_results(results: pd.DataFrame, suite: Suite, *, score: str = "macro_f1") -> pd.DataFrame:
    """Average results over their folds.

    Parameters
    ----------
    results : DataFrame
        As `ResultStore.results` returns them.
    suite : Suite
        The datasets, levels of noise and methods in the order of the summary.
    score : str, default="macro_f1"
        As for `summarise`.

    Returns
    -------
    summary : DataFrame
        One row per dataset, noise and method with the columns score (the mean), sd (the standard
        deviation over the folds, divisor n - 1), n (folds that were scored), failed (folds where
        the method raised an error), the means of all scores of the task, and the medians of fit_seconds and
        predict_seconds, which are robust to slow first fits. They are NaN if every fold failed.
    """
    check_choice("score", score, tuple(SCORES))
    groups = results.groupby(KEYS, sort=False)
    summary = pd.DataFrame(
        {
            "score": groups[score].mean(),
            "sd": groups[score].std(),
            "n": groups[score].count(),
            "failed": groups["error"].count(),
            **{name: groups[name].mean() for name in score_names(suite.task) if name in results},
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
        As for `summarise`.
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
    check_choice("score", score, tuple(SCORES))
    results = store.results(suite)
    plan = store.suite(suite)
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
        As for `summarise`.
    """
    results, runs = store.results(suite), store.runs(suite)
    plan = store.suite(suite)
    fits = _one_per_fit(results)
    components = fits.groupby("method")["components"].sum()
    return Totals(
        results=len(results),
        failures=int(results["error"].count()),
        expected=plan.n_results,
        fits=len(fits),
        components=int(components.sum()),
        components_by_method={method: int(components[method]) for method in plan.methods if method in components},
        fit_seconds=float(fits["fit_seconds"].sum()),
        predict_seconds=float(results["predict_seconds"].sum()),
        elapsed_seconds=float((runs["last_result"] - runs["started"]).dt.total_seconds().sum()),
        finished="" if pd.isna(runs["last_result"].max()) else f"{runs['last_result'].max():%Y-%m-%d}",
    )


def _one_per_fit(results: pd.DataFrame) -> pd.DataFrame:
    """Keep one row per shared fit, preferably that of the method that was fitted.

    Methods share a fit if one is derived from the other and both have the seed of the fit; a user-defined estimator
    with the name of such a method has another seed.
    """
    lead = results["method"].map(lambda name: METHODS[name].fits_like or name if name in METHODS else name)
    leaders_first = results.assign(lead=lead, follows=lead != results["method"]).sort_values("follows", kind="stable")
    return leaders_first.drop_duplicates(["dataset", "noise", "repeat", "fold", "lead", "seed"])


def write_summary(summary: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a summary as rounded CSV, byte for byte the same on every system."""
    summary.round(DECIMALS).to_csv(path, index=False, lineterminator="\n")


def read_summary(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a summary written by `write_summary`."""
    return pd.read_csv(path, dtype={"dataset": str, "method": str, "noise": float})
