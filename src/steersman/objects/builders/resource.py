"""Resource: what the builders of whole objects share: names, labels, annotations, owners, finalizers.

A resource is built (`Deployment("web")`) or holds an object of the API (`Deployment.from_object(live)`).
One that was built is completed and checked as a whole by `to_object`; one from the API is not, since the
API did that already. It satisfies `steersman.objects.resource_type.Typed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Self

from steersman.objects.builders.errors import BuildError
from steersman.objects.builders.labels import checked_annotations, checked_labels
from steersman.objects.builders.part import Part, copied, put_or_drop
from steersman.objects.names import NameCheck, is_label_key, name_is_dns_label, name_is_dns_subdomain
from steersman.objects.resource_type import ResourceType, Typed

__all__ = ["ClusterResource", "Resource"]

_EMPTY: Final[Mapping[str, str]] = {}
_METADATA_ONLY: Final = "PartialObjectMetadata"


class Resource(Part):
    """An object of the API under construction."""

    __slots__ = ("_live", "_shared")

    resource_type: ClassVar[ResourceType]
    #: The API's rule for the names of this kind.
    _name_rule: ClassVar[NameCheck] = staticmethod(name_is_dns_subdomain)

    def __init__(self, name: str, namespace: str | None = None) -> None:
        metadata: dict[str, Any] = {"name": name}
        kind = self.resource_type
        self._object = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
        #: Whether the content came from the API.
        self._live = False
        #: Whether the content still belongs to whoever gave it, so that it must be copied before a change.
        self._shared = False
        self._name("metadata.name", name, self._is_name)
        if namespace is not None:
            metadata["namespace"] = self._name("metadata.namespace", namespace, name_is_dns_label)

    @classmethod
    def from_object(cls, obj: Mapping[str, Any], /) -> Self:
        """A builder that holds an object of the API; the given object is never changed."""
        kind = cls.resource_type
        given = obj.get("kind", kind.kind)
        if given not in (kind.kind, _METADATA_ONLY):
            raise BuildError(cls.__name__, "", "kind", f"the object given is a {given}")
        made = cls.__new__(cls)
        if isinstance(obj, dict) and "kind" in obj:
            made._object = obj
        else:  # the items of a list come without kind and version
            made._object = {"apiVersion": kind.api_version, "kind": kind.kind, **obj}
        made._live = made._shared = True
        return made

    def to_object(self) -> dict[str, Any]:
        """The object as the API takes it. Raises BuildError when something is missing or contradictory."""
        made: dict[str, Any] = copied(self._object)
        if not self._live:
            self._complete(made)
        return made

    def copy(self) -> Self:
        other = super().copy()
        other._live, other._shared = self._live, False
        return other

    # --- Reading. What these return is to be read only.

    @property
    def name(self) -> str:
        return self._called()

    @property
    def namespace(self) -> str | None:
        return self.metadata.get("namespace")

    @property
    def uid(self) -> str:
        """Empty until the API has made the object."""
        uid: str = self.metadata.get("uid", "")
        return uid

    @property
    def metadata(self) -> dict[str, Any]:
        return self._object.get("metadata") or {}

    @property
    def spec(self) -> dict[str, Any]:
        return self._object.get("spec") or {}

    @property
    def status(self) -> dict[str, Any]:
        return self._object.get("status") or {}

    # --- Metadata

    def label(self, key: str, value: str) -> Self:
        return self.labels({key: value})

    def labels(self, labels: Mapping[str, str] = _EMPTY, /, **more: str) -> Self:
        """Add labels to this object (the pods of a workload have theirs: `pod_labels`)."""
        given = {**labels, **more}
        if given:
            self._table("labels").update(checked_labels(self._error, "metadata.labels", given))
        return self

    def annotation(self, key: str, value: str) -> Self:
        return self.annotations({key: value})

    def annotations(self, annotations: Mapping[str, str] = _EMPTY, /, **more: str) -> Self:
        given = {**annotations, **more}
        if given:
            self._table("annotations").update(checked_annotations(self._error, "metadata.annotations", given))
        return self

    def generate_name(self, prefix: str) -> Self:
        """Let the API append something random to the prefix, in place of the name."""
        problems = self._is_name(prefix, prefix=True)
        if problems:
            raise self._error("metadata.generateName", f"{prefix!r}: {problems[0]}")
        metadata = self._edit()["metadata"]
        metadata.pop("name", None)
        metadata["generateName"] = prefix
        return self

    def finalizer(self, name: str) -> Self:
        self._name("metadata.finalizers", name, is_label_key)
        finalizers = self._edit().setdefault("metadata", {}).setdefault("finalizers", [])
        if name not in finalizers:
            finalizers.append(name)
        return self

    def owner(
        self, owner: Mapping[str, Any] | Typed, *, controller: bool = True, block_deletion: bool = True
    ) -> Self:
        """Make this object a child of one the API has made: it is deleted with its owner."""
        parent = _content(owner)
        metadata = parent.get("metadata") or {}
        if not metadata.get("uid"):
            problem = "the owner has no uid; only an object that the API has made can own others"
            raise self._error("metadata.ownerReferences", problem)
        self._check_owner_namespace(metadata.get("namespace"))
        reference: dict[str, Any] = {
            "apiVersion": parent.get("apiVersion", ""),
            "kind": parent.get("kind", ""),
            "name": metadata.get("name", ""),
            "uid": metadata["uid"],
        }
        if controller:
            reference["controller"] = True
        if block_deletion:
            reference["blockOwnerDeletion"] = True
        references = self._edit().setdefault("metadata", {}).setdefault("ownerReferences", [])
        references[:] = [other for other in references if other.get("uid") != reference["uid"]]
        if controller and any(other.get("controller") for other in references):
            raise self._error("metadata.ownerReferences", "there is already an owner with controller set")
        references.append(reference)
        return self

    def _check_owner_namespace(self, namespace: str | None) -> None:
        """The garbage collector deletes children whose owner it cannot find beside them."""
        if not namespace:
            return
        if not self.resource_type.namespaced:
            problem = f"the owner is in namespace {namespace}, and an object without namespace cannot have it"
            raise self._error("metadata.ownerReferences", problem)
        if self.namespace not in (None, namespace):
            problem = f"the owner is in namespace {namespace}, this object in {self.namespace}"
            raise self._error("metadata.ownerReferences", problem)

    # --- For the builders themselves

    def _called(self) -> str:
        metadata = self.metadata
        name: str = metadata.get("name") or metadata.get("generateName") or ""
        return name

    def _edit(self) -> dict[str, Any]:
        if self._shared:
            self._object = copied(self._object)
            self._shared = False
        return self._object

    @classmethod
    def _is_name(cls, name: str, prefix: bool = False) -> list[str]:
        return cls._name_rule(name, prefix)

    def _complete(self, obj: dict[str, Any]) -> None:
        """Fill in what was left to be inferred, and check what only the whole can tell."""

    def _table(self, field: str) -> dict[str, str]:
        table: dict[str, str] = self._edit().setdefault("metadata", {}).setdefault(field, {})
        return table

    def _edit_spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = self._edit().setdefault("spec", {})
        return spec

    def _put_spec(self, field: str, value: Any) -> Self:
        self._edit_spec()[field] = value
        return self

    def _put_spec_or_drop(self, field: str, value: Any) -> Self:
        put_or_drop(self._edit_spec(), field, value)
        return self


class ClusterResource(Resource):
    """An object that is in no namespace."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(name)


def _content(owner: Mapping[str, Any] | Typed) -> Mapping[str, Any]:
    if isinstance(owner, Resource):
        return owner._object
    return owner if isinstance(owner, Mapping) else owner.to_object()
