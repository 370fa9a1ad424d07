"""Check how much memory the content of a model file would take before anything is built from it.

A small file must not expand into gigabytes. There are four ways to try: entries that inflate, arrays that claim to be
larger than their entry, one entry read many times, and a description whose parts refer to each other. fuselearn writes
none of these, so all four are refused.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from typing import Any

import numpy as np

from fuselearn.io.errors import ModelFileError

# save() compresses small models only: large ones load faster that way, and no file expands to much more than its size.
DEFLATED_BYTES = 1 << 20
UNFOLDED_BYTES = 4 << 20
# Sparse matrices are archives of their own, which SciPy compresses.
SPARSE_BYTES, SPARSE_RATIO = 64 << 20, 20
DESCRIPTION = "schema.json"


def check_archive(content: bytes) -> bytes:
    """Refuse an archive that would expand to far more than its size.

    Parameters
    ----------
    content : bytes
        An archive as ``skops.io.dumps`` makes them.

    Returns
    -------
    bytes
        The archive with its description but without its arrays, which is enough to list its types.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
        if len(entries) != len(archive.infolist()):
            raise ModelFileError("It holds several entries of the same name.")
        if sum(entry.file_size for entry in entries.values()) > max(UNFOLDED_BYTES, len(content)):
            raise ModelFileError("It would expand to far more than its size.")
        for name, entry in entries.items():
            if name.endswith(".npy"):
                with archive.open(entry) as file:
                    _check_array(file, entry.file_size)
            elif name.endswith(".npz"):
                _check_sparse(archive.read(entry))
        description = archive.read(DESCRIPTION)
    _Description(entries).check(json.loads(description))
    outline = io.BytesIO()
    with zipfile.ZipFile(outline, "w") as archive:
        for name in entries:
            archive.writestr(name, description if name == DESCRIPTION else b"")
    return outline.getvalue()


def _check_array(file: Any, n_bytes: int) -> None:
    """Refuse an array whose shape claims more or fewer bytes than there are."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject or math.prod(shape) * dtype.itemsize != n_bytes - file.tell():
        raise ModelFileError("It holds an array whose size does not match its shape.")


def _check_sparse(content: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(e.file_size for e in archive.infolist()) > max(SPARSE_BYTES, SPARSE_RATIO * len(content)):
            raise ModelFileError("It holds a sparse matrix that would expand to far more than its size.")
        for entry in archive.infolist():
            with archive.open(entry) as file:
                _check_array(file, entry.file_size)


class _Description:
    """The tree of parts by which skops describes a model.

    A part may be mentioned several times, under the same ``__id__``, and skops then takes the first mention for all.
    If every mention has as many parts below it as the first one, the description cannot expand to more than is written,
    and no part can contain itself.
    """

    def __init__(self, entries: dict[str, zipfile.ZipInfo]) -> None:
        self.entries = entries
        self.sizes: dict[Any, int] = {}
        self.readers: dict[str, Any] = {}

    def check(self, part: Any) -> int:
        """Check a part and those below it, and return their number."""
        if isinstance(part, list):
            return 1 + sum(map(self.check, part))
        if not isinstance(part, dict):
            return 0
        size = 1 + sum(map(self.check, part.values()))
        own_id = part.get("__id__")
        if isinstance(own_id, int) and self.sizes.setdefault(own_id, size) != size:
            raise ModelFileError("It describes one part in two ways.")
        file = part.get("file")
        if isinstance(file, str):
            if file not in self.entries:
                raise ModelFileError(f"Its entry {file} is missing.")
            if not isinstance(own_id, int) or self.readers.setdefault(file, own_id) != own_id:
                raise ModelFileError("It uses one entry for several parts.")
        return size
