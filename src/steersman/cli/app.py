"""The command's entry: its subcommands and how they fail (one line, exit code ≠ 0)."""

from __future__ import annotations

import gc
import sys

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
from steersman.cli.why import why

__all__ = ["main"]

app = typer.Typer(
    name="steer",
    help="Kubernetes operators in Python: run a cluster, an operator, a demo.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("up")(up)
app.command("demo")(demo)
app.command("new")(new)
app.command("run")(run)
app.command("crd")(crd)
app.command("rbac")(rbac)
app.command("manifests")(manifests)
app.command("helm")(helm)
app.command("uninstall")(uninstall)
app.command("diff")(diff)
app.command("why")(why)
app.command("top")(top)
app.command("component")(component)
app.add_typer(highlander, name="highlander")
app.add_typer(raft, name="raft")
app.add_typer(image, name="image")


@app.callback(invoke_without_command=True)
def steer(context: typer.Context) -> None:
    """Kubernetes operators in Python: run a cluster, an operator, a demo."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command. The garbage collector waits until the code is loaded: nothing in it is garbage."""
    gc.disable()
    try:
        code = app(prog_name="steer", standalone_mode=False)
    except CommandFailed as failure:
        message, code = str(failure), failure.code
    except typer.Abort:
        message, code = "interrupted", 130
    except typer.TyperException as error:
        # What is wrong with the command line, without the usage block around it.
        message = error.format_message().replace("Value error, ", "").replace("\n", " ")
        code = error.exit_code
    else:
        raise SystemExit(code)
    sys.stderr.write(f"steer: {message}\n")
    raise SystemExit(code)
