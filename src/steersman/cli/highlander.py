"""`steer highlander`: workloads of which there is one copy, run by whoever has the lock."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steersman.cli.failure import CommandFailed
from steersman.cli.options import LogLevel
from steersman.cli.process import run_loop

if TYPE_CHECKING:
    from steersman.highlander.config import Loaded

__all__ = ["highlander"]

_EXAMPLES = """Run workloads of which there must be one copy: there can be only one.

Examples:

  steer highlander --config highlander.yaml            the same as run

  steer highlander run --config highlander.yaml --tenant shop --storage-type lease

  steer highlander validate --config highlander.yaml   names file, line and field

  steer highlander schema > highlander.schema.json     for editors

  steer highlander manifests --config highlander.yaml | kubectl apply -f -

  steer highlander step-down --address http://127.0.0.1:8080 --token-file token
"""

highlander = typer.Typer(help=_EXAMPLES.partition("\n")[0], rich_markup_mode=None)

Config = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="The configuration, in YAML.")]
Id = Annotated[str | None, typer.Option("--id", help="Of this controller.", show_default="the host's name")]
TenantName = Annotated[str | None, typer.Option("--tenant", help="Whose lock and workloads.")]
Port = Annotated[str | None, typer.Option("--port", help="Of the API and the dashboard; 0 for a free one.")]
Namespace = Annotated[str | None, typer.Option("--namespace", help="Of the workloads.")]
StorageType = Annotated[
    str | None, typer.Option("--storage-type", metavar="redis|db|lease|raft", help="Where the lock is.")
]
RedisAddr = Annotated[str | None, typer.Option("--redis-addr", metavar="HOST:PORT|URL")]
RedisPassword = Annotated[
    str | None,
    typer.Option("--redis-password", help="Others on this machine can see it: use redis.passwordFile."),
]
RedisDb = Annotated[str | None, typer.Option("--redis-db", metavar="NUMBER")]
DatabaseUrl = Annotated[str | None, typer.Option("--database-url", metavar="URL", help="Of PostgreSQL.")]
Kubeconfig = Annotated[str | None, typer.Option("--kubeconfig", metavar="FILE")]
ClusterName = Annotated[
    str | None, typer.Option("--cluster-name", help="As labels and the dashboard show it.")
]
Level = Annotated[LogLevel, typer.Option("--log-level", help="What to log.")]
Address = Annotated[str, typer.Option("--address", metavar="URL", help="Where a controller listens.")]
TokenFile = Annotated[
    Path | None, typer.Option("--token-file", metavar="FILE", show_default="HIGHLANDER_API_TOKEN")
]
CaFile = Annotated[Path | None, typer.Option("--ca-file", metavar="FILE", help="Who signed its certificate.")]

_ADDRESS = "http://127.0.0.1:8080"


@highlander.callback(invoke_without_command=True)
def _highlander(
    context: typer.Context,
    config: Config = None,
    id: Id = None,  # noqa: A002 - the flag's name
    tenant: TenantName = None,
    port: Port = None,
    namespace: Namespace = None,
    storage_type: StorageType = None,
    redis_addr: RedisAddr = None,
    redis_password: RedisPassword = None,
    redis_db: RedisDb = None,
    database_url: DatabaseUrl = None,
    kubeconfig: Kubeconfig = None,
    cluster_name: ClusterName = None,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
    log_level: Level = LogLevel.INFO,
) -> None:
    if version:
        from importlib.metadata import version as version_of

        typer.echo(f"steersman {version_of('steersman')}")
        raise typer.Exit
    if context.invoked_subcommand is not None:
        return
    flags = _flags(
        id,
        tenant,
        port,
        namespace,
        storage_type,
        redis_addr,
        redis_password,
        redis_db,
        database_url,
        kubeconfig,
        cluster_name,
    )
    if config is None and not any(flags.values()):
        typer.echo(context.get_help())
        return
    _run(config, flags, log_level)


_highlander.__doc__ = _EXAMPLES


@highlander.command("run")
def run(
    config: Config = None,
    id: Id = None,  # noqa: A002 - the flag's name
    tenant: TenantName = None,
    port: Port = None,
    namespace: Namespace = None,
    storage_type: StorageType = None,
    redis_addr: RedisAddr = None,
    redis_password: RedisPassword = None,
    redis_db: RedisDb = None,
    database_url: DatabaseUrl = None,
    kubeconfig: Kubeconfig = None,
    cluster_name: ClusterName = None,
    log_level: Level = LogLevel.INFO,
) -> None:
    """Contend for the lock; run the workloads while holding it. Ctrl-C stops them and lets go."""
    flags = _flags(
        id,
        tenant,
        port,
        namespace,
        storage_type,
        redis_addr,
        redis_password,
        redis_db,
        database_url,
        kubeconfig,
        cluster_name,
    )
    _run(config, flags, log_level)


@highlander.command("validate")
def validate(config: Annotated[Path, typer.Option("--config", metavar="FILE")]) -> None:
    """Say what is wrong with a file, by line and field; nothing is run."""
    loaded = _load(config, {})
    for warning in loaded.warnings:
        typer.echo(f"warning: {warning}", err=True)
    for tenant in loaded.tenants:
        count = len(list(tenant.workloads))
        typer.echo(f"{config}: tenant {tenant.tenant}: {count} workloads, lock in {tenant.storage_type}")


@highlander.command("schema")
def schema() -> None:
    """The JSON Schema of the file, for editors."""
    from steersman.highlander.config import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))


@highlander.command("manifests")
def manifests(
    config: Annotated[Path, typer.Option("--config", metavar="FILE")],
    image: Annotated[str, typer.Option("--image", help="Of the controllers.")] = "steersman:latest",
) -> None:
    """What to apply to run this configuration in a cluster: rights, controllers, how to reach them."""
    from steersman.highlander.manifests import Deployed, to_yaml
    from steersman.highlander.manifests import manifests as made

    loaded = _load(config, {})
    objects = made(config.read_text(encoding="utf-8"), loaded.tenants, Deployed(image=image))
    typer.echo(to_yaml(objects), nl=False)


@highlander.command("step-down")
def step_down(
    address: Address = _ADDRESS,
    tenant: TenantName = None,
    token_file: TokenFile = None,
    ca_file: CaFile = None,
    reason: Annotated[str, typer.Option("--reason", help="As the history shows it.")] = "asked to step down",
) -> None:
    """Have a leader stop its workloads and let go; another takes over."""
    _act("step-down", address, tenant, token_file, ca_file, {"reason": reason})


@highlander.command("drain")
def drain(
    address: Address = _ADDRESS,
    tenant: TenantName = None,
    token_file: TokenFile = None,
    ca_file: CaFile = None,
    undo: Annotated[bool, typer.Option("--undo", help="Contend again.")] = False,
) -> None:
    """Have a controller let go and contend no more."""
    _act("undrain" if undo else "drain", address, tenant, token_file, ca_file, {})


def _flags(*values: str | None) -> dict[str, str | None]:
    names = (
        "ID",
        "TENANT",
        "PORT",
        "NAMESPACE",
        "STORAGE_TYPE",
        "REDIS_ADDR",
        "REDIS_PASSWORD",
        "REDIS_DB",
        "DATABASE_URL",
        "KUBECONFIG",
        "CLUSTER_NAME",
    )
    return dict(zip(names, values, strict=True))


def _load(config: Path | None, flags: dict[str, str | None]) -> Loaded:
    from steersman.highlander.config import load
    from steersman.highlander.errors import ConfigError

    try:
        return load(config, flags=flags)
    except ConfigError as error:
        raise CommandFailed(str(error), 2) from None


def _run(config: Path | None, flags: dict[str, str | None], log_level: LogLevel) -> None:
    from steersman.client import ClientError
    from steersman.election import ElectionError
    from steersman.highlander.config import load
    from steersman.highlander.errors import HighlanderError
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

    try:
        run_loop(main())
    except (ClientError, ElectionError, HighlanderError) as error:
        raise CommandFailed(" ".join(str(error).split())) from None


def _act(
    action: str,
    address: str,
    tenant: str | None,
    token_file: Path | None,
    ca_file: Path | None,
    body: dict[str, str],
) -> None:
    from steersman.http import Client as Http
    from steersman.http import HttpError, client_tls

    token = token_file.read_text().strip() if token_file else os.environ.get("HIGHLANDER_API_TOKEN", "")
    if not token:
        raise CommandFailed("a token is needed: --token-file or HIGHLANDER_API_TOKEN", 2)
    headers = [(b"authorization", f"Bearer {token}".encode()), (b"content-type", b"application/json")]
    tls = client_tls(ca=ca_file.read_text() if ca_file else None) if address.startswith("https") else None

    async def ask() -> tuple[int, bytes]:
        async with Http(address, ssl=tls) as http:
            path = f"/api/{action}" + (f"?tenant={tenant}" if tenant else "")
            answer = await http.request("POST", path, headers=headers, content=json.dumps(body).encode())
            return answer.status, answer.content

    try:
        status, content = asyncio.run(ask())
    except (HttpError, OSError) as error:
        raise CommandFailed(f"{address}: {error}") from None
    if status >= 300:
        raise CommandFailed(f"{address}: {_reason(content)}")
    typer.echo(f"{action}: done")


def _reason(content: bytes) -> str:
    try:
        return str(json.loads(content).get("error") or content.decode())
    except (ValueError, AttributeError):
        return content.decode(errors="replace")
