"""The commands. Each reads its options, calls the lab, and says where the result lies."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from fuselearn.cli.errors import WRONG_USE, leave, sentences
from fuselearn.cli.running import Place, run

__all__ = ["compare", "datasets", "demo", "report", "reproduce"]

Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Processes to use; -1 for one per processor.")]


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the report and the results.")] = Path("fuselearn-demo"),
    jobs: Jobs = -1,
) -> None:
    """Compare four ensembles on bundled data with clean and with noisy labels.

    KFHE, AdaBoost, bagging and a single tree meet iris, wine, breast_cancer and digits, with 0, 10 and 20 % of the
    training labels wrong. It needs no download and takes about a minute. A demo that was stopped goes on where it was.

    **Examples**

    - `fuselearn demo`

    - `fuselearn demo --out first-look --jobs 2`
    """
    from fuselearn.lab.suites import get_suite

    place = Place(out, out / "results.db")
    with sentences():
        fresh = _is_finished(place.store, "demo")
    run(get_suite("demo"), place, command=_typed(), jobs=_checked(jobs), fresh=fresh)


def reproduce() -> None:
    """Repeat the experiments of a paper."""


def compare() -> None:
    """Compare all methods on a table of your own."""


def report() -> None:
    """Make the page of a results store again."""


def datasets() -> None:
    """List the datasets that are known by name, and where each would come from."""


def _typed() -> str:
    """Return the command as the user would type it again."""
    return shlex.join(["fuselearn", *sys.argv[1:]])


def _checked(jobs: int) -> int:
    if jobs == 0 or jobs < -1:
        leave(f"--jobs must be a positive number, or -1 for one per processor; got {jobs}.", WRONG_USE)
    return jobs


def _is_finished(path: Path, suite: str) -> bool:
    """Whether a store holds every result of the suite."""
    from fuselearn.lab.store import ResultStore
    from fuselearn.lab.summary import totals

    if not path.exists():
        return False
    with ResultStore(path, create=False) as store:
        if suite not in store.suites():
            return False
        total = totals(store, suite)
        return total.results >= total.expected
