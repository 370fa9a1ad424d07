"""Read the tables that data packages carry in their wheels.

The packages are not imported: their files are located and read, so that nothing depends on their code. KEEL's
dialect of ARFF, comma-separated values without names, and columns separated by spaces are all that occurs.
"""

from __future__ import annotations

import io
import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from fuselearn.datasets.dataset import DatasetError
from fuselearn.datasets.registry import PackagedFile
from fuselearn.datasets.storage import exact_floats
from fuselearn.datasets.targets import CLASS_COLUMN, split_classes

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["locate", "read_packaged"]

ATTRIBUTE = re.compile(r"@attribute\s+([^\s{]+)\s*(\{)?", re.IGNORECASE)
HEADER_MARKS = ("@", "%")


def locate(file: PackagedFile) -> Path | None:
    """Return the path of a file inside an installed package; None without the package."""
    try:
        spec = find_spec(file.package)
    except (ImportError, ValueError):  # blocked by an import hook, or by None in sys.modules
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0], file.path)


def read_packaged(path: Path, file: PackagedFile) -> tuple[pd.DataFrame, pd.Series]:
    """Read the features and classes of a table in a package.

    Parameters
    ----------
    path : Path
        As `locate` returns it.
    file : PackagedFile
        Where its classes and identifiers are.

    Returns
    -------
    X : DataFrame
        Declared or non-numeric categories have pandas' category dtype; ``?`` is a missing value.
    y : Series of str

    Raises
    ------
    DatasetError
        If the installed version of the package has no such file, or another one.
    """
    try:
        frame = _read(path)
    except (OSError, ValueError, IndexError) as error:
        raise DatasetError(f"{path} of {file} cannot be read as a table: {error}") from error
    columns = list(frame.columns)
    target = columns[file.target]
    frame = frame.drop(columns=[columns[position] for position in file.identifiers])
    frame[target] = frame[target].astype(str)
    return split_classes(frame.rename(columns={target: CLASS_COLUMN}), CLASS_COLUMN, str(path))


def _read(path: Path) -> pd.DataFrame:
    import pandas as pd

    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    samples = [line.rstrip() for line in lines if not line.startswith(HEADER_MARKS)]
    declared = [found.groups() for found in map(ATTRIBUTE.match, lines) if found]
    separator = "," if "," in samples[0] else r"\s+"
    width = len(re.split(separator, samples[0]))
    names = [str(name) for name, _ in declared] or [f"feature_{number}" for number in range(1, width + 1)]
    if len(names) != width:
        raise ValueError(f"{len(names)} columns are declared, but samples have {width}.")
    frame: pd.DataFrame = pd.read_csv(
        io.StringIO("\n".join(samples)),
        header=None,
        names=names,
        sep=separator,
        skipinitialspace=True,
        keep_default_na=False,
        na_values=["?"],
        dtype={name: str for name, nominal in declared if nominal},
        **exact_floats(),
    )
    return frame
