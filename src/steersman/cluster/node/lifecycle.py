"""The hook runner for real containers: exec, httpGet, tcpSocket and sleep hooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from steersman.aio import Clock
from steersman.cluster.node.cri import RuntimeService
from steersman.cluster.node.downward import DownwardNodeFacts, pod_addresses
from steersman.cluster.node.errors import RuntimeFailed
from steersman.cluster.node.events import NodeEvents
from steersman.cluster.node.probing.http_get import NOT_HTTPS, GetFailed, action_headers, action_url, http_get
from steersman.cluster.node.probing.outcome import ProbeErrored
from steersman.objects.fields import quote
from steersman.objects.kinds.types.core_v1 import Container, HTTPGetAction, LifecycleHandler, Pod

__all__ = ["LifecycleHooks"]


#: Hooks have all the time in the world; a pod's grace period ends them.
_UNLIMITED_S: Final = 86_400.0


class LifecycleHooks:
    """The `HookRunner` of a node with real containers."""

    def __init__(
        self, runtime: RuntimeService, events: NodeEvents, clock: Clock, node: DownwardNodeFacts
    ) -> None:
        self._runtime = runtime
        self._events = events
        self._clock = clock
        self._node = node

    async def run(self, pod: Pod, container: Container, container_id: str, handler: LifecycleHandler) -> None:
        metadata = pod["metadata"]
        known = quote(f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})")
        whose = f"for Container {quote(container['name'])} in Pod {known} failed - error"
        if (action := handler.get("exec")) is not None:
            command = action.get("command") or ()
            await self._exec(container_id, command, f"Exec lifecycle hook ([{' '.join(command)}]) {whose}")
        elif (http_get := handler.get("httpGet")) is not None:
            try:
                await self._http_get(pod, container, http_get)
            except (GetFailed, ProbeErrored) as error:
                path = http_get.get("path", "")
                raise RuntimeFailed(f"HTTP lifecycle hook ({path}) {whose}: {error}") from error
        elif (pause := handler.get("sleep")) is not None:
            await self._clock.sleep(pause.get("seconds", 0))
        else:
            raise RuntimeFailed("Cannot run handler: invalid handler")

    async def _exec(self, container_id: str, command: Sequence[str], failing: str) -> None:
        try:
            done = await self._runtime.exec_sync(container_id, command, _UNLIMITED_S)
        except RuntimeFailed as error:
            raise RuntimeFailed(f'{failing}: {error}, message: ""') from error
        if done.exit_code != 0:
            errors = done.stderr.decode(errors="replace")
            output = quote((done.stdout + done.stderr).decode(errors="replace"))
            why = f"command '{' '.join(command)}' exited with {done.exit_code}: {errors}"
            raise RuntimeFailed(f"{failing}: {why}, message: {output}")

    async def _http_get(self, pod: Pod, container: Container, action: HTTPGetAction) -> None:
        """Any answer is good enough."""
        sandboxes = await self._runtime.list_pod_sandboxes(pod["metadata"]["uid"])
        ips = pod_addresses(pod, sandboxes[0].ips if sandboxes else (), self._node)
        url = action_url(action, container, ips[0] if ips else "")
        headers = action_headers(action, "lifecycle")
        try:
            await http_get(url, headers, _UNLIMITED_S)
        except GetFailed as error:
            if not str(error).endswith(NOT_HTTPS):
                raise
            plain = tuple(field for field in headers if field[0].lower() != b"authorization")
            await http_get(url.replace("https://", "http://", 1), plain, _UNLIMITED_S)
            where = url.removeprefix("https://").partition("/")[0]
            self._events.warning(
                pod,
                "LifecycleHTTPFallback",
                f"request to HTTPS lifecycle hook {where} got HTTP response, retry with HTTP succeeded",
            )
