"""Spans of OpenTelemetry where somebody records them; nothing at all where nobody does.

    with tracing.span("reconcile webapps", {"name": "web"}) as span:
        span.set_attribute("result", "success")

Which exporter is used, and whether, is the application's to set up (`opentelemetry-sdk`, or
`opentelemetry-instrument`). Whoever does so loads OpenTelemetry's API, so it is never loaded here: without a
provider it would only cost. An error that leaves a span marks it as failed, by its type alone: messages may
hold what is nobody's business.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib import import_module
from typing import Any, Final, Literal, Protocol, Unpack

from steersman.client import Client
from steersman.client.transport import PassingTransport, RequestOptions
from steersman.http import ClientResponse, Headers

__all__ = ["Span", "TracingTransport", "is_recording", "span", "trace_requests"]

Attribute = str | int | float | bool
Kind = Literal["internal", "client", "server"]

_NAME: Final = "steersman"
_API: Final = "opentelemetry.trace"

if "OTEL_PYTHON_TRACER_PROVIDER" in os.environ:
    # The one provider that nobody sets up: the API finds it by this name when it is first asked.
    with suppress(ImportError):
        import_module(_API)


class Span(Protocol):
    def set_attribute(self, key: str, value: Attribute) -> None: ...

    def failed(self, error: BaseException) -> None:
        """Mark it as failed, for errors that do not leave it."""
        ...


class _Nothing:
    """A span that nobody records, and entering it."""

    __slots__ = ()

    def set_attribute(self, key: str, value: Attribute) -> None:
        return None

    def failed(self, error: BaseException) -> None:
        return None

    def __enter__(self) -> Span:
        return self

    def __exit__(self, *_failure: object) -> None:
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


def _api() -> Any:
    """OpenTelemetry's API if a provider was set; else None. Optional, so its types are not relied on."""
    trace = sys.modules.get(_API)
    if trace is None or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return None
    return trace


def is_recording() -> bool:
    """Whether spans are of any use to anybody."""
    return _api() is not None


def span(
    name: str,
    attributes: Mapping[str, Attribute] | None = None,
    *,
    kind: Kind = "internal",
    headers: Headers | None = None,
) -> AbstractContextManager[Span]:
    """What happens inside takes part in the trace; that of `headers`, if they name one."""
    trace = _api()
    return _nothing if trace is None else _recorded(trace, name, attributes, kind, headers)


@contextmanager
def _recorded(
    trace: Any, name: str, attributes: Mapping[str, Attribute] | None, kind: Kind, headers: Headers | None
) -> Iterator[Span]:
    parent = _propagate().extract(dict(headers)) if headers is not None else None
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
    client.carry(
        lambda transport: (
            transport if isinstance(transport, TracingTransport) else TracingTransport(transport)
        )
    )


class TracingTransport(PassingTransport):
    """A transport whose requests are spans. Watches and WebSockets last as long as they like and are none."""

    def request(
        self, method: str, target: str, **options: Unpack[RequestOptions]
    ) -> Awaitable[ClientResponse]:
        if is_recording():
            return self._traced(method, target, options)
        return super().request(method, target, **options)

    async def _traced(self, method: str, target: str, options: RequestOptions) -> ClientResponse:
        path = target.partition("?")[0]
        with span(method, {"http.request.method": method, "url.path": path}, kind="client") as current:
            options["headers"] = (*options.get("headers", ()), *_injected())
            answer = await self._transport.request(method, target, **options)
            current.set_attribute("http.response.status_code", answer.status)
            return answer


def _injected() -> list[tuple[bytes, bytes]]:
    carrier: dict[str, Any] = {}
    _propagate().inject(carrier)
    return [(name.encode(), str(value).encode()) for name, value in carrier.items()]


def _propagate() -> Any:
    """How traces are named in headers."""
    return import_module("opentelemetry.propagate")
