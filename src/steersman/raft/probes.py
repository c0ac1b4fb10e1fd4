"""/health, /ready, /leader and /metrics of a node: what the kubelet, a Service and Prometheus ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import orjson

from steersman.http import Request, Response
from steersman.http.prometheus import family
from steersman.raft.core import Status
from steersman.raft.node import NodeMetrics

__all__ = ["Probed", "Probes"]


class Probed(Protocol):
    """What is asked of a node, on its loop."""

    @property
    def is_leader(self) -> bool: ...

    @property
    def term(self) -> int: ...

    @property
    def leader(self) -> str: ...

    def trouble(self) -> str:
        """Empty, or why the node cannot go on."""
        ...

    def unready(self) -> str:
        """Empty, or why it does not take part yet."""
        ...

    def measured(self) -> tuple[Status, NodeMetrics] | None: ...


#: Name, kind, help, and how to read it.
_METRICS: tuple[tuple[str, str, str, Callable[[Probed, Status, NodeMetrics], float]], ...] = (
    ("is_leader", "gauge", "Whether this node leads", lambda node, _, __: node.is_leader),
    ("term", "gauge", "The highest term seen", lambda _, status, __: status.term),
    ("has_leader", "gauge", "Whether a leader is known", lambda _, status, __: status.leader != 0),
    ("commit_index", "gauge", "Committed as far as known", lambda _, status, __: status.commit_index),
    ("applied_index", "gauge", "Applied to the state", lambda _, status, __: status.applied_index),
    ("last_index", "gauge", "The end of the log", lambda _, status, __: status.last_index),
    ("voters", "gauge", "Members that vote", lambda _, status, __: len(status.configuration.voters)),
    ("learners", "gauge", "Members without a vote", lambda _, status, __: len(status.configuration.learners)),
    ("applied_entries_total", "counter", "Entries applied", lambda _, __, metrics: metrics.commits),
    ("disk_writes_total", "counter", "Synchronous writes", lambda _, __, metrics: metrics.writes),
    ("snapshots_total", "counter", "Snapshots taken", lambda _, __, metrics: metrics.snapshots),
    ("elections_won_total", "counter", "Elections won", lambda _, __, metrics: metrics.elections_won),
    ("tick_late_seconds", "gauge", "How late the last tick was", lambda _, __, metrics: metrics.tick_late_s),
    ("tick_late_max_seconds", "gauge", "How late any was", lambda _, __, metrics: metrics.tick_late_max_s),
)


class Probes:
    """The handler of the node's HTTP server."""

    def __init__(self, node: Probed) -> None:
        self._node = node
        self._pages: Mapping[str, Callable[[], Response]] = {
            "/health": lambda: _verdict(node.trouble()),
            "/ready": lambda: _verdict(node.trouble() or node.unready()),
            "/leader": self._leader,
            "/metrics": self._metrics,
        }

    async def __call__(self, request: Request) -> Response:
        page = self._pages.get(request.path)
        return page() if page is not None else _text(404, "not found")

    def _leader(self) -> Response:
        """200 on the leader, 503 elsewhere, so that a readiness gate or a load balancer can follow it."""
        node = self._node
        body = {"leader": node.leader, "term": node.term, "is_leader": node.is_leader}
        return Response(
            200 if node.is_leader else 503,
            orjson.dumps(body) + b"\n",
            ((b"content-type", b"application/json"),),
        )

    def _metrics(self) -> Response:
        measured = self._node.measured()
        lines: list[str] = []
        if measured is not None:
            status, metrics = measured
            for name, kind, text, value in _METRICS:
                full = f"steersman_raft_{name}"
                lines += [*family(full, kind, text), f"{full} {+value(self._node, status, metrics)}"]
        return _text(200, "\n".join(lines))


def _verdict(trouble: str) -> Response:
    return _text(503, trouble) if trouble else _text(200, "ok")


def _text(status: int, text: str) -> Response:
    return Response(status, text.encode() + b"\n", ((b"content-type", b"text/plain; charset=utf-8"),))
