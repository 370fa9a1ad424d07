"""Format values for messages to the user."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def show(value: Any) -> str:
    """Return the repr of a value without NumPy's type names, also in containers.

    Examples
    --------
    >>> import numpy as np
    >>> show(np.int64(9)), show([np.float64(0.5), np.str_("a")])
    ('9', "[0.5, 'a']")
    """
    import numpy as np  # not needed by the command line's help

    with np.printoptions(legacy="1.25"):
        return repr(value)


def did_you_mean(value: Any, known: Iterable[Any]) -> str:
    """Return a space and a suggestion of the most similar known name, or an empty string.

    Examples
    --------
    >>> did_you_mean("linaer", ["rbf", "linear"]), did_you_mean("cosine", ["rbf", "linear"])
    (" Did you mean 'linear'?", '')
    """
    near = difflib.get_close_matches(str(value), [str(name) for name in known], n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def find_file(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file, or raise an error if there is none."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no file {os.fspath(path)}.")
    return Path(path)


def format_seconds(seconds: float) -> str:
    """Format a duration for reading.

    Examples
    --------
    >>> format_seconds(42.4), format_seconds(95), format_seconds(3 * 3600 + 59)
    ('42 s', '1 min 35 s', '3 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(whole / 60)
    return f"{minutes // 60} h {minutes % 60} min"
