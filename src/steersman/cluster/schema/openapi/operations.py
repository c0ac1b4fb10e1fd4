"""The operations of a resource: which paths it has, which verbs work on them, with which parameters.

One model for both OpenAPI versions; `paths` writes it down as either. kubectl reads from it which kinds
there are and whether they take `dryRun` and `fieldValidation`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from steersman.cluster.schema.resources import GVK, ResourceType, SubresourceType

__all__ = ["Endpoint", "Operation", "Parameter", "endpoints"]


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    description: str
    type: str = "string"
    place: str = "query"


@dataclass(frozen=True, slots=True)
class Operation:
    """One verb on one path. `body` and `answer` are kinds; None: no body, or an answer of any form."""

    method: str
    action: str
    operation_id: str
    description: str
    gvk: GVK
    parameters: tuple[Parameter, ...] = ()
    body: GVK | None = None
    answer: GVK | None = None
    codes: tuple[int, ...] = (200,)


@dataclass(frozen=True, slots=True)
class Endpoint:
    path: str
    parameters: tuple[Parameter, ...]
    operations: tuple[Operation, ...]


_NAME: Final = Parameter("name", "name of the object", place="path")
_NAMESPACE: Final = Parameter("namespace", "namespace of the object", place="path")
_PRETTY: Final = Parameter("pretty", "If 'true', the answer is indented.")
_DRY_RUN: Final = Parameter("dryRun", "All: run every stage of the request, but store nothing.")
_MANAGER: Final = Parameter("fieldManager", "The name under which changed fields are recorded.")
_VALIDATION: Final = Parameter(
    "fieldValidation", "What to do about unknown and duplicate fields: Ignore, Warn or Strict."
)
_FORCE: Final = Parameter("force", "Take over fields owned by other managers (apply only).", "boolean")
_WRITE: Final = (_DRY_RUN, _MANAGER, _VALIDATION)
_LIST: Final = (
    Parameter("allowWatchBookmarks", "Send bookmark events while watching.", "boolean"),
    Parameter("continue", "Where the previous page of the list ended."),
    Parameter("fieldSelector", "Only objects whose fields match."),
    Parameter("labelSelector", "Only objects whose labels match."),
    Parameter("limit", "The most objects to answer with.", "integer"),
    Parameter("resourceVersion", "How fresh the answer must be, or where a watch starts."),
    Parameter("resourceVersionMatch", "How resourceVersion is meant: Exact or NotOlderThan."),
    Parameter("sendInitialEvents", "Begin a watch with the objects there are.", "boolean"),
    Parameter("timeoutSeconds", "How long a list may take or a watch may last.", "integer"),
    Parameter("watch", "Stream changes instead of listing.", "boolean"),
)
_DELETE: Final = (
    _DRY_RUN,
    Parameter("gracePeriodSeconds", "Seconds until the object is removed; 0 at once.", "integer"),
    Parameter("orphanDependents", "Deprecated: use propagationPolicy.", "boolean"),
    Parameter("propagationPolicy", "What becomes of dependents: Orphan, Background or Foreground."),
)
_STATUS: Final = GVK("", "v1", "Status")
_DELETE_OPTIONS: Final = GVK("", "v1", "DeleteOptions")
PATCH: Final = GVK("", "v1", "Patch")


def endpoints(resource: ResourceType) -> Iterator[Endpoint]:
    """Every path of a resource, its subresources included."""
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    base = (
        f"{root}/namespaces/{{namespace}}/{resource.plural}"
        if resource.namespaced
        else f"{root}/{resource.plural}"
    )
    scope = (_NAMESPACE, _PRETTY) if resource.namespaced else (_PRETTY,)
    namer = _Namer(resource)
    collection = tuple(_collection(resource, namer))
    if collection:
        yield Endpoint(base, scope, collection)
    if resource.namespaced and "list" in resource.verbs:
        everywhere = _list(resource, namer.identify("list", suffix="ForAllNamespaces", namespaced=False))
        yield Endpoint(f"{root}/{resource.plural}", (_PRETTY,), (everywhere,))
    item = tuple(_item(resource.gvk, resource.verbs, namer, ""))
    if item:
        yield Endpoint(f"{base}/{{name}}", (_NAME, *scope), item)
    for subresource in resource.subresources.values():
        operations = tuple(_subresource(resource, subresource, namer))
        if operations:
            yield Endpoint(f"{base}/{{name}}/{subresource.name}", (_NAME, *scope), operations)


class _Namer:
    """Operation ids as Kubernetes forms them: readAppsV1NamespacedDeploymentStatus."""

    def __init__(self, resource: ResourceType) -> None:
        group = resource.group.partition(".")[0] or "core"
        self._prefix = group.capitalize() + resource.version.capitalize()
        self._resource = resource

    def identify(
        self, verb: str, suffix: str = "", *, collection: str = "", namespaced: bool | None = None
    ) -> str:
        in_namespace = self._resource.namespaced if namespaced is None else namespaced
        scope = "Namespaced" if in_namespace else ""
        return f"{verb}{self._prefix}{collection}{scope}{self._resource.kind}{suffix}"


def _collection(resource: ResourceType, namer: _Namer) -> Iterator[Operation]:
    if "list" in resource.verbs:
        yield _list(resource, namer.identify("list"))
    if "create" in resource.verbs:
        yield Operation(
            "post",
            "post",
            namer.identify("create"),
            f"create a {resource.kind}",
            resource.gvk,
            _WRITE,
            body=resource.gvk,
            answer=resource.gvk,
            codes=(200, 201, 202),
        )
    if "deletecollection" in resource.verbs:
        yield Operation(
            "delete",
            "deletecollection",
            namer.identify("delete", collection="Collection"),
            f"delete all {resource.kind} objects of a collection",
            resource.gvk,
            (*_DELETE, *_LIST[1:9]),
            body=_DELETE_OPTIONS,
            answer=_STATUS,
        )


def _list(resource: ResourceType, operation_id: str) -> Operation:
    return Operation(
        "get",
        "list",
        operation_id,
        f"list or watch objects of kind {resource.kind}",
        resource.gvk,
        _LIST,
        answer=resource.gvk._replace(kind=resource.list_kind),
    )


def _item(gvk: GVK, verbs: tuple[str, ...], namer: _Namer, suffix: str) -> Iterator[Operation]:
    what = f"{suffix.lower()} of the specified {gvk.kind}" if suffix else f"the specified {gvk.kind}"
    if "get" in verbs:
        yield Operation("get", "get", namer.identify("read", suffix), f"read {what}", gvk, answer=gvk)
    if "update" in verbs:
        yield Operation(
            "put",
            "put",
            namer.identify("replace", suffix),
            f"replace {what}",
            gvk,
            _WRITE,
            body=gvk,
            answer=gvk,
            codes=(200, 201),
        )
    if "delete" in verbs:
        yield Operation(
            "delete",
            "delete",
            namer.identify("delete", suffix),
            f"delete {what}",
            gvk,
            _DELETE,
            body=_DELETE_OPTIONS,
            answer=_STATUS,
            codes=(200, 202),
        )
    if "patch" in verbs:
        yield Operation(
            "patch",
            "patch",
            namer.identify("patch", suffix),
            f"partially update {what}",
            gvk,
            (*_WRITE, _FORCE),
            body=PATCH,
            answer=gvk,
            codes=(200, 201),
        )


def _subresource(resource: ResourceType, subresource: SubresourceType, namer: _Namer) -> Iterator[Operation]:
    suffix = subresource.name.capitalize()
    gvk = subresource.gvk
    if gvk.kind.endswith("Options") or subresource.name == "log":
        methods = {"get": "get", "create": "post", "update": "put", "delete": "delete", "patch": "patch"}
        for verb in subresource.verbs:
            yield Operation(
                methods[verb],
                "connect" if gvk.kind.endswith("Options") else "get",
                namer.identify(
                    f"connect{verb.capitalize()}" if gvk.kind.endswith("Options") else "read", suffix
                ),
                f"{verb} {subresource.name} of the specified {resource.kind}",
                gvk,
            )
        return
    yield from _item(gvk, subresource.verbs, namer, suffix)
    if "create" in subresource.verbs:
        yield Operation(
            "post",
            "post",
            namer.identify("create", suffix),
            f"create {subresource.name} of a {resource.kind}",
            gvk,
            _WRITE,
            body=gvk,
            answer=gvk,
            codes=(200, 201, 202),
        )
