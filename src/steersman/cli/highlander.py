"""`steer highlander`: workloads of which there is one copy, run by whoever has the lock."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from steersman.cli.failure import CommandFailed
from steersman.cli.highlander_helm import helm
from steersman.cli.highlander_manifests import manifests
from steersman.cli.highlander_orders import drain, step_down
from steersman.cli.options import LogLevel
from steersman.cli.process import run_loop

if TYPE_CHECKING:
    from steersman.highlander.config import Loaded

__all__ = ["highlander"]

_EXAMPLES = """Run workloads of which exactly one copy may run.

Without a command, the options are those of `run`.

Examples:

\b
  steer highlander --config highlander.yaml
  steer highlander validate --config highlander.yaml
  steer highlander schema > highlander.schema.json      for editors
  steer highlander manifests --config highlander.yaml | kubectl apply -f -
  steer highlander helm --dir chart
  steer highlander step-down --token-file token         hand over leadership
"""


class _RunsByDefault(TyperGroup):
    """Options without a command are those of `run`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0].startswith("-") and args[0] not in ("-h", "--help", "--version"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


highlander = typer.Typer(cls=_RunsByDefault, help=_EXAMPLES, rich_markup_mode=None)

ConfigOption = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="The configuration file, in YAML.")
]


@highlander.callback(invoke_without_command=True)
def _highlander(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as version_of

        typer.echo(f"steersman {version_of('steersman')}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


@highlander.command("run")
def run(
    context: typer.Context,
    config: ConfigOption = None,
    id: Annotated[  # noqa: A002 - the flag's name
        str | None, typer.Option("--id", help="The name of this controller.", show_default="the host's name")
    ] = None,
    tenant: Annotated[
        str | None, typer.Option(help="Run only this tenant of the configuration file.")
    ] = None,
    port: Annotated[
        str | None, typer.Option(help="The port of the API and the dashboard; 0 selects a free one.")
    ] = None,
    namespace: Annotated[str | None, typer.Option(help="The namespace of the workloads.")] = None,
    storage_type: Annotated[
        str | None, typer.Option(metavar="redis|db|lease|raft", help="The engine that elects the leader.")
    ] = None,
    redis_addr: Annotated[str | None, typer.Option(metavar="HOST:PORT|URL")] = None,
    redis_password: Annotated[
        str | None,
        typer.Option(
            help="The password of Redis. Other users of this machine can see it: prefer redis.passwordFile."
        ),
    ] = None,
    redis_db: Annotated[str | None, typer.Option(metavar="NUMBER")] = None,
    database_url: Annotated[str | None, typer.Option(metavar="URL", help="The URL of PostgreSQL.")] = None,
    kubeconfig: Annotated[str | None, typer.Option(metavar="FILE")] = None,
    cluster_name: Annotated[
        str | None, typer.Option(help="The name of the cluster in labels and on the dashboard.")
    ] = None,
    log_level: Annotated[LogLevel, typer.Option(help="The lowest level of messages to log.")] = LogLevel.INFO,
) -> None:
    """Contend for the lock; run the workloads while holding it.

    Ctrl-C stops them and releases the lock.

    Example: steer highlander run --config highlander.yaml --tenant shop
    """
    _run(config, _flags(context), log_level)


@highlander.command("validate")
def validate(config: Annotated[Path, typer.Option("--config", metavar="FILE")]) -> None:
    """Check a configuration file; errors name line and field.

    Nothing is run.

    Example: steer highlander validate --config highlander.yaml
    """
    loaded = _load(config, {})
    for warning in loaded.warnings:
        typer.echo(f"warning: {warning}", err=True)
    for tenant in loaded.tenants:
        count = len(list(tenant.workloads))
        typer.echo(f"{config}: tenant {tenant.tenant}: {count} workloads, lock in {tenant.storage_type}")


@highlander.command("schema")
def schema() -> None:
    """Print the JSON Schema of the configuration file.

    Example: steer highlander schema > highlander.schema.json
    """
    from steersman.highlander.config import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))


highlander.command("manifests")(manifests)
highlander.command("helm")(helm)
highlander.command("step-down")(step_down)
highlander.command("drain")(drain)


def _flags(context: typer.Context) -> dict[str, str | None]:
    """What was given of the settings that the environment can give as well."""
    from steersman.highlander.config.loading import ENVIRONMENT

    return {name: context.params.get(name.lower()) for name in ENVIRONMENT}


def _load(config: Path | None, flags: dict[str, str | None]) -> Loaded:
    from steersman.highlander.config import load
    from steersman.highlander.errors import ConfigError

    try:
        return load(config, flags=flags)
    except ConfigError as error:
        raise CommandFailed(str(error), 2) from None


def _run(config: Path | None, flags: dict[str, str | None], log_level: LogLevel) -> None:
    from steersman.highlander.config import load
    from steersman.highlander.process import Highlander
    from steersman.runtime import logs

    _load(config, flags)
    logs.set_up(level=log_level.upper(), style="auto")

    async def main() -> None:
        process = Highlander(lambda: load(config, flags=flags), file=config)

        def announce() -> None:
            names = ", ".join(process.tenants)
            sys.stdout.write(f"Highlander contends for {names}; dashboard on port {process.port}\n")
            sys.stdout.flush()

        await process.run_until_signalled(announce)

    run_loop(main())
