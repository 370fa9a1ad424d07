"""The numbers that papers print: those of KFHE and KFHE-HOMER, and of a study of multi-label methods.

Scores are tidy tables with the columns used throughout the lab: dataset, noise (the fraction of
corrupted training labels), method and score (mean macro F1). The study has a column per measure instead.

References
----------
A. Pakrashi and B. Mac Namee, "Kalman Filter-based Heuristic Ensemble: A New Perspective on
Multi-class Ensemble Classification Using Kalman Filters", arXiv:1807.11429v1, 2018.

A. Pakrashi and B. Mac Namee, "KFHE-HOMER: A multi-label ensemble classification algorithm
exploiting sensor fusion properties of the Kalman filter", arXiv:1904.10552, 2019.

J. Bogatinovski, L. Todorovski, S. Džeroski and D. Kocev, "Comprehensive comparative study of multi-label
classification methods", Expert Systems with Applications 203, 117215, 2022 (arXiv:2102.07113).
"""

from functools import cache
from pathlib import Path

import pandas as pd

__all__ = ["PUBLISHED", "load_published"]

PUBLISHED = {
    "kfhe_datasets": "KFHE, Table 1: sizes of the datasets",
    "kfhe_scores": "KFHE, Tables 2 to 6: scores and ranks at five levels of noise",
    "kfhe_average_ranks": "KFHE, Tables 2 to 6, last lines: average rank per noise and method",
    "kfhe_p_values": "KFHE, Table 7: p-values of KFHE against each method, as printed",
    "kfhe_homer_datasets": "KFHE-HOMER, Table 2: sizes of the datasets and statistics of their labels",
    "kfhe_homer_scores": "KFHE-HOMER, Table 3: scores, ranks and marks of significance",
    "kfhe_homer_average_ranks": "KFHE-HOMER, Table 3, last line: average rank per method",
    "kfhe_homer_p_values": "KFHE-HOMER, Table 4: p-values of all pairs of methods, as printed",
    "kfhe_homer_wins": "KFHE-HOMER, Table 4: wins, ties and losses of all pairs of methods",
    "multilabel_study": "28 methods on the study's datasets that the KFHE-HOMER paper has, too, by six measures",
}
"""The tables for `load_published`, and their place in the papers."""


def load_published(name: str) -> pd.DataFrame:
    """Load one published table.

    Parameters
    ----------
    name : str
        A key of `PUBLISHED`.

    Returns
    -------
    table : DataFrame
        The rows in the paper's order. P-values are text, because the paper prints some of them
        as a bound ("<0.01") and the number of printed digits matters.

    Examples
    --------
    >>> from reproduction.published import load_published
    >>> load_published("kfhe_scores").head(2)
        dataset  noise    method  score  rank
    0  mushroom    0.0      KFHE    1.0   1.5
    1  mushroom    0.0  AdaBoost    1.0   1.5
    """
    if name not in PUBLISHED:
        raise ValueError(f"name must be one of {', '.join(PUBLISHED)}; got {name!r}.")
    return _read(name).copy()


@cache
def _read(name: str) -> pd.DataFrame:
    path = Path(__file__).with_name(f"{name}.csv")
    return pd.read_csv(path, dtype={"noise": float, "p_value": str}, keep_default_na=False)
