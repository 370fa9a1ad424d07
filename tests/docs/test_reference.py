"""The reference lists every public symbol, and each has an example, which pytest runs as a doctest."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import fuselearn

REFERENCE = Path(__file__).parents[2] / "docs" / "api.md"
MODULES = [f"fuselearn.{module.name}" for module in pkgutil.iter_modules(fuselearn.__path__) if module.name[0] != "_"]
PACKAGES = [name for name in MODULES if hasattr(importlib.import_module(name), "__all__")]
PACKAGES += ["fuselearn.multilabel.decisions"]
SYMBOLS = sorted(
    f"{package}.{name}"
    for package in ("fuselearn", *PACKAGES)
    for name in importlib.import_module(package).__all__
    if not name.startswith("__")
)


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_a_public_symbol_has_an_example(symbol):
    package, _, name = symbol.rpartition(".")
    documentation = inspect.getdoc(getattr(importlib.import_module(package), name))
    assert ">>> " in documentation


def test_the_reference_lists_all_packages_and_names():
    listed = set(re.findall(r"^   (fuselearn\.\S+)$", REFERENCE.read_text("utf-8"), re.MULTILINE))
    names = {symbol for symbol in SYMBOLS if symbol.count(".") == 1}
    elsewhere = {"fuselearn.versions"}  # its one function is listed by its short name
    assert listed == names | {package for package in PACKAGES if package not in elsewhere}
