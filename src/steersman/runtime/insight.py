"""/debug/reconciles of an operator: what its controllers do and did, for `steer why` and `steer top`.

    ?kind=webapp&namespace=shop&name=web    the last reconciles of one object, the oldest first
    (nothing)                               every controller in numbers, and its slow and failing objects

Names and errors are nobody else's business: only this machine is answered, which port forwarding counts as,
or whoever has the token of the environment variable STEERSMAN_DEBUG_TOKEN.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Callable, Sequence
from heapq import nlargest
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import parse_qs

import orjson

from steersman.http import Request, Response
from steersman.runtime.controller import Controller
from steersman.runtime.journal import Entry
from steersman.runtime.keys import Key

__all__ = ["PATH", "TOKEN", "Insight"]

PATH: Final = "/debug/reconciles"
TOKEN: Final = "STEERSMAN_DEBUG_TOKEN"  # noqa: S105 - the name of a variable

_JSON: Final = ((b"Content-Type", b"application/json"), (b"X-Content-Type-Options", b"nosniff"))
_TEXT: Final = ((b"Content-Type", b"text/plain; charset=utf-8"),)
_MOST_OBJECTS: Final = 10


class Insight:
    """Answers for the controllers of one manager."""

    def __init__(self, controllers: Sequence[Controller], is_leader: Callable[[], bool]) -> None:
        self._controllers = controllers
        self._is_leader = is_leader

    def serve(self, request: Request) -> Response:
        if not _may_ask(request):
            return Response(403, b"only this machine, or who has the token, is told\n", _TEXT)
        query = {name: values[0] for name, values in parse_qs(request.query_string).items()}
        if "name" not in query:
            return _answer({"leader": self._is_leader(), "controllers": self.controllers()})
        found = self.reconciles(query.get("kind", ""), Key(query.get("namespace", ""), query["name"]))
        return _answer({"leader": self._is_leader(), "reconciles": found})

    def reconciles(self, kind: str, key: Key) -> list[dict[str, Any]]:
        """Of one object, by whatever its kind is called; all kinds if that is empty."""
        found = [
            {"controller": controller.name, **entry._asdict()}
            for controller in self._controllers
            if controller.journal is not None and (not kind or kind.lower() in _called(controller))
            for entry in controller.journal.of(key)
        ]
        return sorted(found, key=lambda entry: float(entry["at"]))

    def controllers(self) -> list[dict[str, Any]]:
        return [_numbers(controller) for controller in self._controllers]


def _called(controller: Controller) -> set[str]:
    """What people call the controller's objects."""
    return {
        name.lower()
        for each in controller.resources
        for name in (each.kind, each.plural, f"{each.plural}.{each.group}", f"{each.kind}.{each.group}")
    }


def _numbers(controller: Controller) -> dict[str, Any]:
    metrics, queue = controller.metrics, controller.metrics.queue
    objects = list(controller.journal or ())
    slow = nlargest(_MOST_OBJECTS, objects, key=lambda each: _mean_s(each[1]))
    failing = [(key, entries) for key, entries in reversed(objects) if entries[-1].error]
    return {
        "name": controller.name,
        "concurrency": metrics.concurrency,
        "active": metrics.active,
        "depth": queue.depth,
        "adds": queue.adds,
        "retries": queue.retries,
        "longest_s": queue.longest_s,
        "results": dict(metrics.results),
        "seconds": metrics.durations.sum,
        "slow": [
            {"object": str(key), "mean_s": _mean_s(entries), "reconciles": len(entries)}
            for key, entries in slow
        ],
        "failing": [
            {"object": str(key), "error": entries[-1].error, "attempt": entries[-1].attempt}
            for key, entries in failing[:_MOST_OBJECTS]
        ],
    }


def _mean_s(entries: Sequence[Entry]) -> float:
    return sum(entry.seconds for entry in entries) / len(entries)


def _may_ask(request: Request) -> bool:
    connection = request.connection
    # Who calls an address of its own machine calls from that address.
    if _is_loopback(connection.client[0]) or (connection.host and connection.client[0] == connection.host):
        return True
    token = os.environ.get(TOKEN, "")
    given = request.headers.get("authorization") or ""
    return bool(token) and hmac.compare_digest(given.encode(), f"Bearer {token}".encode())


def _is_loopback(host: str) -> bool:
    if not host:
        return False
    address = ip_address(host.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def _answer(content: dict[str, Any]) -> Response:
    return Response(200, orjson.dumps(content), _JSON)
