"""The conclusions that the text of the KFHE paper states, checked on tables: its own printed ones, or those of a run.

The paper's column of the page comes from its printed tables of 20 datasets alone. A conclusion is checked on a run only
if the run has what the conclusion is about: the levels of noise, all datasets that could be found, or the traces of the
filter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import pairwise
from typing import NamedTuple

import pandas as pd

from reproduction.kfhe_comparison import ALPHA, BASELINES, Reproduction, Tables
from reproduction.pages import CheckedClaim, Verdict, join, percent
from reproduction.published import load_published

LEVELS = (0.0, 0.05, 0.1, 0.15, 0.2)
NOISY = LEVELS[1:]
ORDINALS = ("first", "second", "third", "fourth")


class Claim(NamedTuple):
    """A conclusion of the paper.

    Attributes
    ----------
    section : str
        Where the paper states it.
    text : str
        What it states.
    check : callable
        ``check(tables)`` returns whether it holds on :class:`Tables`, and the numbers.
    levels : tuple of float
        The levels of noise that it is about.
    needs_traces : bool
        Whether it is about the filter's traces, which tables of scores do not have.
    """

    section: str
    text: str
    check: Callable[[Tables], Verdict]
    levels: tuple[float, ...] = ()
    needs_traces: bool = False


def check_claims(run: Reproduction, traces: pd.DataFrame | None = None) -> list[CheckedClaim]:
    """Check the conclusions of the text on the paper's own tables, and on each setting of a run.

    Parameters
    ----------
    run : Reproduction
    traces : DataFrame, optional
        As ``trace_datasets`` returns them, of KFHE with its default setting.
    """
    return [_check(claim, run, traces) for claim in TEXT_CLAIMS]


def check_table_7(run: Reproduction) -> list[CheckedClaim]:
    """Check the 15 verdicts of Table 7: KFHE is better, worse or not different, by p-values without correction."""
    return [
        _check(Claim("Table 7", f"{percent(noise)}, {name}", _against(noise, name), (noise,)), run, None)
        for noise in LEVELS
        for name in BASELINES
    ]


def _check(claim: Claim, run: Reproduction, traces: pd.DataFrame | None) -> CheckedClaim:
    ours: dict[str, Verdict | None] = {}
    for setting in run.settings:
        tables = run.tables(setting, traces if setting == "KFHE" else None)
        can_be_checked = run.is_complete and set(claim.levels) <= set(run.levels)
        ours[setting] = claim.check(tables) if can_be_checked and _has(tables, claim) else None
    printed = run.printed
    return CheckedClaim(claim.section, claim.text, claim.check(printed) if _has(printed, claim) else None, ours)


def _has(tables: Tables, claim: Claim) -> bool:
    return tables.traces is not None or not claim.needs_traces


def _place(ranks: pd.Series, method: str) -> int:
    """Return the place of a method among the four; equal ranks share the better place."""
    return 1 + int((ranks < ranks[method]).sum())


def _has_place(noise: float, method: str, place: int) -> Callable[[Tables], Verdict]:
    def check(tables: Tables) -> Verdict:
        ranks = tables.ranks(noise)
        found = _place(ranks, method)
        return found == place, f"{ranks[method]:.2f}, {ORDINALS[found - 1]}"

    return check


def _outranks_bagging(tables: Tables) -> Verdict:
    ranks = tables.ranks(0.0)
    return bool(ranks["KFHE"] < ranks["Bagging"]), f"{ranks['KFHE']:.2f} against {ranks['Bagging']:.2f}"


def _loses_to_cart_only(method: str, expected: Collection[str]) -> Callable[[Tables], Verdict]:
    def check(tables: Tables) -> Verdict:
        scores = tables.scores[0.0].round(4)
        worse = sorted(scores.index[scores[method] <= scores["CART"]])
        return set(worse) == set(expected), join(worse) if worse else "none"

    return check


def _methods_differ(noise: float) -> Callable[[Tables], Verdict]:
    def check(tables: Tables) -> Verdict:
        _, p_value = tables.omnibus(noise)
        return p_value < ALPHA, format_short(p_value)

    return check


def _against(noise: float, baseline: str) -> Callable[[Tables], Verdict]:
    """Compare the verdict of a line of Table 7, which is read from the p-value printed there."""
    printed = load_published("kfhe_p_values").set_index(["noise", "versus"])["p_value"][noise, baseline]
    is_different = float(printed.removeprefix("<")) <= ALPHA

    def check(tables: Tables) -> Verdict:
        test = tables.against_baselines(noise).loc[baseline]
        found = "no difference" if test["p_value"] > ALPHA else "better" if test["ahead"] else "worse"
        expected = "better" if is_different else "no difference"
        return found == expected, f"{found}, {format_short(test['p_value'])}"

    return check


def _better_at(levels: Collection[float], baseline: str) -> Callable[[Tables], Verdict]:
    """Check that KFHE is significantly better than a baseline at some levels, and at no others."""

    def check(tables: Tables) -> Verdict:
        found = []
        for noise in LEVELS:
            test = tables.against_baselines(noise).loc[baseline]
            if test["p_value"] <= ALPHA and test["ahead"]:
                found.append(noise)
        return found == list(levels), f"at {join(map(percent, found))}" if found else "at no level"

    return check


def _moves(method: str, sign: int) -> Callable[[Tables], Verdict]:
    """Check that a method's average rank never moves against a direction as noise grows, and does move."""

    def check(tables: Tables) -> Verdict:
        ranks = [round(float(tables.ranks(noise)[method]), 3) for noise in LEVELS]
        steps = [sign * (later - earlier) for earlier, later in pairwise(ranks)]
        return min(steps) >= 0 < sum(steps), ", ".join(f"{rank:.2f}" for rank in ranks)

    return check


def _is_flat(tables: Tables) -> Verdict:
    ranks = pd.DataFrame([tables.ranks(noise) for noise in LEVELS])
    ranges = ranks.max() - ranks.min()
    flat = ranges[["KFHE", "CART"]].max() < ranges[["AdaBoost", "Bagging"]].min()
    return bool(flat), ", ".join(f"{name} {ranges[name]:.2f}" for name in ("KFHE", *BASELINES))


def _cart_is_worst(tables: Tables) -> Verdict:
    worst = [noise for noise in LEVELS if tables.ranks(noise).idxmax() == "CART"]
    return worst == list(LEVELS[:-1]), f"at {join(map(percent, worst))}" if worst else "at no level"


def _best_mean_rank(tables: Tables) -> Verdict:
    means = pd.DataFrame([tables.ranks(noise) for noise in NOISY]).mean()
    return means.idxmin() == "KFHE", ", ".join(f"{name} {means[name]:.2f}" for name in ("KFHE", *BASELINES))


def _wins_most(tables: Tables) -> Verdict:
    wins = sum((tables.cell_ranks(noise) == 1).sum() for noise in NOISY)
    return wins.idxmax() == "KFHE", ", ".join(f"{name} {wins[name]}" for name in ("KFHE", *BASELINES))


def _final_errors(tables: Tables) -> pd.Series:
    assert tables.traces is not None, "claims about traces are checked with traces only"
    return tables.traces.groupby("dataset", sort=False)["train_error"].last()


def _errors_vanish(tables: Tables) -> Verdict:
    errors = _final_errors(tables)
    n_zero = int((errors == 0).sum())
    return n_zero > len(errors) / 2, f"on {n_zero} of {len(errors)}"


def _errors_stay(tables: Tables) -> Verdict:
    errors = _final_errors(tables)
    named = errors[["tvowel", "skulls"]]
    others = errors.drop(named.index)
    higher = bool(named.min() > 0 and named.min() > others.median())
    listed = ", ".join(f"{name} {error:.3f}" for name, error in named.items())
    return higher, f"{listed}; median of the others {others.median():.3f}"


def _variance_falls(tables: Tables) -> Verdict:
    assert tables.traces is not None, "claims about traces are checked with traces only"
    steps = tables.traces.groupby("dataset")["variance"].diff().dropna()
    return bool((steps <= 0).all()), f"{int((steps > 0).sum())} of {len(steps)} steps rise"


def format_short(p_value: float) -> str:
    """Format a p-value as the paper's Table 7 does.

    Examples
    --------
    >>> format_short(0.004), format_short(0.1344)
    ('<0.01', '0.13')
    """
    return "<0.01" if p_value < 0.01 else f"{p_value:.2f}"


TEXT_CLAIMS = (
    Claim("5.1", "AdaBoost has the best average rank without noise", _has_place(0.0, "AdaBoost", 1), (0.0,)),
    Claim("5.1", "KFHE is second without noise", _has_place(0.0, "KFHE", 2), (0.0,)),
    Claim("5.1", "KFHE has a better average rank than bagging without noise", _outranks_bagging, (0.0,)),
    Claim(
        "5.1",
        "KFHE is better than CART on all datasets but cmc and diabetes",
        _loses_to_cart_only("KFHE", ("cmc", "diabetes")),
        (0.0,),
    ),
    Claim(
        "5.1",
        "AdaBoost is better than CART on all datasets but cmc and diabetes",
        _loses_to_cart_only("AdaBoost", ("cmc", "diabetes")),
        (0.0,),
    ),
    Claim("5.1", "the methods differ without noise (aligned ranks)", _methods_differ(0.0), (0.0,)),
    Claim(
        "5.1",
        "the training error falls to 0 on most datasets (Figures 5 and 6)",
        _errors_vanish,
        (0.0,),
        needs_traces=True,
    ),
    Claim("5.1", "it stays higher on tvowel and skulls", _errors_stay, (0.0,), needs_traces=True),
    Claim("5.1", "the variance P never rises", _variance_falls, (0.0,), needs_traces=True),
    *(
        Claim("5.2", f"KFHE has the best average rank at {percent(noise)}", _has_place(noise, "KFHE", 1), (noise,))
        for noise in (0.05, 0.1, 0.15)
    ),
    Claim("5.2", f"bagging has the best average rank at {percent(0.2)}", _has_place(0.2, "Bagging", 1), (0.2,)),
    Claim("5.2", f"KFHE is second at {percent(0.2)}", _has_place(0.2, "KFHE", 2), (0.2,)),
    Claim("5.2", f"AdaBoost is the worst at {percent(0.2)}", _has_place(0.2, "AdaBoost", 4), (0.2,)),
    Claim("5.2", "AdaBoost's average rank gets worse as noise grows", _moves("AdaBoost", 1), LEVELS),
    Claim("5.2", "bagging's average rank gets better as noise grows", _moves("Bagging", -1), LEVELS),
    Claim("5.2", "the ranks of KFHE and CART change less than those of AdaBoost and bagging", _is_flat, LEVELS),
    Claim("5.2", f"CART has the worst average rank at all levels but {percent(0.2)}", _cart_is_worst, LEVELS),
    *(
        Claim("5.2", f"the methods differ at {percent(noise)} (aligned ranks)", _methods_differ(noise), (noise,))
        for noise in NOISY
    ),
    Claim(
        "5.2",
        "KFHE is significantly better than CART at every level",
        _better_at(LEVELS, "CART"),
        LEVELS,
    ),
    Claim(
        "5.2",
        f"KFHE is significantly better than bagging at 0 and {percent(0.05)} only",
        _better_at((0.0, 0.05), "Bagging"),
        LEVELS,
    ),
    Claim(
        "5.2",
        f"KFHE is significantly better than AdaBoost from {percent(0.1)} on",
        _better_at((0.1, 0.15, 0.2), "AdaBoost"),
        LEVELS,
    ),
    Claim("5.2", "KFHE has the best mean of the average ranks under noise", _best_mean_rank, NOISY),
    Claim("5.2", "KFHE is the best on more noisy datasets than any other method (Figure 8)", _wins_most, NOISY),
)
