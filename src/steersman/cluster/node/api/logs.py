"""The endpoint `/containerLogs`: its parameters, the container, and the streamed log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from steersman.cluster.node.api.call import NodeRequest
from steersman.cluster.node.api.errors import NodeRequestRefused
from steersman.cluster.node.container_logs import ALL_STREAMS, ContainerLogOptions, has_log, read_log
from steersman.cluster.node.cri import ContainerState
from steersman.cluster.node.errors import NodeProblem
from steersman.http import Response
from steersman.objects.fields import quote
from steersman.objects.pods import ContainerField
from steersman.objects.times import parse_time

__all__ = ["LogRequest", "logged_container", "serve_logs", "wanted_logs"]

_HEADERS: Final = ((b"Content-Type", b"text/plain; charset=utf-8"),)
_STREAMS: Final = {"All": ALL_STREAMS, "Stdout": frozenset((b"stdout",)), "Stderr": frozenset((b"stderr",))}
_KINDS: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_SPECS: Final[tuple[ContainerField, ...]] = ("containers", "initContainers", "ephemeralContainers")
#: What waiting for an image is called here.
_WAITS: Final = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}
_LIVE: Final = (ContainerState.CREATED, ContainerState.RUNNING)
#: How often a followed log of an engine without logs is looked at.
_LOOK_S: Final = 1.0

_UNREADABLE: Final = '{"message": "Unable to decode query."}'
_INVALID: Final = '{"message": "Invalid request."}'


class LogRequest(NamedTuple):
    """The options of a log request, and whether the previous container is meant."""

    previous: bool
    options: ContainerLogOptions


def wanted_logs(query: Mapping[str, Sequence[str]], now: datetime) -> LogRequest:
    """What a query (PodLogOptions) asks for. Raises RequestRefused."""

    def flag(name: str) -> bool:
        return name in query and query[name][0].lower() not in ("false", "0")

    def number(name: str, least: int) -> int | None:
        if name not in query:
            return None
        value = int(query[name][0])
        if value < least:
            raise NodeRequestRefused(422, _INVALID)
        return value

    try:
        tail = number("tailLines", 0)
        limit = number("limitBytes", 1)
        seconds = number("sinceSeconds", 1)
        time = parse_time(query["sinceTime"][0]) if "sinceTime" in query else None
        since = now - timedelta(seconds=seconds) if seconds is not None else time
    except (ValueError, OverflowError):
        raise NodeRequestRefused(400, _UNREADABLE) from None
    stream = query["stream"][0] if "stream" in query else "All"
    if (seconds is not None and time is not None) or stream not in _STREAMS:
        raise NodeRequestRefused(422, _INVALID)
    if tail is not None and stream != "All":
        raise NodeRequestRefused(422, _INVALID)
    options = ContainerLogOptions(
        follow=flag("follow"),
        tail_lines=tail,
        since=since,
        limit_bytes=limit,
        timestamps=flag("timestamps"),
        streams=_STREAMS[stream],
    )
    return LogRequest(flag("previous"), options)


def logged_container(pod: str, status: Mapping[str, Any], name: str, previous: bool) -> str:
    """The ID (with its engine's name) of the container whose logs are meant, from the pod's status. Raises
    Refused if it has none."""
    which = f"container {quote(name)} in pod {quote(pod)}"
    found: Mapping[str, Any] | None = None
    for kind in _KINDS:
        for each in status.get(kind) or ():
            if found is None and each["name"] == name:
                found = each
    if found is None:
        raise NodeRequestRefused(400, f"{which} is not available")
    state = found.get("state") or {}
    last = (found.get("lastState") or {}).get("terminated")
    last_id: str = (last or {}).get("containerID", "")
    if previous:
        if not last_id:
            raise NodeRequestRefused(400, f"previous terminated {which} not found")
        return last_id
    if "running" in state:
        return str(found.get("containerID", ""))
    if "terminated" in state or last is not None:
        own = (state.get("terminated") or {}).get("containerID", "")
        if not (own or last_id):
            raise NodeRequestRefused(400, f"{which} is terminated")
        return str(own or last_id)
    if "waiting" in state:
        reason = state["waiting"].get("reason", "")
        raise NodeRequestRefused(400, f"{which} is waiting to start: {_WAITS.get(reason, reason)}")
    raise NodeRequestRefused(400, f"{which} is waiting to start - no logs yet")


async def serve_logs(call: NodeRequest) -> Response | None:
    namespace, pod_name, container = call.rest
    wanted = wanted_logs(call.query, datetime.fromtimestamp(call.agent.host.now(), UTC))
    pod = call.pod(namespace, pod_name)
    if all(each["name"] != container for kind in _SPECS for each in pod["spec"].get(kind) or ()):
        raise NodeRequestRefused(404, f"container {quote(container)} not found in pod {quote(pod_name)}")
    uid = pod["metadata"]["uid"]
    status = await _fresh_status(call, uid) or pod.get("status") or {}
    container_id = logged_container(pod_name, status, container, wanted.previous).partition("://")[2]

    async def has_ended() -> bool:
        containers = await call.agent.host.runtime.list_containers(uid)
        return not any(one.id == container_id and one.state in _LIVE for one in containers)

    lines = _lines(call, container_id, wanted.options, has_ended)
    stream = call.request.stream(200, _HEADERS)
    async with aclosing(lines):
        async for piece in lines:
            stream.write(piece)
            await stream.drain()
    stream.end()
    return None


async def _fresh_status(call: NodeRequest, uid: str) -> Mapping[str, Any] | None:
    """The status that the API is going to see next."""
    worker = call.worker(uid)
    report = None if worker is None else await worker.report()
    return None if report is None else report.new


def _lines(
    call: NodeRequest,
    container_id: str,
    options: ContainerLogOptions,
    has_ended: Callable[[], Awaitable[bool]],
) -> AsyncGenerator[bytes, None]:
    engine = call.streaming
    if engine is None:
        return _silence(options, has_ended)
    try:
        path = engine.log_path(container_id)
    except NodeProblem as error:
        raise NodeRequestRefused(400, str(error)) from error
    if not has_log(path):
        raise NodeRequestRefused(
            400, f"failed to open log file {quote(str(path))}: no such file or directory"
        )
    return read_log(path, options, has_ended)


async def _silence(
    options: ContainerLogOptions, has_ended: Callable[[], Awaitable[bool]]
) -> AsyncGenerator[bytes, None]:
    """The log of a container of which only its life is simulated."""
    while options.follow and not await has_ended():
        yield b""
        await asyncio.sleep(_LOOK_S)
