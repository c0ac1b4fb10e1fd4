"""The hostPort of pods: listens at the addresses of their nodes and forwards to the pods.

A pod's port answers at its node's address and, for who comes first, at 127.0.0.1; with `hostIP` at that one
address. The process that carries the connections is started when the first pod wants such a port.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from typing import Final, Literal, cast

from steersman.aio import Scope
from steersman.cluster.proxy.frontends import Backend, Frontend, FrontendRoute
from steersman.cluster.proxy.process import ForwarderFiles, ForwarderProcess
from steersman.election import default_identity
from steersman.objects.kinds.types.core_v1 import Pod
from steersman.objects.pod_lifecycle import is_terminal_phase
from steersman.objects.resources import PODS
from steersman.runtime import Change, Key, Manager, Recorder

__all__ = ["HostPorts", "add_host_ports", "host_ports"]


_LOOPBACK: Final = "127.0.0.1"
_ANY: Final = ("", "0.0.0.0", "::")  # noqa: S104 - what pods ask for, nothing is bound to it
_PROTOCOLS: Final = ("TCP", "UDP")
#: How soon a port that could not be opened is tried again.
_RETRY_S: Final = 2.0
#: In the bytes of every pod that wants one.
_MARK: Final = b'"hostPort"'


def add_host_ports(
    manager: Manager, nodes: Mapping[str, str], home: ForwarderFiles | None = None
) -> HostPorts:
    """Have a manager open them. `nodes` are those of this machine, with their addresses. With a `home` they
    stay open without a manager."""
    ports = HostPorts(manager, nodes, home)
    manager.add_service("host ports", ports.run)
    return ports


def host_ports(pod: Pod, nodes: Mapping[str, str]) -> Iterator[tuple[Frontend, Backend]]:
    """Where the ports of a pod are, and where they lead."""
    spec, status = pod["spec"], pod.get("status") or {}
    own, address = nodes.get(spec.get("nodeName", "")), status.get("podIP")
    if own is None or not address or spec.get("hostNetwork") or is_terminal_phase(status.get("phase")):
        return
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        for port in container.get("ports") or ():
            protocol, asked = port.get("protocol") or "TCP", port.get("hostIP") or ""
            if not port.get("hostPort") or protocol not in _PROTOCOLS:
                continue
            # Other addresses, even of this machine, would open what is local to the network around it.
            for where in (own, _LOOPBACK):
                if asked in (*_ANY, where):
                    frontend = Frontend(cast(Literal["TCP", "UDP"], protocol), where, port["hostPort"])
                    yield frontend, Backend(address, port["containerPort"])


class HostPorts:
    """The host ports of the pods on this machine."""

    def __init__(self, manager: Manager, nodes: Mapping[str, str], home: ForwarderFiles | None) -> None:
        self._clock = manager.clock
        self._nodes = nodes
        self._pods = manager.informers.get(PODS)
        recorder = Recorder(manager.client, "host-ports", default_identity(), clock=manager.clock)
        self._recorder = manager.add_recorder(recorder)
        self.forwarder: Final = ForwarderProcess(manager.clock, self._on_failure, home)
        #: By pod, in the order in which they came: of two that want the same, the first has it.
        self._wanted: dict[Key, dict[Frontend, Backend]] = {}
        self._open: dict[Frontend, FrontendRoute] = {}
        #: What was told of already.
        self._told: set[tuple[Key, Frontend]] = set()
        self._work = asyncio.Event()
        self._scope: Scope | None = None

    async def run(self) -> None:
        """Until cancelled; then nothing answers any more, unless the forwarder stays."""
        await self._pods.wait_synced()
        self._pods.add_handler(self._on_pod)
        try:
            async with Scope() as self._scope:
                if not self.forwarder.is_there():
                    await self._work.wait()
                self._scope.start(self.forwarder.run(), name="forwarder of host ports")
                await self._apply()
                await self.forwarder.close_others()
                while True:
                    await self._work.wait()
                    await self._apply()
        finally:
            self._scope = None
            self._pods.remove_handler(self._on_pod)

    def _on_pod(self, change: Change) -> None:
        wanted: dict[Frontend, Backend] = {}
        if change.new is not None and _MARK in change.new.data:
            wanted = dict(host_ports(cast("Pod", change.new.object()), self._nodes))
        if wanted == self._wanted.get(change.key, {}):
            return
        if wanted:
            self._wanted[change.key] = wanted
        else:
            del self._wanted[change.key]
            self._told = {told for told in self._told if told[0] != change.key}
        self._work.set()

    async def _apply(self) -> None:
        self._work.clear()
        wanted: dict[Frontend, FrontendRoute] = {}
        for ports in self._wanted.values():
            for frontend, backend in ports.items():
                wanted.setdefault(frontend, FrontendRoute((backend,)))
        opened = {each: route for each, route in wanted.items() if self._open.get(each) != route}
        closed = self._open.keys() - wanted.keys()
        self._open = wanted
        await self.forwarder.apply(opened, closed)

    def _on_failure(self, frontend: Frontend, code: int) -> None:
        """The forwarder could not listen: perhaps later."""
        self._open.pop(frontend, None)
        for key, ports in self._wanted.items():
            cached = self._pods.cache.get(key)
            if frontend in ports and cached is not None and (key, frontend) not in self._told:
                self._told.add((key, frontend))
                note = f"cannot listen at {frontend}: {os.strerror(code)}"
                self._recorder.event(cached.object(), "Warning", "FailedToListen", note, action="Listen")
        if self._scope is not None:
            self._scope.start(self._try_again(), name="retry host ports")

    async def _try_again(self) -> None:
        await self._clock.sleep(_RETRY_S)
        self._work.set()
