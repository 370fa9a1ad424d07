"""Versions of everything that a result or an error may depend on, for bug reports."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import sklearn

from fuselearn import __version__
from fuselearn._extras import EXTRAS

DEPENDENCIES = ("narwhals", "skops")
"""Those that scikit-learn does not list."""


def show_versions() -> None:
    """Print the versions of fuselearn, Python and the dependencies, and the thread settings.

    Include the output in bug reports.

    .. versionadded:: 0.2

    Examples
    --------
    >>> import fuselearn
    >>> fuselearn.show_versions()
    fuselearn ...
    <BLANKLINE>
    System:
        python: ...
    """
    print(f"fuselearn {__version__}")
    sklearn.show_versions()
    print(
        "\nDependencies of fuselearn:",
        *(f"{name:>13}: {_find_version(name)}" for name in sorted({*DEPENDENCIES, *EXTRAS})),
        sep="\n",
    )


def _find_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
