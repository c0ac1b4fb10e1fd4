"""`steer up`: a cluster in the foreground."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import json
import logging
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steersman.cli.failure import CommandFailed
from steersman.cli.options import LogLevel, Output
from steersman.cli.process import require_cluster_packages, run_loop

if TYPE_CHECKING:
    from steersman.cluster.local import LocalCluster

__all__ = ["up"]

_EXAMPLES = """Start a Kubernetes-compatible cluster in the foreground; Ctrl-C stops it.

Its pods end with it. If it is killed they run on, and are its pods again when it is started with the same
folder; what --data :memory: has ends soon after.

Examples:

  steer up                                   a cluster that keeps its data

  steer up --data :memory: --port 0          one that keeps nothing, on a free port

  steer up --nodes 100 --runtime simulated   nodes that pretend to run pods

  steer up --output json | head -1           for scripts: one line with server and kubeconfig

  kubectl --kubeconfig ~/.local/state/steersman/cluster/kubeconfig get namespaces
"""


def up(
    data: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Data folder; :memory: keeps nothing.", show_default="the user's state folder"
        ),
    ] = None,
    bind: Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", help="Port to listen on; 0 takes a free one.")] = 6443,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where to write the kubeconfig.", show_default="in the data folder"
        ),
    ] = None,
    admin_token: Annotated[
        str | None,
        typer.Option(
            metavar="TOKEN",
            help="The admin's bearer token.",
            envvar="STEER_ADMIN_TOKEN",
            show_default="generated once",
        ),
    ] = None,
    service_cidr: Annotated[
        str | None,
        typer.Option(metavar="CIDR", help="Range of service addresses.", show_default="a free one"),
    ] = None,
    disable_admission: Annotated[
        str, typer.Option(metavar="A,B", help="Admission plugins to leave out.")
    ] = "",
    nodes: Annotated[
        int | None,
        typer.Option(metavar="N", help="Nodes to run.", min=0, show_default="1, with all controllers"),
    ] = None,
    runtime: Annotated[
        str,
        typer.Option(
            metavar="process|simulated|MIX",
            help="What runs pods: processes of this machine, nothing (they are pretended), or both, as in "
            "process=1,simulated=3.",
        ),
    ] = "process",
    controllers: Annotated[
        str, typer.Option(metavar="none|all|NAMES", help="Controllers to run; -NAME leaves one out.")
    ] = "all",
    encryption_key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Encrypt Secrets on disk: base64 keys of 32 bytes, newest first."),
    ] = None,
    authentication_config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Other issuers of tokens (AuthenticationConfiguration)."),
    ] = None,
    audit_policy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What to audit (audit.k8s.io/v1 Policy).")
    ] = None,
    audit_log: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where audit events go; - is standard output.")
    ] = None,
    max_requests_inflight: Annotated[
        int, typer.Option(metavar="N", help="Requests served at the same time.", min=1)
    ] = 600,
    log_level: Annotated[LogLevel, typer.Option(help="What to log, to standard error.")] = LogLevel.WARNING,
    output: Annotated[Output, typer.Option(help="json: one line of JSON when ready.")] = Output.TEXT,
) -> None:
    started = time.perf_counter()
    logging.basicConfig(
        level=log_level.upper(), stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    _check_bind(bind, port)
    if service_cidr is not None:
        _check_service_cidr(service_cidr)
    chosen_controllers = _controllers(controllers)
    if nodes is None:
        nodes = 1 if controllers == "all" else 0
    process_nodes, simulated_nodes = _nodes(nodes, runtime)
    if process_nodes and service_cidr is not None and ":" in service_cidr:
        raise CommandFailed("--service-cidr: nodes that run processes have IPv4 addresses only", 2)
    _check_admin_token(admin_token)
    _check_audit(audit_policy, audit_log, output)
    require_cluster_packages()
    from steersman.cluster.local import ClusterConfig, LocalCluster, default_data_folder

    config = ClusterConfig(
        data=data or str(default_data_folder()),
        bind=bind,
        port=port,
        kubeconfig=kubeconfig,
        admin_token=admin_token,
        service_cidr=service_cidr,
        disabled_admission=_plugins(disable_admission),
        encryption_key=encryption_key,
        authentication=authentication_config,
        audit_policy=audit_policy,
        audit_log=audit_log,
        max_requests_inflight=max_requests_inflight,
        controllers=chosen_controllers,
        nodes=simulated_nodes,
        process_nodes=process_nodes,
    )
    _run(LocalCluster(config), output, started)


up.__doc__ = _EXAMPLES


def _check_admin_token(token: str | None) -> None:
    if token is not None and not _is_token(token):
        raise CommandFailed(
            "--admin-token: must not be empty or contain spaces, control or non-ASCII characters", 2
        )


def _check_audit(policy: Path | None, log: str | None, output: Output) -> None:
    if output is Output.JSON and (log == "-" or (policy is not None and log is None)):
        raise CommandFailed("--audit-log: name a file, since --output json needs standard output", 2)


def _plugins(names: str) -> list[str]:
    """The admission plugins to leave out."""
    from steersman.cluster.admission import PLUGIN_NAMES

    disabled = [name for name in names.split(",") if name]
    for name in disabled:
        if name not in PLUGIN_NAMES:
            raise CommandFailed(
                f"--disable-admission: no plugin is called {name!r}; there are {', '.join(PLUGIN_NAMES)}", 2
            )
    return disabled


def _check_bind(bind: str, port: int) -> None:
    try:
        ipaddress.ip_address(bind)
    except ValueError:
        raise CommandFailed(f"--bind: {bind!r} is not an IP address", 2) from None
    if not 0 <= port <= 65535:
        raise CommandFailed(f"--port: {port} is not between 0 and 65535", 2)


def _check_service_cidr(cidr: str) -> None:
    try:
        network = ipaddress.ip_network(cidr)
    except ValueError as error:
        raise CommandFailed(f"--service-cidr: {error}", 2) from None
    if network.version == 6 and network.prefixlen < 108:
        raise CommandFailed(f"--service-cidr: {cidr} must be /108 or smaller", 2)
    if network.num_addresses < 8 or network.prefixlen < 8:
        allowed = "/8 and /29" if network.version == 4 else "/108 and /125"
        raise CommandFailed(f"--service-cidr: {cidr} must be between {allowed}", 2)


def _is_token(text: str) -> bool:
    """Whether text can be sent in an Authorization header as it is."""
    return bool(text) and text.isascii() and text.isprintable() and " " not in text


def _nodes(count: int, runtime: str) -> tuple[int, int]:
    """How many nodes run processes, and how many pretend."""
    kinds = ("process", "simulated")
    if runtime in kinds:
        counts = {runtime: count}
    else:
        pairs = [part.partition("=") for part in runtime.split(",")]
        if not all(kind in kinds and number.isdecimal() for kind, _, number in pairs):
            raise CommandFailed(
                f"--runtime: {runtime!r} is not process, simulated, or both: process=1,simulated=3",
                2,
            )
        counts = {kind: int(number) for kind, _, number in pairs}
    from steersman.cluster.machine.ranges import MOST_NODES

    process, simulated = (counts.get(kind, 0) for kind in kinds)
    if process and process + simulated > MOST_NODES:
        raise CommandFailed(f"--nodes: at most {MOST_NODES} if some of them run processes", 2)
    return process, simulated


def _controllers(names: str) -> frozenset[str]:
    from steersman.cluster.controllers.registry import chosen

    if not all(names.split(",")):
        raise CommandFailed(f"--controllers: {names!r} is not none, all or names separated by commas", 2)
    try:
        return chosen(names.split(","))
    except ValueError as error:
        raise CommandFailed(f"--controllers: {error}", 2) from None


def _run(cluster: LocalCluster, output: Output, started: float) -> None:
    from steersman.cluster.apiserver.audit import AuditError
    from steersman.cluster.auth.errors import ConfigurationInvalid
    from steersman.cluster.auth.pki import PkiError
    from steersman.cluster.schema.errors import SchemaError
    from steersman.cluster.store import StoreError

    try:
        run_loop(_serve(cluster, output, started))
    except (StoreError, SchemaError, PkiError, AuditError, ConfigurationInvalid) as error:
        raise CommandFailed(str(error)) from None
    except (OSError, ValueError) as error:
        raise CommandFailed(_explain(error, cluster)) from None


def _explain(error: OSError | ValueError, cluster: LocalCluster) -> str:
    config = cluster.config
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"--port: {config.bind}:{config.port} is taken; choose another, or 0 for a free one"
    if isinstance(error, OSError) and error.errno == errno.EADDRNOTAVAIL:
        return f"--bind: {config.bind} is not an address of this machine"
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return f"{config.data}: {error}"


async def _serve(cluster: LocalCluster, output: Output, started: float) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with cluster:
        _announce(cluster, output, time.perf_counter() - started)
        await stopped.wait()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, os._exit, 130)


def _announce(cluster: LocalCluster, output: Output, seconds: float) -> None:
    if output is Output.JSON:
        line = json.dumps({"server": cluster.url, "kubeconfig": str(cluster.kubeconfig), "pid": os.getpid()})
    else:
        line = (
            f"Steersman is up at {cluster.url} ({seconds:.2f} s). "
            f"Use it: kubectl --kubeconfig {cluster.kubeconfig} get namespaces   Stop: Ctrl-C"
        )
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
