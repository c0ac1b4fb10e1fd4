"""The subcommands of `steer`."""

from __future__ import annotations

import signal
from typing import Annotated

import typer

from steersman.aio.signals import exit_code
from steersman.cli.component import component
from steersman.cli.crd import crd
from steersman.cli.demo import demo
from steersman.cli.diff import diff
from steersman.cli.failure import CommandFailed
from steersman.cli.helm import helm
from steersman.cli.highlander import highlander
from steersman.cli.image import image
from steersman.cli.manifests import manifests
from steersman.cli.new import new
from steersman.cli.raft import raft
from steersman.cli.rbac import rbac
from steersman.cli.run import run as run_operators
from steersman.cli.top import top
from steersman.cli.uninstall import uninstall
from steersman.cli.up import up
from steersman.cli.url import url
from steersman.cli.why import why

__all__ = ["run"]

_INTERRUPTED = exit_code(signal.SIGINT)

_EXAMPLES = """Kubernetes operators in Python: run a cluster, an operator, a demo.

Examples:

\b
  steer demo                       run a live demo
  steer new webapp-operator        create an operator project
  steer run webapp.py --cluster    run an operator with a temporary cluster
  steer up                         start a cluster for kubectl and others
"""

app = typer.Typer(
    name="steer",
    help=_EXAMPLES,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# A cluster, and its parts.
app.command("up")(up)
app.command("url")(url)
app.command("demo")(demo)
app.command("component")(component)
app.add_typer(image, name="image")
# An operator from its beginning to its end.
app.command("new")(new)
app.command("run")(run_operators)
app.command("diff")(diff)
app.command("why")(why)
app.command("top")(top)
app.command("crd")(crd)
app.command("rbac")(rbac)
app.command("manifests")(manifests)
app.command("helm")(helm)
app.command("uninstall")(uninstall)
# Only one of them.
app.add_typer(highlander, name="highlander")
app.add_typer(raft, name="raft")


@app.callback(invoke_without_command=True)
def steer(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"steersman {installed('steersman')}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run() -> int:
    """Run the command that the arguments name; its exit code. What goes wrong is raised."""
    try:
        return int(app(prog_name="steer", standalone_mode=False) or 0)
    except typer.Abort:
        raise CommandFailed("interrupted", _INTERRUPTED) from None
    except typer.TyperException as error:
        # What is wrong with the command line, without the usage block around it.
        message = error.format_message().replace("Value error, ", "").replace("\n", " ")
        raise CommandFailed(message, error.exit_code) from None
