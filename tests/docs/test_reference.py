"""The reference lists every public symbol, and each has an example, which pytest runs as a doctest."""

import dataclasses
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import fuselearn

REFERENCE = Path(__file__).parents[2] / "docs" / "api.md"
MODULES = [f"fuselearn.{module.name}" for module in pkgutil.iter_modules(fuselearn.__path__) if module.name[0] != "_"]
PACKAGES = [name for name in MODULES if hasattr(importlib.import_module(name), "__all__")]
PACKAGES += ["fuselearn.lab.figures", "fuselearn.lab.statistics", "fuselearn.multilabel.decisions"]
SYMBOLS = sorted(
    f"{package}.{name}"
    for package in ("fuselearn", *PACKAGES)
    for name in importlib.import_module(package).__all__
    if not name.startswith("__")
)


def needs_example(symbol):
    """Return whether a symbol is more than an error or a record that others make."""
    return not (dataclasses.is_dataclass(symbol) or (isinstance(symbol, type) and issubclass(symbol, Exception)))


def test_every_public_symbol_has_an_example():
    names = [symbol.rpartition(".") for symbol in SYMBOLS]
    symbols = [getattr(importlib.import_module(package), name) for package, _, name in names]
    assert not [one for one in symbols if needs_example(one) and ">>> " not in inspect.getdoc(one)]


def test_the_reference_lists_all_packages_and_names():
    listed = set(re.findall(r"^   (fuselearn\.\S+)$", REFERENCE.read_text("utf-8"), re.MULTILINE))
    names = {symbol for symbol in SYMBOLS if symbol.count(".") == 1}
    elsewhere = {"fuselearn.versions"}  # its one function is listed by its short name
    assert listed == names | {package for package in PACKAGES if package not in elsewhere}


def test_the_page_on_stability_lists_what_is_experimental():
    text = REFERENCE.with_name("stability.md").read_text("utf-8")
    listed = set(re.findall(r"`(\w+)`", text.partition("These are experimental:")[2].partition("Everything else")[0]))
    public = (
        getattr(importlib.import_module(package), name) for package, _, name in (s.rpartition(".") for s in SYMBOLS)
    )
    marked = {
        one.__name__ for one in public if isinstance(one, type) and "\nExperimental: " in (inspect.getdoc(one) or "")
    }
    assert listed == marked


def test_every_example_has_its_place_in_the_gallery():
    order = (REFERENCE.parent / "gallery_settings.py").read_text("utf-8")
    order = re.search(r"READING_ORDER = \((.*?)\n\)", order, re.DOTALL)[1]
    examples = {path.stem.removeprefix("plot_") for path in (REFERENCE.parents[1] / "examples").glob("plot_*.py")}
    assert set(re.findall(r'"(\w+)"', order)) == examples
