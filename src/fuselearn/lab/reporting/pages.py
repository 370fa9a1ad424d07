"""The templates of pages, and how they write names and numbers."""

from __future__ import annotations

import re

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from fuselearn.lab.reporting import text

__all__ = ["make_environment"]


def make_environment(*, html: bool = True) -> Environment:
    """Return the environment of the templates; in HTML it escapes what it is given."""
    environment = Environment(
        loader=PackageLoader("fuselearn.lab"), autoescape=html, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=not html,
    )  # fmt: skip
    environment.filters |= {
        "breakable": _breakable,
        "percent": text.percent,
        "signed": text.signed,
        "count": text.count,
        "join_words": text.join,
    }
    return environment


def _breakable(name: str) -> Markup:
    """Allow line breaks between the words of a long name: HistGradientBoosting, RandomForest, breast_cancer."""
    return Markup("<wbr>").join(escape(part) for part in re.split(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[-_./])", name))
