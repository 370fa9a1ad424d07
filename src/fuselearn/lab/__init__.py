"""Compare ensembles in repeated experiments, with statistics and a report.

- `running`: suites of datasets and methods, the runner, and a store of results that survives a crash.
- `statistics`: means over folds, ranks, and tests of significance.
- `reporting`: figures and a report in one HTML file.
- `reproduction`: pages that compare a run with the tables of the papers.
- `published`: the scores and p-values printed in the papers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fuselearn._extras import require

if TYPE_CHECKING:
    from fuselearn.lab.reporting.report import write_report
    from fuselearn.lab.running.runner import run_suite
    from fuselearn.lab.running.store import ResultStore
    from fuselearn.lab.running.suites import Suite, get_suite, table_suite
    from fuselearn.lab.statistics.summary import fold_scores, summarise

__all__ = ["ResultStore", "Suite", "fold_scores", "get_suite", "run_suite", "summarise", "table_suite", "write_report"]

require("fuselearn.lab", "pandas", "matplotlib", "jinja2", "rich")

_MODULES = {
    "running.runner": ("run_suite",),
    "running.store": ("ResultStore",),
    "running.suites": ("Suite", "get_suite", "table_suite"),
    "statistics.summary": ("fold_scores", "summarise"),
    "reporting.report": ("write_report",),
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a module on first access, so that a store does not need matplotlib."""
    if name in _PLACES:
        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
