"""The process runtime: implements CRI with processes of this machine.

`ProcessRuntime` is the agent's side. Containers are children of the node's keeper, a process of its own, so
that they outlive the agent; what is known of them is in files (`records`) and in the keeper, and `run` finds
it again. Calls before that wait.

| what dies   | what happens                                                                              |
|-------------|-------------------------------------------------------------------------------------------|
| the agent   | nothing; the next one goes on where it was                                                 |
| the keeper  | the kernel kills its containers; the agent starts another keeper and reports their exits   |
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import logging
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import msgspec

from steersman.aio import Backoff, Clock, Scope
from steersman.aio.mistakes import is_mistake
from steersman.cluster.machine.errors import MachineError
from steersman.cluster.node.cri import (
    ContainerConfig,
    ContainerEvent,
    ContainerState,
    ContainerStatus,
    ExecResult,
    PodSandboxConfig,
    PodSandboxStatus,
    RuntimeVersion,
)
from steersman.cluster.node.errors import NotHere, RuntimeFailed
from steersman.cluster.node.process.errors import KeeperGone
from steersman.cluster.node.process.identities import identity_of
from steersman.cluster.node.process.image_store import ProcessImages
from steersman.cluster.node.process.keeper.messages import Event, HelloAnswer, Spec
from steersman.cluster.node.process.link import KeeperLink, start_keeper
from steersman.cluster.node.process.plans import (
    LINKED_ROOT,
    LINKS,
    MESSAGE_FILE,
    launch_spec,
    limits_of,
    linked,
    mounts_of,
    stop_signal,
)
from steersman.cluster.node.process.pods import KILLED, KeptContainer, KeptPod
from steersman.cluster.node.process.port_conflicts import conflicting_port
from steersman.cluster.node.process.records import ContainerRecord, Records, SandboxRecord, StateRecord
from steersman.cluster.node.process.streams import Streams
from steersman.cluster.node.process.termination import last_words
from steersman.cluster.node.process.usage import UsageMeter
from steersman.cluster.node.streaming import Session
from steersman.objects.fields import quote
from steersman.objects.kinds.types.core_v1 import Pod, ResourceRequirements
from steersman.objects.usage import Usage

__all__ = ["NAME", "Addresses", "EngineConfig", "Isolation", "ProcessRuntime"]

_log = logging.getLogger(__name__)

NAME: Final = "process"
_VERSION: Final = RuntimeVersion(NAME, "1")
_RETRY: Final = Backoff(first_s=0.1, ceiling_s=10.0)
#: How long containers have to end when the node stops for good.
_LEAVE_S: Final = 2.0


#: How far containers are kept apart from the machine: as far as it allows, as if this were not root, not at
#: all. What each means for files is in `keeper.roots`; control groups are used with the first only.
Isolation = Literal["best", "mirror", "none"]


class Addresses(Protocol):
    """Allocates pod addresses. Errors are `MachineError`."""

    async def take(self, owner: str) -> str: ...

    async def keep(self, address: str, owner: str = "") -> None: ...

    async def free(self, address: str) -> None: ...


class EngineConfig(msgspec.Struct, frozen=True):
    """The configuration of the process runtime."""

    #: The node's own: files, logs, the keeper's socket.
    folder: Path
    #: For how long containers go on without an agent; 0: for ever.
    alone_s: float = 0.0
    isolation: Isolation = "best"
    #: The folder where the proxy says what answers elsewhere (`proxy.stand_ins`), if it may not have all.
    stand_ins: Path | None = None


class ProcessRuntime:
    """`RuntimeService` and `StreamingService` over the processes of one node."""

    def __init__(
        self,
        config: EngineConfig,
        images: ProcessImages,
        addresses: Addresses,
        clock: Clock,
        *,
        on_port_conflict: Callable[[str, str, int], None] = lambda *_: None,
    ) -> None:
        """`on_port_conflict` is told the pod's uid, the container and the port (0: unknown) when a container
        ended because somebody else has the port."""
        self._config = config
        self._images = images
        self._addresses = addresses
        self._clock = clock
        self._on_port_conflict = on_port_conflict
        self._listener: Callable[[ContainerEvent], None] = lambda _: None
        self._records = Records(config.folder)
        self._tag = hashlib.sha256(str(config.folder.resolve()).encode()).hexdigest()[:12]
        self._pods: dict[str, KeptPod] = {}
        self._containers: dict[str, KeptContainer] = {}
        #: Sandbox → pod.
        self._sandboxes: dict[str, str] = {}
        #: Security contexts of pods that have one.
        self._security: dict[str, Mapping[str, Any]] = {}
        self._usage = UsageMeter()
        self._link: KeeperLink | None = None
        self._connected = asyncio.Event()
        self._scope: Scope | None = None
        self._leaving = False
        self._streams = Streams(self._keeper)
        #: How containers come to see their files: a kind of `keeper.roots`.
        self.roots = LINKS
        self._controllers: Sequence[str] = ()
        #: What keeps the engine from working.
        self.problem = "the process engine has not been started"

    # --- life

    async def run(self, *, stop_pods: Callable[[], bool] = lambda: False) -> None:
        """Work until cancelled. Then containers go on without this process, unless `stop_pods` says to end
        them."""
        async with Scope(on_error=_report) as self._scope:
            try:
                await self._connect()
                await asyncio.get_running_loop().create_future()
            finally:
                await self._leave(stop_pods=stop_pods())

    async def _leave(self, *, stop_pods: bool) -> None:
        self._leaving = True
        # Who would hear of ends has left, or is leaving.
        self._listener = lambda _: None
        link = self._link
        if link is None and stop_pods:
            # There may be a keeper all the same: one that was just started, or that was not asked yet.
            with contextlib.suppress(OSError):
                link = KeeperLink.connect(self._config.folder, lambda _: None, lambda _: None)
        if link is None:
            return
        if stop_pods:
            running = [one.record.id for one in self._containers.values() if one.running]
            await asyncio.gather(*(self.stop_container(one, _LEAVE_S) for one in running))
            try:
                await link.call("shutdown")
                await link.wait_closed()
            except KeeperGone:
                _log.debug("the keeper process ended before it was stopped")
        link.close()
        self._link = None
        self._connected.clear()
        self._streams.lost()

    async def _connect(self) -> None:
        """Have a keeper and know what it has, however often it takes."""
        for failures in itertools.count(1):
            try:
                await self._connect_once()
            except Exception as error:  # noqa: BLE001 - whatever it is, nothing runs without a keeper
                self.problem = str(error)
                if failures > 1:
                    unforeseen = error if is_mistake(error) else None
                    _log.warning("no keeper for %s: %s", self._config.folder, error, exc_info=unforeseen)
                await self._clock.sleep(_RETRY.wait_s(failures))
            else:
                return

    async def _connect_once(self) -> None:
        folder = self._config.folder
        try:
            link = KeeperLink.connect(folder, self._on_event, self._on_lost)
        except OSError:
            config = self._config
            await start_keeper(folder, self._tag, alone_s=config.alone_s, isolation=config.isolation)
            link = KeeperLink.connect(folder, self._on_event, self._on_lost)
        try:
            await self._learn_all(await link.call("hello"))
            if not link.open:
                raise KeeperGone("the keeper process ended while it listed its containers")
        except BaseException:
            link.close()
            raise
        self._link = link
        self.problem = ""
        self._connected.set()

    async def _learn_all(self, hello: HelloAnswer) -> None:
        if self.problem:
            _log.info("containers of %s use %s for their file systems", self._config.folder, hello["roots"])
        self.roots, self._controllers = hello["roots"], tuple(hello["controllers"])
        await self._recover({one["id"]: msgspec.convert(one, StateRecord) for one in hello["containers"]})

    def _on_lost(self, link: KeeperLink) -> None:
        if link is not self._link:
            # Whoever is connecting finds out.
            return
        self._link = None
        self._connected.clear()
        self._streams.lost()
        if self._scope is not None and not self._leaving:
            _log.warning(
                "the keeper process of %s has ended, and its containers with it", self._config.folder
            )
            self._scope.start(self._connect())

    async def _keeper(self) -> KeeperLink:
        while self._link is None:
            await self._connected.wait()
        return self._link

    async def wait_ready(self) -> None:
        """Return when the engine works and knows what it has."""
        await self._keeper()

    # --- knowing again

    async def _recover(self, states: Mapping[str, StateRecord]) -> None:
        """Know what there is: from files what this process does not know, from the keeper what has become of
        it."""
        for uid in await asyncio.to_thread(self._records.uids):
            if uid not in self._pods and (sandbox := self._records.sandbox(uid)) is not None:
                await self._recall(uid, sandbox)
        for kept in list(self._containers.values()):
            if kept.status.state is ContainerState.EXITED:
                continue
            state = states.get(kept.record.id)
            if state is None and kept.spec is None:
                state = self._lost_state(kept)
            if state is not None:
                self._learn(kept, state)

    async def _recall(self, uid: str, sandbox: SandboxRecord) -> None:
        pod = self._pods[uid] = KeptPod(sandbox)
        self._sandboxes[sandbox.id] = uid
        for address in sandbox.ips if sandbox.ready else ():
            try:
                await self._addresses.keep(address, uid)
            except MachineError as error:
                _log.warning("pod %s cannot keep its address: %s", uid, error)
                pod.sandbox = msgspec.structs.replace(sandbox, ready=False)
        for record, _ in self._records.containers(uid):
            kept = self._containers[record.id] = KeptContainer(uid, record)
            if record.problem:
                kept.did_not_start(record.problem, record.failed_at)
            pod.containers.append(kept)
        pod.containers.sort(key=lambda one: one.record.created_at, reverse=True)

    def _lost_state(self, kept: KeptContainer) -> StateRecord | None:
        """What a keeper that is no more has left of a container; None if it never started it."""
        state = next(
            (state for record, state in self._records.containers(kept.uid) if record.id == kept.record.id),
            None,
        )
        if state is None or state.state == "exited":
            return state
        return msgspec.structs.replace(state, state="exited", code=KILLED, finished=self._clock.wall())

    def _learn(self, kept: KeptContainer, state: StateRecord) -> None:
        """Something has become of a container."""
        if kept.status.state is ContainerState.EXITED:
            return
        if state.state != "exited":
            kept.now_runs(state)
        else:
            kept.has_ended(state, self._last_words(kept, state.code))
            self._usage.forget(kept.record.id)
            self._check_for_conflict(kept)
        self._listener(ContainerEvent(kept.uid, kept.record.id))

    def _last_words(self, kept: KeptContainer, code: int) -> str:
        folder = self._records.container_folder(kept.uid, kept.record.id)
        log = self._records.log_path(kept.uid, kept.record)
        fall_back = kept.record.fall_back_to_logs
        return last_words(folder / MESSAGE_FILE, log, code, fall_back_to_logs=fall_back)

    def _check_for_conflict(self, kept: KeptContainer) -> None:
        port = conflicting_port(kept.status, kept.record.ports, self._records.log_path(kept.uid, kept.record))
        if port is not None:
            self._on_port_conflict(kept.uid, kept.record.name, port)

    def _on_event(self, event: Event) -> None:
        if event["event"] == "exec_exit":
            self._streams.exec_ended(event["exec"], event["code"])
        elif (kept := self._containers.get(event["id"])) is not None:
            self._learn(kept, msgspec.convert(event, StateRecord))

    async def forget_unknown(self, known_uids: Collection[str]) -> None:
        """End and remove everything of pods that are not known any more."""
        await self.wait_ready()
        # Looked for before anything is waited for: pods that come meanwhile are not among them.
        unknown = [pod for uid, pod in self._pods.items() if uid not in known_uids]
        folders = [uid for uid in self._records.uids() if uid not in known_uids]
        for pod in unknown:
            _log.info("pod %s/%s is no longer known", pod.sandbox.namespace, pod.sandbox.name)
            try:
                await self.remove_pod_sandbox(pod.sandbox.id)
            except RuntimeFailed as error:
                _log.warning("pod %s could not be removed: %s", pod.sandbox.uid, error)
        for uid in folders:
            await asyncio.to_thread(self._records.remove_everything, uid)

    # --- as a runtime

    def version(self) -> RuntimeVersion:
        return _VERSION

    def subscribe(self, listener: Callable[[ContainerEvent], None]) -> None:
        self._listener = listener

    def notice(self, pod: Pod) -> None:
        """A pod is as given now; what of it is not its containers' own is remembered."""
        if context := pod["spec"].get("securityContext"):
            self._security[pod["metadata"]["uid"]] = context

    async def run_pod_sandbox(self, config: PodSandboxConfig) -> str:
        await self._keeper()
        ips: tuple[str, ...] = ()
        if not config.host_network:
            try:
                ips = (await self._addresses.take(config.uid),)
            except MachineError as error:
                raise RuntimeFailed(str(error)) from error
        sandbox = SandboxRecord(
            secrets.token_hex(32), config.uid, config.namespace, config.name, config.attempt,
            self._clock.wall(), True, ips, config.host_network,
        )  # fmt: skip
        self._records.keep_sandbox(sandbox)
        self._pods[config.uid] = KeptPod(sandbox)
        self._sandboxes[sandbox.id] = config.uid
        return sandbox.id

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        await self._keeper()
        pod = self._pod(sandbox_id)
        if running := [one for one in pod.containers if one.running or one.starting is not None]:
            await asyncio.gather(*(self.stop_container(one.record.id, 0) for one in running))
        if not pod.sandbox.ready:
            return
        pod.sandbox = msgspec.structs.replace(pod.sandbox, ready=False)
        self._records.keep_sandbox(pod.sandbox)
        for address in pod.sandbox.ips:
            try:
                await self._addresses.free(address)
            except MachineError as error:
                _log.warning("address %s of pod %s was not freed: %s", address, pod.sandbox.uid, error)

    async def remove_pod_sandbox(self, sandbox_id: str) -> None:
        await self.stop_pod_sandbox(sandbox_id)
        pod = self._pod(sandbox_id)
        uid = pod.sandbox.uid
        for kept in list(pod.containers):
            await self._forget(kept)
        await asyncio.to_thread(self._records.remove_pod, uid)
        self._pods.pop(uid, None)
        self._sandboxes.pop(sandbox_id, None)
        self._security.pop(uid, None)

    async def list_pod_sandboxes(self, pod_uid: str) -> Sequence[PodSandboxStatus]:
        await self._known()
        pod = self._pods.get(pod_uid)
        return () if pod is None else (pod.status(),)

    async def list_containers(self, pod_uid: str) -> Sequence[ContainerStatus]:
        await self._known()
        pod = self._pods.get(pod_uid)
        return () if pod is None else tuple(one.status for one in pod.containers)

    async def _known(self) -> None:
        """Return when it is known what there is; what was known stays so while the keeper is away."""
        if not self._pods:
            await self._keeper()

    async def create_container(self, sandbox_id: str, config: ContainerConfig) -> str:
        await self._keeper()
        pod = self._pod(sandbox_id)
        image = self._images.resolve(config.image)
        sandbox, container = pod.sandbox, config.container
        known = quote(f"{sandbox.name}_{sandbox.namespace}({sandbox.uid})")
        who = identity_of(
            container.get("securityContext") or {},
            self._security.get(sandbox.uid) or {},
            image.config.user,
            image.accounts,
            about=f"pod: {known}, container: {config.name}",
        )
        record = ContainerRecord(
            id=secrets.token_hex(32),
            sandbox_id=sandbox_id,
            name=config.name,
            attempt=config.attempt,
            image=config.image,
            image_ref=config.image_ref,
            created_at=self._clock.wall(),
            stop_signal=stop_signal(config, image),
            fall_back_to_logs=container.get("terminationMessagePolicy") == "FallbackToLogsOnError",
            tty=bool(container.get("tty")),
            stdin_once=bool(container.get("stdinOnce")),
            ports=tuple(port["containerPort"] for port in container.get("ports") or ()),
            resources={**(container.get("resources") or {})},
        )
        folder = self._records.container_folder(sandbox.uid, record.id)
        if self.roots == LINKS:
            links = tuple(one.container_path for one in mounts_of(config, folder))
            record = msgspec.structs.replace(record, links=links)
        await self._prune(pod, config.name)
        self._records.make_container(sandbox.uid, record)
        _make_message_file(folder / MESSAGE_FILE)
        spec = launch_spec(
            record.id, config, image, who, folder=folder, log=self._records.log_path(sandbox.uid, record),
            tag=self._tag, roots=self.roots, controllers=self._controllers,
            pod_security=self._security.get(sandbox.uid), stand_ins=self._config.stand_ins,
        )  # fmt: skip
        kept = self._containers[record.id] = KeptContainer(sandbox.uid, record, spec)
        pod.containers.insert(0, kept)
        return record.id

    async def _prune(self, pod: KeptPod, name: str) -> None:
        """Of those that ended, the last one tells how; others need not be kept."""
        for older in [one for one in pod.containers if one.record.name == name][1:]:
            if not older.running:
                await self._remove(older)

    async def start_container(self, container_id: str) -> None:
        kept = self._container(container_id)
        if kept.spec is None:
            raise RuntimeFailed(f"container {container_id} was started before")
        assert self._scope is not None
        # Whoever waits may be cancelled; the container is started or not, and that is known in any case.
        starting = kept.starting = self._scope.start(self._start(kept, kept.spec))
        problem = await asyncio.shield(starting)
        if problem is not None:
            raise problem

    async def _start(self, kept: KeptContainer, spec: Spec) -> RuntimeFailed | None:
        try:
            return await self._ask_to_start(kept, spec)
        finally:
            kept.starting = None

    async def _ask_to_start(self, kept: KeptContainer, spec: Spec) -> RuntimeFailed | None:
        try:
            answer = await (await self._keeper()).call("start", spec=spec)
        except KeeperGone as error:
            return error
        except RuntimeFailed as error:
            problem = f"unable to start container process: {error}"
            kept.record = msgspec.structs.replace(kept.record, problem=problem, failed_at=self._clock.wall())
            self._records.keep_container(kept.uid, kept.record)
            kept.did_not_start(problem, kept.record.failed_at)
            return RuntimeFailed(problem)
        if kept.status.state is ContainerState.CREATED:
            self._learn(kept, msgspec.convert(answer["record"], StateRecord))
        return None

    async def stop_container(self, container_id: str, timeout_s: float) -> None:
        kept = self._containers.get(container_id)
        if kept is not None and kept.starting is not None:
            await asyncio.wait((kept.starting,))
        if kept is None or not kept.running:
            return
        link = await self._keeper()
        if kept.running:
            # If the keeper is gone by now, it is ended by that.
            with contextlib.suppress(KeeperGone):
                await link.call("stop", id=container_id, signal=kept.record.stop_signal, timeout=timeout_s)
        await asyncio.shield(kept.ended())

    async def update_container_resources(self, container_id: str, resources: ResourceRequirements) -> None:
        kept = self._container(container_id)
        link = await self._keeper()
        await link.call("update", id=container_id, **limits_of(resources, self._controllers))
        kept.now_has(resources)
        self._records.keep_container(kept.uid, kept.record)

    async def remove_container(self, container_id: str) -> None:
        kept = self._containers.get(container_id)
        if kept is not None:
            await self.stop_container(container_id, 0)
            await self._remove(kept)

    async def _remove(self, kept: KeptContainer) -> None:
        await self._forget(kept)
        await asyncio.to_thread(self._records.remove_container, kept.uid, kept.record)

    async def _forget(self, kept: KeptContainer) -> None:
        link = await self._keeper()
        # A keeper that is gone has forgotten everything.
        with contextlib.suppress(KeeperGone):
            await link.call("forget", id=kept.record.id)
        self._containers.pop(kept.record.id, None)
        pod = self._pods.get(kept.uid)
        if pod is not None and kept in pod.containers:
            pod.containers.remove(kept)
        self._usage.forget(kept.record.id)

    def pod_sandbox_stats(self, pod_uid: str) -> Mapping[str, Usage]:
        pod = self._pods.get(pod_uid)
        if pod is None:
            return {}
        return {
            one.record.name: self._usage.usage(one.record.id, one.pid, one.group, one.status.started_at)
            for one in pod.containers
            if one.running
        }

    # --- talking with what runs

    async def exec_sync(self, container_id: str, command: Sequence[str], timeout_s: float) -> ExecResult:
        kept = self._container(container_id)
        return await self._streams.exec_sync(kept, self._command(kept, command), timeout_s)

    async def exec(
        self, container_id: str, command: Sequence[str], *, stdin: bool = False, tty: bool = False
    ) -> Session:
        kept = self._container(container_id)
        return await self._streams.exec(kept, self._command(kept, command), stdin=stdin, tty=tty)

    def _command(self, kept: KeptContainer, command: Sequence[str]) -> Sequence[str]:
        if not kept.record.links:
            return command
        root = self._records.container_folder(kept.uid, kept.record.id) / LINKED_ROOT
        return [linked(one, root, kept.record.links) for one in command]

    async def attach(self, container_id: str, *, stdin: bool = False) -> Session:
        return await self._streams.attach(self._container(container_id), stdin=stdin)

    async def port_forward(
        self, sandbox_id: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        pod = self._pod(sandbox_id)
        address = pod.sandbox.ips[0] if pod.sandbox.ips else "127.0.0.1"
        try:
            return await asyncio.open_connection(address, port)
        except OSError as error:
            raise RuntimeFailed(
                f"failed to connect to {address}:{port}: {error.strerror or error}"
            ) from error

    def log_path(self, container_id: str) -> Path:
        kept = self._container(container_id)
        return self._records.log_path(kept.uid, kept.record)

    # --- finding things

    def _pod(self, sandbox_id: str) -> KeptPod:
        uid = self._sandboxes.get(sandbox_id)
        if uid is None:
            raise NotHere(f"there is no sandbox {sandbox_id}")
        return self._pods[uid]

    def _container(self, container_id: str) -> KeptContainer:
        kept = self._containers.get(container_id)
        if kept is None:
            raise NotHere(f"there is no container {container_id}")
        return kept


def _make_message_file(path: Path) -> None:
    """Whoever the container runs as may write to it."""
    path.touch()
    path.chmod(0o666)


def _report(error: BaseException) -> None:
    _log.error("something of the process engine failed", exc_info=error)
