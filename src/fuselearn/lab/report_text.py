"""The report's sentences: an answer first, then what the tests say, carefully where data are few."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fuselearn.lab.report_findings import ALPHA, Comparison, Findings

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
NBSP = "\N{NO-BREAK SPACE}"


class Answer(NamedTuple):
    """A headline and the sentences below it."""

    headline: str
    sentences: list[str]


def count(number: int, singular: str, plural: str | None = None) -> str:
    """Write a number of things, small numbers as words.

    Examples
    --------
    >>> from fuselearn.lab.report_text import count
    >>> count(1, "dataset"), count(4, "dataset"), count(19, "dataset")
    ('one dataset', 'four datasets', '19 datasets')
    """
    word = NUMBERS[number] if number < len(NUMBERS) else f"{number:,}"
    return f"{word} {singular if number == 1 else plural or singular + 's'}"


def join(names: Iterable[str], word: str = "and") -> str:
    """Write a list as one says it.

    Examples
    --------
    >>> from fuselearn.lab.report_text import join
    >>> join(["KFHE", "Bagging", "CART"])
    'KFHE, Bagging and CART'
    """
    *first, last = names
    return f"{', '.join(first)} {word} {last}" if first else last


def percent(fraction: float) -> str:
    """Write a fraction as a percentage, with a space that does not break."""
    return f"{100 * fraction:g}{NBSP}%"


def noise_levels(levels: Sequence[float]) -> str:
    """Write levels of noise: '10 % and 20 %'."""
    return join([percent(level) for level in levels])


def p_text(p_value: float) -> str:
    """Write a p-value with the digits that it deserves.

    Examples
    --------
    >>> from fuselearn.lab.report_text import p_text
    >>> p_text(0.0213).split(), p_text(0.000004).split()
    (['p', '=', '0.021'], ['p', '<', '0.0001'])
    """
    number = p_number(p_value)
    return f"p{NBSP}{number}" if number.startswith("<") else f"p{NBSP}={NBSP}{number}"


def p_number(p_value: float) -> str:
    """Write the number of a p-value, for a table: '0.021', '< 0.0001', or a dash for none."""
    if math.isnan(p_value):
        return "–"
    if p_value < 0.0001:
        return f"<{NBSP}0.0001"
    return f"{p_value:.{2 if p_value >= 0.1 else 3 if p_value >= 0.01 else 4}f}"


def signed(value: float, digits: int = 3) -> str:
    """Write a difference with its sign, a true minus included."""
    text = f"{abs(value):.{digits}f}"
    if float(text) == 0:
        return text
    return f"{'+' if value > 0 else '−'}{text}"


def answer(findings: Findings) -> Answer:
    """Say which method is best, by how much, and whether that is real.

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
    leaders = _leaders(overall)
    if noisy is None:
        return f"{leaders} of {count(len(overall.methods), 'method')}."
    if findings.clean is None:
        return f"{leaders} of {count(len(overall.methods), 'method')} under label noise."
    if noisy.shared_best == overall.shared_best:
        return f"{leaders} of {count(len(overall.methods), 'method')}, overall and under label noise."
    return f"{leaders} of {count(len(overall.methods), 'method')} overall; under label noise {_leaders(noisy)}."


def _leaders(comparison: Comparison) -> str:
    """Name who is best: 'KFHE ranks best', 'KFHE and Bagging share the best rank'."""
    shared = comparison.shared_best
    return f"{join(shared)} {'share the best rank' if len(shared) > 1 else 'ranks best'}"


def _wrong_labels(comparison: Comparison) -> str:
    noisy = [level for level in comparison.noise if level > 0]
    if not noisy:
        return "With clean labels"
    return f"With {noise_levels(noisy).replace(' and ', ' or ')} of the training labels wrong"


def _rows(comparison: Comparison) -> str:
    return count(comparison.n_rows, "fold" if comparison.over_folds else "dataset")


def _placing(comparison: Comparison, where: str) -> str:
    """Say who leads, with rank and score, and by how much before whom."""
    best, second = comparison.standing[:2]
    means, lead = comparison.means, comparison.means[comparison.best] - comparison.means[second]
    shared = comparison.shared_best
    rank = f"{comparison.ranks[best]:.2f} of {len(comparison.methods)} over {_rows(comparison)}"
    if f"{abs(lead):.3f}" == "0.000":
        lead_text = f"level with {second}"
    else:
        lead_text = f"{abs(lead):.3f} {'above' if lead > 0 else 'below'} {second}"
    if len(shared) > 1:
        return (
            f"{where}, {best} shares its rank, {rank}, with {join(shared[1:])}; "
            f"its mean macro F1 is {means[best]:.3f}, {lead_text}."
        )
    return (
        f"{where}, {best} leads with an average rank of {rank} and a mean macro F1 of {means[best]:.3f}, "
        f"{lead_text}, the next by rank."
    )


def _significance(comparison: Comparison, where: str) -> str:
    """Say what the tests allow to claim about the leader."""
    best = comparison.best
    pairs = comparison.against(best)["p_corrected"]
    if pairs.isna().any():
        return f"Whether that is more than luck cannot be said from {_rows(comparison)}."
    clear = [other for other, p in pairs.items() if p < ALPHA]
    unclear = [other for other, p in pairs.items() if p >= ALPHA]
    listed = join([f"{other} ({p_text(p)})" for other, p in pairs.items()])
    if comparison.over_folds:
        found = f"{best} differs from {join(clear)}" if clear else f"{best} differs from no other method"
        return _sentence(
            where,
            f"over the folds of this one dataset {found} at the level of {ALPHA:g}; folds share training rows, so "
            "take that as a hint, and as no word about other data.",
        )
    if comparison.few:
        return _sentence(
            where,
            f"{_rows(comparison)} cannot settle whether that is more than luck. As a hint, tests set {best} apart from "
            f"{join(clear, 'and') if clear else 'no other method'}: {listed}.",
        )
    if not clear:
        return _sentence(where, f"no difference from {best} is significant: {listed}.")
    text = f"the difference from {join(clear)} is significant at the level of {ALPHA:g}"
    return _sentence(where, text + (f", that from {join(unclear, 'or')} is not." if unclear else "."))


def _sentence(where: str, text: str) -> str:
    return f"{where}, {text}" if where else text[0].upper() + text[1:]


def describe_omnibus(comparison: Comparison) -> str:
    """Say whether the methods differ at all."""
    if comparison.over_folds:
        return (
            f"One dataset: the methods are compared over its {comparison.n_rows} folds with Wilcoxon's signed-rank "
            "test. Folds share training rows, so these p-values are smaller than they should be, and they say "
            "nothing about other datasets."
        )
    if not comparison.omnibus:
        return "One row of scores leaves nothing to test."
    listed = join(
        [
            f"{test.name} (χ² = {test.statistic:.1f} with {test.degrees_of_freedom} degrees of freedom, "
            f"{p_text(test.p_value)})"
            for test in comparison.omnibus
        ]
    )
    differ = [test.p_value < ALPHA for test in comparison.omnibus]
    over = f"over {_rows(comparison)}"
    if all(differ):
        said = f"The methods differ {over}: {listed}."
    elif any(differ):
        said = f"Whether the methods differ {over} depends on the test: {listed}."
    else:
        said = f"No test finds that the methods differ {over}: {listed}."
    if len(comparison.noise) > 1:
        said += " Each dataset counts once, with its mean over the levels of noise."
    if comparison.few:
        said += (
            f" With {_rows(comparison)} the approximations behind these numbers are rough and real differences are "
            "easily missed; read them as hints."
        )
    return said


def describe_pairs(comparison: Comparison) -> str:
    """Say how the control fares against each other method."""
    control, pairs = comparison.control, comparison.pairs
    if pairs.empty or pairs["p_corrected"].isna().any():
        return ""
    better: list[str] = []
    worse: list[str] = []
    alike: list[str] = []
    for other, row in pairs.iterrows():
        group = alike if row["p_corrected"] >= ALPHA else better if row["ahead"] else worse
        group.append(f"{other} ({p_text(row['p_corrected'])})")
    parts = []
    if better:
        parts.append(f"better than {join(better)}")
    if worse:
        parts.append(f"worse than {join(worse)}")
    if alike:
        parts.append(f"not to be told apart from {join(alike, 'or')}")
    test = "Wilcoxon's signed ranks" if comparison.over_folds else "aligned ranks"
    start = "As a hint, by" if comparison.few else "By"
    return f"{start} {test} with Finner's correction, {control} is {join(parts)}."


def verdict(comparison: Comparison, other: str) -> str:
    """Sum up one comparison with the control in a word or two."""
    row = comparison.pairs.loc[other]
    if math.isnan(row["p_corrected"]):
        return "not tested"
    if row["p_corrected"] >= ALPHA:
        return "not significant"
    word = "better" if row["ahead"] else "worse"
    return f"{word}, a hint" if comparison.few else word


def describe_intervals(comparison: Comparison) -> str:
    """Say how sure the average ranks are."""
    intervals = comparison.intervals
    overlapping = [
        method for method in comparison.standing[1:] if intervals.low[method] <= intervals.high[comparison.best]
    ]
    what = "folds" if comparison.over_folds else "datasets"
    said = (
        f"Had other {what} of the same kind been drawn, the average rank of {comparison.best} would lie between "
        f"{intervals.low[comparison.best]:.2f} and {intervals.high[comparison.best]:.2f} in "
        f"{percent(intervals.confidence)} of cases (bootstrap, {intervals.n_resamples:,} draws)"
    )
    if not overlapping:
        return said + ", clear of all others."
    return said + f"; the interval overlaps with that of {join(overlapping)}."
