"""Format values for messages to the user."""

from __future__ import annotations

from typing import Any

import numpy as np


def show(value: Any) -> str:
    """Return the repr of a value without the names of NumPy's types, also inside of containers.

    Examples
    --------
    >>> show(np.int64(9)), show([np.float64(0.5), np.str_("a")])
    ('9', "[0.5, 'a']")
    """
    with np.printoptions(legacy="1.25"):
        return repr(value)
