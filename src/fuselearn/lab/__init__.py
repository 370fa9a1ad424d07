"""Compare ensembles in repeated experiments, with statistics and a report.

- `Suite` says what to compare, `Table` and `table_suite` on your own file; `Variant` is a method that shares the fit of
  another one.
- `run_suite` runs a suite; it can be stopped and resumed. `ResultStore` holds the results.
- `summarize`, `fold_scores` and `totals` read them, `write_report` writes them as one HTML file.
- `fuselearn.lab.statistics` ranks methods and tests differences, `fuselearn.lab.figures` plots them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fuselearn._extras import require

if TYPE_CHECKING:
    from fuselearn.lab.methods import Variant
    from fuselearn.lab.report import write_report
    from fuselearn.lab.runner import Outcome, RunError, run_suite
    from fuselearn.lab.store import ResultStore, StoreError
    from fuselearn.lab.suites import DEMO, Suite, Table, derive_seed, table_suite
    from fuselearn.lab.summary import Totals, fold_scores, summarize, totals

__all__ = [
    "DEMO",
    "Outcome",
    "ResultStore",
    "RunError",
    "StoreError",
    "Suite",
    "Table",
    "Totals",
    "Variant",
    "derive_seed",
    "fold_scores",
    "run_suite",
    "summarize",
    "table_suite",
    "totals",
    "write_report",
]

require("fuselearn.lab", "jinja2", "rich")

_MODULES = {
    "methods": ("Variant",),
    "report": ("write_report",),
    "runner": ("Outcome", "RunError", "run_suite"),
    "store": ("ResultStore", "StoreError"),
    "suites": ("DEMO", "Suite", "Table", "derive_seed", "table_suite"),
    "summary": ("Totals", "fold_scores", "summarize", "totals"),
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a module on first access, so that a store does not need matplotlib."""
    if name in _PLACES:
        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
