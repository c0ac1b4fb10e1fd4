"""The simulated runtime: implements CRI with records and timers.

It implements `RuntimeService` and `Prober` for one node. What containers do is in `script`; time passes by
`Timers`, so a container that just runs costs nothing. State lives in memory only, but all of it is in the
pods' statuses too: `notice` restores it from there after a restart.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from steersman.cluster.node.cri import (
    ContainerConfig,
    ContainerEvent,
    ContainerState,
    ContainerStatus,
    ExecResult,
    PodRuntime,
    PodSandboxConfig,
    PodSandboxStatus,
    RuntimeVersion,
)
from steersman.cluster.node.errors import NotHere, RuntimeFailed
from steersman.cluster.node.health import HEALTHY, ContainerHealth
from steersman.cluster.node.simulated.addresses import SimulatedPodAddresses
from steersman.cluster.node.simulated.commands import CommandRun, life_of
from steersman.cluster.node.simulated.recovery import recovered
from steersman.cluster.node.simulated.script import NEVER, PREFIX, ContainerScript
from steersman.cluster.node.simulated.usage import usage_of
from steersman.cluster.node.timers import Timers
from steersman.objects.kinds.types.core_v1 import Container, Pod, ResourceRequirements
from steersman.objects.labels import annotations_of
from steersman.objects.pod_lifecycle import is_sidecar
from steersman.objects.pods import containers_of
from steersman.objects.usage import Usage

__all__ = ["NAME", "SimulatedRuntime"]

NAME: Final = "simulated"
_VERSION: Final = RuntimeVersion(NAME, "1")
_KILLED: Final = 137


#: What the pods of a Job carry, and how long their containers run unless scripted.
_JOB_LABEL: Final = "batch.kubernetes.io/job-name"
_JOB_S: Final = 1.0


class _Pod:
    """The state of a simulated pod."""

    __slots__ = ("annotations", "containers", "ends", "sandbox", "specs", "stopping")

    def __init__(
        self, sandbox: PodSandboxStatus, annotations: Mapping[str, str], labels: Mapping[str, str]
    ) -> None:
        self.sandbox = sandbox
        #: Whether it is there to come to an end, as a Job's pods are.
        self.ends = _JOB_LABEL in labels
        #: Only those that script something.
        self.annotations = _scripted(annotations)
        #: The newest first.
        self.containers: list[ContainerStatus] = []
        #: Parts of the pod's spec by container, for its probes and resources.
        self.specs: dict[str, Mapping[str, Any]] = {}
        #: Container → since when it was asked to end.
        self.stopping: dict[str, float] = {}


class SimulatedRuntime:
    """`RuntimeService` and `Prober` over simulated containers."""

    def __init__(
        self,
        timers: Timers,
        addresses: Callable[[], SimulatedPodAddresses],
        defaults: Mapping[str, str] | None = None,
    ) -> None:
        """`addresses` is called when the first pod needs one; `defaults` are of `ContainerScript`."""
        self._timers = timers
        self._make_addresses = addresses
        self._addresses: SimulatedPodAddresses | None = None
        self._defaults = defaults
        self._listener: Callable[[ContainerEvent], None] = lambda _: None
        self._pods: dict[str, _Pod] = {}
        #: Sandbox or container → pod.
        self._owners: dict[str, str] = {}

    def version(self) -> RuntimeVersion:
        return _VERSION

    def subscribe(self, listener: Callable[[ContainerEvent], None]) -> None:
        self._listener = listener

    def notice(self, pod: Pod) -> None:
        """A pod is as given now: know again what ran for it, or that it is scripted otherwise."""
        uid = pod["metadata"]["uid"]
        known = self._pods.get(uid)
        if known is None:
            self._recover(uid, pod)
            return
        annotations = _scripted(annotations_of(pod))
        if annotations != known.annotations:
            known.annotations = annotations
            for status in known.containers:
                if status.state is ContainerState.RUNNING:
                    self._schedule_health(uid, known, status)

    # --- sandboxes

    async def run_pod_sandbox(self, config: PodSandboxConfig) -> str:
        address = "" if config.host_network else self._pool().take()
        if not address and not config.host_network:
            raise RuntimeFailed("no IP addresses available in range set")
        sandbox_id = _new_id()
        ips = (address,) if address else ()
        sandbox = PodSandboxStatus(sandbox_id, True, config.attempt, self._now(), ips)
        self._pods[config.uid] = _Pod(sandbox, config.annotations, config.labels)
        self._owners[sandbox_id] = config.uid
        return sandbox_id

    def _pool(self) -> SimulatedPodAddresses:
        if self._addresses is None:
            self._addresses = self._make_addresses()
        return self._addresses

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        uid, pod = self._pod_of(sandbox_id)
        for status in list(pod.containers):
            if status.state is ContainerState.RUNNING:
                self._exit(uid, pod, status, _KILLED, "Error")
        if pod.sandbox.ready:
            pod.sandbox = replace(pod.sandbox, ready=False)
            for address in pod.sandbox.ips:
                self._pool().free(address)

    async def remove_pod_sandbox(self, sandbox_id: str) -> None:
        await self.stop_pod_sandbox(sandbox_id)
        uid, pod = self._pod_of(sandbox_id)
        for status in pod.containers:
            del self._owners[status.id]
        del self._owners[sandbox_id]
        del self._pods[uid]

    async def list_pod_sandboxes(self, pod_uid: str) -> Sequence[PodSandboxStatus]:
        pod = self._pods.get(pod_uid)
        return () if pod is None else (pod.sandbox,)

    # --- containers

    async def create_container(self, sandbox_id: str, config: ContainerConfig) -> str:
        uid, pod = self._pod_of(sandbox_id)
        if problem := self._script(pod, config.name).text("create-error"):
            raise RuntimeFailed(problem)
        status = ContainerStatus(
            id=_new_id(),
            sandbox_id=sandbox_id,
            name=config.name,
            attempt=config.attempt,
            state=ContainerState.CREATED,
            image=config.image,
            image_ref=config.image_ref,
            created_at=self._now(),
            resources=config.container.get("resources"),
        )
        pod.containers.insert(0, status)
        pod.specs[config.name] = _kept(config.container, awaited=config.awaited)
        self._owners[status.id] = uid
        return status.id

    async def start_container(self, container_id: str) -> None:
        uid, pod = self._pod_of(container_id)
        status = _find(pod, container_id)
        script = self._script(pod, status.name)
        if delay_s := script.seconds("start-time"):
            await self._timers.clock.sleep(delay_s)
        if problem := script.text("start-error"):
            ended = replace(
                status, state=ContainerState.EXITED, exit_code=128, reason="StartError", message=problem,
                finished_at=self._now(),
            )  # fmt: skip
            _put(pod, ended)
            raise RuntimeFailed(problem)
        running = replace(status, state=ContainerState.RUNNING, started_at=self._now())
        _put(pod, running)
        self._schedule(uid, pod, running)
        self._notify(uid, container_id)

    async def stop_container(self, container_id: str, timeout_s: float) -> None:
        try:
            uid, pod = self._pod_of(container_id)
        except NotHere:
            return
        if _find(pod, container_id).state is not ContainerState.RUNNING:
            return
        script = self._script(pod, _find(pod, container_id).name)
        since = pod.stopping.setdefault(container_id, self._timers.clock.monotonic())
        passed_s = self._timers.clock.monotonic() - since
        left_s = script.seconds("stop-time") - passed_s
        if left_s > 0:
            await self._timers.clock.sleep(min(left_s, timeout_s))
        # It may have ended, or been removed, while it was waited for.
        status = next((one for one in pod.containers if one.id == container_id), None)
        if status is not None and status.state is ContainerState.RUNNING:
            code = _KILLED if left_s > timeout_s else script.stop_code
            self._exit(uid, pod, status, code, "Completed" if code == 0 else "Error")

    async def update_container_resources(self, container_id: str, resources: ResourceRequirements) -> None:
        _, pod = self._pod_of(container_id)
        status = _find(pod, container_id)
        _put(pod, replace(status, resources=resources))
        pod.specs[status.name] = {**pod.specs[status.name], "resources": resources}

    async def remove_container(self, container_id: str) -> None:
        if self._owners.get(container_id) is None:
            return
        _, pod = self._pod_of(container_id)
        pod.containers = [one for one in pod.containers if one.id != container_id]
        del self._owners[container_id]

    async def list_containers(self, pod_uid: str) -> Sequence[ContainerStatus]:
        pod = self._pods.get(pod_uid)
        return () if pod is None else tuple(pod.containers)

    async def exec_sync(self, container_id: str, command: Sequence[str], timeout_s: float) -> ExecResult:
        """Nothing runs, and that always works."""
        self._pod_of(container_id)
        return ExecResult(0, b"", b"")

    def pod_sandbox_stats(self, pod_uid: str) -> Mapping[str, Usage]:
        pod = self._pods.get(pod_uid)
        if pod is None:
            return {}
        return {
            status.name: usage_of(self._script(pod, status.name), pod.specs.get(status.name) or {})
            for status in pod.containers
            if status.state is ContainerState.RUNNING
        }

    # --- as a prober

    def health(self, pod: Pod, runtime: PodRuntime) -> Mapping[str, ContainerHealth]:
        known = self._pods.get(pod["metadata"]["uid"])
        specs = {container["name"]: container for container in containers_of(pod["spec"])}
        return {
            status.id: HEALTHY if known is None else self._health(known, specs[status.name], status)
            for status in runtime.running()
            if status.name in specs
        }

    def ended(self, uid: str) -> None:
        return None

    def _health(self, pod: _Pod, container: Container, status: ContainerStatus) -> ContainerHealth:
        script = self._script(pod, status.name)
        ran_s = self._now() - status.started_at
        started = ran_s >= script.probe_s("started-after", container.get("startupProbe"))
        ready = ran_s >= script.probe_s("ready-after", container.get("readinessProbe"))
        failed = ran_s >= script.seconds("unhealthy-after", NEVER)
        return ContainerHealth(started, ready, "liveness" if failed and started else "")

    # --- after a restart

    def _recover(self, uid: str, pod: Pod) -> None:
        found = recovered(pod, NAME)
        if found is None:
            return
        sandbox, containers = found
        metadata = pod["metadata"]
        kept = _Pod(sandbox, metadata.get("annotations") or {}, metadata.get("labels") or {})
        kept.containers = containers
        for spec in containers_of(dict(pod["spec"])):
            awaited = spec in (pod["spec"].get("initContainers") or ()) and not is_sidecar(spec)
            kept.specs[spec["name"]] = _kept(spec, awaited=awaited)
        self._pods[uid] = kept
        self._owners[sandbox.id] = uid
        for address in sandbox.ips:
            self._pool().keep(address)
        for status in containers:
            self._owners[status.id] = uid
            if status.state is ContainerState.RUNNING:
                self._schedule(uid, kept, status)

    # --- what happens by itself

    def _schedule(self, uid: str, pod: _Pod, status: ContainerStatus) -> None:
        """Have done to a container that was just started whatever will happen to it."""
        spec = pod.specs.get(status.name) or {}
        usual_s = 0.0 if spec.get("awaited") else _JOB_S if pod.ends else NEVER
        if "life" in spec:
            usual_s = spec["life"].run_s
        run_s = self._script(pod, status.name).seconds("run-time", usual_s)
        if run_s != NEVER:
            left_s = max(run_s - (self._now() - status.started_at), 0)
            self._timers.after(left_s, (status.id, "exit"), lambda: self._end(uid, status.id))
        self._schedule_health(uid, pod, status)

    def _schedule_health(self, uid: str, pod: _Pod, status: ContainerStatus) -> None:
        script, spec = self._script(pod, status.name), pod.specs.get(status.name) or {}
        moments = {
            "started-after": script.probe_s("started-after", spec.get("startupProbe")),
            "ready-after": script.probe_s("ready-after", spec.get("readinessProbe")),
            "unhealthy-after": script.seconds("unhealthy-after", NEVER),
        }
        ran_s = self._now() - status.started_at
        for what, moment_s in moments.items():
            self._timers.cancel((status.id, what))
            if ran_s < moment_s < NEVER:
                call = lambda: self._notify(uid, status.id)  # noqa: E731 - one for each
                self._timers.after(moment_s - ran_s, (status.id, what), call)

    def _end(self, uid: str, container_id: str) -> None:
        """A container ends by itself."""
        pod = self._pods.get(uid)
        status = (
            None if pod is None else next((one for one in pod.containers if one.id == container_id), None)
        )
        if pod is None or status is None or status.state is not ContainerState.RUNNING:
            return
        script = self._script(pod, status.name)
        life: CommandRun | None = (pod.specs.get(status.name) or {}).get("life")
        code = script.exit_code(status.attempt, 0 if life is None else life.code)
        reason = script.text("exit-reason") or ("Completed" if code == 0 else "Error")
        self._exit(uid, pod, status, code, reason, script.text("message"))

    def _exit(
        self, uid: str, pod: _Pod, status: ContainerStatus, code: int, reason: str, message: str = ""
    ) -> None:
        ended = replace(
            status, state=ContainerState.EXITED, exit_code=code, reason=reason, message=message,
            finished_at=self._now(),
        )  # fmt: skip
        _put(pod, ended)
        pod.stopping.pop(status.id, None)
        for what in ("exit", "started-after", "ready-after", "unhealthy-after"):
            self._timers.cancel((status.id, what))
        self._notify(uid, status.id)

    # --- finding things

    def _now(self) -> float:
        return self._timers.clock.wall()

    def _script(self, pod: _Pod, container: str) -> ContainerScript:
        return ContainerScript(pod.annotations, container, self._defaults)

    def _notify(self, uid: str, container_id: str) -> None:
        self._listener(ContainerEvent(uid, container_id))

    def _pod_of(self, some_id: str) -> tuple[str, _Pod]:
        uid = self._owners.get(some_id)
        if uid is None:
            raise NotHere(f"there is no sandbox or container {some_id}")
        return uid, self._pods[uid]


def _find(pod: _Pod, container_id: str) -> ContainerStatus:
    return next(one for one in pod.containers if one.id == container_id)


def _put(pod: _Pod, status: ContainerStatus) -> None:
    pod.containers = [status if one.id == status.id else one for one in pod.containers]


def _scripted(annotations: Mapping[str, str]) -> dict[str, str]:
    """Those annotations that say what containers do."""
    return {name: value for name, value in annotations.items() if PREFIX in name}


#: The fields of a container that are looked at later.
_KEPT: Final = ("startupProbe", "readinessProbe", "resources")


def _kept(container: Container, *, awaited: bool) -> Mapping[str, Any]:
    """The part of a container's spec that the engine looks at later."""
    given: Mapping[str, Any] = container
    kept = {name: given[name] for name in _KEPT if given.get(name)}
    if awaited:
        kept["awaited"] = True
    if (life := life_of(container)) is not None:
        kept["life"] = life
    return kept


def _new_id() -> str:
    return secrets.token_hex(32)
