"""Spans of OpenTelemetry where it is installed; nothing at all where it is not.

    with tracing.span("reconcile webapps", {"name": "web"}) as span:
        span.set_attribute("result", "success")

Only `opentelemetry-api` is looked for: which exporter is used, and whether, is the application's to set up
(`opentelemetry-sdk`, or `opentelemetry-instrument`). An error that leaves a span marks it as failed, by its
type alone: messages may hold what is nobody's business.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final, Literal, Protocol

from steersman.client import Client
from steersman.client.transport import PassingTransport
from steersman.http import ClientResponse, Headers, RawHeaders

__all__ = ["Span", "TracingTransport", "is_installed", "span", "trace_requests"]

Attribute = str | int | float | bool
Kind = Literal["internal", "client", "server"]

_NAME: Final = "steersman"


class Span(Protocol):
    def set_attribute(self, key: str, value: Attribute) -> None: ...

    def failed(self, error: BaseException) -> None:
        """Mark it as failed, for errors that do not leave it."""
        ...


class _Nothing:
    __slots__ = ()

    def set_attribute(self, key: str, value: Attribute) -> None:
        return None

    def failed(self, error: BaseException) -> None:
        return None


class _Recorded:
    __slots__ = ("_span", "_trace", "set_attribute")

    def __init__(self, span: Any, trace: Any) -> None:
        self._span = span
        self._trace = trace
        self.set_attribute = span.set_attribute

    def failed(self, error: BaseException) -> None:
        self._span.set_attribute("error.type", type(error).__name__)
        self._span.set_status(self._trace.StatusCode.ERROR)


_nothing: Final = _Nothing()


def _installed() -> tuple[Any, Any] | None:
    """The API's modules for traces and for how they are named in headers. They are optional, so their types
    are not relied on either."""
    try:
        return import_module("opentelemetry.trace"), import_module("opentelemetry.propagate")
    except ImportError:
        return None


_otel: Final = _installed()


def is_installed() -> bool:
    return _otel is not None


@contextmanager
def span(
    name: str,
    attributes: Mapping[str, Attribute] | None = None,
    *,
    kind: Kind = "internal",
    headers: Headers | None = None,
) -> Iterator[Span]:
    """What happens inside takes part in the trace; that of `headers`, if they name one."""
    if _otel is None:
        yield _nothing
        return
    trace, propagate = _otel
    parent = propagate.extract(dict(headers)) if headers is not None else None
    tracer = trace.get_tracer(_NAME)
    with tracer.start_as_current_span(
        name,
        context=parent,
        kind=getattr(trace.SpanKind, kind.upper()),
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as started:
        recorded = _Recorded(started, trace)
        try:
            yield recorded
        except asyncio.CancelledError:
            recorded.set_attribute("cancelled", True)
            raise
        except BaseException as error:
            recorded.failed(error)
            raise


def trace_requests(client: Client) -> None:
    """Have the client's requests be spans, and name the trace to the API server. Once is enough."""
    if _otel is not None:
        client.carry(
            lambda transport: (
                transport if isinstance(transport, TracingTransport) else TracingTransport(transport)
            )
        )


class TracingTransport(PassingTransport):
    """A transport whose requests are spans. Watches and WebSockets last as long as they like and are none."""

    async def request(
        self,
        method: str,
        target: str,
        *,
        headers: RawHeaders = (),
        content: bytes = b"",
        timeout_s: float | None = None,
    ) -> ClientResponse:
        path = target.partition("?")[0]
        with span(method, {"http.request.method": method, "url.path": path}, kind="client") as current:
            answer = await super().request(
                method, target, headers=(*headers, *_injected()), content=content, timeout_s=timeout_s
            )
            current.set_attribute("http.response.status_code", answer.status)
            return answer


def _injected() -> list[tuple[bytes, bytes]]:
    carrier: dict[str, Any] = {}
    if _otel is not None:
        _otel[1].inject(carrier)
    return [(name.encode(), str(value).encode()) for name, value in carrier.items()]
