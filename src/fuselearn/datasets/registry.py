"""The datasets of the two papers, of scikit-learn and of data packages, and their OpenML copies.

The entries are in ``registry.toml``, with the sizes of the datasets that `load_dataset` returns. If a size differs from
the paper, `difference` explains why. Paper ``"kfhe"`` is Pakrashi and Mac Namee (2019), *Kalman Filter-based Heuristic
Ensemble*; ``"kfhe-homer"`` is their multi-label sequel.

The packages' tables heart, penbased, satimage, segment, splice, vehicle and vowel, and tables derived from them, are
deliberately not listed, so that they remain held out for evaluations. Neither is cleveland, with the same patients as
heart.

OpenML's copies have row names among the features, numbers declared as nominal, and labels written TRUE and FALSE.
`fetch` downloads them with scikit-learn's `fetch_openml` and corrects this for each dataset; the caller compares the
result with the registry.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from http.client import HTTPException
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd
from sklearn import datasets

from fuselearn.datasets.columns import tidy_features
from fuselearn.datasets.dataset import DatasetError
from fuselearn.datasets.tables import CLASS_COLUMN, class_names, code_labels

Pair = tuple[pd.DataFrame, Any]


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """One entry of the registry.

    Parameters
    ----------
    name : str
        The name for `load_dataset`.
    rows, features, classes : int
        Number of samples, of features, and of classes or labels; 0 if unknown.
    description : str
        Its topic and origin.
    task : {"multiclass", "multilabel"}
        Whether a sample has one class or a set of labels.
    paper : {"kfhe", "kfhe-homer"} or None
        The paper whose experiments use it.
    difference : str
        How the data differ from the paper's description, or how they were inferred.
    openml : int or None
        The OpenML ID of the copy to download; None if no copy is known.
    no_openml : str
        Why there is no copy, as the end of a sentence.
    bundled : bool
        Whether the dataset is part of scikit-learn.
    file : str
        The stem of its file in a data folder, if it differs from the name.
    positives : int or None
        Multi-label: total number of ones in the labels, which distinguishes datasets of the same size.
    unavailable : str
        Why the dataset cannot be loaded, if so.
    packaged : str or None
        The import name of a data package, and the path of the file in it.
    target : int
        Position of the column with the classes in that file.
    identifiers : sequence of int
        Positions of identifier columns in that file, which are dropped.

    Examples
    --------
    >>> iris = registry()["iris"]
    >>> iris.task, iris.rows, iris.features, iris.classes, iris.paper
    ('multiclass', 150, 4, 3, 'kfhe')
    """

    name: str
    rows: int
    features: int
    classes: int
    description: str
    task: str = "multiclass"
    paper: str | None = None
    difference: str = ""
    openml: int | None = None
    no_openml: str = ""
    bundled: bool = False
    file: str = ""
    positives: int | None = None
    unavailable: str = ""
    packaged: str | None = None
    target: int = -1
    identifiers: Sequence[int] = ()


@cache
def registry() -> Mapping[str, DatasetInfo]:
    """Return the registry of datasets, read-only and in the order of the papers' tables.

    >>> [name for name, info in registry().items() if info.unavailable]
    ['physio']
    """
    entries = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return MappingProxyType({name: DatasetInfo(name, *entry.pop("size"), **entry) for name, entry in entries.items()})


def find_by_number(name: str) -> DatasetInfo | None:
    """Describe the OpenML dataset with the number in a name such as ``"openml-61"``; None for any other name."""
    number = name.removeprefix("openml-")
    if number == name or not (number.isascii() and number.isdecimal()):
        return None
    return DatasetInfo(name, 0, 0, 0, "a dataset on OpenML", openml=int(number))


def fetch(info: DatasetInfo) -> Pair:
    """Download the copy named in the registry and convert it."""
    try:
        # The pandas parser of scikit-learn 1.9 fails on labels that are written TRUE and FALSE.
        bunch = datasets.fetch_openml(data_id=info.openml, as_frame=True, cache=False, n_retries=2, parser="liac-arff")
    except (OSError, ValueError, HTTPException) as error:
        reason = str(error) or type(error).__name__
        raise DatasetError(f"OpenML dataset {info.openml} could not be downloaded: {reason}") from error
    return adapt(info, bunch.data, bunch.target)


def adapt(info: DatasetInfo, X: pd.DataFrame, y: Any) -> Pair:
    """Convert a table from OpenML to the form of the registry."""
    where = f"OpenML dataset {info.openml}"
    X = X.drop(columns={"flags": "name", "genbase": "protein"}.get(info.name, ""), errors="ignore")
    X, y = tidy_features(X.reset_index(drop=True), where).apply(_as_numbers), y.reset_index(drop=True)
    if info.task == "multilabel":
        y = code_labels(y.to_frame() if y.ndim == 1 else y, where)
    else:
        y = class_names(y, where).astype(str).rename(CLASS_COLUMN)
    match info.name:
        case "cmc":  # codes without an order; with the letter, they remain text when the table is stored and read again
            X = X.assign(Husbands_occupation=X["Husbands_occupation"].map("c{:.0f}".format).astype("category"))
        case "mushroom" | "ionosphere":  # have a constant feature
            X = X.loc[:, X.nunique() > 1]
        case "ilpd":  # has incomplete samples
            complete = X.notna().all(axis=1)
            X, y = X[complete].reset_index(drop=True), y[complete].reset_index(drop=True)
        case "knowledge" if y.nunique() == 5:  # spells one class very_low (24 samples) and Very Low (26)
            classes = y.value_counts().index
            y = y.replace({classes[4]: classes[3]})
        case "genbase":
            X = code_labels(X, where)
        case "birds":  # the training part, with a label for none
            X, y = X.iloc[:322], y.iloc[:322]
            y = y.assign(none=(y.sum(axis=1) == 0).astype("int64"))
    return X, y


def _as_numbers(column: pd.Series) -> pd.Series:
    """Convert a nominal column that holds numbers, or TRUE and FALSE, to numbers."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return column
    text = column.astype("object")
    if set(text.dropna().astype(str).str.lower()) <= {"false", "true"}:
        text = text.map(lambda value: int(str(value).lower() == "true"), na_action="ignore")
    numbers = pd.to_numeric(text, errors="coerce")
    return column.cat.remove_unused_categories() if (numbers.isna() & column.notna()).any() else numbers


def swap_target_of_flags(X: pd.DataFrame, y: pd.Series) -> Pair:
    """Make the color of the corner the target, as in the paper, and religion a feature, unless already done."""
    if "botright" not in X:
        return X, y
    X = X.assign(religion=y.astype("category"))
    for name in ("landmass", "zone", "language"):  # codes such as c5
        X[name] = pd.to_numeric(X[name].astype(str).str.removeprefix("c"))
    return X, X.pop("botright").astype(str).rename(CLASS_COLUMN)
