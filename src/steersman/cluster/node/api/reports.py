"""The endpoints `/stats/summary` and `/metrics`: a node's measurements in the requested format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, Protocol, runtime_checkable

from steersman.cluster.node.api.call import NodeRequest
from steersman.cluster.node.api.errors import NodeRequestRefused
from steersman.cluster.node.api.exposition import (
    cadvisor_metrics,
    node_metrics,
    probe_metrics,
    resource_metrics,
)
from steersman.cluster.node.api.listing import json_response
from steersman.cluster.node.api.measuring import Measurer
from steersman.cluster.node.api.summary import disk, summary
from steersman.cluster.node.cri import ContainerState
from steersman.http import Response
from steersman.objects.quantities import Quantity

__all__ = ["Reports"]

_PROMETHEUS: Final = ((b"Content-Type", b"text/plain; version=0.0.4; charset=utf-8"),)


@runtime_checkable
class CountsProbes(Protocol):
    """A prober with counters of probe results."""

    def counts(self) -> Iterable[tuple[tuple[str, ...], int]]: ...


class Reports:
    """Formats the measurements of nodes."""

    def __init__(self, measurer: Measurer, requests: Mapping[tuple[str, str], int]) -> None:
        """`requests` counts those served, by method and path."""
        self._measurer = measurer
        self._requests = requests

    async def stats(self, call: NodeRequest) -> Response:
        if call.rest[0] != "summary":
            raise NodeRequestRefused(404, "404 page not found\n")
        measured = await self._measurer.measure(call.agent)
        is_measured = call.agent.host.machine_usage is not None
        fs = disk() if is_measured and not call.flag("only_cpu_and_memory") else None
        return json_response(summary(measured, int(_capacity(call, "memory")), fs))

    async def metrics(self, call: NodeRequest) -> Response:
        match call.rest:
            case []:
                body = await self._own(call)
            case ["resource"]:
                body = resource_metrics(await self._measurer.measure(call.agent))
            case ["cadvisor"]:
                measured = await self._measurer.measure(call.agent)
                body = cadvisor_metrics(measured, _capacity(call, "cpu"), int(_capacity(call, "memory")))
            case ["probes"]:
                prober = call.agent.host.prober
                body = probe_metrics(prober.counts() if isinstance(prober, CountsProbes) else ())
            case _:
                raise NodeRequestRefused(404, "404 page not found\n")
        return Response(200, body, _PROMETHEUS)

    async def _own(self, call: NodeRequest) -> bytes:
        states: Counter[str] = Counter()
        pods = 0
        for worker in list(call.agent.workers.values()):
            found = [one.state for one in await call.agent.host.runtime.list_containers(worker.uid)]
            states.update(state.value for state in found)
            pods += ContainerState.RUNNING in found
        return node_metrics(call.agent.name, pods, states, self._requests)


def _capacity(call: NodeRequest, resource: str) -> float:
    return float(Quantity.parse(call.agent.host.config.capacity.get(resource, "0")).as_fraction())
