"""The server: finds what is asked for, checks whether it may be, answers with `{status, data, error}`.

Holds the controls of every tenant; asks them and their boards, never a cluster, except for logs, which a
`LogReader` fetches. Actions run to their end even if whoever asked for them goes away.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import re
import resource
import ssl as tls
from collections.abc import Awaitable, Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import orjson

from steersman.aio import Clock, Scope, SystemClock
from steersman.client import ApiError, Client, ClientError
from steersman.highlander.api import views
from steersman.highlander.api.access import Access
from steersman.highlander.api.events import Events
from steersman.highlander.api.openapi import document
from steersman.highlander.api.pages import is_page, page
from steersman.highlander.api.routes import find, methods_of
from steersman.highlander.errors import HighlanderError, NotLeader
from steersman.highlander.metrics import HighlanderMetrics
from steersman.highlander.state import Board, Controls, PodView, WorkloadState
from steersman.http import Limits, Request, RequestRefused, Response, Server

__all__ = ["Api", "LogReader", "logs_of"]

_log = logging.getLogger(__name__)

LogReader = Callable[[PodView, str, int], Awaitable[str]]
"""The last so many lines of a container of a pod."""

_SAFETY = (
    (b"Cache-Control", b"no-store"),
    (b"X-Content-Type-Options", b"nosniff"),
    (b"Content-Security-Policy", b"default-src 'none'; frame-ancestors 'none'"),
)
_JSON = ((b"Content-Type", b"application/json"), *_SAFETY)
_TEXT = ((b"Content-Type", b"text/plain; charset=utf-8"), *_SAFETY)
#: Requests are small; those who only hold connections must not keep others out.
_LIMITS = Limits(header_bytes=64 << 10, body_bytes=64 << 10, header_timeout_s=10.0, connections=2048)
#: An action that takes longer goes on; whoever asked is told so.
_ACTION_S = 20.0
_LINES, _MOST_LINES = 200, 5000
_MOST_LOG_BYTES = 1 << 20


def logs_of(client: Client) -> LogReader:
    """Logs through the API of a cluster."""

    async def read(pod: PodView, container: str, lines: int) -> str:
        return await client.logs(
            pod.name, pod.namespace, container=container, tail=lines, limit_bytes=_MOST_LOG_BYTES
        )

    return read


class _Asked:
    """A request with what its path and query say."""

    __slots__ = ("named", "query", "request")

    def __init__(self, request: Request, named: dict[str, str]) -> None:
        self.request = request
        self.named = named
        self.query = dict(parse_qsl(request.query_string))

    @property
    def key(self) -> str:
        return "/".join((self.named["kind"], self.named["namespace"], self.named["name"]))


class Api:
    """Everything that is served, for any number of tenants."""

    def __init__(self, *, access: Access | None = None, clock: Clock | None = None) -> None:
        self._access = access or Access()
        self._clock = clock or SystemClock()
        self._controls: dict[str, Controls] = {}
        self._readers: dict[str, LogReader] = {}
        self._boards: dict[str, Board] = {}
        self._ends: dict[str, Callable[[], None]] = {}
        #: Tenants that are on their way out: shown, but nothing hangs on them.
        self._retired: set[str] = set()
        self._server = Server(self.serve, limits=_LIMITS, on_error=_explain)
        self._scope = Scope()
        self._hub = Events(self._boards, self._clock)
        self.metrics = HighlanderMetrics(self._boards)
        self.version = _version()

    @property
    def port(self) -> int:
        return self._server.port

    def add(self, controls: Controls, logs: LogReader | None = None) -> None:
        """Serve a tenant too; one of the same name is replaced."""
        board = controls.board
        tenant = board.controller.tenant
        self.remove(tenant)
        self._controls[tenant] = controls
        self._boards[tenant] = board
        self._ends[tenant] = self._hub.follow(board)
        if logs is not None:
            self._readers[tenant] = logs
        self._hub.tell_tenants()

    def retire(self, tenant: str) -> None:
        """It is about to go: whether it is ready says nothing about the process."""
        self._retired.add(tenant)

    def remove(self, tenant: str) -> None:
        self._retired.discard(tenant)
        end = self._ends.pop(tenant, None)
        if end is None:
            return
        end()
        for known in (self._controls, self._boards, self._readers):
            known.pop(tenant, None)
        self._hub.tell_tenants()

    async def start(self, host: str, port: int, ssl: tls.SSLContext | None = None) -> None:
        """Listen; port 0 takes a free one. For client certificates make `ssl` with `Access.client_cas`."""
        await self._server.start(host, port, ssl)
        _log.info("the API and the dashboard listen on %s:%d", host, self.port)

    async def close(self) -> None:
        await self._hub.close()
        await self._scope.close()
        await self._server.close()
        for tenant in tuple(self._controls):
            self.remove(tenant)

    def serve(self, request: Request) -> Response | Awaitable[Response | None] | None:
        static = page(request)
        if static is not None:
            return static
        found = find(request.method, request.path)
        if found is None:
            allowed = ["GET", "HEAD"] if is_page(request.path) else methods_of(request.path)
            if not allowed:
                raise RequestRefused(404, f"there is nothing at {request.path}")
            raise RequestRefused(
                405, f"{request.path} takes {', '.join(allowed)}", ((b"Allow", ", ".join(allowed).encode()),)
            )
        route, named = found
        if route.guarded:
            self._access.check(request)
        answer: Response | Awaitable[Response | None] | None
        answer = getattr(self, f"_{route.name}")(_Asked(request, named))
        return answer

    # probes and documents

    def _healthz(self, asked: _Asked) -> Response:
        return Response(200, b"ok", _TEXT)

    def _readyz(self, asked: _Asked) -> Response:
        reasons = {
            tenant: views.not_ready(board)
            for tenant, board in self._boards.items()
            if tenant not in self._retired
        }
        problems = [
            reason if len(reasons) == 1 else f"{tenant}: {reason}"
            for tenant, reason in reasons.items()
            if reason
        ]
        if not reasons:
            problems = ["no tenant is configured yet"]
        if problems:
            return Response(503, f"not ready - {'; '.join(problems)}".encode(), _TEXT)
        return Response(200, b"ok", _TEXT)

    def _metrics(self, asked: _Asked) -> Response:
        content, content_type = self.metrics.render()
        return Response(200, content, ((b"Content-Type", content_type.encode()), *_SAFETY))

    def _openapi(self, asked: _Asked) -> Response:
        return Response(200, orjson.dumps(document(self.version)), _JSON)

    # reading

    def _status(self, asked: _Asked) -> Response:
        return _success(views.status(self._board(asked), self._clock.wall(), self.version))

    def _debug(self, asked: _Asked) -> Response:
        board, now = self._board(asked), self._clock.wall()
        started = board.controller.started
        return _success(
            {
                "healthStatus": views.status(board, now, self.version),
                "uptime": views.duration(now - started),
                "startTime": views.moment(started),
                "goroutineCount": len(asyncio.all_tasks()),
                "memoryStats": _memory(),
                "leadershipHistory": [views.leadership_change(entry) for entry in board.history],
                "serverInfo": {
                    "dbInfo": board.controller.storage_address,
                    "port": str(self.port),
                    "viewers": str(self._hub.viewers),
                },
            }
        )

    def _controller(self, asked: _Asked) -> Response:
        return _success(views.controller(self._board(asked)))

    def _tenants(self, asked: _Asked) -> Response:
        return _success([views.tenant(board) for board in self._boards.values()])

    def _history(self, asked: _Asked) -> Response:
        return _success([views.leadership_change(entry) for entry in self._board(asked).history])

    def _storage(self, asked: _Asked) -> Response:
        return _success(views.storage(self._board(asked).controller))

    def _workloads(self, asked: _Asked) -> Response:
        return _success(views.workloads(self._board(asked), self._clock.wall()))

    def _workload_names(self, asked: _Asked) -> Response:
        return _success([one.name for one in self._board(asked).workloads.values()])

    def _workload_by_name(self, asked: _Asked) -> Response:
        name = asked.named["name"]
        known = [one for one in self._board(asked).workloads.values() if one.name == name]
        if not known:
            raise RequestRefused(404, "workload not found")
        if len(known) > 1:
            paths = ", ".join(f"/api/workloads/{one.key}" for one in known)
            raise RequestRefused(409, f"there are several workloads {name}: {paths}")
        return self._shown(known[0])

    def _workload(self, asked: _Asked) -> Response:
        known = self._board(asked).workloads.get(asked.key)
        if known is None:
            raise RequestRefused(404, "workload not found")
        return self._shown(known)

    def _pods(self, asked: _Asked) -> Response:
        now = self._clock.wall()
        return _success([views.labelled_pod(one, now) for one in self._board(asked).pods])

    def _pod(self, asked: _Asked) -> Response:
        return _success(views.labelled_pod(self._pod_asked_for(asked), self._clock.wall()))

    async def _logs(self, asked: _Asked) -> Response:
        pod = self._pod_asked_for(asked)
        read = self._readers.get(self._tenant_of(asked))
        if read is None:
            raise RequestRefused(501, "this controller has no access to logs")
        container = asked.query.get("container", "") or next(iter(pod.containers), "")
        if pod.containers and container not in pod.containers:
            raise RequestRefused(404, f"the pod has no container {container}")
        lines = asked.query.get("tail", str(_LINES))
        if not re.fullmatch(r"[0-9]{1,4}", lines) or not 1 <= int(lines) <= _MOST_LINES:
            raise RequestRefused(400, f"tail must be a number from 1 to {_MOST_LINES}")
        try:
            text = await read(pod, container, int(lines))
        except ApiError as error:
            raise RequestRefused(error.code if error.code >= 400 else 502, f"no logs: {error}") from error
        except ClientError as error:
            raise RequestRefused(502, f"no logs: {error}") from error
        return Response(200, text.encode(), _TEXT)

    def _events(self, asked: _Asked) -> Response | None:
        tenant = self._tenant_of(asked)
        if asked.request.method == "HEAD":
            return Response(200, b"", Events.HEADERS)
        last = asked.request.headers.get("last-event-id") or asked.query.get("lastEventId", "")
        self._hub.serve(asked.request, tenant, last)
        return None

    # acting

    def _pause(self, asked: _Asked) -> Awaitable[Response]:
        return self._act(asked, lambda controls: controls.pause(asked.key))

    def _resume(self, asked: _Asked) -> Awaitable[Response]:
        return self._act(asked, lambda controls: controls.resume(asked.key))

    def _restart(self, asked: _Asked) -> Awaitable[Response]:
        return self._act(asked, lambda controls: controls.restart(asked.key))

    def _step_down(self, asked: _Asked) -> Awaitable[Response]:
        reason = _reason(asked.request.content) or "asked to step down"
        return self._act(asked, lambda controls: controls.step_down(reason))

    def _drain(self, asked: _Asked) -> Awaitable[Response]:
        return self._act(asked, lambda controls: controls.drain())

    def _undrain(self, asked: _Asked) -> Awaitable[Response]:
        return self._act(asked, lambda controls: controls.undrain())

    def _reload(self, asked: _Asked) -> Awaitable[Response]:
        return self._act(asked, lambda controls: controls.reload())

    async def _act(self, asked: _Asked, action: Callable[[Controls], Awaitable[None]]) -> Response:
        controls = self._controls[self._tenant_of(asked)]
        _log.info("%s was requested by %s", asked.request.target, asked.request.connection.client[0])
        task = self._scope.start(_outcome(action(controls)), name=asked.request.path)
        done, _ = await asyncio.wait((task,), timeout=_ACTION_S)
        if not done:
            return _success({"done": False, "note": "it is already in progress"}, 202)
        problem = task.result()
        if problem is None:
            return _success({"done": True})
        if isinstance(problem, KeyError):
            raise RequestRefused(404, "workload not found")
        if isinstance(problem, NotLeader):
            raise RequestRefused(409, str(problem) or "this controller is not the leader")
        if isinstance(problem, HighlanderError):
            raise RequestRefused(400, str(problem))
        if isinstance(problem, ClientError):
            raise RequestRefused(502, f"the cluster rejected it: {problem}")
        raise problem

    # finding

    def _tenant_of(self, asked: _Asked) -> str:
        tenant = asked.query.get("tenant") or next(iter(self._controls), "")
        if tenant not in self._controls:
            raise RequestRefused(404, f"there is no tenant {tenant}" if tenant else "there are no tenants")
        return tenant

    def _board(self, asked: _Asked) -> Board:
        return self._boards[self._tenant_of(asked)]

    def _pod_asked_for(self, asked: _Asked) -> PodView:
        wanted = (asked.named["namespace"], asked.named["name"])
        for pod in self._board(asked).pods:
            if (pod.namespace, pod.name) == wanted:
                return pod
        raise RequestRefused(404, "pod not found")

    def _shown(self, state: WorkloadState) -> Response:
        return _success(views.workload(state, self._clock.wall()))


def _memory() -> dict[str, int]:
    """In bytes: what the process has now and had at most, and what the interpreter holds."""
    resident = int(Path("/proc/self/statm").read_bytes().split()[1]) * resource.getpagesize()
    return {
        "alloc": resident,
        "sys": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10,
        "numGC": sum(generation["collections"] for generation in gc.get_stats()),
    }


def _reason(body: bytes) -> str:
    """Why, if the body says so: `{"reason": "…"}`."""
    if not body:
        return ""
    try:
        reason = orjson.loads(body).get("reason", "")
        # One line, as logs and the history have it.
        return " ".join(reason.split())[:200]
    except (ValueError, AttributeError) as error:
        raise RequestRefused(400, 'the body must be like {"reason": "…"}') from error


async def _outcome(action: Awaitable[None]) -> Exception | None:
    """What went wrong: whoever asked may be gone by then."""
    try:
        await action
    except Exception as error:  # noqa: BLE001 - it is handed to whoever asked, if they are there
        _log.warning("an action failed: %s", error)
        return error
    return None


def _success(data: Any, status: int = 200) -> Response:
    return Response(status, orjson.dumps({"status": "success", "data": data}), _JSON)


def _explain(request: Request | None, error: Exception) -> Response | None:
    if not isinstance(error, RequestRefused):
        return None
    body = orjson.dumps({"status": "error", "error": error.message})
    return Response(error.status, body, (*_JSON, *error.headers))


def _version() -> str:
    try:
        return version("steersman")
    except PackageNotFoundError:
        return "unknown"
