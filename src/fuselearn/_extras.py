"""Packages that an extra of the installation brings: a sentence that names the extra where one is missing."""

from __future__ import annotations

from importlib.util import find_spec

__all__ = ["require"]

EXTRAS = {"typer": "cli", "rich": "cli", "pandas": "lab", "pyarrow": "lab", "matplotlib": "lab", "jinja2": "lab"}


def require(purpose: str, *packages: str) -> None:
    """Refuse work that needs a package which is not installed.

    Parameters
    ----------
    purpose : str
        What the packages are needed for: the beginning of the sentence.
    *packages : str
        Keys of `EXTRAS`.

    Raises
    ------
    ImportError
        If one is missing; the message says how to install it.
    """
    for package in packages:
        if not _is_installed(package):
            raise ImportError(
                f"{purpose} needs {package}, which is not installed: pip install 'fuselearn[{EXTRAS[package]}]'."
            )


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):  # an import hook, or None in sys.modules, forbids it
        return False
