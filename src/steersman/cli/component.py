"""`steer component`: one part of a cluster in a process of its own, beside an API server somewhere else."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steersman.cli.failure import CommandFailed, one_line
from steersman.cli.options import ContextOption, KubeconfigOption, LogLevel, check_service_cidr
from steersman.cli.own_nodes import OwnNodes, own_nodes
from steersman.cli.process import run_loop

if TYPE_CHECKING:
    from steersman.aio import Clock
    from steersman.client import Client
    from steersman.cluster.components import Components
    from steersman.election import Lease

__all__ = ["component"]

_EXAMPLES = """Run one component of a cluster as a separate process.

Ctrl-C stops it. You can run any number of replicas: they elect a leader by a Lease in kube-system, and
only the leader is active. A component that starts before the API server waits for it.

Examples:

\b
  steer up --controllers none             an API server alone
  steer component controllers --kubeconfig FILE
  steer component controllers --names deployment,replicaset
  steer component scheduler
  steer component nodes                   a node on this machine, with DNS

\b
  steer component nodes --runtime simulated --nodes 100
  steer component nodes --runtime simulated --nodes 100 --first 101
"""


_log = logging.getLogger(__name__)

#: How long an API server that answers may take to publish what its clients trust, and how often to look.
_PUBLISHED_S = 10.0
_ASK_AGAIN_S = 0.5


class Runtime(StrEnum):
    PROCESS = "process"
    SIMULATED = "simulated"


class Part(StrEnum):
    CONTROLLERS = "controllers"
    SCHEDULER = "scheduler"
    NODES = "nodes"


#: The Lease's name, as in Kubernetes.
_LEASES = {Part.CONTROLLERS: "kube-controller-manager", Part.SCHEDULER: "kube-scheduler"}


def component(
    part: Annotated[Part, typer.Argument(metavar="PART", help="The component to run.")],
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    names: Annotated[
        str, typer.Option(metavar="all|NAMES", help="The controllers to run; -NAME excludes one.")
    ] = "all",
    nodes: Annotated[int, typer.Option(metavar="N", help="The number of nodes to run.", min=1)] = 1,
    first: Annotated[int, typer.Option(metavar="N", help="The number of the first node.", min=1)] = 1,
    runtime: Annotated[
        Runtime, typer.Option(help="How pods run: as processes on this machine, or simulated.")
    ] = Runtime.PROCESS,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder for the data of the nodes.",
            show_default="in the user's state folder",
        ),
    ] = None,
    service_cidr: Annotated[
        str, typer.Option(metavar="CIDR", help="The IP range of the Services' cluster IPs (process nodes).")
    ] = "10.96.0.0/16",
    heartbeat: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="The interval at which nodes renew their Leases.", min=0.1),
    ] = 10.0,
    node_grace: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="How long a node's Lease may be overdue before the node is marked unhealthy (controllers).",
            min=0.1,
        ),
    ] = 50.0,
    leader_elect: Annotated[
        bool,
        typer.Option(
            "--leader-elect/--no-leader-elect",
            help="Elect a leader, so that one replica is active at a time.",
        ),
    ] = True,
    lease_duration: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="How long a leader may be silent before another replica takes over.",
            min=0.1,
        ),
    ] = 15.0,
    metrics_bind: Annotated[
        str,
        typer.Option(
            metavar="[HOST]:PORT", help="The address of the health probes and metrics; off disables them."
        ),
    ] = "off",
    log_level: Annotated[
        LogLevel, typer.Option(help="The lowest level of messages to log to standard error.")
    ] = LogLevel.INFO,
) -> None:
    from steersman.cluster.components import Components
    from steersman.cluster.controllers.registry import chosen
    from steersman.cluster.controllers.setup import Options
    from steersman.runtime import logs

    logs.set_up(level=log_level.upper())
    check_service_cidr(service_cidr)
    if ":" in service_cidr:
        raise CommandFailed("--service-cidr: nodes that run processes have IPv4 addresses only", 2)
    try:
        wanted = chosen(names.split(",")) if part is Part.CONTROLLERS else frozenset()
    except ValueError as error:
        raise CommandFailed(f"--names: {error}", 2) from None
    components = Components(
        controllers=wanted,
        scheduler=part is Part.SCHEDULER,
        nodes=nodes if part is Part.NODES and runtime is Runtime.SIMULATED else 0,
        first_node=first,
        heartbeat_s=heartbeat,
        options=Options(node_grace_s=node_grace, node_period_s=min(5.0, node_grace / 4)),
    )
    asked = None
    if part is Part.NODES and runtime is Runtime.PROCESS:
        asked = OwnNodes(nodes, first, heartbeat, data, service_cidr)
    lease = _lease(_LEASES[part], lease_duration) if leader_elect and part in _LEASES else None
    _run(components, asked, kubeconfig, context, lease, None if metrics_bind == "off" else metrics_bind)


component.__doc__ = _EXAMPLES


def _lease(name: str, duration_s: float) -> Lease:
    """A lease whose other times are in their usual proportion to its duration."""
    from steersman.election import Lease, LeaseSettings

    usual = LeaseSettings()
    share = duration_s / usual.duration_s
    settings = LeaseSettings(duration_s, usual.renew_deadline_s * share, usual.retry_period_s * share)
    return Lease(name, "kube-system", settings=settings)


def _run(
    components: Components,
    asked: OwnNodes | None,
    kubeconfig: Path | None,
    context: str | None,
    lease: Lease | None,
    address: str | None,
) -> None:
    from steersman.runtime.errors import AddressInUse

    try:
        run_loop(_serve(components, asked, kubeconfig, context, lease, address))
    except AddressInUse as error:
        raise CommandFailed(f"--metrics-bind: {error}; choose another, or off") from None


async def _serve(
    components: Components,
    asked: OwnNodes | None,
    kubeconfig: Path | None,
    context: str | None,
    lease: Lease | None,
    address: str | None,
) -> None:
    from dataclasses import replace

    from steersman.aio import SystemClock
    from steersman.client import Client
    from steersman.cluster.components import components_manager

    clock = SystemClock()
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client.load(kubeconfig=kubeconfig, context=context))
        authority = ""
        if components.controllers or asked is not None:
            authority = await _root_certificate(client, clock)
        machine = None
        if asked is not None:
            machine = await stack.enter_async_context(own_nodes(client, clock, authority, asked))
        options = replace(components.options, root_certificate=authority)
        elector = lease.elector(client, clock) if lease else None
        manager = await stack.enter_async_context(
            components_manager(
                client,
                replace(components, machine=machine, options=options),
                clock=clock,
                elector=elector,
                address=address,
            )
        )
        await manager.run_until_signalled()


async def _root_certificate(client: Client, clock: Clock) -> str:
    """What the API server's clients trust, as the API server publishes it soon after its start.

    Who is started before the API server waits for it.
    """
    from steersman.client import Unreachable
    from steersman.objects.resources import CONFIG_MAPS

    deadline = clock.monotonic() + _PUBLISHED_S
    said = ""
    while True:
        try:
            found = await client.find(CONFIG_MAPS, "extension-apiserver-authentication", "kube-system")
        except Unreachable as error:
            if said != (said := one_line(error)):
                _log.warning("waiting for the API server: %s", said)
            deadline = clock.monotonic() + _PUBLISHED_S
            found = None
        if found is not None or clock.monotonic() > deadline:
            authority: str = (found or {}).get("data", {}).get("client-ca-file", "")
            return authority
        await clock.sleep(_ASK_AGAIN_S)
