"""The application ``fuselearn``: its options, and its commands by name.

Heavy imports happen only when a command runs, so that ``--help`` is fast.
"""

from __future__ import annotations

from typing import Annotated

import typer

from fuselearn.cli import comparing, inspecting, predicting, training

app = typer.Typer(
    name="fuselearn",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(comparing.demo)
app.command()(comparing.compare)
app.command()(comparing.report)
app.command()(comparing.methods)
app.command()(training.train)
app.command()(predicting.predict)
app.command()(inspecting.audit)
app.command()(inspecting.info)
app.command()(predicting.export)


def _version(wanted: bool) -> None:
    if wanted:
        from fuselearn import __version__

        typer.echo(f"fuselearn {__version__}")
        raise typer.Exit


@app.callback(epilog="Start with: `fuselearn demo`")
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Train, compare and deploy ensembles that are robust to label noise."""
