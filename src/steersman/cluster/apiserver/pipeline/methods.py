"""HTTP methods as verbs of the API, and whether a path has the verb. Pure.

Rights are checked by the verb before a client is told that a path does not exist, so every method has a verb,
and what is wrong with a path is a refusal for later.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial

from steersman.cluster.apiserver.pipeline.paths import ResourcePath
from steersman.cluster.apiserver.resources.kinds import BuiltInKind
from steersman.cluster.apiserver.resources.resource import Resource
from steersman.cluster.schema.resources import group_versions
from steersman.objects.status import (
    StatusError,
    bad_request,
    method_not_allowed,
    method_not_supported,
    no_such_resource,
    not_found,
)

__all__ = ["BUILT_IN_GROUPS", "has_table", "lost", "refusal_of", "verb_of"]

#: HTTP method → verb; others have none.
_VERBS = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
#: What the verbs of an object are on a collection.
_COLLECTION_VERBS = {"get": "list", "delete": "deletecollection"}
_ON_COLLECTIONS = frozenset(("list", "create", "deletecollection"))
_ON_OBJECTS = frozenset(("get", "update", "patch", "delete"))
#: Subresources that are shown as they are, never as a Table.
_WITHOUT_TABLE = frozenset(
    ("approval", "binding", "ephemeralcontainers", "eviction", "finalize", "resize", "token")
)
_STATUS_WITHOUT_TABLE = frozenset(
    (
        "apiservices",
        "compositepodgroups",
        "customresourcedefinitions",
        "devicetaintrules",
        "podgroups",
        "resourceclaims",
        "resourcepoolstatusrequests",
    )
)
BUILT_IN_GROUPS = frozenset(group for group, _ in group_versions())


def lost() -> StatusError:
    """Stands for what not even a Status is answered to: it is nobody's path."""
    return no_such_resource()


def refusal_of(
    method: str, resource: Resource | None, path: ResourcePath, verb: str
) -> Callable[[], StatusError] | None:
    """Why this is not served; None when it is."""
    absent = no_such_resource if path.group in BUILT_IN_GROUPS else lost
    if resource is None or bool(path.namespace) > resource.namespaced:
        return absent
    if path.rest and not path.subresource:
        return absent
    if resource.namespaced and path.name and not path.namespace:
        return absent
    if not isinstance(resource.kind, BuiltInKind):
        return _refusal_of_custom(resource, path, verb)
    verbs = _routed(resource, path)
    if not verbs:
        return no_such_resource
    if path.subresource and not path.name:
        nameless = partial(bad_request, "name must be provided")
        return nameless if _VERBS.get(method) in verbs else method_not_allowed
    if method == "HEAD" and path.subresource != "proxy":
        return method_not_allowed
    if path.watch and method != "GET":
        return method_not_allowed
    if path.subresource == "proxy" and not verb:
        return None
    return None if verb in verbs else method_not_allowed


def _routed(resource: Resource, path: ResourcePath) -> Collection[str]:
    """What can be done at a path of a built-in resource; empty when there is no such path."""
    verbs = frozenset(resource.type.verbs)
    if path.subresource:
        part = resource.type.subresources.get(path.subresource)
        if part is None or path.watch or (path.rest and path.subresource != "proxy"):
            return ()
        return part.verbs
    if path.watch:
        return verbs & {"watch"}
    if path.name:
        return verbs & _ON_OBJECTS
    if resource.namespaced and not path.namespace:
        return verbs & {"list", "watch"}
    return verbs & (_ON_COLLECTIONS | {"watch"})


def _refusal_of_custom(resource: Resource, path: ResourcePath, verb: str) -> Callable[[], StatusError] | None:
    verbs = resource.type.verbs
    if path.subresource:
        part = resource.type.subresources.get(path.subresource)
        if part is None or path.rest:
            return partial(not_found, path.group, path.plural, path.name)
        verbs = part.verbs
    elif resource.namespaced and not path.namespace and verb not in ("list", "watch"):
        return lost
    elif not path.name and verb in ("update", "patch"):
        return partial(bad_request, "name must be provided")
    if verb in verbs:
        return None
    return partial(method_not_supported, path.group, path.plural, verb)


def has_table(resource: Resource, subresource: str) -> bool:
    """Whether it can be shown as a Table."""
    if not isinstance(resource.kind, BuiltInKind):
        return True
    if subresource == "status":
        return resource.plural not in _STATUS_WITHOUT_TABLE
    if subresource:
        return subresource not in _WITHOUT_TABLE
    return resource.type.storage is not None or resource.type.kind == "ComponentStatus"


def verb_of(method: str, path: ResourcePath, query: Mapping[str, list[str]]) -> str:
    """What is authorized; empty for a method that has no verb: only those who may do everything may do it."""
    if path.watch:
        return "watch"
    verb = _VERBS.get(method, "")
    if path.name:
        return verb
    if verb == "get" and query.get("watch", ["false"])[0].lower() not in ("false", "0"):
        return "watch"
    return _COLLECTION_VERBS.get(verb, verb)
