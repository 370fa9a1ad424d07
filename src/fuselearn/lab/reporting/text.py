"""The sentences of the report: the answer first, then the results of the tests.

A method is called better only if a corrected test finds it better (`fuselearn.lab.reporting.findings`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pandas as pd

from fuselearn.lab.reporting.findings import ALPHA, Comparison, Findings

__all__ = [
    "Answer",
    "answer",
    "count",
    "describe_intervals",
    "describe_omnibus",
    "describe_pairs",
    "join",
    "noise_levels",
    "p_number",
    "p_text",
    "percent",
    "signed",
    "verdict",
]

NUMBERS = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
FEW_DATASETS = 10
NBSP = "\N{NO-BREAK SPACE}"


class Answer(NamedTuple):
    """A headline and the sentences below it."""

    headline: str
    sentences: list[str]


def count(number: int, singular: str, plural: str | None = None) -> str:
    """Format a number of things, small numbers as words.

    Examples
    --------
    >>> from fuselearn.lab.reporting.text import count
    >>> count(1, "dataset"), count(4, "dataset"), count(19, "dataset")
    ('one dataset', 'four datasets', '19 datasets')
    """
    return f"{number_word(number)} {singular if number == 1 else plural or singular + 's'}"


def number_word(number: int) -> str:
    """Format a small number as a word, a larger one in digits."""
    return NUMBERS[number] if number < len(NUMBERS) else f"{number:,}"


def join(names: Iterable[str], word: str = "and") -> str:
    """Join the items of a list as in a sentence.

    Examples
    --------
    >>> from fuselearn.lab.reporting.text import join
    >>> join(["KFHE", "Bagging", "CART"])
    'KFHE, Bagging and CART'
    """
    *first, last = names
    return f"{', '.join(first)} {word} {last}" if first else last


def percent(fraction: float) -> str:
    """Format a fraction as a percentage, with a non-breaking space."""
    return f"{100 * fraction:g}{NBSP}%"


def noise_levels(levels: Sequence[float]) -> str:
    """Format levels of noise: '10 % and 20 %'."""
    return join([percent(level) for level in levels])


def p_text(p_value: float) -> str:
    """Format a p-value with its significant digits.

    Examples
    --------
    >>> from fuselearn.lab.reporting.text import p_text
    >>> p_text(0.0213).split(), p_text(0.000004).split()
    (['p', '=', '0.021'], ['p', '<', '0.0001'])
    """
    number = p_number(p_value)
    return f"p{NBSP}{number}" if number.startswith("<") else f"p{NBSP}={NBSP}{number}"


def p_number(p_value: float) -> str:
    """Format a p-value for a table: '0.021', '< 0.0001', or a dash for none."""
    if math.isnan(p_value):
        return "–"
    if p_value < 0.0001:
        return f"<{NBSP}0.0001"
    return f"{p_value:.{2 if p_value >= 0.1 else 3 if p_value >= 0.01 else 4}f}"


def signed(value: float, digits: int = 3) -> str:
    """Format a difference with its sign, using a true minus."""
    text = f"{abs(value):.{digits}f}"
    if float(text) == 0:
        return text
    return f"{'+' if value > 0 else '−'}{text}"


def answer(findings: Findings) -> Answer:
    """Describe which method is best, by how much, and whether the difference is significant.

    Parameters
    ----------
    findings : Findings

    Returns
    -------
    answer : Answer
        The headline is one sentence; the others give the numbers.
    """
    overall, noisy = findings.overall, findings.noisy
    if overall is None:
        return Answer("No method finished, so there is nothing to compare.", ["The failures are listed below."])
    if len(overall.methods) == 1:
        only = overall.methods[0]
        return Answer(
            f"Only {only} finished, so there is nothing to compare it with.",
            [f"Its mean macro F1 over {_rows(overall)} is {overall.means[only]:.3f}."],
        )
    if noisy is None or findings.clean is None:
        sentences = [_placing(overall, _wrong_labels(overall)), _significance(overall, "")]
    else:
        sentences = [
            _placing(overall, "Over all levels of noise"),
            _placing(findings.clean, "With clean labels"),
            _placing(noisy, _wrong_labels(noisy)),
            _significance(noisy, "Under noise"),
        ]
    return Answer(_headline(findings), sentences)


def _headline(findings: Findings) -> str:
    overall, noisy = findings.overall, findings.noisy
    assert overall is not None
    if noisy is None:
        return _sentence("", f"{_standing(overall, overall.beaten)}.")
    if findings.clean is None:
        return _sentence("Under label noise", f"{_standing(overall, overall.beaten)}.")
    beaten = [method for method in overall.beaten if method in noisy.beaten]
    if noisy.tied_best == overall.tied_best and (beaten or not (overall.beaten or noisy.beaten)):
        return _sentence("Overall and under label noise", f"{_standing(overall, beaten)}.")
    return _sentence(
        "Overall", f"{_standing(overall, overall.beaten)}; under label noise, {_standing(noisy, noisy.beaten)}."
    )


def _standing(comparison: Comparison, beaten: Sequence[str]) -> str:
    """Return a clause with the best method and those that are significantly worse."""
    tied = comparison.tied_best
    n_methods = len(comparison.methods)
    if len(tied) == n_methods:
        return f"{join(tied)} tie" if n_methods == 2 else f"all {count(n_methods, 'method')} tie"
    what, best = ("score", "scores best") if comparison.over_folds else ("rank", "ranks best")
    leaders = f"{join(tied)} {f'tie for the best {what}' if len(tied) > 1 else best} of {count(n_methods, 'method')}"
    if comparison.n_rows < 2:
        return f"{leaders}, by {_rows(comparison)} alone"
    if not beaten:
        return f"{leaders}, {'no other significantly behind' if len(tied) > 1 else 'but not significantly'}"
    if len(beaten) == n_methods - 1:
        return f"{leaders}, significantly ahead of every other"
    if len(beaten) > 2:
        return f"{leaders}, significantly ahead of {number_word(len(beaten))} of them"
    return f"{leaders}, significantly ahead of {join(beaten)}"


def _wrong_labels(comparison: Comparison) -> str:
    noisy = [level for level in comparison.noise if level > 0]
    if not noisy:
        return ""
    return f"With {noise_levels(noisy).replace(' and ', ' or ')} of the training labels wrong"


def _rows(comparison: Comparison) -> str:
    return count(comparison.n_rows, "fold" if comparison.over_folds else "dataset")


def _placing(comparison: Comparison, where: str) -> str:
    """Describe the best method: its rank, its score, and its lead over the next method."""
    ranks, means, tied = comparison.ranks, comparison.means, comparison.tied_best
    of = f"of {len(comparison.methods)} over {_rows(comparison)}"
    if len(tied) > 1:
        return _sentence(
            where,
            f"{join(tied)} tie: average rank {join([f'{ranks[method]:.2f}' for method in tied])} {of}, "
            f"mean macro F1 {join([f'{means[method]:.4f}' for method in tied])}.",
        )
    best, second = comparison.standing[:2]
    lead = means[best] - means[second]
    if f"{abs(lead):.3f}" == "0.000":
        lead_text = f"level with {second}"
    else:
        lead_text = f"{abs(lead):.3f} {'above' if lead > 0 else 'below'} {second}"
    if comparison.over_folds:
        return _sentence(
            where,
            f"{best} leads with a mean macro F1 of {means[best]:.3f} over {_rows(comparison)}, {lead_text}, the next.",
        )
    return _sentence(
        where,
        f"{best} leads with an average rank of {ranks[best]:.2f} {of} and a mean macro F1 of {means[best]:.3f}, "
        f"{lead_text}, the next by rank.",
    )


def _significance(comparison: Comparison, where: str) -> str:
    """Describe the tests of the best method."""
    best = comparison.best
    pairs = comparison.against(best)["p_corrected"]
    if pairs.isna().any():
        return _sentence(where, f"{_rows(comparison)} cannot show whether that is more than chance.")
    by = f"by {comparison.test_name}"
    clear, unclear = pairs[pairs < ALPHA], pairs[pairs >= ALPHA]
    if clear.empty:
        smallest = "smallest " if len(pairs) > 1 else ""
        p = f"({smallest}{p_text(pairs.min())})"
        said = f"{by}, {best} does not differ significantly from {_name(unclear, pairs, 'or')} {p}."
    else:
        largest = "largest " if len(clear) > 1 else ""
        said = f"{by}, {best} differs significantly from {_name(clear, pairs)} ({largest}{p_text(clear.max())})"
        said += f", and not from {_name(unclear, pairs, 'or')}." if len(unclear) else "."
    if comparison.over_folds:
        said += " This holds for this dataset only; it says nothing about others."
    return _sentence(where, said)


def _sentence(where: str, text: str) -> str:
    return f"{where}, {text}" if where else text[0].upper() + text[1:]


def describe_omnibus(comparison: Comparison) -> str:
    """Describe the test of whether the methods differ at all."""
    if comparison.over_folds:
        return (
            f"One dataset: the methods are compared over {_rows(comparison)} with the corrected resampled t-test, "
            "which accounts for the training samples shared by the folds. It says nothing about other datasets."
        )
    if comparison.n_rows < 2:
        return "A single dataset cannot be tested."
    over = f"over {_rows(comparison)}"
    test = comparison.omnibus
    if test is None:
        said = f"Two methods are compared with Wilcoxon's signed-rank test {over}."
    else:
        found = "finds that the methods differ" if test.p_value < ALPHA else "finds no difference between the methods"
        said = (
            f"Friedman's test {found} {over} (χ² = {test.statistic:.1f} with {test.degrees_of_freedom} degrees of "
            f"freedom, {p_text(test.p_value)})."
        )
    if len(comparison.noise) > 1:
        said += " Each dataset counts once, with its mean over the levels of noise."
    if comparison.n_rows < FEW_DATASETS:
        said += f" With {_rows(comparison)}, only large differences can be significant."
    return said


def describe_pairs(comparison: Comparison) -> str:
    """Describe the tests of the control against each other method."""
    control, pairs = comparison.control, comparison.pairs
    if pairs.empty or pairs["p_corrected"].isna().any():
        return ""
    significant = pairs["p_corrected"] < ALPHA
    groups = (
        ("better than", significant & pairs["ahead"], "and"),
        ("worse than", significant & ~pairs["ahead"], "and"),
        ("not significantly different from", ~significant, "or"),
    )
    said = [f"{how} {_name(pairs[chosen], pairs, word)}" for how, chosen, word in groups if chosen.any()]
    return f"By {comparison.test_name}, {control} is {join(said)}."


def _name(chosen: pd.Series | pd.DataFrame, others: pd.Series | pd.DataFrame, word: str = "and") -> str:
    """Name up to three of the other methods, or give their number."""
    if len(chosen) <= 3:
        return join(map(str, chosen.index), word)
    if len(chosen) == len(others):
        return "any other method" if word == "or" else "every other method"
    return f"{number_word(len(chosen))} of the others"


def verdict(comparison: Comparison, other: str) -> str:
    """Summarise one comparison with the control in a word or two."""
    row = comparison.pairs.loc[other]
    if math.isnan(row["p_corrected"]):
        return "not tested"
    if row["wins"] == row["losses"] == 0:
        return "equal"
    if row["p_corrected"] >= ALPHA:
        return "not significant"
    return "better" if row["ahead"] else "worse"


def describe_intervals(comparison: Comparison) -> str:
    """Describe the interval of the best average rank; empty for folds, which are not independent."""
    if comparison.over_folds:
        return ""
    intervals, best = comparison.intervals, comparison.best
    return (
        f"With other datasets of the same kind, the average rank of {best} would be between "
        f"{intervals.low[best]:.2f} and {intervals.high[best]:.2f} in {percent(intervals.confidence)} of cases "
        f"(bootstrap, {intervals.n_resamples:,} draws)."
    )
