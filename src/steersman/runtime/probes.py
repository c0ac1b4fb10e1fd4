"""/healthz, /livez, /readyz and /metrics of an operator: what the kubelet and Prometheus ask.

A check is a function that returns what is wrong, or nothing. `?verbose` lists the checks, `?exclude=NAME`
leaves one out, `/readyz/NAME` asks for one. Reasons are shown: whoever may reach these pages runs the
operator.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from urllib.parse import parse_qs

from steersman.http import Request, Response, Server
from steersman.runtime.errors import AddressInUse
from steersman.runtime.metrics import Metrics

__all__ = ["Check", "Probes", "parse_address"]

_log = logging.getLogger(__name__)

#: Empty when all is well, else what is wrong.
Check = Callable[[], str]

_TEXT = ((b"Content-Type", b"text/plain; charset=utf-8"), (b"X-Content-Type-Options", b"nosniff"))


class Probes:
    """Named checks and the server that answers for them."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._live: dict[str, Check] = {}
        self._ready: dict[str, Check] = {}
        self._pages: dict[str, Callable[[Request], Response]] = {}
        self._server: Server | None = None

    @property
    def port(self) -> int:
        """Where it listens; 0 if it does not."""
        return self._server.port if self._server is not None else 0

    def add_live(self, name: str, check: Check) -> None:
        """Failing means that only a restart can help."""
        self._live[name] = check

    def add_ready(self, name: str, check: Check) -> None:
        """Failing means that nothing should be sent here for now."""
        self._ready[name] = check

    def add_page(self, path: str, serve: Callable[[Request], Response]) -> None:
        """Answer for a path of one's own."""
        self._pages[path] = serve

    def problems(self, endpoint: str = "readyz") -> dict[str, str]:
        """What is wrong, by the name of the check."""
        found = ((name, check()) for name, check in self._checks(endpoint).items())
        return {name: problem for name, problem in found if problem}

    async def start(self, address: str) -> None:
        """Listen on `host:port`; see `parse_address` for what an empty host means."""
        host, port = parse_address(address)
        server = Server(self.serve)
        try:
            await server.start(host, port)
        except OSError as error:
            raise AddressInUse(f"probes and metrics cannot listen on {address}: {error.strerror}") from error
        self._server = server
        _log.info("probes and metrics listen on %s:%d", host, server.port)

    async def close(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await server.close()

    def serve(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            return Response(405, b"", ((b"Allow", b"GET, HEAD"),))
        if request.path == "/metrics":
            content, content_type = self._metrics.render(request.headers.get("accept") or "")
            return Response(200, content, ((b"Content-Type", content_type.encode()),))
        page = self._pages.get(request.path)
        if page is not None:
            return page(request)
        endpoint, _, single = request.path.strip("/").partition("/")
        checks = self._checks(endpoint)
        if not checks or (single and single not in checks):
            return Response(404, b"404 page not found\n", _TEXT)
        if single:
            problem = checks[single]()
            return Response(500, f"{problem}\n".encode(), _TEXT) if problem else Response(200, b"ok", _TEXT)
        query = parse_qs(request.query_string, keep_blank_values=True)
        return _report(endpoint, checks, set(query.get("exclude", ())), "verbose" in query)

    def _checks(self, endpoint: str) -> dict[str, Check]:
        if endpoint in ("healthz", "livez"):
            return {"ping": _ping, **self._live}
        return {"ping": _ping, **self._live, **self._ready} if endpoint == "readyz" else {}


def _ping() -> str:
    return ""


def _report(endpoint: str, checks: dict[str, Check], excluded: set[str], verbose: bool) -> Response:
    lines = []
    failed = False
    for name, check in checks.items():
        problem = "" if name in excluded else check()
        failed = failed or bool(problem)
        if problem:
            lines.append(f"[-]{name} failed: {problem}")
        else:
            lines.append(f"[+]{name} {'excluded: ' if name in excluded else ''}ok")
    if not failed and not verbose:
        return Response(200, b"ok", _TEXT)
    lines.append(f"{endpoint} check {'failed' if failed else 'passed'}")
    return Response(500 if failed else 200, ("\n".join(lines) + "\n").encode(), _TEXT)


def parse_address(address: str) -> tuple[str, int]:
    """`host:port`. Without a host: every interface in a pod, where the kubelet comes from outside; else
    only this machine."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"{address!r} is not an address such as :8080 or 127.0.0.1:8080")
    if host:
        return host.strip("[]"), int(port)
    return ("" if "KUBERNETES_SERVICE_HOST" in os.environ else "127.0.0.1"), int(port)
