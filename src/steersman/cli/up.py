"""`steer up`: a cluster in the foreground."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import json
import logging
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from steersman.aio.signals import stopping_on_signals
from steersman.cli import up_options as options
from steersman.cli.announcing import announce
from steersman.cli.failure import CommandFailed
from steersman.cli.options import LogLevel, Output, check_service_cidr
from steersman.cli.process import require_cluster_packages, run_loop

if TYPE_CHECKING:
    from steersman.cluster.local import LocalCluster

__all__ = ["up"]

_EXAMPLES = """Start a Kubernetes-compatible cluster; Ctrl-C stops it.

Stopping the cluster also stops its pods. If the process is killed, the pods keep running, and a cluster
that is started with the same data folder takes them over; with --data :memory:, they stop soon after.

Examples:

\b
  steer up                                   a cluster that keeps its data
  steer up --data :memory: --port 0          no data on disk, on a free port
  steer up --nodes 100 --runtime simulated   nodes that only simulate pods
  steer up --wait --output json              for scripts: wait for the nodes

\b
  export KUBECONFIG=~/.local/state/steersman/cluster/kubeconfig
  kubectl get nodes
"""


def up(
    data: options.DataOption = None,
    bind: options.BindOption = "127.0.0.1",
    port: options.PortOption = 6443,
    kubeconfig: options.WrittenKubeconfigOption = None,
    admin_token: options.AdminTokenOption = None,
    service_cidr: options.ServiceCidrOption = None,
    enable_admission: options.EnableAdmissionOption = "",
    disable_admission: options.DisableAdmissionOption = "",
    nodes: options.NodesOption = None,
    runtime: options.RuntimeOption = "process",
    controllers: options.ControllersOption = "all",
    encryption_key: options.EncryptionKeyOption = None,
    authentication_config: options.AuthenticationOption = None,
    audit_policy: options.AuditPolicyOption = None,
    audit_log: options.AuditLogOption = None,
    max_requests_inflight: options.InflightOption = 600,
    new_keys: options.NewKeysOption = False,
    wait: options.WaitOption = False,
    log_level: options.LogLevelOption = LogLevel.WARNING,
    output: options.OutputOption = Output.TEXT,
) -> None:
    started = time.perf_counter()
    logging.basicConfig(
        level=log_level.upper(), stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    _check_bind(bind, port)
    if service_cidr is not None:
        check_service_cidr(service_cidr)
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
        enabled_admission=_plugins("--enable-admission", enable_admission),
        disabled_admission=_plugins("--disable-admission", disable_admission),
        new_keys=new_keys,
        encryption_key=encryption_key,
        authentication=authentication_config,
        audit_policy=audit_policy,
        audit_log=audit_log,
        max_requests_inflight=max_requests_inflight,
        controllers=chosen_controllers,
        nodes=simulated_nodes,
        process_nodes=process_nodes,
    )
    _run(LocalCluster(config), output, started, wait)


up.__doc__ = _EXAMPLES


def _check_admin_token(token: str | None) -> None:
    if token is not None and not _is_token(token):
        raise CommandFailed(
            "--admin-token: must not be empty or contain spaces, control or non-ASCII characters", 2
        )


def _check_audit(policy: Path | None, log: str | None, output: Output) -> None:
    if output is Output.JSON and (log == "-" or (policy is not None and log is None)):
        raise CommandFailed("--audit-log: give a file, because --output json uses standard output", 2)


def _plugins(option: str, text: str) -> list[str]:
    """The admission plugins that an option names."""
    from steersman.cluster.admission import PLUGIN_NAMES

    names = [name for name in text.split(",") if name]
    for name in names:
        if name not in PLUGIN_NAMES:
            raise CommandFailed(
                f"{option}: there is no plugin {name!r}; there are {', '.join(PLUGIN_NAMES)}", 2
            )
    return names


def _check_bind(bind: str, port: int) -> None:
    try:
        ipaddress.ip_address(bind)
    except ValueError:
        raise CommandFailed(f"--bind: {bind!r} is not an IP address", 2) from None
    if not 0 <= port <= 65535:
        raise CommandFailed(f"--port: {port} is not between 0 and 65535", 2)


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


def _run(cluster: LocalCluster, output: Output, started: float, wait: bool) -> None:
    from steersman.cluster.machine import RangeTaken

    try:
        run_loop(_serve(cluster, output, started, wait))
    except RangeTaken as error:
        raise CommandFailed(f"{error}; stop that one, or give this one another --service-cidr") from None
    except OSError as error:
        raise CommandFailed(_explain(error, cluster)) from None


def _explain(error: OSError, cluster: LocalCluster) -> str:
    config = cluster.config
    if error.errno == errno.EADDRINUSE:
        return f"--port: {config.bind}:{config.port} is taken; choose another, or 0 for a free one"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"--bind: {config.bind} is not an address of this machine"
    return f"{error.filename or config.data}: {error.strerror or error}"


async def _serve(cluster: LocalCluster, output: Output, started: float, wait: bool) -> None:
    """Until a signal comes, which is the ordinary end only of a cluster that was up."""
    stopped = asyncio.Event()
    await cluster.start()
    with stopping_on_signals(stopped.set):
        try:
            if wait:
                from steersman.cli.usable import wait_usable

                await wait_usable(cluster, stopped)
            _announce(cluster, output, time.perf_counter() - started)
            await stopped.wait()
        finally:
            await cluster.stop()


def _announce(cluster: LocalCluster, output: Output, seconds: float) -> None:
    if output is Output.JSON:
        ready = {"server": cluster.url, "kubeconfig": str(cluster.kubeconfig), "pid": os.getpid()}
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
    else:
        announce(
            f"Steersman is up at {cluster.url} ({seconds:.2f} s)", cluster.kubeconfig, "namespaces",
            runs_pods=bool(cluster.config.process_nodes),
        )  # fmt: skip
