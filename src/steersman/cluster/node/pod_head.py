"""The fields of a pod that decide which node runs it and whether the node has work to do, read from bytes."""

from __future__ import annotations

import msgspec

from steersman.objects.kinds.views.pods import AssignedPodView
from steersman.runtime import Cached

__all__ = ["PodHead"]


_decode = msgspec.json.Decoder(AssignedPodView).decode


class PodHead:
    """The fields of a pod that a node reads on every change."""

    __slots__ = ("_metadata", "_spec")

    def __init__(self, cached: Cached) -> None:
        pod = _decode(cached.data)
        self._metadata = pod.metadata
        self._spec = pod.spec

    @property
    def uid(self) -> str:
        return self._metadata.uid

    @property
    def node(self) -> str:
        return self._spec.node_name

    @property
    def deleting(self) -> bool:
        return self._metadata.deletion_timestamp is not None

    @property
    def grace_s(self) -> int:
        return self._metadata.deletion_grace_period_seconds or 0

    def asks_more_than(self, old: PodHead) -> bool:
        """Whether something has changed since that the node has to act upon, not just the status."""
        mine, theirs = self._metadata, old._metadata
        return (
            mine.generation != theirs.generation
            or mine.deletion_timestamp != theirs.deletion_timestamp
            or mine.deletion_grace_period_seconds != theirs.deletion_grace_period_seconds
            or mine.labels != theirs.labels
            or mine.annotations != theirs.annotations
            or bool(self._spec.readiness_gates)
            or self.node != old.node
        )
