"""The server that the API asks: one path for each webhook, reviews in, reviews out.

| what happens                          | answer                                             |
|---------------------------------------|----------------------------------------------------|
| the function says yes, no, or changes | 200, an AdmissionReview                            |
| the function fails                    | 500 without its words; the failure policy decides  |
| it takes too long                     | 504, before the API gives up                       |
| the body is no review                 | 400                                                |

What a function failed of is logged here and never sent: it may hold what is nobody's business.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import orjson

from steersman.aio import Clock
from steersman.client import Client
from steersman.http import Limits, Request, Response, Server
from steersman.objects.custom import Versions
from steersman.objects.resource_type import ResourceType
from steersman.runtime import tracing
from steersman.runtime.metrics import Metrics, WebhookMetrics
from steersman.runtime.probes import parse_address
from steersman.webhooks import admission
from steersman.webhooks.conversion import conversion_path, converted
from steersman.webhooks.errors import CannotListen, WebhookError
from steersman.webhooks.hook import Hook
from steersman.webhooks.review import MalformedReview
from steersman.webhooks.tls import ReloadingTls

__all__ = ["WebhookServer"]

_log = logging.getLogger(__name__)

_JSON: Final = ((b"Content-Type", b"application/json"),)
_TEXT: Final = ((b"Content-Type", b"text/plain; charset=utf-8"), (b"X-Content-Type-Options", b"nosniff"))
#: An object of the largest size twice, and what comes with it.
_BODY_BYTES: Final = 8 << 20
#: The API waits this long for conversions, and part of it is spent on the way.
_CONVERSION_TIMEOUT_S: Final = 30
_SHARE: Final = 0.9
_asked_timeout = re.compile(r"(?:^|&)timeout=([0-9]{1,4})s(?:&|$)").search

Answer = Callable[[Any], Awaitable[Mapping[str, Any]]]


class _Path:
    """What answers at one path."""

    __slots__ = ("answer", "metrics", "name", "timeout_s")

    def __init__(self, name: str, answer: Answer, timeout_s: float, metrics: WebhookMetrics) -> None:
        self.name = name
        self.answer = answer
        self.timeout_s = timeout_s
        self.metrics = metrics


class WebhookServer:
    """Answers for all webhooks of a process."""

    def __init__(
        self,
        hooks: Sequence[Hook],
        conversions: Mapping[ResourceType, Versions],
        client: Client,
        metrics: Metrics,
        clock: Clock,
    ) -> None:
        self._clock = clock
        self._server = Server(self._serve, limits=Limits(body_bytes=_BODY_BYTES))
        self._paths: dict[str, _Path] = {}
        for hook in hooks:
            answer = partial(_admission, hook, client)
            self._add(hook.path, hook.name, answer, hook.options.timeout_s, metrics)
        for resource, versions in conversions.items():
            path = conversion_path(resource)
            name = f"the conversion of {resource.plural}.{resource.group}"
            self._add(path, name, partial(converted, versions), _CONVERSION_TIMEOUT_S, metrics)

    def _add(self, path: str, name: str, answer: Answer, timeout_s: float, metrics: Metrics) -> None:
        if path in self._paths:
            raise WebhookError(f"two operators have a webhook at {path}")
        self._paths[path] = _Path(name, answer, timeout_s, metrics.webhook(path))

    @property
    def port(self) -> int:
        return self._server.port

    async def start(self, address: str, tls: ReloadingTls, *, everywhere: bool = False) -> None:
        """Listen; `everywhere` takes an address without a host as every interface. Raises CannotListen."""
        host, port = parse_address(address)
        if everywhere and address.startswith(":"):
            host = ""
        try:
            await self._server.start(host, port, ssl=tls.context)
        except OSError as error:
            raise CannotListen(f"webhooks cannot listen on {address}: {error.strerror}") from error
        _log.info("webhooks listen on %s:%d", host, self._server.port)

    async def drain(self, timeout_s: float) -> None:
        """Answer what was asked, and no more."""
        await self._server.drain(timeout_s)
        await self._server.close()

    async def _serve(self, request: Request) -> Response:
        path = self._paths.get(request.path)
        if path is None:
            return Response(404, b"there is no such webhook\n", _TEXT)
        if request.method != "POST":
            return Response(405, b"webhooks are asked with POST\n", (*_TEXT, (b"Allow", b"POST")))
        metrics, started = path.metrics, self._clock.monotonic()
        metrics.in_flight += 1
        response = Response(500, b"cancelled\n", _TEXT)
        try:
            with tracing.span(f"webhook {request.path}", kind="server", headers=request.headers) as span:
                response = await self._answer(path, request)
                span.set_attribute("http.response.status_code", response.status)
        finally:
            metrics.in_flight -= 1
            metrics.answered(response.status, self._clock.monotonic() - started)
        return response

    async def _answer(self, path: _Path, request: Request) -> Response:
        try:
            review = orjson.loads(request.content)
        except orjson.JSONDecodeError:
            return Response(400, b"the body is not JSON\n", _TEXT)
        try:
            async with asyncio.timeout(_time_for(path, request)):
                return Response(200, orjson.dumps(await path.answer(review)), _JSON)
        except MalformedReview as error:
            return Response(400, f"{error}\n".encode(), _TEXT)
        except TimeoutError:
            _log.error("%s took too long; the failure policy decides", path.name)
            return Response(504, f"webhook {path.name} took too long\n".encode(), _TEXT)
        except Exception:  # noqa: BLE001 - whatever the function raises must not end the server
            path.metrics.panics += 1
            uid = (review.get("request") or {}).get("uid", "") if isinstance(review, dict) else ""
            _log.exception("webhook %s failed on request %s; the failure policy decides", path.name, uid)
            return Response(500, f"webhook {path.name} failed; its log says why\n".encode(), _TEXT)


def _time_for(path: _Path, request: Request) -> float:
    """A little less than the API waits, which it says in the query."""
    asked = _asked_timeout(request.query_string)
    allowed = path.timeout_s if asked is None else min(path.timeout_s, int(asked[1]))
    return allowed * _SHARE


async def _admission(hook: Hook, client: Client, review: Any) -> Mapping[str, Any]:
    return await admission.answer(hook, review, client)
