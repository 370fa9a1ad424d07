"""Atomic replacement of files."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: str | os.PathLike[str], *, durable: bool = False) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces the old file at the end, or is removed after an error.

    Anything that is not a regular file, such as a pipe or ``/dev/stdout``, is written to directly.

    Parameters
    ----------
    path : str or path
        If it is a link, the target of the link is replaced.
    durable : bool, default=False
        Whether to sync the content to disk, so that even a power failure leaves a complete file.

    Yields
    ------
    binary file
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        with open(path, "wb") as file:
            yield file
        return
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent}.")
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(beside, "xb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
