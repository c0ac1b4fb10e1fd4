"""Routing: from method, path and query to the resource, the verb, and the function that answers it.

Rights are checked before the answer that a path does not exist, so every request has a route; what is
wrong with it is its `refusal`. Routes are kept by method and path as long as the same resources are served.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from steersman.cluster.apiserver import subresources
from steersman.cluster.apiserver.non_resource.discovery import Discovery
from steersman.cluster.apiserver.pipeline.access import action_of, path_action
from steersman.cluster.apiserver.pipeline.call import Api, Call
from steersman.cluster.apiserver.pipeline.methods import refusal_of, verb_of
from steersman.cluster.apiserver.pipeline.options import ListOptions, check_timeout, parse_query
from steersman.cluster.apiserver.pipeline.paths import CONNECT_SUBRESOURCES, ResourcePath, parse_path
from steersman.cluster.apiserver.reading.get import get
from steersman.cluster.apiserver.reading.lists import list_objects
from steersman.cluster.apiserver.reading.watch import watch
from steersman.cluster.apiserver.resources.resource import Catalog, Resource
from steersman.cluster.apiserver.subresources.token_requests import TokenRequests
from steersman.cluster.apiserver.verbs.create import create
from steersman.cluster.apiserver.verbs.delete import delete, delete_collection
from steersman.cluster.apiserver.verbs.patch import patch
from steersman.cluster.apiserver.verbs.reviews import Reviews
from steersman.cluster.apiserver.verbs.update import update
from steersman.cluster.auth.authorization import Action
from steersman.http import Request, Response
from steersman.objects.status import StatusError, method_not_allowed

if TYPE_CHECKING:
    from steersman.cluster.apiserver.aggregation import Aggregator, Backend
    from steersman.cluster.apiserver.pipeline.access import Access

__all__ = ["Handler", "Route", "Router"]

#: None: the answer was a stream, which has ended.
Handler = Callable[[Api, Call], Response | Awaitable[Response | None]]

_OBJECT_HANDLERS: Mapping[str, Handler] = {
    "get": get, "create": create, "update": update, "patch": patch,
    "delete": delete, "deletecollection": delete_collection,
}  # fmt: skip
#: Endpoints that are more than a part of their object; the others are served by its own verbs.
_SUBRESOURCE_HANDLERS: Mapping[tuple[str, str], Handler] = {
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


_COLLECTION_HANDLERS: Mapping[str, Handler] = {"list": _list, "watch": _watch}


_KEPT = 1024
#: With these methods the query says which verb it is, and about which objects.
_QUERY_ROUTED = frozenset(("GET", "HEAD", "DELETE"))
# A client's parameters are the same few again and again.
_query_of = lru_cache(maxsize=256)(parse_query)


class Route(NamedTuple):
    """What a request asks for, and the function that answers it. Without a path it is for a non-resource
    URL."""

    action: Action
    query: dict[str, list[str]]
    path: ResourcePath | None = None
    resource: Resource | None = None
    backend: Backend | None = None
    #: `refusal` is answered only to a user who is authorized to ask.
    handler: Handler | None = None
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

    def of(self, name: str) -> Route:
        """The route to another object, if it `holds_for_others`."""
        action, query, path, resource, backend, handler, refusal = self
        assert path is not None
        group, version, plural, namespace = path[:4]
        path = ResourcePath(group, version, plural, namespace, name)
        action = Action(action.verb, group, version, plural, "", namespace, name)
        return Route(action, query, path, resource, backend, handler, refusal)


class Router:
    def __init__(self, catalog: Catalog, discovery: Discovery, access: Access) -> None:
        self._catalog = catalog
        self._discovery = discovery
        self._reviews = Reviews(access)
        self._token_requests = TokenRequests(access.tokens, longest_s=0)
        #: Other API servers, and the groups that they serve.
        self.aggregator: Aggregator | None = None
        #: By method and path, and those that hold for every object below a path by method and that path.
        self._routes: dict[tuple[str, str], Route] = {}
        self._object_routes: dict[tuple[str, str], Route] = {}
        self._state = discovery.state()

    def route(self, request: Request) -> Route:
        """Before authorization and before it is known whether the object exists. Raises 400."""
        method, path = request.method, request.path
        if not request.query_string:
            return self._known(method, path)
        query = _query_of(request.query_string)
        if method in _QUERY_ROUTED:
            route = self.make(method, path, query)
        else:
            route = self._known(method, path)
            route = Route(route.action, query, *route[2:])
        if "timeout" in query and not _is_long_running(route.action):
            check_timeout(query)
        return route

    def _known(self, method: str, path: str) -> Route:
        """The route of a request without parameters. The same ones come again and again, so they are kept."""
        state = self._discovery.state()
        routes, object_routes = self._routes, self._object_routes
        if state != self._state or len(routes) > _KEPT or len(object_routes) > _KEPT:
            routes.clear()
            object_routes.clear()
            self._state = state
        route = routes.get((method, path))
        if route is not None:
            return route
        parent, _, name = path.rpartition("/")
        pattern = object_routes.get((method, parent))
        if pattern is not None and name:
            # Not kept: there are more objects than room, and filing routes costs more than making them.
            return pattern.of(name)
        route = self.make(method, path, {})
        if route.holds_for_others(name):
            object_routes[method, parent] = route
        else:
            routes[method, path] = route
        return route

    def make(self, method: str, text: str, query: dict[str, list[str]]) -> Route:
        path = parse_path(text)
        if path is None or not path.plural:
            backend = self._backend(path) if path is not None else None
            return Route(path_action(method, text), query, backend=backend)
        resource = self._catalog.find(path.group, path.version, path.plural)
        verb = verb_of(method, path, query)
        action, backend = action_of(path, verb, query), self._backend(path)
        refusal = refusal_of(method, resource, path, verb)
        if resource is None or refusal is not None:
            return Route(action, query, path, resource, backend, refusal=refusal)
        return Route(action, query, path, resource, backend, self._handler(resource, path, verb))

    def _backend(self, path: ResourcePath) -> Backend | None:
        if self.aggregator is None or not path.group:
            return None
        return self.aggregator.find(path.group, path.version)

    def _handler(self, resource: Resource, path: ResourcePath, verb: str) -> Handler:
        """What answers requests for a path that is served."""
        if verb in _COLLECTION_HANDLERS:
            return _COLLECTION_HANDLERS[verb]
        subresource = path.subresource
        if subresource and (handler := _SUBRESOURCE_HANDLERS.get((subresource, verb))) is not None:
            return handler
        if verb == "create" and (special := self._special_create(resource, subresource)) is not None:
            return special
        if subresource in CONNECT_SUBRESOURCES:
            return subresources.connect
        if verb == "create" and (subresource or resource.type.storage is None):
            return _refuse_method
        return _OBJECT_HANDLERS[verb]

    def _special_create(self, resource: Resource, subresource: str) -> Handler | None:
        """Creates that store nothing of their kind: bindings, reviews, tokens."""
        kind = resource.type
        if subresource == "token" and kind.plural == "serviceaccounts":
            return self._token_requests.create
        if subresource:
            return None
        if kind.plural == "bindings":
            return subresources.bind
        return self._reviews.review if self._reviews.handles(kind.group, kind.plural) else None


def _is_long_running(action: Action) -> bool:
    return action.verb == "watch" or action.subresource in CONNECT_SUBRESOURCES
