"""The reference lists every public symbol, and each has an example, which pytest runs as a doctest."""

import dataclasses
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import jinja2
import pandas as pd

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


def test_pages_quote_numbers_that_there_are(monkeypatch):
    monkeypatch.syspath_prepend(REFERENCE.parent)
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    quoted = importlib.import_module("quoted").QUOTED
    found = {}
    for page in sorted(REFERENCE.parent.glob("*.md")):
        for expression in re.findall(r"\{\{.*?\}\}", page.read_text("utf-8")):
            found[expression] = environment.from_string(expression).render(quoted)
    assert found["{{ six_table }}"].count("\n") == 16
    assert all(re.fullmatch(r"0?\.\d{3}|\d+(\.\d+)?", text) for text in found.values() if "|" not in text)


def test_scores_and_ranks_of_quoted_methods_are_means_over_datasets(monkeypatch):
    monkeypatch.syspath_prepend(REFERENCE.parent)
    quoted = importlib.import_module("quoted")
    scores = {"fused, macro_f1": (0.5, 0.7), "ECC": (0.6, 0.4), "fused, hamming": (0.1, 0.2)}
    rows = [
        {"dataset": name, "fold": fold, "method": method, **dict.fromkeys(quoted.MEASURES, score + sign * 0.1)}
        for method, both in scores.items()
        for name, score in zip(("birds", "yeast"), both, strict=True)
        for fold, sign in ((0, 1), (1, -1))
    ]
    rows += [{**row, "method": f"fused, {rule}"} for row in rows[-4:] for rule in ("micro_f1", "subset", "ranking")]
    found = quoted.compare_labels(pd.DataFrame(rows))
    assert (found["fused"]["macro F1"], found["fused"]["rank of macro F1"]) == (".600", "1.5")
    assert (found["ECC"]["macro F1"], found["ECC"]["p"]) == (".500", "1.000")
    assert (found["fused"]["Hamming loss"], found["fused"]["rank of Hamming loss"]) == (".150", "2.5")


def test_every_example_has_its_place_in_the_gallery():
    order = (REFERENCE.parent / "gallery_settings.py").read_text("utf-8")
    order = re.search(r"READING_ORDER = \((.*?)\n\)", order, re.DOTALL)[1]
    examples = {path.stem.removeprefix("plot_") for path in (REFERENCE.parents[1] / "examples").glob("plot_*.py")}
    assert set(re.findall(r'"(\w+)"', order)) == examples
