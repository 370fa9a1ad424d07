"""What the pages share: templates, how names and numbers are written, and the files of a run."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from matplotlib.figure import Figure

NBSP = "\N{NO-BREAK SPACE}"

Verdict = tuple[bool, str]
"""Whether a conclusion holds, and the numbers that say so."""


class CheckedClaim(NamedTuple):
    """A conclusion of a paper, its verdicts on the paper's own tables and on ours, None where it is not checked."""

    section: str
    text: str
    paper: Verdict | None
    ours: dict[str, Verdict | None]


def count_holding(verdicts: Iterable[Verdict | None]) -> str:
    """Count the conclusions that hold, of those that are checked."""
    checked = [verdict[0] for verdict in verdicts if verdict is not None]
    return f"{sum(checked)} of the {len(checked)}"


def render_page(template: str, **values: Any) -> str:
    """Fill a Markdown template, and remove superfluous blank lines."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters |= {"percent": percent, "signed": signed, "join_words": join, "verdict": format_verdict}
    page = environment.get_template(template).render(programs=name_programs, **values)
    page = re.sub(r"[ \t]+$", "", page, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", page)


def join(names: Iterable[str]) -> str:
    """Join the items of a list as in a sentence."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def percent(fraction: float) -> str:
    """Format a fraction as a percentage, with a non-breaking space."""
    return f"{100 * fraction:g}{NBSP}%"


def signed(value: float, digits: int = 3) -> str:
    """Format a difference with its sign, using a true minus."""
    text = f"{abs(value):.{digits}f}"
    if float(text) == 0:
        return text
    return f"{'+' if value > 0 else '−'}{text}"


def format_verdict(verdict: Verdict | None) -> str:
    """Format whether a conclusion holds, with its numbers.

    Examples
    --------
    >>> format_verdict((True, "2.11, second")), format_verdict((False, "none")), format_verdict(None)
    ('yes (2.11, second)', '**no** (none)', 'not checked')
    """
    if verdict is None:
        return "not checked"
    holds, numbers = verdict
    return f"{'yes' if holds else '**no**'} ({numbers})"


def format_p(value: float) -> str:
    """Format a p-value with four digits."""
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def name_programs(costs: Mapping[str, Any]) -> str:
    """Name the versions that made a run and, if it is known, the day on which it ended.

    Examples
    --------
    >>> name_programs({"versions": {"fuselearn": ["0.2.0"], "numpy": ["2.4.6"]}, "totals": {"finished": "2026-11-17"}})
    'fuselearn 0.2.0, numpy 2.4.6; finished on 2026-11-17'
    """
    named = ", ".join(f"{package.replace('_', '-')} {', '.join(found)}" for package, found in costs["versions"].items())
    finished = costs.get("totals", {}).get("finished")
    return named if finished is None else f"{named}; finished on {finished}"


def read_summary(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read the means over the folds that a run has written."""
    return pd.read_csv(path, dtype={"dataset": str, "method": str, "noise": float})


def read_costs(summary: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Read the JSON file of a summary, if there is one: the suite, the totals and the versions of the run."""
    beside = Path(summary).with_suffix(".json")
    return json.loads(beside.read_text(encoding="utf-8")) if beside.is_file() else None


def beside(summary: str | os.PathLike[str], what: str) -> Path:
    """Return the path of another table of a run: ``summary.csv`` has ``summary-folds.csv``."""
    summary = Path(summary)
    return summary.with_name(f"{summary.stem}-{what}.csv")


def source_name(path: str | os.PathLike[str]) -> str:
    """Return a file's name as it stands on a page: without the folders of this machine."""
    return Path(path).name if Path(path).is_absolute() else Path(path).as_posix()


def save(figure: Figure, path: Path) -> None:
    """Write a figure as SVG; the same figure gives the same file."""
    with mpl.rc_context({"svg.hashsalt": "fuselearn"}):
        figure.savefig(path, metadata={"Date": None})


def cost_lines(costs: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """List the costs of a run."""
    if costs is None:
        return []
    totals = costs["totals"]
    elapsed, fitting, predicting = (
        str(timedelta(seconds=round(totals[f"{name}_seconds"]))) for name in ("elapsed", "fit", "predict")
    )
    return [
        ("elapsed time", elapsed),
        ("models trained (fits)", f"{totals['fits']:,}"),
        ("failed fits", f"{totals['failures']:,}"),
        ("time spent in fit, all processes", fitting),
        ("time spent in predict, all processes", predicting),
    ]
