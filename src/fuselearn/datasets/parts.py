"""Read a dataset that is published in parts: a training and a test file, or the files of fixed folds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn.datasets.dataset import Dataset, DatasetError
from fuselearn.datasets.tables import read_table

if TYPE_CHECKING:
    import pandas as pd

Split = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]


class Parts(NamedTuple):
    """A dataset, and how its publisher has split it.

    .. versionadded:: 0.2

    Attributes
    ----------
    data : Dataset
        The samples of all files, in the order of the files.
    splits : list of pairs of arrays
        The indices of the training and of the test samples of each split, for ``cv=`` of scikit-learn's functions.

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn.datasets import Parts, load
    >>> parts = Parts(load("iris"), [(np.arange(0, 150, 2), np.arange(1, 150, 2))])
    >>> data, splits = parts
    >>> data.name, len(splits)
    ('iris', 1)
    """

    data: Dataset
    splits: list[Split]


def read_parts(paths: Sequence[str | os.PathLike[str]], **options: Any) -> Parts:
    r"""Read a dataset from a training and a test file, or from the files of fixed folds.

    .. versionadded:: 0.2

    Parameters
    ----------
    paths : sequence of str or path
        Two files are a training and a test part, in this order. Three or more are folds, each of which is the test part
        once.
    **options
        Those of `read_table`: ``target``, ``labels`` and so on, for all of the files.

    Returns
    -------
    Parts
        It unpacks into the dataset and the splits.

    Raises
    ------
    DatasetError
        If there are fewer than two files, or they have other features or labels.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fuselearn.datasets import read_parts
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> header = "@relation 'songs: -C 1'\n@attribute sad {0,1}\n@attribute speed numeric\n@data\n"
    >>> _ = (folder / "songs-train.arff").write_text(header + "1,60\n0,90\n")
    >>> _ = (folder / "songs-test.arff").write_text(header + "1,70\n")
    >>> data, splits = read_parts([folder / "songs-train.arff", folder / "songs-test.arff"])
    >>> data.y["sad"].tolist(), [(train.tolist(), test.tolist()) for train, test in splits]
    ([1, 0, 1], [([0, 1], [2])])
    """
    if isinstance(paths, str | os.PathLike) or len(paths) < 2:
        raise DatasetError("paths must be a list of two files or more: a training and a test part, or folds.")
    files = [Path(path) for path in paths]
    parts = [read_table(path, **options) for path in files]
    for part, path in zip(parts[1:], files[1:], strict=True):
        _require_same(parts[0], part, files[0], path)
    first = parts[0]
    source = ", ".join(map(str, files))
    y = _stack([part.y for part in parts])
    description = f"The tables {', '.join(path.name for path in files)}."
    data = Dataset(_stack([part.X for part in parts]), y, first.name, description, source, first.feature_names)
    ends = np.cumsum([part.X.shape[0] for part in parts])
    folds = [np.arange(end - part.X.shape[0], end) for part, end in zip(parts, ends, strict=True)]
    if len(folds) == 2:
        return Parts(data, [(folds[0], folds[1])])
    return Parts(data, [(np.concatenate([*folds[:k], *folds[k + 1 :]]), fold) for k, fold in enumerate(folds)])


def _require_same(one: Dataset, other: Dataset, path: Path, other_path: Path) -> None:
    """Refuse a part that has not the features and labels of the first one, in the same order."""
    kinds = [("features", one.feature_names, other.feature_names)]
    if one.task != other.task:
        raise DatasetError(f"{path} has {one.task} data, but {other_path} has {other.task} data.")
    if one.task == "multilabel":
        kinds.append(("labels", list(one.y.columns), list(other.y.columns)))
    for kind, names, others in kinds:
        if list(names) != list(others):
            differing = [name for name in (*names, *others) if (name in names) != (name in others)]
            what = f"of which {differing[0]!r} is in one of them only" if differing else "in another order"
            raise DatasetError(f"{path} and {other_path} have different {kind}, {what}.")


def _stack(tables: list[Any]) -> Any:
    """Put tables below each other; categories are those of all of them."""
    from scipy import sparse

    if sparse.issparse(tables[0]):
        return sparse.csr_array(sparse.vstack([sparse.csr_array(table) for table in tables]))
    import pandas as pd

    if tables[0].ndim == 1:
        return pd.concat(tables, ignore_index=True)
    columns = {name: _join([table[name] for table in tables]) for name in tables[0].columns}
    return pd.DataFrame(columns, columns=tables[0].columns)


def _join(columns: list[pd.Series]) -> pd.Series:
    """Put columns below each other; if one holds categories, so does the result."""
    import pandas as pd

    if not any(isinstance(column.dtype, pd.CategoricalDtype) for column in columns):
        return pd.concat(columns, ignore_index=True)
    known = [column.cat.categories if hasattr(column, "cat") else column.dropna().unique() for column in columns]
    categories = list(dict.fromkeys(value for values in known for value in values))
    joined = pd.concat([column.astype(object) for column in columns], ignore_index=True)
    return joined.astype(pd.CategoricalDtype(categories))
