"""Samples of the resource usage of all nodes and pods: taken on request, cached for a moment."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import orjson

from steersman.aio import Clock, Scope
from steersman.client import Client, ClientError
from steersman.objects.usage import Usage
from steersman.runtime import Cache, Cached, Key

__all__ = ["LocalUsage", "Sampler", "UsageSample"]

_log = logging.getLogger(__name__)

#: For how long a sample is good enough.
_FRESH_S: Final = 5.0
#: How long a node may think about its answer, and how many do at the same time.
_ANSWER_S: Final = 5.0
_ASKED: Final = 16


class _PodUsage(Protocol):
    """The usage of a pod."""

    @property
    def key(self) -> Key: ...

    @property
    def containers(self) -> Mapping[str, Usage]: ...


class LocalUsage(Protocol):
    """The usage of nodes in the same process."""

    def nodes(self) -> Iterable[tuple[str, Usage]]: ...

    def pods(self) -> Iterable[_PodUsage]: ...


@dataclass(frozen=True, slots=True)
class UsageSample:
    """The usage of all nodes and pods at one time."""

    #: Since the epoch.
    time: float
    nodes: dict[str, Usage] = field(default_factory=dict)
    #: By container.
    pods: dict[Key, dict[str, Usage]] = field(default_factory=dict)


class Sampler:
    """Takes samples."""

    def __init__(self, client: Client, nodes: Cache, local: LocalUsage | None, clock: Clock) -> None:
        """Nodes that `local` does not know are asked through the API."""
        self._client = client
        self._nodes = nodes
        self._local = local
        self._clock = clock
        self._asking = asyncio.Lock()
        self._slots = asyncio.Semaphore(_ASKED)
        self._last: UsageSample | None = None
        self._taken_at = 0.0

    async def sample(self) -> UsageSample:
        async with self._asking:
            now = self._clock.monotonic()
            if self._last is None or now - self._taken_at >= _FRESH_S:
                self._last, self._taken_at = await self._take(), now
            return self._last

    async def _take(self) -> UsageSample:
        sample = UsageSample(self._clock.wall())
        if self._local is not None:
            sample.nodes.update(self._local.nodes())
            sample.pods.update((pod.key, dict(pod.containers)) for pod in self._local.pods())
        others = [node.name for node in self._nodes if node.name not in sample.nodes and _serves(node)]
        async with Scope() as scope:
            for name in others:
                scope.start(self._ask(name, sample))
            await scope.join()
        return sample

    async def _ask(self, node: str, sample: UsageSample) -> None:
        path = f"/api/v1/nodes/{node}/proxy/stats/summary"
        try:
            async with self._slots:
                answer = await self._client.request(
                    "GET", path, query={"only_cpu_and_memory": "true"}, timeout_s=_ANSWER_S
                )
            summary = orjson.loads(answer)
            sample.nodes[node] = _reported(summary["node"])
            for pod in summary["pods"]:
                whose = pod["podRef"]
                used = {one["name"]: _reported(one) for one in pod["containers"]}
                sample.pods[Key(whose["namespace"], whose["name"])] = used
        except (ClientError, ValueError, KeyError, TypeError) as error:
            _log.info("node %s did not report its usage: %s", node, error)


def _serves(node: Cached) -> bool:
    """Whether a node has an API that can be asked."""
    endpoints = (node.object().get("status") or {}).get("daemonEndpoints") or {}
    return bool((endpoints.get("kubeletEndpoint") or {}).get("Port"))


def _reported(stats: Mapping[str, Any]) -> Usage:
    """As the Summary API has it."""
    return Usage(stats["cpu"]["usageNanoCores"] / 1e9, stats["memory"]["workingSetBytes"])
