"""The events that the node agent records about pods and its node, with the kubelet's reasons and messages.

Events are about one container where possible (`spec.containers{name}`). The verbosity can be limited: a fleet
of simulated nodes that starts ten thousand pods need not record three events for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from steersman.objects.kinds.types.core_v1 import Container, Pod
from steersman.objects.pods import CONTAINER_FIELDS
from steersman.runtime import Recorder

__all__ = ["NodeEvents", "Told", "container_reference"]

Told = Literal["all", "warnings", "none"]


class NodeEvents:
    """The events of one node. Its recorder is created with the first event."""

    __slots__ = ("_make", "_recorder", "_told")

    def __init__(self, make: Callable[[], Recorder], told: Told = "all") -> None:
        self._make = make
        self._told = told
        self._recorder: Recorder | None = None

    def normal(self, about: Mapping[str, Any], reason: str, note: str) -> None:
        if self._told == "all":
            self._record(about, "Normal", reason, note)

    def warning(self, about: Mapping[str, Any], reason: str, note: str) -> None:
        if self._told != "none":
            self._record(about, "Warning", reason, note)

    def _record(
        self, about: Mapping[str, Any], kind: Literal["Normal", "Warning"], reason: str, note: str
    ) -> None:
        if self._recorder is None:
            self._recorder = self._make()
        self._recorder.event(about, kind, reason, note, action=reason)


def container_reference(pod: Pod, container: Container) -> Mapping[str, Any]:
    """A pod's container, as an event names it."""
    metadata = pod["metadata"]
    name = container["name"]
    field = next(
        field
        for field in CONTAINER_FIELDS
        if any(one["name"] == name for one in pod["spec"].get(field) or ())
    )
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {one: metadata[one] for one in ("name", "namespace", "uid", "resourceVersion")},
        "fieldPath": f"spec.{field}{{{name}}}",
    }
