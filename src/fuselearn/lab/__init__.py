"""Compare ensembles in repeated experiments, with statistics and a report.

- `Suite` defines a comparison, and `Table` and `table_suite` a comparison on your own files. `Variant` is a method that
  shares the fit of another method.
- `run_suite` runs a suite, which can be interrupted and resumed. `ResultStore` stores the results.
- `summarize` averages results over the folds, and `write_report` writes an HTML report.
- `fuselearn.lab.statistics` ranks methods and tests differences, and `fuselearn.lab.figures` plots them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fuselearn._extras import require

if TYPE_CHECKING:
    from fuselearn.lab.methods import Variant
    from fuselearn.lab.report import write_report
    from fuselearn.lab.runner import Outcome, RunError, run_suite
    from fuselearn.lab.store import ResultStore, StoreError, summarize
    from fuselearn.lab.suites import Suite, Table, table_suite

__all__ = [
    "Outcome",
    "ResultStore",
    "RunError",
    "StoreError",
    "Suite",
    "Table",
    "Variant",
    "run_suite",
    "summarize",
    "table_suite",
    "write_report",
]

require("fuselearn.lab", "jinja2", "rich")

_MODULES = {
    "methods": ("Variant",),
    "report": ("write_report",),
    "runner": ("Outcome", "RunError", "run_suite"),
    "store": ("ResultStore", "StoreError", "summarize"),
    "suites": ("Suite", "Table", "table_suite"),
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a module on first access, so that a store does not import matplotlib."""
    if name in _PLACES:
        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
