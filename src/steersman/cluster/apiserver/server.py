"""The API server: an HTTP request in, its response out.

In this order: route the request, authenticate the user, let it in (`pipeline.gate`: audit, impersonation,
priority and fairness, authorization), then call the function that the route names. Reads that need no waiting
are answered without a task of their own. Every exception leaves as a Kubernetes Status.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from steersman.cluster.apiserver.non_resource.discovery import Discovery
from steersman.cluster.apiserver.non_resource.health import Health
from steersman.cluster.apiserver.non_resource.metrics import RequestMetrics, render_metrics
from steersman.cluster.apiserver.non_resource.openid import OpenIDMetadata
from steersman.cluster.apiserver.non_resource.paths import NonResourcePaths, page_not_found
from steersman.cluster.apiserver.pipeline.call import Api, Call
from steersman.cluster.apiserver.pipeline.credentials import RequestAuthentication
from steersman.cluster.apiserver.pipeline.gate import Gate, InFlightRequest
from steersman.cluster.apiserver.pipeline.paths import CONNECT_SUBRESOURCES, ResourcePath
from steersman.cluster.apiserver.resources.handling import absent
from steersman.cluster.apiserver.resources.resource import Replaced
from steersman.cluster.apiserver.responses.failures import fault, form_of_status, refusal_of, status_of
from steersman.cluster.apiserver.responses.forms import form_of
from steersman.cluster.apiserver.responses.render import failure
from steersman.cluster.apiserver.responses.warning_headers import warning_headers
from steersman.cluster.apiserver.routing import Route, Router
from steersman.http import Request, Response

if TYPE_CHECKING:
    from steersman.cluster.apiserver.aggregation import Aggregator
    from steersman.cluster.schema.openapi import OpenAPI

__all__ = ["APIServer"]

Answer = Response | Awaitable[Response | None]


class APIServer:
    """The handler of an HTTP server."""

    def __init__(self, api: Api, openapi: Callable[[], OpenAPI], health: Health, gate: Gate) -> None:
        self._api = api
        self._gate = gate
        self._authentication = RequestAuthentication(api.access.authentication, gate.refuse)
        self._discovery = Discovery(api.catalog)
        self._router = Router(api.catalog, self._discovery, api.access)
        self._non_resource = NonResourcePaths(health, openapi, self._discovery, self._metrics_text)
        self._aggregator: Aggregator | None = None
        self.metrics = RequestMetrics()

    def serve_identity(self, identity: OpenIDMetadata) -> None:
        """Serve the documents by which other parties verify this server's tokens."""
        self._non_resource.identity = identity

    def serve_others(self, aggregator: Aggregator) -> None:
        """Forward requests for other API servers' groups to them."""
        self._aggregator = self._discovery.aggregator = self._router.aggregator = aggregator

    def handle(self, request: Request) -> Answer:
        started = time.perf_counter()
        try:
            route = self._router.route(request)
            user = self._authentication.user_of(request, route.action)
            entered = self._gate.enter(request, user, route.action, route.query)
        except Exception as error:  # noqa: BLE001 - every failure becomes a Status
            return self.answer_error(request, error)
        if isinstance(entered, InFlightRequest):
            return self._serve(request, route, entered, started)
        return self._serve_later(request, route, entered, started)

    async def _serve_later(
        self, request: Request, route: Route, entering: Awaitable[InFlightRequest], started: float
    ) -> Response | None:
        """A request that had to wait for its turn."""
        try:
            in_flight = await entering
        except Exception as error:  # noqa: BLE001 - every failure becomes a Status
            return self.answer_error(request, error)
        answer = self._serve(request, route, in_flight, started)
        return answer if isinstance(answer, Response) else await answer

    def _serve(self, request: Request, route: Route, in_flight: InFlightRequest, started: float) -> Answer:
        """Answer a request that was let in."""
        call: Call | None = None
        answer: Response | Awaitable[Response | None]
        try:
            if route.backend is not None:
                assert self._aggregator is not None
                answer = self._aggregator.proxy(route.backend, request, in_flight.user)
            elif route.path is None:
                answer = self._non_resource.serve(request)
            elif route.refusal is absent:
                answer = page_not_found()
            else:
                call = _call(request, route, route.path, in_flight)
                assert route.handler is not None
                if call.resource.handover is not None:
                    answer = self._answer_anew(call, in_flight)
                else:
                    answer = route.handler(self._api, call)
        except Exception as error:  # noqa: BLE001 - every failure becomes a Status
            answer = _answer_failed(request, call, in_flight, error)
        if isinstance(answer, Response):
            self._leave(route, call, in_flight, answer, started)
            return answer
        return self._finish(request, call, route, in_flight, answer, started)

    async def _finish(
        self,
        request: Request,
        call: Call | None,
        route: Route,
        in_flight: InFlightRequest,
        pending: Awaitable[Response | None],
        started: float,
    ) -> Response | None:
        answer: Response | None = None
        try:
            answer = await pending
        except Replaced:
            assert call is not None
            answer = await self._answer_anew(call, in_flight)
        except Exception as error:  # noqa: BLE001 - every failure becomes a Status
            answer = _answer_failed(request, call, in_flight, error)
        finally:
            self._leave(route, call, in_flight, answer, started)
        return answer

    async def _answer_anew(self, call: Call, in_flight: InFlightRequest) -> Response | None:
        """Answer a request whose resource may have been replaced, by what is served then."""
        while True:
            try:
                with contextlib.suppress(Replaced):
                    await call.resource.wait_for_handover()
                route = self._router.route(call.request)
                renewed = _call(call.request, route, call.path, in_flight)
                call.resource, call.warnings[:] = renewed.resource, renewed.warnings
                call.annotations.clear()
                assert route.handler is not None
                answer = route.handler(self._api, call)
                return answer if isinstance(answer, Response) else await answer
            except Replaced:
                continue
            except Exception as error:  # noqa: BLE001 - every failure becomes a Status
                return _answer_failed(call.request, call, in_flight, error)

    def _leave(
        self,
        route: Route,
        call: Call | None,
        in_flight: InFlightRequest,
        answer: Response | None,
        started: float,
    ) -> None:
        action = route.action
        code = answer.status if answer is not None else in_flight.code
        seconds = time.perf_counter() - started
        # Hours of a connection must not count as those of a `get`.
        verb = "connect" if action.subresource in CONNECT_SUBRESOURCES else action.verb
        self.metrics.observe(verb, action.group, action.resource, code, seconds)
        if call is not None and call.annotations:
            in_flight.note(call.annotations)
        in_flight.leave(answer)

    def _metrics_text(self) -> bytes:
        api = self._api
        return render_metrics(self.metrics, api.store, api.catalog, api.hubs.open_watches)

    def answer_error(self, request: Request | None, error: Exception) -> Response:
        """Any error as a Status (also for the HTTP server's own refusals)."""
        return failure(status_of(error), form_of_status(request))


def _call(request: Request, route: Route, path: ResourcePath, in_flight: InFlightRequest) -> Call:
    """What the handler of a resource's request gets. Raises why it is not served."""
    resource = route.resource
    if route.refusal is not None:
        error = route.refusal()
        if resource is not None and resource.warning and resource.handling.warns_when_refused:
            error.headers = [*error.headers, *warning_headers((resource.warning,))]
        raise error
    assert resource is not None
    form = form_of(request, route.query, resource, path)
    call = Call(request, resource, path, route.query, in_flight.user, form, route.action, in_flight)
    if resource.warning:
        call.warnings.append(resource.warning)
    return call


def _answer_failed(
    request: Request, call: Call | None, in_flight: InFlightRequest, error: Exception
) -> Response:
    status = refusal_of(error)
    if status is None:
        in_flight.fail(error)
        status = fault(error)
    if call is None:
        return failure(status, form_of_status(request))
    return failure(status, call.form, call.warnings)
