"""What the pages about the papers share: templates, files and costs of a run, and the command that writes a page."""

from __future__ import annotations

import json
import os
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from fuselearn._messages import format_seconds
from fuselearn.lab.reporting.pages import make_environment


def render_page(template: str, **values: Any) -> str:
    """Fill a Markdown template, and remove superfluous blank lines."""
    page = make_environment(html=False).get_template(template).render(programs=name_programs, **values)
    page = re.sub(r"[ \t]+$", "", page, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", page)


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


def read_costs(summary: Path) -> dict[str, Any] | None:
    """Read the JSON file of a summary, if there is one."""
    beside = summary.with_suffix(".json")
    return json.loads(beside.read_text(encoding="utf-8")) if beside.is_file() else None


def source_name(path: str | os.PathLike[str]) -> str:
    """Return a file's name as it stands on a page: without the folders of this machine."""
    return Path(path).name if Path(path).is_absolute() else Path(path).as_posix()


def save(figure: Figure, path: Path) -> None:
    """Write a figure as SVG; the same figure gives the same file."""
    with mpl.rc_context({"svg.hashsalt": "fuselearn"}):
        figure.savefig(path, metadata={"Date": None})


def format_p(value: float) -> str:
    """Format a p-value with four digits."""
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def cost_lines(costs: Mapping[str, Any] | None, parts: str = "trees") -> list[tuple[str, str]]:
    """List the costs of a run; `parts` is what its ensembles consist of."""
    if costs is None:
        return []
    totals = costs["totals"]
    elapsed, fitting, trees = totals["elapsed_seconds"], totals["fit_seconds"], totals["components"]
    lines = [
        ("elapsed time", format_seconds(elapsed)),
        ("models trained (fits)", f"{totals.get('fits', totals['results']):,}"),
        ("failed fits", f"{totals['failures']:,}"),
        (f"{parts} in these models", f"{trees:,}"),
        ("time spent in fit, all processes", format_seconds(fitting)),
        ("time spent in predict, all processes", format_seconds(totals["predict_seconds"])),
    ]
    if elapsed > 0 and fitting > 0:
        lines.append(
            (f"{parts} per second of elapsed time, including scoring and everything else", f"{trees / elapsed:,.0f}")
        )
        lines.append((f"{parts} per second of fitting, per process", f"{trees / fitting:,.0f}"))
    return lines


def make_parser(suite: str, description: str, example: str) -> ArgumentParser:
    """Return the parser of a module's command, with the option for the page; ``example`` are its arguments."""
    command = f"python -m fuselearn.lab.reproduction.{suite}"
    parser = ArgumentParser(prog=command, description=description, epilog=f"example: {command} {example}")
    page = "reproduction.md" if suite == "kfhe" else f"reproduction-{suite}.md"
    parser.add_argument("-o", "--output", type=Path, default=Path(page), help="Markdown file to write")
    return parser


def run(parser: ArgumentParser, arguments: Sequence[str] | None, write: Callable[[Namespace], Path]) -> int:
    """Parse the command line, write the page and return the exit code."""
    chosen = parser.parse_args(arguments)
    try:
        page = write(chosen)
    except (OSError, ValueError, KeyError) as error:
        used = ", ".join(map(str, chosen.summaries)) if "summaries" in chosen else chosen.summary
        print(f"Cannot use {used}: {error}", file=sys.stderr)
        return 2
    print(f"Page written to {page}")
    return 0
