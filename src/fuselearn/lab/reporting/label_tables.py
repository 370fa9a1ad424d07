"""The tables of a multi-label report: every measure by method, and the scores of each label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from fuselearn.lab.reporting.findings import DIGITS
from fuselearn.lab.running.scoring import LOSSES, SCORES, score_names

__all__ = ["tabulate_labels", "tabulate_measures"]

MOST_LABELS = 40
"""Largest number of labels shown for a dataset."""


def tabulate_measures(results: pd.DataFrame, summary: pd.DataFrame, methods: Sequence[str]) -> dict[str, Any]:
    """Return a table of measures and methods for each level of noise.

    Parameters
    ----------
    results : DataFrame
        One row per fit, as `ResultStore.results` returns them.
    summary : DataFrame
        Their means over the folds.
    methods : sequence of str
        The order in which methods are shown.

    Returns
    -------
    dict
        ``levels``, each with its noise, methods and lines: means over the datasets and, in small print, average ranks.
        ``missing`` names the measures that some folds lack, because an older version scored them, and which are
        therefore left out.
    """
    names = [name for name in score_names("multilabel") if name in summary and results[name].notna().any()]
    scored = results[results["error"].isna()]
    fits = scored.groupby("method")[names].count().ge(scored.groupby("method").size(), axis=0)
    has_some = scored.groupby("method")[names].any()
    # A method without probabilities lacks a measure on all folds, which is shown as a dash.
    missing = [name for name in names if not (fits[name] | ~has_some[name]).all()]
    levels = []
    for noise, rows in summary.groupby("noise"):
        shown = [method for method in methods if method in set(rows["method"])]
        tables = {name: rows.pivot(index="dataset", columns="method", values=name)[shown] for name in names}
        lines = [_measure_line(name, table) for name, table in tables.items() if name not in missing]
        levels.append({"noise": noise, "methods": shown, "lines": lines})
    return {"levels": levels, "missing": [SCORES[name] for name in missing]}


def _measure_line(name: str, table: pd.DataFrame) -> dict[str, Any]:
    lower = name in LOSSES
    means = table.mean(skipna=False).round(DIGITS)
    ranks = table.round(DIGITS).dropna(axis=1).rank(axis=1, ascending=lower).mean()
    best = means.min() if lower else means.max()
    cells = [
        {"value": f"{mean:.4f}", "small": f"{ranks[method]:.2f}" if len(table) > 1 else "", "best": mean == best}
        if pd.notna(mean)
        else None
        for method, mean in means.items()
    ]
    label = SCORES[name][0].upper() + SCORES[name][1:]
    return {"label": label, "lower": lower, "cells": cells}


def tabulate_labels(label_scores: pd.DataFrame, methods: Sequence[str]) -> list[dict[str, Any]]:
    """Return a table of labels and methods for each dataset, at the lowest level of noise.

    Parameters
    ----------
    label_scores : DataFrame
        As `ResultStore.label_scores` returns them.
    methods : sequence of str
        The order in which methods are shown.

    Returns
    -------
    list of dict
        The name of the dataset, its methods, the number of labels that are not shown, and a line per label, the most
        frequent first: its number of positive samples, and the mean F1 and AUC of each method over the folds.
    """
    clean = label_scores[label_scores["noise"] == label_scores["noise"].min()]
    return [_label_table(str(name), rows, methods) for name, rows in clean.groupby("dataset", sort=False)]


def _label_table(name: str, rows: pd.DataFrame, methods: Sequence[str]) -> dict[str, Any]:
    shown = [method for method in methods if method in set(rows["method"])]
    # Each repeat has every sample once.
    positives = rows.groupby(["method", "repeat", "label"])["positives"].sum().groupby("label").max()
    f1 = rows.pivot_table(index="label", columns="method", values="f1", sort=False)[shown].round(DIGITS)
    auc = f1 * float("nan")
    if "auc" in rows:
        auc = rows.pivot_table(index="label", columns="method", values="auc").reindex(index=f1.index, columns=shown)
    order = positives.reindex(f1.index).sort_values(ascending=False, kind="stable").index
    return {
        "name": name,
        "methods": shown,
        "n_hidden": max(0, len(order) - MOST_LABELS),
        "lines": [
            {
                "label": str(label),
                "positives": int(positives[label]),
                "cells": [
                    {
                        "value": f"{f1.at[label, method]:.3f}",
                        "small": "" if pd.isna(auc.at[label, method]) else f"{auc.at[label, method]:.3f}",
                        "best": f1.at[label, method] == f1.loc[label].max(),
                    }
                    for method in shown
                ],
            }
            for label in order[:MOST_LABELS]
        ],
    }
