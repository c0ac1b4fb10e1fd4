"""The log of a pod's container, read from its node."""

from __future__ import annotations

import asyncio
import base64
from typing import Any, Final
from urllib.parse import quote, urlencode

from steersman.aio import Scope
from steersman.cluster.apiserver.forwarding.relay import stream_back
from steersman.cluster.apiserver.pipeline.call import Api, Call
from steersman.cluster.apiserver.pipeline.options import log_options
from steersman.cluster.apiserver.subresources.pod_streams import chosen_container, connections, node_of
from steersman.http import Response
from steersman.http.errors import ClientError, HttpError
from steersman.http.transport import StreamedAnswer
from steersman.objects.fields import FieldError, Path, forbidden, invalid, show
from steersman.objects.kinds import Object
from steersman.objects.status import StatusError, bad_request, internal_error
from steersman.objects.status import invalid as invalid_object

__all__ = ["read_log"]

_PLAIN: Final = [(b"Content-Type", b"text/plain")]
_PASSED_ON: Final = (
    "follow", "previous", "timestamps", "sinceSeconds", "sinceTime", "tailLines", "limitBytes",
)  # fmt: skip
_ANSWER_TIMEOUT_S: Final = 60.0
#: Shorter logs are passed back in one piece.
_COLLECTED_BYTES: Final = 256 << 10


async def read_log(api: Api, call: Call, pod: Object) -> Response | None:
    options = log_options(call.query)
    name = call.path.name
    if errors := _problems(options):
        raise invalid_object("", "PodLogOptions", name, errors)
    container = chosen_container(pod, options.get("container", ""))
    place = node_of(api, pod, insecure=bool(options.get("insecureSkipTLSVerifyBackend")))
    if place is None:
        # Nothing was ever written.
        return Response(204)
    path = "/".join(quote(part, safe="") for part in (call.path.namespace, name, container))
    asked = urlencode([(key, _text(options[key])) for key in _PASSED_ON if key in options])
    target = f"/containerLogs/{path}" + (f"?{asked}" if asked else "")
    transport = connections(api).to(place)
    try:
        async with transport.stream("GET", target, timeout_s=_ANSWER_TIMEOUT_S) as answer:
            if not 200 <= answer.status <= 206:
                raise _refusal(name, answer.status, (await answer.read()).decode(errors="replace"))
            return await _pass_back(call, answer)
    except ClientError as error:
        raise StatusError(500, "", f'Get "{place.url}{target}": {error}') from error


async def _pass_back(call: Call, answer: StreamedAnswer) -> Response | None:
    if call.request.upgradable and "websocket" in call.request.headers.tokens("upgrade"):
        await _tell_websocket(call, answer)
        return None
    length = answer.headers.get("content-length") or ""
    if length.isdecimal() and int(length) <= _COLLECTED_BYTES:
        return Response(200, await answer.read(), _PLAIN)
    call.started(200)
    await stream_back(call.request, answer, _PLAIN)
    return None


async def _tell_websocket(call: Call, answer: StreamedAnswer) -> None:
    """The log as messages, for browsers. What they say is not listened to, but that they leave is."""
    socket = await call.request.websocket(("binary.k8s.io", "base64.binary.k8s.io"))
    call.started(101)
    in_base64 = (socket.subprotocol or "").startswith("base64")

    async def tell() -> None:
        # An empty message tells the client that it is connected.
        await socket.send("" if in_base64 else b"")
        async for chunk in answer.chunks():
            await socket.send(base64.b64encode(chunk).decode() if in_base64 else chunk)

    async def hear() -> None:
        async for _ in socket:
            pass

    try:
        async with Scope(on_error=_ignore) as scope:
            await asyncio.wait(
                (scope.start(tell()), scope.start(hear())), return_when=asyncio.FIRST_COMPLETED
            )
    finally:
        await socket.close()


def _ignore(error: BaseException) -> None:
    """Either side may leave in the middle; the other notices."""
    if not isinstance(error, HttpError):
        raise error


def _text(value: Any) -> str:
    return "true" if value is True else str(value)


def _problems(options: dict[str, Any]) -> list[FieldError]:
    errors = []
    tail, limit, since = (options.get(key) for key in ("tailLines", "limitBytes", "sinceSeconds"))
    if tail is not None and tail < 0:
        errors.append(invalid(Path("tailLines"), tail, "must be greater than or equal to 0"))
    if limit is not None and limit < 1:
        errors.append(invalid(Path("limitBytes"), limit, "must be greater than 0"))
    if since is not None and "sinceTime" in options:
        detail = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        errors.append(forbidden(Path("[]"), detail))
    elif since is not None and since < 1:
        errors.append(invalid(Path("sinceSeconds"), since, "must be greater than 0"))
    if "stream" in options:
        errors.append(forbidden(Path("stream"), "may not be specified"))
    return errors


def _refusal(name: str, code: int, text: str) -> StatusError:
    """What the node said, as the API says it."""
    if code == 500:
        return internal_error(text)
    if code == 400:
        return bad_request(text)
    known = {
        401: ("Unauthorized", "the server has asked for the client to provide credentials"),
        403: ("Forbidden", text),
        404: ("NotFound", "the server could not find the requested resource"),
        503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    }
    unknown = f"the server responded with the status code {code} but did not return more information"
    if code > 500:
        unknown = f"an error on the server ({show(text)}) has prevented the request from succeeding"
    reason, message = known.get(code, ("InternalError" if code > 500 else "", unknown))
    details = {"name": name, "kind": "pods/log"}
    return StatusError(code, reason, f"{message} ( pods/log {name})", details)
