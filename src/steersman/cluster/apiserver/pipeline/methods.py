"""HTTP methods as verbs of the API, and whether a path has the verb. Pure.

Rights are checked by the verb before the answer that a path does not exist, so every method has a verb,
and what is wrong with a path is a refusal for later.
"""

from __future__ import annotations

from collections.abc import Mapping

from steersman.cluster.apiserver.pipeline.paths import ResourcePath
from steersman.cluster.apiserver.resources.handling import Refusal, absent
from steersman.cluster.apiserver.resources.resource import Resource
from steersman.cluster.schema.resources import group_versions
from steersman.objects.status import no_such_resource

__all__ = ["BUILT_IN_GROUPS", "refusal_of", "verb_of"]

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
BUILT_IN_GROUPS = frozenset(group for group, _ in group_versions())


def refusal_of(method: str, resource: Resource | None, path: ResourcePath, verb: str) -> Refusal | None:
    """Why this is not served; None when it is."""
    missing = no_such_resource if path.group in BUILT_IN_GROUPS else absent
    if resource is None or bool(path.namespace) > resource.namespaced:
        return missing
    if path.rest and not path.subresource:
        return missing
    if resource.namespaced and path.name and not path.namespace:
        return missing
    return resource.handling.refusal_of(resource.type, path, method, _VERBS.get(method, ""), verb)


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
