"""The command line that runs a suite again."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

from fuselearn.lab.running.suites import SUITES, USUAL_METHODS, Suite

__all__ = ["suggest_command"]


def suggest_command(suite: Suite) -> str:
    """Return the command that runs a suite, or an empty string if there is none."""
    if suite.tables:
        return _compare_command(suite)
    known = SUITES.get(suite.name)
    if known is None:
        return ""
    if suite.name == "demo":
        return "fuselearn demo" if suite.definition() == known.definition() else ""
    if replace(suite, datasets=known.datasets, repeats=known.repeats).definition() != known.definition():
        return ""
    words = ["fuselearn", "reproduce", suite.name.removesuffix("-quick")]
    if suite.name.endswith("-quick"):
        words.append("--quick")
    if suite.repeats != known.repeats:
        words += ["--repeats", str(suite.repeats)]
    if suite.datasets != known.datasets:
        words += ["--datasets", ",".join(suite.datasets)]
    return " ".join(words)


def _compare_command(suite: Suite) -> str:
    table = suite.tables[0]
    words = ["fuselearn", "compare", Path(table.path).name or table.name]
    if table.target:
        words += ["--target", table.target]
    if table.labels is not None:
        words += ["--labels", _spell_labels(table.labels)]
    for option, given in {**table.reading, **table.cleaning}.items():
        words += [f"--{option}", given if isinstance(given, str) else ",".join(given)]
    words += ["--noise", ",".join(f"{level:g}" for level in suite.noise)]
    if suite.methods != USUAL_METHODS[suite.task]:
        words += ["--methods", ",".join(suite.methods)]
    for option, usual in (("repeats", 3), ("folds", 5), ("seed", 0)):
        if getattr(suite, option) != usual:
            words += [f"--{option}", str(getattr(suite, option))]
    return shlex.join(words)


def _spell_labels(labels: str | int | list[str]) -> str:
    if isinstance(labels, int):
        return f"{labels:+d}"
    return labels if isinstance(labels, str) else ",".join(labels)
