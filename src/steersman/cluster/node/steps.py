"""Carries out the actions of a pod worker: sandboxes, images, containers, hooks, and the events about them.

`PodSteps` belongs to one pod and remembers why its containers do not start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from steersman.aio import Backoff, Scope, first_of
from steersman.cluster.node.actions import Actions, Kill
from steersman.cluster.node.container_statuses import ObservedPod
from steersman.cluster.node.cri import (
    ContainerConfig,
    ContainerState,
    ContainerStatus,
    PodRuntime,
    PodSandboxConfig,
)
from steersman.cluster.node.errors import MountFailed, RuntimeFailed, StartFailed
from steersman.cluster.node.events import container_reference
from steersman.cluster.node.images import ImagePuller
from steersman.cluster.node.node_context import NodeContext
from steersman.cluster.node.restarts import CONTAINER_FORGET_S, Backoffs, go_duration
from steersman.objects.kinds.types.core_v1 import Container, Pod, PodSpec
from steersman.objects.pod_lifecycle import is_sidecar
from steersman.objects.pods import CONTAINER_STATUS_FIELDS, containers_of

__all__ = ["PodSteps"]


#: After a failure that says nothing about when to try again.
_RETRY_S: Final = 10.0
_MOUNT_BACKOFF: Final = Backoff(first_s=0.5, ceiling_s=120.0, jitter=0.0)
#: Every container gets this long, whatever is left of its pod's grace period.
_LEAST_GRACE_S: Final = 2
_PROBES: Final[Mapping[str, Literal["startupProbe", "livenessProbe"]]] = {
    "startup": "startupProbe",
    "liveness": "livenessProbe",
}


class PodSteps:
    """Carries out the actions for one pod."""

    __slots__ = ("_backoffs", "_host", "_puller", "_reasons", "_unmounted")

    def __init__(self, host: NodeContext) -> None:
        self._host = host
        # Most pods never fail: these are made when one does.
        self._reasons: dict[str, tuple[str, str]] | None = None
        self._backoffs: Backoffs | None = None
        self._puller: ImagePuller | None = None
        #: How often in a row volumes were not ready.
        self._unmounted = 0

    async def observe(self, uid: str) -> PodRuntime:
        """What the runtime has of the pod."""
        runtime = self._host.runtime
        return PodRuntime(await runtime.list_pod_sandboxes(uid), await runtime.list_containers(uid))

    def view(self, pod: Pod, runtime: PodRuntime) -> ObservedPod:
        health = self._host.prober.health(pod, runtime)
        return ObservedPod(pod, runtime, self._host.runtime.version().name, health, self._reasons or {})

    # --- starting

    async def take(self, view: ObservedPod, actions: Actions) -> float | None:
        """Do all of it. Returns after how long to look again, if something failed."""
        if actions.create_sandbox and view.runtime.sandboxes:
            self._host.events.normal(
                view.pod, "SandboxChanged", "Pod sandbox changed, it will be killed and re-created."
            )
            await self.stop(view.pod, view.runtime, _grace_s(view.pod))
            for old in view.runtime.sandboxes:
                await self._host.runtime.remove_pod_sandbox(old.id)
        for kill in actions.kill:
            await self._kill(view.pod, kill)
        for container, status in actions.resize:
            if not await self._resize(view.pod, container, status):
                return _RETRY_S
        sandbox = _sandbox_config(view.pod, actions.attempt)
        if actions.create_sandbox:
            try:
                await self._host.preparation.pod(view.pod)
            except MountFailed as failure:
                return self._not_mounted(view.pod, failure)
            self._unmounted = 0
            try:
                sandbox_id = await self._host.runtime.run_pod_sandbox(sandbox)
            except RuntimeFailed as error:
                self._host.events.warning(
                    view.pod, "FailedCreatePodSandBox", f"Failed to create pod sandbox: {error}"
                )
                return _RETRY_S
            # Its containers are told the addresses of this one.
            made = await self._host.runtime.list_pod_sandboxes(sandbox.uid)
            view = view._replace(runtime=replace(view.runtime, sandboxes=made))
        else:
            assert view.runtime.sandbox is not None
            sandbox_id = view.runtime.sandbox.id
        return await self._start_all(view, actions, sandbox_id, sandbox)

    async def _resize(self, pod: Pod, container: Container, status: ContainerStatus) -> bool:
        try:
            resources = container.get("resources") or {}
            await self._host.runtime.update_container_resources(status.id, resources)
        except RuntimeFailed as error:
            about = container_reference(pod, container)
            self._host.events.warning(about, "ResizeError", f"Error: {error}")
            return False
        return True

    def _not_mounted(self, pod: Pod, failure: MountFailed) -> float:
        for problem in failure.problems:
            self._host.events.warning(pod, "FailedMount", problem)
        self._unmounted += 1
        return _MOUNT_BACKOFF.wait_s(self._unmounted)

    async def _start_all(
        self, view: ObservedPod, actions: Actions, sandbox_id: str, sandbox: PodSandboxConfig
    ) -> float | None:
        retries: list[float] = []
        for container in (*actions.ephemeral, *actions.init, *actions.start):
            try:
                await self._start(view, container, sandbox_id, sandbox)
            except StartFailed as failure:
                if self._reasons is None:
                    self._reasons = {}
                self._reasons[container["name"]] = (failure.reason, failure.message)
                now = self._host.timers.clock.monotonic()
                retries.append(_RETRY_S if failure.retry_at is None else max(failure.retry_at - now, 0))
                if container in actions.init and not is_sidecar(container):
                    break
            else:
                if self._reasons is not None:
                    self._reasons.pop(container["name"], None)
        return min(retries, default=None)

    async def _start(
        self, view: ObservedPod, container: Container, sandbox_id: str, sandbox: PodSandboxConfig
    ) -> None:
        pod, name = view.pod, container["name"]
        history = [one for one in view.runtime.containers if one.name == name]
        self._wait_if_crashing(pod, container, history)
        about = container_reference(pod, container)
        image_ref = await self._image(about, container, sandbox)
        attempt = history[0].attempt + 1 if history else _lost_attempts(pod, name)
        awaited = not is_sidecar(container) and container in (pod["spec"].get("initContainers") or ())
        runtime, events = self._host.runtime, self._host.events
        try:
            prepared = await self._host.preparation.container(pod, container, view.runtime.ips)
        except StartFailed as failure:
            events.warning(about, "Failed", f"Error: {failure.message}")
            raise
        config = ContainerConfig(
            name, attempt, container.get("image", ""), image_ref, container, awaited,
            prepared.command, prepared.args, prepared.env, prepared.working_dir, prepared.mounts,
        )  # fmt: skip
        try:
            container_id = await runtime.create_container(sandbox_id, config)
        except RuntimeFailed as error:
            events.warning(about, "Failed", f"Error: {error}")
            raise StartFailed("CreateContainerError", str(error)) from error
        events.normal(about, "Created", "Container created")
        try:
            await runtime.start_container(container_id)
        except RuntimeFailed as error:
            events.warning(about, "Failed", f"Error: {error}")
            raise StartFailed("RunContainerError", str(error)) from error
        events.normal(about, "Started", "Container started")
        # The one before tells how it ended last; what was before that, nobody asks for.
        for older in history[1:]:
            await runtime.remove_container(older.id)
        await self._post_start(pod, container, container_id, about)

    def _wait_if_crashing(self, pod: Pod, container: Container, history: Sequence[ContainerStatus]) -> None:
        ended = next((one for one in history if one.state is ContainerState.EXITED), None)
        if ended is None:
            return
        if self._backoffs is None:
            self._backoffs = Backoffs(CONTAINER_FORGET_S)
        now, name = self._host.now(), container["name"]
        until = self._backoffs.until(name, ended.finished_at, now)
        if until is None:
            self._backoffs.advance(name, ended.finished_at, now)
            return
        metadata = pod["metadata"]
        known = f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"
        self._host.events.warning(
            container_reference(pod, container),
            "BackOff",
            f"Back-off restarting failed container {name} in pod {known}",
        )
        wait = go_duration(self._backoffs.wait_s(name))
        raise StartFailed(
            "CrashLoopBackOff",
            f"back-off {wait} restarting failed container={name} pod={known}",
            self._host.timers.clock.monotonic() + until - now,
        )

    async def _image(self, about: Mapping[str, Any], container: Container, sandbox: PodSandboxConfig) -> str:
        puller = self._puller or ImagePuller(self._host.images, self._host.events, self._host.timers.clock)
        try:
            return await puller.ensure(about, container, sandbox)
        except StartFailed as failure:
            self._host.events.warning(about, "Failed", f"Error: {failure.reason}")
            raise
        finally:
            self._puller = puller if puller.failing else None

    async def _post_start(
        self, pod: Pod, container: Container, container_id: str, about: Mapping[str, Any]
    ) -> None:
        handler = (container.get("lifecycle") or {}).get("postStart")
        if handler is None:
            return
        try:
            await self._host.hooks.run(pod, container, container_id, handler)
        except RuntimeFailed as error:
            self._host.events.warning(about, "FailedPostStartHook", "PostStartHook failed")
            self._host.events.normal(about, "Killing", "FailedPostStartHook")
            await self._host.runtime.stop_container(container_id, _grace_s(pod))
            raise StartFailed("PostStartHookError", str(error)) from error

    # --- stopping

    async def _kill(self, pod: Pod, kill: Kill) -> None:
        await self._stop_one(
            pod, kill.container, kill.status, _grace_s(pod, kill.container, kill.reason), kill.message
        )

    async def stop(self, pod: Pod | None, runtime: PodRuntime, grace_s: int) -> None:
        """Stop all running containers: first those that do the work, then sidecars, the last one first."""
        spec: PodSpec = {} if pod is None else pod["spec"]
        specs = {one["name"]: one for one in containers_of(dict(spec))}
        sidecars = [one["name"] for one in spec.get("initContainers") or () if is_sidecar(one)]
        running = {one.name: one for one in runtime.running()}
        working = [one for name, one in running.items() if name not in sidecars]
        began = self._host.timers.clock.monotonic()
        async with Scope() as scope:
            others = [
                scope.start(self._stop_one(pod, specs.get(one.name), one, grace_s)) for one in working[1:]
            ]
            if working:
                # The first in this very task: most pods have no other.
                await self._stop_one(pod, specs.get(working[0].name), working[0], grace_s)
            if others:
                await asyncio.wait(others)
        for name in reversed(sidecars):
            if name in running:
                left_s = grace_s - int(self._host.timers.clock.monotonic() - began)
                await self._stop_one(pod, specs[name], running[name], left_s)

    async def _stop_one(
        self,
        pod: Pod | None,
        container: Container | None,
        status: ContainerStatus,
        grace_s: int,
        message: str = "",
    ) -> None:
        if pod is not None and container is not None:
            about = container_reference(pod, container)
            self._host.events.normal(about, "Killing", message or f"Stopping container {status.name}")
            if (container.get("lifecycle") or {}).get("preStop") is not None and grace_s > 0:
                grace_s -= await self._pre_stop(pod, container, status, grace_s)
        await self._host.runtime.stop_container(status.id, max(grace_s, _LEAST_GRACE_S))

    async def _pre_stop(self, pod: Pod, container: Container, status: ContainerStatus, grace_s: int) -> int:
        """Run the hook for as long as there is time; returns how long it took."""
        clock = self._host.timers.clock
        began = clock.monotonic()

        async def hook() -> None:
            try:
                await self._host.hooks.run(pod, container, status.id, container["lifecycle"]["preStop"])
            except RuntimeFailed:
                about = container_reference(pod, container)
                self._host.events.warning(about, "FailedPreStopHook", "PreStopHook failed")

        await first_of(hook(), clock.sleep(grace_s))
        return int(clock.monotonic() - began)


def _grace_s(
    pod: Pod, container: Container | None = None, reason: Literal["", "startup", "liveness"] = ""
) -> int:
    """How long a container may take to end; a probe may have its own opinion."""
    probe = container.get(_PROBES[reason]) if container is not None and reason else None
    own = probe.get("terminationGracePeriodSeconds") if probe else None
    return own if own is not None else pod["spec"].get("terminationGracePeriodSeconds") or 0


def _lost_attempts(pod: Pod, name: str) -> int:
    """How often the container was started before, by runtimes that do not know it any more."""
    status = pod.get("status") or {}
    for field in CONTAINER_STATUS_FIELDS:
        for one in status.get(field) or ():
            if one["name"] == name and one.get("containerID"):
                return int(one.get("restartCount", 0)) + 1
    return 0


def _sandbox_config(pod: Pod, attempt: int) -> PodSandboxConfig:
    metadata = pod["metadata"]
    return PodSandboxConfig(
        metadata["uid"],
        metadata["namespace"],
        metadata["name"],
        attempt,
        host_network=bool(pod["spec"].get("hostNetwork")),
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
    )
