"""The resource requests of a pod as numbers. Pure.

Parts of pods come as the bytes the API sent. Pods of one template have the same bytes, so each part is read
once and shared: that saves time and memory, and equal parts are the very same object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import orjson

from steersman.objects.amounts import Amounts, added, parsed
from steersman.objects.pods import container_totals, is_pod_level
from steersman.objects.quantities import Quantity

__all__ = ["NOTHING", "ResourceRequests", "read_requests", "units"]

#: What a container that asks for nothing is taken to use when nodes are compared.
_USUAL_CPU: Final = Quantity(100, -3)
_USUAL_MEMORY: Final = Quantity(200 * 1024 * 1024)
_FIRST: Final = ("cpu", "memory", "ephemeral-storage")
_CACHED: Final = 4096


@dataclass(frozen=True, slots=True, eq=False)
class ResourceRequests:
    """CPU in thousandths, memory and storage in bytes, extended resources by name."""

    cpu: int = 0
    memory: int = 0
    storage: int = 0
    others: tuple[tuple[str, int], ...] = ()
    #: For comparing nodes: containers that ask for nothing count with something.
    usual_cpu: int = 0
    usual_memory: int = 0

    @property
    def empty(self) -> bool:
        return not (self.cpu or self.memory or self.storage or self.others)


NOTHING: Final = ResourceRequests()


def units(name: str, amount: Quantity) -> int:
    """An amount as the scheduler counts it."""
    return amount.milli_value if name == "cpu" else amount.value


@lru_cache(_CACHED)
def read_requests(
    containers: tuple[bytes, ...],
    init_containers: tuple[tuple[bytes, bool], ...],
    whole: bytes,
    overhead: bytes,
) -> ResourceRequests:
    """From the `resources` of containers, of init containers (and whether each is a sidecar) and of the pod
    as a whole, and from its overhead; empty bytes where there is none."""
    spec = {
        "containers": [{"resources": _load(data)} for data in containers],
        "initContainers": [
            {"resources": _load(data), "restartPolicy": "Always" if sidecar else ""}
            for data, sidecar in init_containers
        ],
    }
    asked = _total(spec, _load(whole), _load(overhead), usual=False)
    usual = _total(spec, _load(whole), _load(overhead), usual=True)
    cpu, memory, storage = (units(name, asked[name]) if name in asked else 0 for name in _FIRST)
    others = tuple((name, units(name, amount)) for name, amount in asked.items() if name not in _FIRST)
    return ResourceRequests(
        cpu, memory, storage, others, units("cpu", usual["cpu"]), units("memory", usual["memory"])
    )


def _load(data: bytes) -> dict[str, Any]:
    return (orjson.loads(data) or {}) if data else {}


def _total(
    spec: Mapping[str, Any], whole: Mapping[str, Any], overhead: Mapping[str, str], *, usual: bool
) -> Amounts:
    def amounts_of(container: Mapping[str, Any]) -> Mapping[str, str]:
        asked: Mapping[str, str] = container["resources"].get("requests") or {}
        if usual:
            return {"cpu": str(_USUAL_CPU), "memory": str(_USUAL_MEMORY), **asked}
        return asked

    total = container_totals(spec, amounts_of)
    for name, amount in parsed(whole.get("requests")).items():
        if is_pod_level(name):
            total[name] = amount
    return added(total, parsed(overhead))
