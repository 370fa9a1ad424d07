"""Versions of everything that a result or an error may depend on, for bug reports."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from fuselearn import __version__
from fuselearn._extras import EXTRAS

__all__ = ["show_versions"]

DEPENDENCIES = (
    "joblib", "matplotlib", "narwhals", "numpy", "pandas", "scikit-learn", "scipy", "skops", "threadpoolctl",
)  # fmt: skip
"""What every installation has, by the names of the distributions."""


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
    System
      python  ...
    """
    sections = {
        "System": _describe_system(),
        "Dependencies": _find_versions(DEPENDENCIES),
        "Optional dependencies": _find_versions(EXTRAS),
        "Threads": _describe_threads(),
    }
    print(f"fuselearn {__version__}")
    for title, facts in sections.items():
        width = max(map(len, facts))
        print(f"\n{title}", *(f"  {name.ljust(width)}  {fact}" for name, fact in facts.items()), sep="\n")


def _describe_system() -> dict[str, str]:
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "executable": sys.executable,
        "platform": platform.platform(),
        "processors": str(os.cpu_count()),
    }


def _find_versions(names: Iterable[str]) -> dict[str, str]:
    return {name: _find_version(name) for name in sorted(names)}


def _find_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _describe_threads() -> dict[str, str]:
    """Describe the pools of threads of BLAS and OpenMP, which the library's own kernels do not use."""
    import sklearn.utils  # noqa: F401 - loads the libraries that threadpoolctl looks for
    from joblib import cpu_count
    from threadpoolctl import threadpool_info

    facts = {"usable processors": str(cpu_count())}
    for pool in threadpool_info():
        about = [f"{pool['num_threads']} threads", pool["version"], pool.get("threading_layer")]
        facts[Path(pool["filepath"]).stem] = ", ".join(filter(None, about))
    return facts
