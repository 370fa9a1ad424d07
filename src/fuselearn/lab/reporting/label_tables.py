"""The tables of a multi-label report: measures by method, scores by label, statistics of the labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from fuselearn.lab.reporting.data import available_data
from fuselearn.lab.reporting.findings import DIGITS
from fuselearn.lab.running.scoring import LOSSES, SCORES, score_names
from fuselearn.lab.running.suites import Suite
from fuselearn.multilabel import LabelStatistics, describe_labels

__all__ = ["tabulate_labels", "tabulate_measures", "tabulate_statistics"]

NAMES = {**SCORES, "accuracy": "subset accuracy", "auc": "macro-averaged AUC"}
"""What the scores of a store are called for labels."""
MOST_LABELS = 40
"""Largest number of labels shown for a dataset."""
MOST_PAIRED = 20
"""Largest number of labels whose pairs are shown for a dataset."""


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
    return {"levels": levels, "missing": [NAMES[name] for name in missing]}


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
    label = NAMES[name][0].upper() + NAMES[name][1:]
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


def tabulate_statistics(suite: Suite) -> list[dict[str, Any]]:
    """Return the statistics of the labels of each dataset that is available locally.

    Parameters
    ----------
    suite : Suite
        A multi-label suite.

    Returns
    -------
    list of dict
        The name of the dataset, its statistics as text, and the conditional probabilities of its most frequent labels.
    """
    return [_statistics(name, describe_labels(data.y)) for name, data in available_data(suite)]


def _statistics(name: str, found: LabelStatistics) -> dict[str, Any]:
    shown = np.sort(np.argsort(-found.positives, kind="stable")[:MOST_PAIRED])
    names = [str(found.names[label]) for label in shown]
    shares = found.conditional[np.ix_(shown, shown)]
    return {
        "name": name,
        "cells": [
            f"{found.n_samples:,}",
            f"{found.n_labels:,}",
            f"{found.cardinality:.3f}",
            f"{found.density:.3f}",
            f"{found.n_label_sets:,}",
            f"{found.label_set_fraction:.3f}",
            f"{found.n_single_sets:,}",
            f"{found.n_unlabeled:,}",
            f"{found.mean_imbalance_ratio:.3f}",
            f"{found.scumble:.3f}",
        ],
        "names": names,
        "n_hidden": found.n_labels - len(shown),
        "lines": [
            {
                "label": label,
                "positives": int(found.positives[place]),
                "cells": [None if np.isnan(share) else f"{share:.2f}" for share in row],
            }
            for label, place, row in zip(names, shown, shares, strict=True)
        ],
    }
