"""The API server: from an HTTP request to the verb that answers it.

Order of things: who are you (authentication), what do you ask for (routing), may you (authorization),
then the verb. Reads that need no waiting are answered without a task of their own. Every refusal, whatever
raised it, leaves as a Kubernetes Status.
"""

from __future__ import annotations

import contextlib
import logging
import platform
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import orjson

from steersman.cluster.apiserver import subresources
from steersman.cluster.apiserver.non_resource.discovery import Discovery
from steersman.cluster.apiserver.non_resource.health import Health
from steersman.cluster.apiserver.non_resource.metrics import RequestMetrics, render_metrics
from steersman.cluster.apiserver.non_resource.openapi import serve_openapi
from steersman.cluster.apiserver.pipeline.access import action_of, path_action
from steersman.cluster.apiserver.pipeline.bodies import strict_warnings
from steersman.cluster.apiserver.pipeline.call import Api, Call
from steersman.cluster.apiserver.pipeline.gate import Gate, Passage
from steersman.cluster.apiserver.pipeline.options import ListOptions, check_timeout, parse_query
from steersman.cluster.apiserver.pipeline.paths import ResourcePath, parse_path
from steersman.cluster.apiserver.pipeline.routes import BUILT_IN_GROUPS, has_table, lost, refusal_of, verb_of
from steersman.cluster.apiserver.reading.reads import get, list_objects
from steersman.cluster.apiserver.reading.watch import watch
from steersman.cluster.apiserver.resources.kinds import BuiltInKind
from steersman.cluster.apiserver.resources.resource import Replaced, Resource
from steersman.cluster.apiserver.responses.render import JSON, Form, failure, respond_json
from steersman.cluster.apiserver.responses.warning_headers import warning_headers
from steersman.cluster.apiserver.subresources.token_requests import OpenIDMetadata, TokenRequests
from steersman.cluster.apiserver.verbs.create import create
from steersman.cluster.apiserver.verbs.delete import delete, delete_collection
from steersman.cluster.apiserver.verbs.patch import patch
from steersman.cluster.apiserver.verbs.reviews import Reviews
from steersman.cluster.apiserver.verbs.update import update
from steersman.cluster.auth.authentication import InvalidCredentials
from steersman.cluster.auth.authorization import Action
from steersman.cluster.auth.users import ANONYMOUS, User
from steersman.cluster.auth.websocket_tokens import authorization_of
from steersman.cluster.codec.errors import BodyRejected, NotAcceptable, UnsupportedMediaType
from steersman.cluster.codec.negotiate import (
    JSON as JSON_MEDIA_TYPE,
)
from steersman.cluster.codec.negotiate import (
    METADATA,
    OFFERED,
    PLAIN,
    RESOURCE,
    STREAMED,
    YAML,
    Transforms,
    is_routed,
    negotiate,
    wants_pretty,
)
from steersman.cluster.store import StoreError, Unavailable
from steersman.http import Request, RequestRefused, Response
from steersman.objects.status import (
    StatusError,
    bad_request,
    internal_error,
    method_not_allowed,
    no_such_resource,
    not_acceptable,
    unauthorized,
    unavailable,
    unsupported_media_type,
)

if TYPE_CHECKING:
    from steersman.cluster.apiserver.aggregation import Aggregator, Backend
    from steersman.cluster.schema.openapi import OpenAPI

__all__ = ["KUBERNETES_VERSION", "APIServer"]

_log = logging.getLogger(__name__)

#: The Kubernetes whose API this is.
KUBERNETES_VERSION = "1.37.0"

Answer = Response | Awaitable[Response | None]
Verb = Callable[[Api, Call], Response | Awaitable[Response | None]]

_OBJECT_HANDLERS: Mapping[str, Verb] = {
    "get": get, "create": create, "update": update, "patch": patch,
    "delete": delete, "deletecollection": delete_collection,
}  # fmt: skip
#: Endpoints that are more than a part of their object; the others are served by its own verbs.
_SUBRESOURCE_HANDLERS: Mapping[tuple[str, str], Verb] = {
    ("scale", "get"): subresources.get_scale,
    ("scale", "update"): subresources.update_scale,
    ("scale", "patch"): subresources.patch_scale,
    ("binding", "create"): subresources.bind,
    ("eviction", "create"): subresources.evict,
}


async def _watch(api: Api, call: Call) -> Response | None:
    await watch(api, call, ListOptions.parse(call.query, watch=True))
    return None


def _list(api: Api, call: Call) -> Response | Awaitable[Response]:
    return list_objects(api, call, ListOptions.parse(call.query))


def _refuse_method(api: Api, call: Call) -> Response:
    raise method_not_allowed()


_COLLECTION_HANDLERS: Mapping[str, Verb] = {"list": _list, "watch": _watch}


#: Paths that answer one method only, those of groups if they are built in; others that are no resources
#: answer all of them alike.
_GET_ONLY = re.compile(
    r"/api(?:/[^/]+)?/?|/apis/apiregistration\.k8s\.io/?|/apis/([^/]+)/[^/]+/?|/version/?|/\.well-known/openid-configuration|/openid/v1/jwks"
)


def _is_long_running(action: Action) -> bool:
    return action.verb == "watch" or action.subresource in subresources.CONNECTS


_PLANS = 1024
#: Whose parameters choose the verb on a collection, and what of it is meant.
_CHOOSING = frozenset(("GET", "HEAD", "DELETE"))
# A client's parameters are the same few again and again.
_query_of = lru_cache(maxsize=256)(parse_query)
_NOBODY: Mapping[str | None, User] = {}


class _Plan(NamedTuple):
    """What a request asks for. Without a path it is about the server itself."""

    action: Action
    query: dict[str, list[str]]
    path: ResourcePath | None = None
    resource: Resource | None = None
    backend: Backend | None = None
    #: What answers it, and why it cannot be answered (said only to those who may ask).
    handler: Verb | None = None
    refusal: Callable[[], StatusError] | None = None

    def holds_for_others(self, name: str) -> bool:
        """Whether it is about one whole object, `name`, and the same but for the name for any other."""
        path, action = self.path, self.action
        return (
            path is not None
            and bool(name)
            and path.name == name == action.name
            and not path.subresource
            and not path.watch
            # A namespace is in itself.
            and action.namespace == path.namespace
        )

    def of(self, name: str) -> _Plan:
        """The plan for another object, if it `holds_for_others`."""
        action, query, path, resource, backend, handler, refusal = self
        assert path is not None
        group, version, plural, namespace = path[:4]
        path = ResourcePath(group, version, plural, namespace, name)
        action = Action(action.verb, group, version, plural, "", namespace, name)
        return _Plan(action, query, path, resource, backend, handler, refusal)


class APIServer:
    """The handler of the cluster's HTTP server."""

    def __init__(
        self,
        api: Api,
        openapi: Callable[[], OpenAPI],
        health: Health,
        gate: Gate,
    ) -> None:
        self._api = api
        self._gate = gate
        self._access = api.access
        #: Who issues tokens here; known once the server's address is.
        self.identity: OpenIDMetadata | None = None
        self._reviews = Reviews(api.access)
        self._token_requests = TokenRequests(api.access.tokens, longest_s=0)
        self._discovery = Discovery(api.catalog)
        self._openapi = openapi
        self._health = health
        self._aggregator: Aggregator | None = None
        #: Plans by method and path, and those that hold for every object below a path by method and that;
        #: good as long as the same resources are served.
        self._plans: dict[tuple[str, str], _Plan] = {}
        self._object_plans: dict[tuple[str, str], _Plan] = {}
        self._plans_state = self._discovery.state()
        self.metrics = RequestMetrics()

    def handle(self, request: Request) -> Answer:
        started = time.perf_counter()
        try:
            plan = self._plan(request)
            user = self._user(request, plan.action)
            entered = self._gate.enter(request, user, plan.action, plan.query)
        except Exception as error:  # noqa: BLE001 - every failure becomes a Status
            return self.answer_error(request, error)
        if isinstance(entered, Passage):
            return self._serve(request, plan, entered, started)
        return self._serve_later(request, plan, entered, started)

    async def _serve_later(
        self, request: Request, plan: _Plan, entering: Awaitable[Passage], started: float
    ) -> Response | None:
        """A request that had to wait for its turn."""
        try:
            passage = await entering
        except Exception as error:  # noqa: BLE001 - every failure becomes a Status
            return self.answer_error(request, error)
        answer = self._serve(request, plan, passage, started)
        return answer if isinstance(answer, Response) else await answer

    def _serve(self, request: Request, plan: _Plan, passage: Passage, started: float) -> Answer:
        """Answer a request that was let in."""
        call: Call | None = None
        answer: Response | Awaitable[Response | None]
        try:
            if plan.backend is not None:
                assert self._aggregator is not None
                answer = self._aggregator.proxy(plan.backend, request, passage.user)
            elif plan.path is None:
                answer = self._serve_path(request)
            elif plan.refusal is lost:
                answer = _page_not_found()
            else:
                call = self._call(request, plan, plan.path, passage)
                assert plan.handler is not None
                if call.resource.handover is not None:
                    answer = self._answer_anew(call, passage)
                else:
                    answer = plan.handler(self._api, call)
        except Exception as error:  # noqa: BLE001 - every failure becomes a Status
            answer = self._answer_failed(request, call, passage, error)
        if isinstance(answer, Response):
            self._leave(plan, call, passage, answer, started)
            return answer
        return self._finish(request, call, plan, passage, answer, started)

    async def _finish(
        self,
        request: Request,
        call: Call | None,
        plan: _Plan,
        passage: Passage,
        pending: Awaitable[Response | None],
        started: float,
    ) -> Response | None:
        answer: Response | None = None
        try:
            answer = await pending
        except Replaced:
            assert call is not None
            answer = await self._answer_anew(call, passage)
        except Exception as error:  # noqa: BLE001 - every failure becomes a Status
            answer = self._answer_failed(request, call, passage, error)
        finally:
            self._leave(plan, call, passage, answer, started)
        return answer

    async def _answer_anew(self, call: Call, passage: Passage) -> Response | None:
        """Answer a request whose resource may have been replaced, by what is served then."""
        while True:
            try:
                with contextlib.suppress(Replaced):
                    await call.resource.stays()
                plan = self._plan(call.request)
                renewed = self._call(call.request, plan, call.path, passage)
                call.resource, call.warnings[:] = renewed.resource, renewed.warnings
                call.annotations.clear()
                assert plan.handler is not None
                answer = plan.handler(self._api, call)
                return answer if isinstance(answer, Response) else await answer
            except Replaced:
                continue
            except Exception as error:  # noqa: BLE001 - every failure becomes a Status
                return self._answer_failed(call.request, call, passage, error)

    def _leave(
        self, plan: _Plan, call: Call | None, passage: Passage, answer: Response | None, started: float
    ) -> None:
        action = plan.action
        code = answer.status if answer is not None else passage.code
        seconds = time.perf_counter() - started
        # Hours of a conversation must not count as those of a `get`.
        verb = "connect" if action.subresource in subresources.CONNECTS else action.verb
        self.metrics.observe(verb, action.group, action.resource, code, seconds)
        if call is not None and call.annotations:
            passage.note(call.annotations)
        passage.leave(answer)

    def _plan(self, request: Request) -> _Plan:
        """What a request asks for, before anybody looks whether it is there or allowed."""
        method, path = request.method, request.path
        if not request.query_string:
            return self._known_plan(method, path)
        query = _query_of(request.query_string)
        if method in _CHOOSING:
            plan = self._make_plan(method, path, query)
        else:
            plan = self._known_plan(method, path)
            plan = _Plan(plan.action, query, *plan[2:])
        if "timeout" in query and not _is_long_running(plan.action):
            check_timeout(query)
        return plan

    def _known_plan(self, method: str, path: str) -> _Plan:
        """The plan of a request without parameters: the same ones come again and again."""
        state = self._discovery.state()
        plans, object_plans = self._plans, self._object_plans
        if state != self._plans_state or len(plans) > _PLANS or len(object_plans) > _PLANS:
            plans.clear()
            object_plans.clear()
            self._plans_state = state
        plan = plans.get((method, path))
        if plan is not None:
            return plan
        parent, _, name = path.rpartition("/")
        pattern = object_plans.get((method, parent))
        if pattern is not None and name:
            # Not kept: there are more objects than room, and filing plans costs more than making them.
            return pattern.of(name)
        plan = self._make_plan(method, path, {})
        if plan.holds_for_others(name):
            object_plans[method, parent] = plan
        else:
            plans[method, path] = plan
        return plan

    def _make_plan(self, method: str, text: str, query: dict[str, list[str]]) -> _Plan:
        path = parse_path(text)
        if path is None or not path.plural:
            backend = self._backend(path) if path is not None else None
            return _Plan(path_action(method, text), query, backend=backend)
        resource = self._api.catalog.find(path.group, path.version, path.plural)
        verb = verb_of(method, path, query)
        action, backend = action_of(path, verb, query), self._backend(path)
        refusal = refusal_of(method, resource, path, verb)
        if resource is None or refusal is not None:
            return _Plan(action, query, path, resource, backend, refusal=refusal)
        return _Plan(action, query, path, resource, backend, self._handler(resource, path, verb))

    def serve_others(self, aggregator: Aggregator) -> None:
        """Hand requests for other API servers' groups on to them."""
        self._aggregator = self._discovery.aggregator = aggregator

    def _backend(self, path: ResourcePath) -> Backend | None:
        if self._aggregator is None or not path.group:
            return None
        return self._aggregator.find(path.group, path.version)

    def _handler(self, resource: Resource, path: ResourcePath, verb: str) -> Verb:
        """What answers requests for a path that is served."""
        if verb in _COLLECTION_HANDLERS:
            return _COLLECTION_HANDLERS[verb]
        subresource = path.subresource
        if subresource and (handler := _SUBRESOURCE_HANDLERS.get((subresource, verb))) is not None:
            return handler
        if verb == "create" and (special := self._special_create(resource, subresource)) is not None:
            return special
        if subresource in subresources.CONNECTS:
            return subresources.connect
        if verb == "create" and (subresource or resource.type.storage is None):
            return _refuse_method
        return _OBJECT_HANDLERS[verb]

    def _special_create(self, resource: Resource, subresource: str) -> Verb | None:
        """Creates that store nothing of their kind: bindings, reviews, tokens."""
        kind = resource.type
        if subresource == "token" and kind.plural == "serviceaccounts":
            return self._token_requests.create
        if subresource:
            return None
        if kind.plural == "bindings":
            return subresources.bind
        return self._reviews.review if self._reviews.handles(kind.group, kind.plural) else None

    # Who

    def _user(self, request: Request, action: Action) -> User:
        """The request's user. A certificate is looked at once per connection, and so is a static token; any
        other token every time: it may expire or lose its account while the connection lives."""
        state = request.connection.state
        certificate: tuple[User | None, bool] | None = state.get("certificate")
        if certificate is None:
            der = request.connection.peer_certificate
            user = self._access.authentication.by_certificate(der) if der else None
            certificate = state["certificate"] = (user, bool(der) and user is None)
        user, is_bad = certificate
        if user is not None:
            return user
        header = request.headers.get("authorization")
        if header is None and request.upgradable:
            header = self._websocket_token(request, action)
        # By hash, as a dict looks things up: comparing texts would take longer the more of them is right.
        static: Mapping[str | None, User] = state.get("static", _NOBODY)
        if (user := static.get(header)) is not None:
            return user
        try:
            user, lasting = self._access.authentication.recognize(header)
        except InvalidCredentials:
            pass
        else:
            if lasting:
                state["static"] = {header: user}
            if user is not ANONYMOUS:
                return user
            if not is_bad and self._access.authentication.anonymous.allows(request.path):
                return user
        self._gate.refuse(request, action)
        raise unauthorized()

    def _websocket_token(self, request: Request, action: Action) -> str | None:
        try:
            return authorization_of(request.headers)
        except InvalidCredentials:
            self._gate.refuse(request, action)
            raise unauthorized() from None

    # What

    def _call(self, request: Request, plan: _Plan, path: ResourcePath, passage: Passage) -> Call:
        resource = plan.resource
        if plan.refusal is not None:
            error = plan.refusal()
            if resource is not None and resource.warning and not isinstance(resource.kind, BuiltInKind):
                error.headers = [*error.headers, *warning_headers((resource.warning,))]
            raise error
        assert resource is not None
        form = self._form(request, plan.query, resource, path)
        call = Call(request, resource, path, plan.query, passage.user, form, plan.action, passage)
        if resource.warning:
            call.warnings.append(resource.warning)
        return call

    @staticmethod
    def _form(
        request: Request, query: Mapping[str, list[str]], resource: Resource, path: ResourcePath
    ) -> Form:
        field = request.headers.get
        accept = field("accept") or ""
        if path.subresource in subresources.CONNECTS and path.subresource != "log":
            accept = ""
        if not is_routed(accept) and isinstance(resource.kind, BuiltInKind):
            also = ("text/plain",) if path.subresource == "log" else ()
            if not is_routed(accept, *also):
                streams = STREAMED if request.method == "GET" and not path.name else ()
                raise not_acceptable((*also, *OFFERED, *streams))
        pretty = query.get("pretty", [""])[0] if query else ""
        transforms = RESOURCE if has_table(resource, path.subresource) else METADATA
        return _form_for(accept, field("user-agent") or "", pretty, transforms)

    # What is not a resource

    def _serve_path(self, request: Request) -> Response:
        answer = (
            self._health.serve(request, parse_query(request.query_string))
            or serve_openapi(self._openapi, request)
            or self._discovery.serve(request)
            or (self.identity and self.identity.serve(request))
            or self._own(request)
        )
        if answer is not None:
            found = _GET_ONLY.fullmatch(request.path) if request.method != "GET" else None
            if found and (found[1] or "") in BUILT_IN_GROUPS:
                raise method_not_allowed()
            return answer
        root, group = (*request.path[1:].split("/"), "")[:2]
        if root in ("api", "version") or (root == "apis" and group in BUILT_IN_GROUPS and group):
            raise no_such_resource()
        return _page_not_found()

    def _own(self, request: Request) -> Response | None:
        path = request.path.rstrip("/")
        if path == "/version":
            accept = request.headers.get("accept") or ""
            if not is_routed(accept, formats=(JSON_MEDIA_TYPE,)):
                raise not_acceptable((JSON_MEDIA_TYPE,))
            return respond_json(orjson.dumps(_version(), option=orjson.OPT_INDENT_2))
        if path == "/metrics":
            api = self._api
            text = render_metrics(self.metrics, api.store, api.catalog, api.hubs.open_watches)
            return Response(200, text, ((b"Content-Type", b"text/plain; version=0.0.4; charset=utf-8"),))
        if not path:
            paths = [
                "/api",
                "/apis",
                "/healthz",
                "/livez",
                "/metrics",
                "/openapi/v2",
                "/openapi/v3",
                "/readyz",
                "/version",
            ]
            return respond_json(orjson.dumps({"paths": paths}))
        return None

    # What went wrong

    def answer_error(self, request: Request | None, error: Exception) -> Response:
        """Any error as a Status (also for the HTTP server's own refusals)."""
        return failure(_status_of(error), _form_of_status(request))

    def _answer_failed(
        self, request: Request, call: Call | None, passage: Passage, error: Exception
    ) -> Response:
        status = _refusal_of(error)
        if status is None:
            passage.fail(error)
            status = _fault(error)
        if call is None:
            return failure(status, _form_of_status(request))
        return failure(status, call.form, call.warnings)


def _page_not_found() -> Response:
    text = ((b"Content-Type", b"text/plain; charset=utf-8"), (b"X-Content-Type-Options", b"nosniff"))
    return Response(404, b"404 page not found\n", text)


def _form_of_status(request: Request | None) -> Form:
    """How an error is shown before it is known what was asked for: as the client likes, else as JSON."""
    accept = request.headers.get("accept") if request is not None else None
    if not accept:
        return JSON
    try:
        return _form_for(accept, "", "", PLAIN)
    except NotAcceptable:
        return JSON


def _status_of(error: Exception) -> StatusError:
    return _refusal_of(error) or _fault(error)


def _refusal_of(error: Exception) -> StatusError | None:
    """An error that is an answer; None for one that nobody expected."""
    match error:
        case StatusError():
            return error
        case BodyRejected():
            refusal = bad_request(str(error))
            if error.findings:
                refusal.headers = warning_headers(tuple(strict_warnings(error.findings)))
            return refusal
        case UnsupportedMediaType():
            return unsupported_media_type()
        case NotAcceptable():
            return StatusError(406, "NotAcceptable", str(error))
        case Unavailable():
            return unavailable(f"the store does not take writes: {error}")
        case StoreError():
            return internal_error(str(error))
        case RequestRefused():
            if error.status == 413:
                return StatusError(413, "RequestEntityTooLarge", error.message, headers=error.headers)
            return StatusError(error.status, "", error.message, headers=error.headers)
    return None


def _fault(error: Exception) -> StatusError:
    _log.error("request failed", exc_info=error)
    return internal_error("the server failed to handle the request; its log says why")


_SHAPES = {
    "Table": "table",
    "PartialObjectMetadata": "metadata",
    "PartialObjectMetadataList": "metadata list",
}


@lru_cache(maxsize=1024)
def _form_for(accept: str, user_agent: str, pretty: str, transforms: Transforms) -> Form:
    representation = negotiate(accept, transforms)
    converted = representation.convert
    yaml = representation.media_type == YAML
    indented = representation.pretty or wants_pretty(pretty, user_agent)
    if converted is None:
        return Form(yaml=yaml, pretty=indented) if yaml or indented else JSON
    return Form(_SHAPES[converted.kind], converted.version, yaml, indented)


def _version() -> dict[str, str]:
    major, minor, _ = KUBERNETES_VERSION.split(".")
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"v{KUBERNETES_VERSION}+steersman",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": platform.python_implementation(),
        "platform": f"linux/{'amd64' if platform.machine() == 'x86_64' else platform.machine()}",
    }
