"""One attempt of a probe: dispatch to exec, httpGet, tcpSocket or grpc."""

from __future__ import annotations

from steersman.cluster.node.cri import RuntimeService
from steersman.cluster.node.environment import expand_all
from steersman.cluster.node.errors import RuntimeFailed
from steersman.cluster.node.probing.http_get import http_probe
from steersman.cluster.node.probing.outcome import (
    OUTPUT_BYTES,
    ProbeErrored,
    ProbeOutcome,
    ProbeTarget,
    failure,
    success,
)
from steersman.cluster.node.probing.tcp_connect import tcp_probe
from steersman.objects.kinds.types.core_v1 import ExecAction, Probe

__all__ = ["attempt"]


async def attempt(runtime: RuntimeService, target: ProbeTarget, probe: Probe) -> ProbeOutcome:
    """Probe a container once. Raises `ProbeErrored`."""
    timeout_s = float(probe.get("timeoutSeconds") or 1)
    if (action := probe.get("exec")) is not None:
        return await _exec(runtime, target, action, timeout_s)
    if (http_get := probe.get("httpGet")) is not None:
        return await http_probe(http_get, target.container, target.ip, timeout_s)
    if (tcp_socket := probe.get("tcpSocket")) is not None:
        return await tcp_probe(tcp_socket, target.container, target.ip, timeout_s)
    if (grpc := probe.get("grpc")) is not None:
        from steersman.cluster.node.probing.grpc_health import grpc_probe

        return await grpc_probe(grpc, target.ip, timeout_s)
    metadata = target.pod["metadata"]
    known = f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"
    raise ProbeErrored(f"missing probe handler for {known}:{target.container['name']}")


async def _exec(
    runtime: RuntimeService, target: ProbeTarget, action: ExecAction, timeout_s: float
) -> ProbeOutcome:
    # Only values that stand in the spec are known to a probe.
    variables = {one["name"]: one.get("value", "") for one in target.container.get("env") or ()}
    command = expand_all(action.get("command") or (), variables)
    try:
        done = await runtime.exec_sync(target.container_id, command, timeout_s)
    except RuntimeFailed as error:
        if "timed out" in str(error):
            return failure(str(error))
        raise ProbeErrored(str(error)) from error
    output = (done.stdout + done.stderr)[:OUTPUT_BYTES].decode(errors="replace")
    return success(output) if done.exit_code == 0 else failure(output)
