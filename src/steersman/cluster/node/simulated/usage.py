"""The resource usage of simulated containers, for `kubectl top` and autoscalers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from steersman.cluster.node.simulated.script import ContainerScript
from steersman.objects.quantities import Quantity
from steersman.objects.usage import Usage

__all__ = ["usage_of"]

#: What a container uses of what it asked for, if nobody says otherwise.
_SHARE: Final = 10
_LEAST: Final = Usage(0.001, 8 << 20)


def usage_of(script: ContainerScript, container: Mapping[str, Any]) -> Usage:
    """What one running container uses."""
    requests = (container.get("resources") or {}).get("requests") or {}
    cpu, memory = script.amount("cpu"), script.amount("memory")
    cores = _cores(cpu) if cpu is not None else _cores(_asked(requests, "cpu")) / _SHARE
    size = memory.value if memory is not None else _asked(requests, "memory").value // _SHARE
    return Usage(
        cores if cpu is not None else max(cores, _LEAST.cpu_cores),
        size if memory is not None else max(size, _LEAST.memory_bytes),
    )


def _asked(requests: Mapping[str, str], name: str) -> Quantity:
    return Quantity.parse(requests[name]) if name in requests else Quantity(0)


def _cores(amount: Quantity) -> float:
    return float(amount.as_fraction())
