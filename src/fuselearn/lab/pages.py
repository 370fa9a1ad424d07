"""What the HTML pages share: templates, how names and numbers are written, and figures inside a page."""

from __future__ import annotations

import io
import math
import re
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["NBSP", "format_p", "format_percent", "inline_svg", "make_environment"]

NBSP = "\N{NO-BREAK SPACE}"


def make_environment() -> Environment:
    """Return the environment of the templates."""
    environment = Environment(
        loader=PackageLoader("fuselearn.lab"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"breakable": _breakable, "percent": format_percent, "p_value": format_p}
    return environment


def _breakable(name: str) -> Markup:
    """Allow line breaks between the words of a long name: HistGradientBoosting, random-forest, breast_cancer."""
    parts = re.split(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[-_./:(])", str(name))
    return Markup("<wbr>").join(escape(part) for part in parts)


def format_percent(fraction: float) -> str:
    """Format a fraction as a percentage, with a non-breaking space."""
    return f"{100 * fraction:g}{NBSP}%"


def format_p(p_value: float) -> str:
    """Format a p-value with its significant digits, or as a dash if there is none.

    Examples
    --------
    >>> [format_p(p_value) for p_value in (0.213, 0.0213, 0.00213, 0.000004, float("nan"))]
    ['0.21', '0.021', '0.0021', '<0.0001', '–']
    """
    if math.isnan(p_value):
        return "–"
    if p_value < 0.0001:
        return "<0.0001"
    return f"{p_value:.{2 if p_value >= 0.1 else 3 if p_value >= 0.01 else 4}f}"


def inline_svg(figure: Figure, *, prefix: str) -> Markup:
    """Convert a figure to SVG for a page.

    Text stays text, so that it can be searched and read aloud. Every color becomes a style
    variable such as ``var(--fig-0072b2, #0072b2)``, which a dark page redefines; shapes without a
    color, which SVG fills black, get the text color of the page. Ids inside the figure get a
    prefix, because they must be unique on a page, and unused ids are removed.

    Parameters
    ----------
    figure : Figure
        A matplotlib figure.
    prefix : str
        Unique for each figure of the page.

    Returns
    -------
    svg : str
        An ``<svg>`` element, deterministic for equal figures.
    """
    import matplotlib as mpl

    figure.patch.set_alpha(0)
    for axes in figure.axes:
        axes.patch.set_alpha(0)
    file = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "fuselearn"}):
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = file.getvalue()
    text = text[text.index("<svg") :].strip()
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r'\1 style="fill: currentColor"', text)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    text = re.sub(r' id="([^"]*)"', lambda found: f' id="{prefix}-{found[1]}"' if found[1] in used else "", text)
    text = re.sub(r'(href="#|url\(#)', rf"\1{prefix}-", text)
    return Markup(re.sub(r"#[0-9a-f]{6}\b", lambda found: f"var(--fig-{found[0][1:]}, {found[0]})", text))
