"""The command's entry: its subcommands and how they fail (one line, exit code ≠ 0)."""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import Annotated

import typer

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
from steersman.cli.run import run
from steersman.cli.top import top
from steersman.cli.uninstall import uninstall
from steersman.cli.up import up
from steersman.cli.url import url
from steersman.cli.why import why

__all__ = ["main"]

#: As shells report a process that was ended by a signal: 128 and its number.
_INTERRUPTED = 128 + signal.SIGINT

_EXAMPLES = """Kubernetes operators in Python: run a cluster, an operator, a demo.

Examples:

\b
  steer demo                       see it all work
  steer new webapp-operator        begin a project
  steer run webapp.py --cluster    run an operator in a cluster of its own
  steer up                         a cluster for kubectl and everything else
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
app.command("run")(run)
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


def main() -> None:
    """Run the command. The garbage collector waits until the code is loaded: nothing in it is garbage."""
    gc.disable()
    try:
        code = app(prog_name="steer", standalone_mode=False) or 0
        sys.stdout.flush()
    except CommandFailed as failure:
        message, code = str(failure), failure.code
    except typer.Abort:
        message, code = "interrupted", _INTERRUPTED
    except typer.TyperException as error:
        # What is wrong with the command line, without the usage block around it.
        message = error.format_message().replace("Value error, ", "").replace("\n", " ")
        code = error.exit_code
    except BrokenPipeError:
        # Whoever read has enough; nothing is left to be said.
        _forget_output()
        raise SystemExit(1) from None
    except OSError as error:
        _forget_output()
        said = error.strerror or str(error)
        message, code = f"{error.filename}: {said}" if error.filename else said, 1
    else:
        raise SystemExit(code)
    sys.stderr.write(f"steer: {message}\n")
    raise SystemExit(code)


def _forget_output() -> None:
    """Have what could not be written go nowhere, lest the interpreter try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
