"""Check the content of a model file: its expanded size, and the indices that compiled code uses.

A small file must not expand to gigabytes. A forged file could contain compressed entries, arrays with a shape larger
than their entry, one entry that is read many times, or a description with parts that refer to each other. fuselearn
writes none of these, so each raises an error before any object is created.

Compiled code does not check indices, so a forged file could make it read or write any memory. fuselearn's trees are
checked when they are restored (``learners/forests.py``). Support vector machines, label hierarchies and scikit-learn's
trees, which may be base estimators or steps of a pipeline, are checked here after loading.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn.io.trust import ModelFileError, walk_parts

# save() compresses small models only: large ones load faster that way, and no file expands to much more than its size.
DEFLATED_BYTES = 1 << 20
UNFOLDED_BYTES = 4 << 20
# Sparse matrices are separate archives, which SciPy compresses.
SPARSE_BYTES, SPARSE_RATIO = 64 << 20, 20
DESCRIPTION = "schema.json"


def check_archive(content: bytes) -> bytes:
    """Raise an error if an archive would expand to far more than its size.

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
            raise ModelFileError("It contains several entries of the same name.")
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
    """Raise an error if the shape of an array does not match its number of bytes."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject or math.prod(shape) * dtype.itemsize != n_bytes - file.tell():
        raise ModelFileError("It contains an array whose size does not match its shape.")


def _check_sparse(content: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(e.file_size for e in archive.infolist()) > max(SPARSE_BYTES, SPARSE_RATIO * len(content)):
            raise ModelFileError("It contains a sparse matrix that would expand to far more than its size.")
        for entry in archive.infolist():
            with archive.open(entry) as file:
                _check_array(file, entry.file_size)


class _Description:
    """The tree of parts in the description that skops writes.

    A part may occur several times, under the same ``__id__``, and skops uses the first occurrence for all. If every
    occurrence has as many parts below it as the first, the description cannot expand beyond its size, and no part can
    contain itself.
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


def check_contents(model: Any) -> None:
    """Raise an error if a model has malformed trees, support vector machines or hierarchies."""
    for part in walk_parts(model):
        check = CHECKS.get(f"{type(part).__module__}.{type(part).__name__}")
        if check is not None:
            check(part)


def _check_machines(block: Any) -> None:
    """Check that support vector machines match the table they were trained on."""
    table, machines, n_machines = block.table, block.machines, np.count_nonzero(~block.is_constant)
    if (
        table.shift.shape != (table.n_columns,)
        or table.scale.shape != (table.n_columns,)
        or block.is_constant.shape != block.constants.shape
        or (machines is None) != (n_machines == 0)
    ):
        raise ModelFileError("It contains support vector machines that do not match their table.")
    if machines is None:
        return
    if machines.support is not None:
        width = len(machines.support)
    elif block.kernel.name == "linear":
        width = table.n_columns
    else:
        width = len(table.radial_maps[block.kernel.factor].normalization_)
    if machines.coefficients.shape != (n_machines, width) or machines.intercepts.shape != (n_machines,):
        raise ModelFileError("It contains support vector machines that do not match their table.")
    if machines.support is not None and width:
        training = table.root.training_rows()
        if training.shape != (table.n_rows, table.n_columns) or table.appended.shape[0] != table.n_rows:
            raise ModelFileError("It contains support vector machines that do not match their table.")
        if machines.support.min() < 0 or machines.support.max() >= table.n_rows:
            raise ModelFileError("It contains support vectors out of range.")


def _check_hierarchy(component: Any) -> None:
    """Check that the nodes of a hierarchy come after their parents, so that every descent ends."""
    for number, node in enumerate(component.hierarchy):
        if any(child != -1 and not number < child < len(component.hierarchy) for child in node.children):
            raise ModelFileError("It contains a label hierarchy with children in the wrong position.")


def _check_tree(tree: Any) -> None:
    state = tree.__getstate__()
    nodes, values = state["nodes"], state["values"]
    _check_nodes(nodes["left_child"], nodes["right_child"], nodes["left_child"] < 0, nodes["feature"], tree.n_features)
    if len(values) != len(nodes) or tree.node_count != len(nodes):
        raise ModelFileError("It contains a scikit-learn tree with more nodes than values.")


def _check_predictor(predictor: Any) -> None:
    nodes = predictor.nodes
    _check_nodes(nodes["left"], nodes["right"], nodes["is_leaf"] != 0, nodes["feature_idx"], None)
    if not len(predictor.binned_left_cat_bitsets) == len(predictor.raw_left_cat_bitsets):
        raise ModelFileError("It contains a scikit-learn tree with inconsistent categories.")
    is_category = (nodes["is_categorical"] != 0) & (nodes["is_leaf"] == 0)
    if (nodes["bitset_idx"][is_category] >= len(predictor.raw_left_cat_bitsets)).any():
        raise ModelFileError("It contains a scikit-learn tree that refers to categories in the wrong position.")


def _check_nodes(
    left: npt.NDArray[Any],
    right: npt.NDArray[Any],
    is_leaf: npt.NDArray[np.bool_],
    feature: npt.NDArray[Any],
    n_features: int | None,
) -> None:
    """Check that the children of each node come later, so that every descent ends, and that its column exists."""
    place = np.arange(len(left))[~is_leaf]
    for child in (left[~is_leaf].astype(np.int64), right[~is_leaf].astype(np.int64)):
        if (child <= place).any() or (child >= len(left)).any():
            raise ModelFileError("It contains a scikit-learn tree with children in the wrong position.")
    columns = feature[~is_leaf].astype(np.int64)
    if (columns < 0).any() or (n_features is not None and (columns >= n_features).any()):
        raise ModelFileError("It contains a scikit-learn tree that splits a feature that does not exist.")


CHECKS: dict[str, Callable[[Any], None]] = {
    "fuselearn.multilabel.methods.homer.HOMERModel": _check_hierarchy,
    "fuselearn.learners.svm.LabelMachines": _check_machines,
    "sklearn.tree._tree.Tree": _check_tree,
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor": _check_predictor,
}
