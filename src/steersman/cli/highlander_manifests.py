"""`steer highlander manifests`: what to apply to run a configuration in a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from steersman.cli.emitting import Format, emit
from steersman.cli.failure import CommandFailed

__all__ = ["manifests"]

_EXAMPLES = """Print the manifests to run Highlander in a cluster.

These are RBAC rules, a workload for the controllers and a Service. The RBAC rules grant only what the
configuration needs. Put secret values into a Secret with any of the keys api-token, redis-addr,
redis-password and database-url.

Examples:

\b
  steer highlander manifests --config highlander.yaml | kubectl apply -f -
  steer highlander manifests --config highlander.yaml --tenant shop
"""


def manifests(
    config: Annotated[Path, typer.Option(metavar="FILE", help="The configuration file, in YAML.")],
    image: Annotated[
        str, typer.Option(help="The image of the controllers; it must contain `steer`.")
    ] = "steersman:latest",
    name: Annotated[
        str,
        typer.Option(
            help="The name of all generated objects.", show_default="highlander, or highlander-TENANT"
        ),
    ] = "",
    namespace: Annotated[str, typer.Option(help="The namespace of the controllers.")] = "highlander",
    replicas: Annotated[
        int | None, typer.Option(min=1, help="The number of controllers.", show_default="2; with Raft 3")
    ] = None,
    tenant: Annotated[
        str, typer.Option(help="The only tenant of the file to include.", show_default="all of them")
    ] = "",
    secret: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="The name of the Secret with passwords and tokens.", show_default="--name"
        ),
    ] = "",
    fencing: Annotated[
        bool, typer.Option("--fencing", help="Have the API server reject late writes of former leaders.")
    ] = False,
    network_policy: Annotated[
        bool, typer.Option(help="Restrict access to the API and the dashboard.")
    ] = True,
    service_monitor: Annotated[
        bool, typer.Option("--service-monitor", help="Add a ServiceMonitor for the Prometheus Operator.")
    ] = False,
    monitoring_namespace: Annotated[
        str, typer.Option(help="The namespace that Prometheus scrapes from.")
    ] = "monitoring",
    output: Annotated[
        Format, typer.Option(help="The output format: YAML documents, or a List in JSON.")
    ] = Format.YAML,
) -> None:
    from steersman.highlander.config import load
    from steersman.highlander.errors import ConfigError
    from steersman.highlander.manifests import Deployed
    from steersman.highlander.manifests import manifests as made

    try:
        # What the environment here says is not what it says there, but for secrets that have to be somewhere.
        loaded = load(config, flags={"TENANT": tenant}, environment={"HIGHLANDER_DATABASE_URL": "secret"})
        raft = any(one.storage_type == "raft" for one in loaded.tenants)
        deployed = Deployed(
            image=image,
            name=name or (f"highlander-{tenant}" if tenant else "highlander"),
            namespace=namespace,
            replicas=replicas or (3 if raft else 2),
            tenant=tenant,
            secret=secret,
            fencing=fencing,
            network_policy=network_policy,
            service_monitor=service_monitor,
            monitoring_namespace=monitoring_namespace,
        )
        objects = made(config.read_text(encoding="utf-8"), loaded.tenants, deployed)
    except ConfigError as error:
        raise CommandFailed(str(error), 2) from None
    for warning in loaded.warnings:
        typer.echo(f"warning: {warning}, or the key of the Secret {secret or deployed.name}", err=True)
    emit(objects, output)


manifests.__doc__ = _EXAMPLES
