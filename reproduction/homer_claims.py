"""The conclusions that the text of the KFHE-HOMER paper states, checked on its printed means and on those of a run."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from fuselearn.lab.statistics import aligned_posthoc, average_ranks, friedman_posthoc
from reproduction.pages import CheckedClaim, Verdict, join
from reproduction.published import load_published

CONTROL = "KFHE-HOMER"
PAPER_EIGHT = (CONTROL, "E-HOMER", "ECC", "CC", "HOMER-B", "HOMER-K", "RF-PCT", "AdaBoost.MH")
"""The methods of the paper's Table 3, with E-HOMER combined by majority vote."""
ALPHA = 0.05
DIGITS = 4

Check = Callable[[pd.DataFrame], Verdict]
"""A conclusion is checked on mean scores, datasets by the eight methods."""


def check_claims(tables: dict[str, pd.DataFrame | None]) -> list[CheckedClaim]:
    """Check the conclusions on the paper's own means of all of its datasets, and on each table of a run.

    Parameters
    ----------
    tables : dict of str to DataFrame or None
        Datasets by the eight methods. On a part of the paper's datasets, and without a table, nothing is checked.
    """
    published = load_published("kfhe_homer_scores")
    printed = published.pivot(index="dataset", columns="method", values="score")
    return [
        CheckedClaim(
            "",
            text,
            check(printed),
            {
                name: None if table is None or len(table) < len(printed) else check(table)
                for name, table in tables.items()
            },
        )
        for text, check in CLAIMS.items()
    ]


def compare_kinds_of_ranks() -> list[tuple[str, str, float, float]]:
    """Return the printed p-value of KFHE-HOMER against each method, and those that its means have by both kinds.

    The paper says aligned ranks; the other kind is Friedman's plain ranks. Both have Finner's correction for all pairs.
    """
    published = load_published("kfhe_homer_scores")
    scores = published.pivot(index="dataset", columns="method", values="score")
    printed = {
        frozenset((row.method, row.versus)): row.p_value for row in load_published("kfhe_homer_p_values").itertuples()
    }
    plain, aligned = (test(scores, digits=DIGITS) for test in (friedman_posthoc, aligned_posthoc))
    return [
        (
            method,
            printed[frozenset((CONTROL, method))],
            plain.p_corrected(CONTROL, method),
            aligned.p_corrected(CONTROL, method),
        )
        for method in PAPER_EIGHT[1:]
    ]


def _ranks(scores: pd.DataFrame) -> pd.Series:
    return average_ranks(scores, digits=DIGITS)


def _has_place(method: str, place: int) -> Check:
    def check(scores: pd.DataFrame) -> Verdict:
        ranks = _ranks(scores)
        found = 1 + int((ranks < ranks[method]).sum())
        return found == place, f"{ranks[method]:.2f}, place {found}"

    return check


def _wins_everywhere_but(exceptions: set[str]) -> Check:
    """Check that KFHE-HOMER is the best on all datasets but some."""

    def check(scores: pd.DataFrame) -> Verdict:
        rounded = scores.round(DIGITS)
        lost = sorted(rounded.index[rounded.max(axis=1) > rounded[CONTROL]])
        listed = f", not on {join(lost)}" if lost else ""
        return set(lost) == exceptions, f"on {len(scores) - len(lost)} of {len(scores)}{listed}"

    return check


def _second_on_llog(scores: pd.DataFrame) -> Verdict:
    row = scores.loc["llog"].round(DIGITS)
    place = 1 + int((row > row[CONTROL]).sum())
    return place == 2, f"place {place}"


def _beats(method: str, other: str, at_least: float) -> Check:
    """Check that a method has the better score on a fraction of the datasets."""

    def check(scores: pd.DataFrame) -> Verdict:
        rounded = scores.round(DIGITS)
        n_better = int((rounded[method] > rounded[other]).sum())
        return n_better >= at_least * len(scores), f"on {n_better} of {len(scores)}"

    return check


def _outranks(method: str, other: str) -> Check:
    def check(scores: pd.DataFrame) -> Verdict:
        ranks = _ranks(scores)
        return bool(ranks[method] < ranks[other]), f"{ranks[method]:.2f} against {ranks[other]:.2f}"

    return check


def _significantly_better(other: str, *, expected: bool = True) -> Check:
    def check(scores: pd.DataFrame) -> Verdict:
        ranks = _ranks(scores)
        p_value = friedman_posthoc(scores, digits=DIGITS).p_corrected(CONTROL, other)
        is_better = bool(p_value < ALPHA and ranks[CONTROL] < ranks[other])
        return is_better == expected, f"p = {p_value:.4f}"

    return check


CLAIMS: dict[str, Check] = {
    "KFHE-HOMER has the best average rank": _has_place(CONTROL, 1),
    "E-HOMER has the second best": _has_place("E-HOMER", 2),
    "ECC has the third best": _has_place("ECC", 3),
    "AdaBoost.MH has the worst": _has_place("AdaBoost.MH", 8),
    "KFHE-HOMER is the best on every dataset but llog": _wins_everywhere_but({"llog"}),
    "it is second on llog": _second_on_llog,
    "KFHE-HOMER is better than E-HOMER on every dataset": _beats(CONTROL, "E-HOMER", 1.0),
    "E-HOMER is better than HOMER-B on almost all datasets (8 of 10)": _beats("E-HOMER", "HOMER-B", 0.8),
    "E-HOMER is better than HOMER-K on almost all datasets (8 of 10)": _beats("E-HOMER", "HOMER-K", 0.8),
    "E-HOMER has a better average rank than ECC": _outranks("E-HOMER", "ECC"),
    "KFHE-HOMER is not significantly better than E-HOMER": _significantly_better("E-HOMER", expected=False),
    **{f"KFHE-HOMER is significantly better than {other}": _significantly_better(other) for other in PAPER_EIGHT[2:]},
}
