"""What controllers look at in a pod, and what it means: active, ready, available.

`PodState` is a pod decoded as far as controllers need it, which costs a fraction of the whole. Pure; used
by every controller that has pods.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final

import msgspec

from steersman.objects.times import parse_time
from steersman.runtime import Cached, Key

__all__ = [
    "Container",
    "ContainerStatus",
    "OwnerReference",
    "PodState",
    "Volume",
    "matters_to_owner",
    "next_availability_s",
]

_TERMINAL: Final = ("Succeeded", "Failed")


class OwnerReference(msgspec.Struct, rename={"api_version": "apiVersion"}):
    """Whoever an object belongs to."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: msgspec.Raw = msgspec.Raw(b"null")
    owner_references: list[OwnerReference] | None = None


class Container(msgspec.Struct, rename="camel"):
    name: str = ""
    restart_policy: str | None = None


class _ClaimSource(msgspec.Struct, rename="camel"):
    claim_name: str = ""


class Volume(msgspec.Struct, rename="camel"):
    name: str = ""
    persistent_volume_claim: _ClaimSource | None = None


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""
    volumes: list[Volume] | None = None
    affinity: msgspec.Raw = msgspec.Raw(b"null")
    init_containers: list[Container] | None = None


class _Condition(msgspec.Struct, rename="camel"):
    type: str = ""
    status: str = ""
    last_transition_time: str | None = None


class ContainerStatus(msgspec.Struct, rename="camel"):
    name: str = ""
    restart_count: int = 0


class _Status(msgspec.Struct, rename="camel"):
    phase: str = ""
    conditions: list[_Condition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None


class PodState(msgspec.Struct):
    """A pod as controllers see it. Never changed."""

    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)

    @classmethod
    def read(cls, cached: Cached) -> PodState:
        return _read(cached)

    @classmethod
    def of(cls, obj: dict[str, Any]) -> PodState:
        """The same of a whole pod."""
        return _decode(msgspec.json.encode(obj))

    @property
    def key(self) -> Key:
        return Key(self.metadata.namespace, self.metadata.name)

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def labels(self) -> dict[str, str]:
        return self.metadata.labels or {}

    @property
    def annotations(self) -> dict[str, str]:
        """Read when asked for: they may be long, and hardly anybody asks."""
        return _decode_annotations(self.metadata.annotations) or {}

    @property
    def affinity(self) -> dict[str, Any]:
        return _decode_any(self.spec.affinity) or {}

    @property
    def node(self) -> str:
        """Where it runs; empty if that is not decided."""
        return self.spec.node_name

    @property
    def phase(self) -> str:
        return self.status.phase

    @property
    def deleting(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def terminal(self) -> bool:
        """Whether it will never run again."""
        return self.status.phase in _TERMINAL

    @property
    def active(self) -> bool:
        return not self.terminal and not self.deleting

    @property
    def terminating(self) -> bool:
        """Whether it is being deleted and may still run."""
        return self.deleting and not self.terminal

    @property
    def ready(self) -> bool:
        condition = self._ready_condition()
        return condition is not None and condition.status == "True"

    @property
    def ready_since(self) -> str | None:
        """When it became ready; None if it is not, or nobody knows."""
        condition = self._ready_condition()
        return (
            condition.last_transition_time if condition is not None and condition.status == "True" else None
        )

    def available(self, min_ready_s: int, now: datetime) -> bool:
        """Whether it has been ready for long enough."""
        if not min_ready_s or not self.ready:
            return self.ready
        since = self.ready_since
        return since is not None and parse_time(since) + timedelta(seconds=min_ready_s) <= now

    def _ready_condition(self) -> _Condition | None:
        for condition in self.status.conditions or ():
            if condition.type == "Ready":
                return condition
        return None


_decode = msgspec.json.Decoder(PodState).decode


@lru_cache(maxsize=2048)
def _read(cached: Cached) -> PodState:
    """Owners of many pods look at all of them whenever one has changed."""
    return _decode(cached.data)


_decode_annotations = msgspec.json.Decoder(dict[str, str] | None).decode
_decode_any = msgspec.json.Decoder(dict[str, Any] | None).decode


def matters_to_owner(old: Cached, new: Cached) -> bool:
    """Whether a pod's change can make its owner do or tell anything else. Most reports of nodes cannot."""
    return _told(PodState.read(old)) != _told(PodState.read(new))


def _told(pod: PodState) -> tuple[Any, ...]:
    metadata = pod.metadata
    return (
        metadata.uid,
        metadata.labels,
        metadata.deletion_timestamp is None,
        metadata.owner_references,
        pod.phase,
        pod.ready,
        pod.ready_since,
    )


def next_availability_s(pods: Iterable[PodState], min_ready_s: int, now: datetime) -> float | None:
    """When the next of these ready pods becomes available by itself; None if none will."""
    if not min_ready_s:
        return None
    moments = [parse_time(since) for pod in pods if (since := pod.ready_since) is not None]
    waits = [(moment - now).total_seconds() + min_ready_s for moment in moments]
    return min((wait for wait in waits if wait > 0), default=None)
