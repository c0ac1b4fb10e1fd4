"""The command's entry: its subcommands and how they fail (one line, exit code ≠ 0)."""

from __future__ import annotations

import gc
import sys

import typer

from steersman.cli.failure import CommandFailed
from steersman.cli.up import up

__all__ = ["main"]

app = typer.Typer(
    name="steer",
    help="Kubernetes operators in Python: run a cluster, an operator, a demo.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("up")(up)


@app.callback()
def steer() -> None:
    """Kubernetes operators in Python: run a cluster, an operator, a demo."""


def main() -> None:
    """Run the command. The garbage collector waits until the code is loaded: nothing in it is garbage."""
    gc.disable()
    try:
        app(prog_name="steer")
    except CommandFailed as failure:
        sys.stderr.write(f"steer: {failure}\n")
        raise SystemExit(failure.code) from None
