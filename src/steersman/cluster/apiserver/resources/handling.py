"""How requests are handled that differ between built-in and custom resources.

kube-apiserver serves custom resources by a request handler of their own (customresource_handler.go), which
routes, negotiates, refuses and words things differently. A resource has one of two `Handling`s, so that no
verb asks which of the two it serves. What depends on the content of objects is in `kinds` instead.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from steersman.cluster.codec import internal_type
from steersman.cluster.codec.errors import BodyRejected
from steersman.cluster.codec.negotiate import OFFERED, STREAMED, is_routed
from steersman.cluster.schema.resources import GVK, ResourceType
from steersman.objects.fields import Path
from steersman.objects.fields import invalid as invalid_field
from steersman.objects.kinds import Object
from steersman.objects.status import (
    StatusError,
    bad_request,
    invalid,
    method_not_allowed,
    method_not_supported,
    no_such_resource,
    not_acceptable,
    not_found,
    unclassified,
    unrouted_patch_type,
    unsupported_patch_type,
)

if TYPE_CHECKING:
    from steersman.cluster.apiserver.pipeline.paths import ResourcePath

__all__ = [
    "APPLY",
    "BUILT_IN",
    "CUSTOM",
    "JSON_PATCH",
    "MERGE_PATCH",
    "STRATEGIC_MERGE_PATCH",
    "Handling",
    "Refusal",
    "absent",
]

#: Makes the error that a request is refused with.
Refusal = Callable[[], StatusError]

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
#: Only built-in kinds say how their lists are merged.
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"

_ON_COLLECTIONS: Final = frozenset(("list", "create", "deletecollection"))
_ON_OBJECTS: Final = frozenset(("get", "update", "patch", "delete"))
#: Subresources that are shown as they are, never as a Table.
_WITHOUT_TABLE: Final = frozenset(
    ("approval", "binding", "ephemeralcontainers", "eviction", "finalize", "resize", "token")
)
_STATUS_WITHOUT_TABLE: Final = frozenset(
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
#: Groups whose API servers are extensions themselves.
_REGISTRY_BY_GROUP: Final = ("apiextensions.k8s.io", "apiregistration.k8s.io")
#: A custom resource's scale in which no field has an owner cannot be applied to, nor can it be changed.
_NO_FIRST_APPLY: Final = (
    "failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, "
    "Kind=Scale) to proper version: request to convert CR to an invalid group/version: autoscaling/v1"
)
_NO_CHANGE: Final = (
    "failed to convert new object ({}/{}; autoscaling/v1, Kind=Scale) to proper version: request to convert "
    "CR to an invalid group/version: autoscaling/v1"
)
_NO_SCALE: Final = (
    'no kind is registered for the type v1.Scale in scheme "k8s.io/apiextensions-apiserver/pkg/apiserver/'
    'customresource_handler.go:781"'
)


def absent() -> StatusError:
    """Stands for the answer to a path of no API group at all: 404 without a Status."""
    return no_such_resource()


class Handling(Protocol):
    # Routing

    def refusal_of(
        self, resource: ResourceType, path: ResourcePath, method: str, usual: str, verb: str
    ) -> Refusal | None:
        """Why a path of the resource is not served; None when it is. `usual` is the verb of the HTTP method
        on an object, `verb` on this path."""

    @property
    def warns_when_refused(self) -> bool:
        """Whether a refusal carries the deprecation warning of the resource."""

    # Negotiation

    def check_accept(self, accept: str, method: str, path: ResourcePath) -> None:
        """Raises 406 before the request is handled."""

    def has_table(self, resource: ResourceType, subresource: str) -> bool:
        """Whether it can be shown as a Table."""

    def patch_type(self, content_type: str) -> str:
        """The media type of a patch. Raises 415."""

    # Discovery

    @property
    def checks_accept_of_discovery(self) -> bool: ...

    def subresources_in_order(self, names: Mapping[str, Any]) -> Sequence[str]: ...

    @property
    def repeats_own_version(self) -> bool:
        """Whether aggregated discovery repeats a resource's group and version in its response kind."""

    # Lists and wrong forms

    @property
    def shows_empty_continue(self) -> bool:
        """Whether a list says `continue: ""` when nothing follows."""

    def go_type(self, gvk: GVK, subresource: str) -> str:
        """The Go type that kube-apiserver handles an object in, which a 406 names; empty: it names none."""

    def go_list_type(self, gvk: GVK) -> str: ...

    def registry_place(self, group: str, place: str) -> str:
        """Where kube-apiserver keeps objects, below /registry/."""

    # Scale

    @property
    def is_custom_scale(self) -> bool:
        """Which of the two tables a Scale is shown as."""

    def not_a_scale(self, error: BodyRejected) -> Exception:
        """What a body that is no Scale is refused with."""

    def check_scale_has_owner(self, scale: Object) -> None:
        """Before a Scale is applied to."""

    def check_applied_scale(self, new: Object, old: Object, path: ResourcePath) -> None:
        """After a Scale was applied to."""

    def check_replicas(self, replicas: int, name: str) -> None: ...

    def scale_preconditions(self, scale: Object) -> Mapping[str, Any]:
        """Metadata that the stored object must have for the Scale to be written."""

    def scale_version(self, given: str, stored: str) -> str:
        """The resourceVersion that a write of the workload is based on."""


class _BuiltIn:
    """Built-in resources: installed routes (endpoints/installer.go), types in Go."""

    warns_when_refused = False
    checks_accept_of_discovery = True
    repeats_own_version = False
    shows_empty_continue = False
    is_custom_scale = False

    def refusal_of(
        self, resource: ResourceType, path: ResourcePath, method: str, usual: str, verb: str
    ) -> Refusal | None:
        verbs = _routed(resource, path)
        if not verbs:
            return no_such_resource
        if path.subresource and not path.name:
            nameless = partial(bad_request, "name must be provided")
            return nameless if usual in verbs else method_not_allowed
        if method == "HEAD" and path.subresource != "proxy":
            return method_not_allowed
        if path.watch and method != "GET":
            return method_not_allowed
        if path.subresource == "proxy" and not verb:
            return None
        return None if verb in verbs else method_not_allowed

    def check_accept(self, accept: str, method: str, path: ResourcePath) -> None:
        also = ("text/plain",) if path.subresource == "log" else ()
        if not is_routed(accept, *also):
            streams = STREAMED if method == "GET" and not path.name else ()
            raise not_acceptable((*also, *OFFERED, *streams))

    def has_table(self, resource: ResourceType, subresource: str) -> bool:
        if subresource == "status":
            return resource.plural not in _STATUS_WITHOUT_TABLE
        if subresource:
            return subresource not in _WITHOUT_TABLE
        return resource.storage is not None or resource.kind == "ComponentStatus"

    def patch_type(self, content_type: str) -> str:
        """The route takes a list of types of which it knows one; what reads the patch knows none but a single
        type."""
        accepted = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY)
        given = content_type.partition(";")[0]
        if given in accepted:
            return given
        parts = (part.partition(";")[0].strip() for part in content_type.split(","))
        if not any(part in accepted for part in parts):
            raise unrouted_patch_type()
        raise unsupported_patch_type(accepted)

    def subresources_in_order(self, names: Mapping[str, Any]) -> Sequence[str]:
        return sorted(names)

    def go_type(self, gvk: GVK, subresource: str) -> str:
        return f"*{internal_type(gvk)}"

    def go_list_type(self, gvk: GVK) -> str:
        return f"*{internal_type(gvk)}List"

    def registry_place(self, group: str, place: str) -> str:
        return f"{group}/{place}" if group in _REGISTRY_BY_GROUP else place

    def not_a_scale(self, error: BodyRejected) -> Exception:
        return error

    def check_scale_has_owner(self, scale: Object) -> None:
        return None

    def check_applied_scale(self, new: Object, old: Object, path: ResourcePath) -> None:
        return None

    def check_replicas(self, replicas: int, name: str) -> None:
        if replicas < 0:
            at = Path("spec").child("replicas")
            error = invalid_field(at, replicas, "must be greater than or equal to 0")
            raise invalid("autoscaling", "Scale", name, [error])

    def scale_preconditions(self, scale: Object) -> Mapping[str, Any]:
        return {"uid": scale["metadata"].get("uid")}

    def scale_version(self, given: str, stored: str) -> str:
        return given


class _Custom:
    """Custom resources: one handler for all of them (customresource_handler.go), objects without a Go
    type."""

    warns_when_refused = True
    checks_accept_of_discovery = False
    repeats_own_version = True
    #: Lists of custom objects have no Go type that would leave it out.
    shows_empty_continue = True
    is_custom_scale = True

    def refusal_of(
        self, resource: ResourceType, path: ResourcePath, method: str, usual: str, verb: str
    ) -> Refusal | None:
        verbs = resource.verbs
        if path.subresource:
            part = resource.subresources.get(path.subresource)
            if part is None or path.rest:
                return partial(not_found, path.group, path.plural, path.name)
            verbs = part.verbs
        elif resource.namespaced and not path.namespace and verb not in ("list", "watch"):
            return absent
        elif not path.name and verb in ("update", "patch"):
            return partial(bad_request, "name must be provided")
        if verb in verbs:
            return None
        return partial(method_not_supported, path.group, path.plural, verb)

    def check_accept(self, accept: str, method: str, path: ResourcePath) -> None:
        return None

    def has_table(self, resource: ResourceType, subresource: str) -> bool:
        return True

    def patch_type(self, content_type: str) -> str:
        accepted = (JSON_PATCH, MERGE_PATCH, APPLY)
        given = content_type.partition(";")[0]
        if given not in accepted:
            raise unsupported_patch_type(accepted)
        return given

    def subresources_in_order(self, names: Mapping[str, Any]) -> Sequence[str]:
        """Status before scale, as the definition's version has them."""
        return list(names)

    def go_type(self, gvk: GVK, subresource: str) -> str:
        return "*v1.Scale" if subresource == "scale" else ""

    def go_list_type(self, gvk: GVK) -> str:
        return "*unstructured.UnstructuredList"

    def registry_place(self, group: str, place: str) -> str:
        return f"{group}/{place}"

    def not_a_scale(self, error: BodyRejected) -> Exception:
        return bad_request(_NO_SCALE)

    def check_scale_has_owner(self, scale: Object) -> None:
        if not scale["metadata"].get("managedFields"):
            raise unclassified(_NO_FIRST_APPLY)

    def check_applied_scale(self, new: Object, old: Object, path: ResourcePath) -> None:
        if new["spec"] != old["spec"]:
            raise unclassified(_NO_CHANGE.format(path.namespace, path.name))

    def check_replicas(self, replicas: int, name: str) -> None:
        """The schema of the resource checks them."""

    def scale_preconditions(self, scale: Object) -> Mapping[str, Any]:
        return {}

    def scale_version(self, given: str, stored: str) -> str:
        # Kinds that always want a version take the stored one.
        return given or stored


def _routed(resource: ResourceType, path: ResourcePath) -> Collection[str]:
    """What can be done at a path of a built-in resource; empty when there is no such path."""
    verbs = frozenset(resource.verbs)
    if path.subresource:
        part = resource.subresources.get(path.subresource)
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


BUILT_IN: Final[Handling] = _BuiltIn()
CUSTOM: Final[Handling] = _Custom()
