"""The interface of a container runtime, named after the calls of CRI (the Container Runtime Interface).

A runtime implements `RuntimeService` and `ImageService`; pod workers use nothing else. Errors are
`RuntimeFailed`. Times are seconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol

from steersman.objects.kinds.types.core_v1 import Container, ResourceRequirements
from steersman.objects.usage import Usage

__all__ = [
    "ContainerConfig",
    "ContainerEvent",
    "ContainerState",
    "ContainerStatus",
    "ExecResult",
    "ImageService",
    "ImageStatus",
    "Mount",
    "PodRuntime",
    "PodSandboxConfig",
    "PodSandboxStatus",
    "RuntimeService",
    "RuntimeVersion",
]


class ContainerState(StrEnum):
    """The state of a container in the runtime."""

    CREATED = "created"
    RUNNING = "running"
    EXITED = "exited"
    UNKNOWN = "unknown"


class RuntimeVersion(NamedTuple):
    """The runtime's name and version for the node's status, and the scheme of container IDs."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class PodSandboxConfig:
    """The configuration that containers of a pod share."""

    uid: str
    namespace: str
    name: str
    attempt: int = 0
    host_network: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PodSandboxStatus:
    """The status of a pod sandbox."""

    id: str
    ready: bool
    attempt: int
    created_at: float
    #: Empty for pods that use the node's own network.
    ips: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mount:
    """A file or folder of this machine mounted into a container."""

    container_path: str
    host_path: str
    readonly: bool = False


@dataclass(frozen=True, slots=True)
class ContainerConfig:
    """The configuration of a container to be created. `container` is its part of the pod's spec; whatever in
    it refers to other objects is resolved in the other fields.
    """

    name: str
    attempt: int
    image: str
    image_ref: str
    container: Container
    #: Whether the pod waits for its end, as for an init container's.
    awaited: bool = False
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    working_dir: str = ""
    mounts: tuple[Mount, ...] = ()


@dataclass(frozen=True, slots=True)
class ContainerStatus:
    """The status of a container."""

    id: str
    sandbox_id: str
    name: str
    attempt: int
    state: ContainerState
    image: str
    image_ref: str
    created_at: float
    started_at: float = 0.0
    finished_at: float = 0.0
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    #: What it was given last, as in its pod's spec; None: not known.
    resources: ResourceRequirements | None = None


class ContainerEvent(NamedTuple):
    """A change of a pod's containers, which triggers a sync of the pod."""

    pod_uid: str
    container_id: str


class ExecResult(NamedTuple):
    """The exit code and output of a command run in a container."""

    exit_code: int
    stdout: bytes
    stderr: bytes


@dataclass(frozen=True, slots=True)
class ImageStatus:
    """An image on the node."""

    id: str
    size_bytes: int
    names: tuple[str, ...]


class RuntimeService(Protocol):
    """The pod sandboxes and containers of one node."""

    def version(self) -> RuntimeVersion: ...

    def subscribe(self, listener: Callable[[ContainerEvent], None]) -> None:
        """Have `listener` hear of every change that was not asked for, and of those that were."""
        ...

    async def run_pod_sandbox(self, config: PodSandboxConfig) -> str: ...

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        """Free what the sandbox holds; containers still running in it are killed."""
        ...

    async def remove_pod_sandbox(self, sandbox_id: str) -> None:
        """Forget a sandbox and its containers."""
        ...

    async def list_pod_sandboxes(self, pod_uid: str) -> Sequence[PodSandboxStatus]:
        """A pod's sandboxes, the newest first."""
        ...

    async def create_container(self, sandbox_id: str, config: ContainerConfig) -> str: ...

    async def start_container(self, container_id: str) -> None: ...

    async def stop_container(self, container_id: str, timeout_s: float) -> None:
        """Ask it to end, kill it after `timeout_s`; returns when it has ended. Asking again may only be
        sooner."""
        ...

    async def update_container_resources(self, container_id: str, resources: ResourceRequirements) -> None:
        """Have a running container go on with these requests and limits."""
        ...

    async def remove_container(self, container_id: str) -> None: ...

    async def list_containers(self, pod_uid: str) -> Sequence[ContainerStatus]:
        """A pod's containers, the newest first."""
        ...

    async def exec_sync(self, container_id: str, command: Sequence[str], timeout_s: float) -> ExecResult: ...

    def pod_sandbox_stats(self, pod_uid: str) -> Mapping[str, Usage]:
        """What a pod's running containers use, by name."""
        ...


class ImageService(Protocol):
    """The images of one node."""

    def name_problem(self, image: str) -> str:
        """Why nothing could be an image of this name; empty if something could."""
        ...

    async def image_status(self, image: str) -> ImageStatus | None: ...

    async def pull_image(self, image: str, sandbox: PodSandboxConfig, container: str) -> ImageStatus:
        """Fetch an image on behalf of a pod's container."""
        ...

    async def remove_image(self, image: str) -> None: ...

    def list_images(self) -> Sequence[ImageStatus]: ...


@dataclass(frozen=True, slots=True)
class PodRuntime:
    """The sandbox and containers that the runtime has for a pod."""

    sandboxes: Sequence[PodSandboxStatus] = ()
    containers: Sequence[ContainerStatus] = ()

    @property
    def sandbox(self) -> PodSandboxStatus | None:
        """The sandbox that containers run in, if one is ready."""
        newest = self.sandboxes[0] if self.sandboxes else None
        return newest if newest is not None and newest.ready else None

    @property
    def ips(self) -> tuple[str, ...]:
        return self.sandboxes[0].ips if self.sandboxes else ()

    def latest(self, name: str) -> ContainerStatus | None:
        """The newest container of this name."""
        return next((one for one in self.containers if one.name == name), None)

    def active(self, name: str) -> ContainerStatus | None:
        """The newest container of this name in the newest sandbox."""
        current = self.sandboxes[0].id if self.sandboxes else ""
        return next((one for one in self.containers if one.name == name and one.sandbox_id == current), None)

    def running(self) -> list[ContainerStatus]:
        return [one for one in self.containers if one.state is ContainerState.RUNNING]
