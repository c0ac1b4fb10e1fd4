"""One request to the kubelet API with its node: the argument of every handler, and how it finds the pod named
in the path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import cast
from urllib.parse import parse_qs

from steersman.cluster.node.agent import NodeAgent
from steersman.cluster.node.api.errors import NodeRequestRefused
from steersman.cluster.node.pod_head import PodHead
from steersman.cluster.node.streaming import StreamingService
from steersman.cluster.node.worker import PodWorker
from steersman.http import Request, Response
from steersman.objects.fields import quote
from steersman.objects.kinds.types.core_v1 import Pod

__all__ = ["NodeRequest", "text"]


def text(status: int, message: str) -> Response:
    """An answer in plain words, as kubelet gives them: without a newline."""
    return Response(status, message.encode(), ((b"Content-Type", b"text/plain; charset=utf-8"),))


class NodeRequest:
    """A request to the kubelet API of one node."""

    def __init__(self, request: Request, agent: NodeAgent, rest: Sequence[str]) -> None:
        """`rest` has the path's segments behind the first."""
        self.request = request
        self.agent = agent
        self.rest = rest

    @cached_property
    def query(self) -> Mapping[str, Sequence[str]]:
        return parse_qs(self.request.query_string, keep_blank_values=True)

    def flag(self, name: str) -> bool:
        """A parameter that is there and does not say no."""
        values = self.query.get(name)
        return values is not None and values[0].lower() not in ("false", "0")

    @property
    def streaming(self) -> StreamingService | None:
        """The engine, if one can talk with what runs in it."""
        runtime = self.agent.host.runtime
        return runtime if isinstance(runtime, StreamingService) else None

    def pod(self, namespace: str, name: str, missing: str = "") -> Pod:
        """A pod of this node. Raises NodeRequestRefused with the words `missing`."""
        cached = self.agent.host.pods.get((namespace, name))
        if cached is None or PodHead(cached).node != self.agent.name:
            raise NodeRequestRefused(404, missing or f"pod {quote(name)} does not exist")
        return cast("Pod", cached.object())

    def worker(self, uid: str) -> PodWorker | None:
        return self.agent.workers.get(uid)
