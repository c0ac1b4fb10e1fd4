"""The process runtime's in-memory state of pods and containers."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from steersman.cluster.node.cri import ContainerState, ContainerStatus, PodSandboxStatus
from steersman.cluster.node.process.keeper.messages import Spec
from steersman.cluster.node.process.records import ContainerRecord, SandboxRecord, StateRecord
from steersman.objects.kinds.types.core_v1 import ResourceRequirements

__all__ = ["KILLED", "KeptContainer", "KeptPod"]

#: How a container ended of which nothing else is known: 128 + SIGKILL.
KILLED: Final = 137
_START_ERROR: Final = 128


class KeptContainer:
    """A container of the process runtime."""

    __slots__ = ("_ended", "group", "pid", "record", "spec", "starting", "status", "uid")

    def __init__(self, uid: str, record: ContainerRecord, spec: Spec | None = None) -> None:
        self.uid = uid
        self.record = record
        #: What to start; gone once it was.
        self.spec = spec
        #: While the keeper is asked to start it, whoever waits for that.
        self.starting: asyncio.Task[Any] | None = None
        self.pid = 0
        self.group = ""
        self._ended: asyncio.Future[int] | None = None
        self.status = ContainerStatus(
            id=record.id,
            sandbox_id=record.sandbox_id,
            name=record.name,
            attempt=record.attempt,
            state=ContainerState.CREATED,
            image=record.image,
            image_ref=record.image_ref,
            created_at=record.created_at,
            resources=record.resources,
        )

    @property
    def running(self) -> bool:
        return self.status.state is ContainerState.RUNNING

    def ended(self) -> asyncio.Future[int]:
        """Its exit code, once there is one. Not to be cancelled: shield it."""
        if self._ended is None:
            self._ended = asyncio.get_running_loop().create_future()
            if self.status.state is ContainerState.EXITED:
                self._ended.set_result(self.status.exit_code)
        return self._ended

    def now_runs(self, state: StateRecord) -> None:
        self.spec = None
        self.pid, self.group = state.pid, state.group
        self.status = replace(self.status, state=ContainerState.RUNNING, started_at=state.started)

    def now_has(self, resources: ResourceRequirements) -> None:
        self.record = msgspec.structs.replace(self.record, resources=dict(resources))
        self.status = replace(self.status, resources=self.record.resources)

    def has_ended(self, state: StateRecord, message: str) -> None:
        reason = "OOMKilled" if state.oom else "Completed" if state.code == 0 else "Error"
        self._end(state.code, reason, message, state.started, state.finished)

    def did_not_start(self, problem: str, at: float) -> None:
        self._end(_START_ERROR, "StartError", problem, 0.0, at)

    def _end(self, code: int, reason: str, message: str, started_at: float, finished_at: float) -> None:
        self.spec = None
        self.status = replace(
            self.status, state=ContainerState.EXITED, exit_code=code, reason=reason, message=message,
            started_at=started_at, finished_at=finished_at,
        )  # fmt: skip
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(code)


@dataclass(slots=True)
class KeptPod:
    """A pod of the process runtime."""

    sandbox: SandboxRecord
    #: The newest first.
    containers: list[KeptContainer] = field(default_factory=list)

    def status(self) -> PodSandboxStatus:
        one = self.sandbox
        return PodSandboxStatus(one.id, one.ready, one.attempt, one.created_at, one.ips)
