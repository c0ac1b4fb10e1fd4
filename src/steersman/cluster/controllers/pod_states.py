"""The fields of a pod that workload controllers read: phase, readiness, availability, node, deletion.

`PodState` decodes only these fields, which costs a fraction of decoding the pod. Pure; used by every
controller that has pods.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec

from steersman.objects.kinds.views.pods import PodView
from steersman.objects.times import parse_time
from steersman.runtime import Cached, Key

__all__ = [
    "PodState",
    "matters_to_owner",
    "next_availability_s",
]


class PodState(PodView, frozen=True, gc=False):
    """A pod as its controller reads it."""

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
        return self.metadata.labels

    @property
    def annotations(self) -> dict[str, str]:
        """Read when asked for: they may be long, and hardly anybody asks."""
        raw = self.metadata.annotations
        return _decode_annotations(raw) if raw else {}

    @property
    def affinity(self) -> dict[str, Any]:
        raw = self.spec.affinity
        return _decode_any(raw) if raw else {}

    @property
    def node(self) -> str:
        """Where it runs; empty if that is not decided."""
        return self.spec.node_name

    @property
    def phase(self) -> str:
        return self.status.phase


_decode = msgspec.json.Decoder(PodState).decode


@lru_cache(maxsize=2048)
def _read(cached: Cached) -> PodState:
    """Owners of many pods look at all of them whenever one has changed."""
    return _decode(cached.data)


_decode_annotations = msgspec.json.Decoder(dict[str, str]).decode
_decode_any = msgspec.json.Decoder(dict[str, Any]).decode


def matters_to_owner(old: Cached, new: Cached) -> bool:
    """Whether a pod's change can make its owner do or tell anything else. Most reports of nodes cannot."""
    return _compared(PodState.read(old)) != _compared(PodState.read(new))


def _compared(pod: PodState) -> tuple[Any, ...]:
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
