"""Checkpoints: the trees of an unfinished fit in a folder, so that the fit can be resumed.

A tree is determined by the samples, the previous trees and its order, which defines how samples are drawn and the tree
is grown. A resumed fit repeats the same fit and reads finished trees from the folder, one file per tree.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fuselearn._core import Tree
from fuselearn._replacing import replacing
from fuselearn.learners.forests import stack_trees, unstack_trees

if TYPE_CHECKING:
    from fuselearn.scale.table import TreeOrder

FORMAT = 1
SEED = "seed"


class Checkpoint:
    """A folder of trees.

    Parameters
    ----------
    folder : path
        Created if it does not exist.
    facts : mapping of str to JSON values
        Description of the fit. A folder with a different description raises an error.
    n_categories : array of shape (n_features,)
        Number of categories of each feature, 0 for numbers.

    Attributes
    ----------
    seed : int
        A seed that is kept when a fit is resumed.
    """

    def __init__(self, folder: Any, facts: Mapping[str, Any], n_categories: npt.NDArray[np.int32]) -> None:
        self.folder, self.n_categories = Path(folder), n_categories
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"checkpoint must be a folder; {self.folder} is a file.")
        self.folder.mkdir(parents=True, exist_ok=True)
        head = {"format": FORMAT, **json.loads(json.dumps(facts))}
        path = self.folder / "fit.json"
        if path.exists():
            self.seed = self._read_head(path, head)
            return
        if any(self.folder.iterdir()):
            raise ValueError(
                f"The folder {self.folder} contains files, but no checkpoint; choose an empty or a new folder."
            )
        self.seed = secrets.randbits(62)
        with replacing(path) as file:
            file.write(json.dumps(head | {SEED: self.seed}, indent=1).encode())

    def find(self, order: TreeOrder) -> Tree | None:
        """Return the tree of an order if it has been saved."""
        path = self._path(order)
        if not path.exists():
            return None
        try:
            with np.load(path, allow_pickle=False) as stored:
                (tree,) = unstack_trees(dict(stored), self.n_categories[order.features])
        except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path} of the checkpoint is damaged; delete it to grow the tree again.") from error
        return tree

    def save(self, order: TreeOrder, tree: Tree) -> None:
        """Save the tree of an order."""
        stored: dict[str, Any] = {**stack_trees([tree])}
        with replacing(self._path(order)) as file:
            np.savez_compressed(file, **stored)

    def _path(self, order: TreeOrder) -> Path:
        text = repr((order.features.tolist(), order.draw, order.settings, order.seed, order.cover))
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.npz"

    def _read_head(self, path: Path, head: Mapping[str, Any]) -> int:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            seed = int(found.pop(SEED))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path} does not belong to a checkpoint; choose another folder.") from error
        for name in sorted(found.keys() | head.keys()):
            if found.get(name) != head.get(name):
                before, now = _shorten(found.get(name)), _shorten(head.get(name))
                raise ValueError(
                    f"The checkpoint {self.folder} belongs to a different fit: {name} was {before} and is now "
                    f"{now}. Choose another folder, or delete this one."
                )
        return seed


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
