"""Run an experiment of the papers, and write the page that compares it with the printed tables.

``python -m reproduction kfhe --page kfhe.md`` runs the experiment and writes its page; with ``--summary`` nothing is
run, and the page is written from the files of earlier runs.
"""

from __future__ import annotations

import dataclasses
import json
import shlex
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from fuselearn.lab import ResultStore, RunError, Suite, run_suite, summarize, write_report
from reproduction import homer, kfhe, robust, study
from reproduction.experiments import EXPERIMENTS
from reproduction.methods import make_methods
from reproduction.pages import beside

PACKAGES = ("fuselearn", "numpy", "scikit_learn", "python")


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says, and return the exit code."""
    chosen = make_parser().parse_args(arguments)
    chosen.command = shlex.join(["python", "-m", "reproduction", *(sys.argv[1:] if arguments is None else arguments)])
    try:
        summaries = chosen.summary or [run(chosen)]
        if chosen.page is not None:
            print(f"Page written to {write_page(chosen, summaries)}")
    except KeyboardInterrupt:
        print("Stopped. Run the same command again to continue.", file=sys.stderr)
        return 130
    except (OSError, ValueError, KeyError, RunError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def make_parser() -> ArgumentParser:
    """Return the parser: one command per experiment, with the options of its suite and of its page."""
    parser = ArgumentParser(prog="python -m reproduction", description=(__doc__ or "").split("\n\n")[0])
    commands = parser.add_subparsers(dest="experiment", required=True, metavar="EXPERIMENT")
    for name, experiment in EXPERIMENTS.items():
        command = commands.add_parser(
            name, help=experiment.description, description=f"Run {experiment.description}. "
            "Stop at any time with Ctrl-C; the same command continues. FUSELEARN_DATA names folders with data files.",
        )  # fmt: skip
        command.add_argument("--jobs", type=int, default=-1, help="number of processes; -1 uses all processors")
        command.add_argument("--out", type=Path, help="folder for results and report; fuselearn-SUITE by default")
        command.add_argument("--page", type=Path, help="Markdown file to write")
        command.add_argument("--summary", type=Path, nargs="+", help="summaries of earlier runs: write the page only")
        for field, kind in (
            ("datasets", _names), ("methods", _names), ("noise", _fractions), ("noise-kind", str), ("repeats", int),
            ("folds", int), ("test-folds", int), ("max-samples", int),
        ):  # fmt: skip
            usual = getattr(experiment.suite, field.replace("-", "_"))
            usual = ",".join(map(str, usual)) if isinstance(usual, tuple) else usual
            command.add_argument(f"--{field}", type=kind, help=f"instead of {usual}")
        if name == "kfhe":
            command.add_argument("--settings", type=Path, help="summary of kfhe-settings")
            command.add_argument("--per-repeat", type=Path, help="summary of a run with noise drawn in each repeat")
        if name == "kfhe-homer":
            command.add_argument("--authors", type=Path, help="summary of kfhe-homer-authors")
            command.add_argument("--describe", action="store_true", help="compute statistics of the datasets first")
    return parser


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


def _fractions(text: str) -> tuple[float, ...]:
    return tuple(map(float, text.split(",")))


def run(chosen: Namespace) -> Path:
    """Run the missing fits of an experiment, and write its summary, costs, fold scores and report."""
    experiment = EXPERIMENTS[chosen.experiment]
    fields = ("datasets", "methods", "noise", "noise_kind", "repeats", "folds", "test_folds", "max_samples")
    changes = {field: getattr(chosen, field) for field in fields if getattr(chosen, field) is not None}
    if chosen.noise_kind is not None:
        changes["name"] = f"{experiment.suite.name}-{chosen.noise_kind}"
    suite = dataclasses.replace(experiment.suite, **changes)
    folder = chosen.out or Path(f"fuselearn-{suite.name}")
    folder.mkdir(parents=True, exist_ok=True)
    with ResultStore(folder / "results.db") as store:
        run_suite(
            suite, store, estimators=make_methods(suite.methods, experiment.methods), n_jobs=chosen.jobs,
            command=chosen.command,
        )  # fmt: skip
        summary = _write_files(store, suite, folder / "summary.csv")
        report = write_report(store, folder / "report.html", suite=suite.name)
    if chosen.experiment == "kfhe":
        traces = kfhe.trace_datasets(suite.datasets)
        traces.to_csv(beside(summary, "traces"), index=False, lineterminator="\n")
    print(f"Report written to {report}")
    return summary


def _write_files(store: ResultStore, suite: Suite, path: Path) -> Path:
    """Write the files that the pages are made from."""
    results = store.results(suite.name)
    summarize(store, suite.name).round(6).to_csv(path, index=False, lineterminator="\n")
    measures = list(study.MEASURES) if suite.task == "multilabel" else ["macro_f1"]
    folds = results[["dataset", "method", "repeat", "fold", *measures]].round(dict.fromkeys(measures, 6))
    folds.to_csv(beside(path, "folds"), index=False, lineterminator="\n")
    costs = {
        "suite": suite.definition(),
        "totals": store.totals(suite.name),
        "versions": {package: sorted(results[package].dropna().unique()) for package in PACKAGES},
    }
    path.with_suffix(".json").write_text(json.dumps(costs, indent=2) + "\n", encoding="utf-8")
    return path


def write_page(chosen: Namespace, summaries: Sequence[Path]) -> Path:
    """Write the page of an experiment from the summaries of its runs."""
    if chosen.experiment.startswith("robust"):
        return robust.write_page(summaries, chosen.page)
    if chosen.experiment == "multilabel-study":
        return study.write_page(summaries, chosen.page)
    if len(summaries) > 1:
        raise ValueError(f"The page of {chosen.experiment} is made from one summary; got {len(summaries)}.")
    (summary,) = summaries
    if chosen.experiment == "kfhe":
        return kfhe.write_page(summary, chosen.page, settings=chosen.settings, per_repeat=chosen.per_repeat)
    if chosen.experiment == "kfhe-homer":
        if chosen.describe:
            homer.describe_datasets().to_csv(beside(summary, "datasets"), index=False, lineterminator="\n")
        return homer.write_page(summary, chosen.page, chosen.authors)
    raise ValueError(f"{chosen.experiment} has no page of its own; its summary is an option of another one.")


if __name__ == "__main__":
    sys.exit(main())
