"""Which resource an object is of: its group, version, kind and where the API serves it.

`ResourceType` names a resource; `Typed` is what a Python class for one has (the builders and the custom
resources): a client or cache that is given such a class returns instances of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

__all__ = ["ResourceType", "Typed"]


@dataclass(frozen=True, slots=True)
class ResourceType:
    """One resource of one version: `ResourceType("apps", "v1", "Deployment", "deployments")`."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """What objects carry: `apps/v1`, or `v1` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str = "", subresource: str = "") -> str:
        """Where the API serves an object, or the collection when `name` is empty.

        Without a namespace a collection is that of all namespaces; names are safe in a path as they are.
        """
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        if self.namespaced and namespace:
            root = f"{root}/namespaces/{namespace}"
        path = f"{root}/{self.plural}"
        if name:
            path = f"{path}/{name}"
        return f"{path}/{subresource}" if subresource else path

    def __str__(self) -> str:
        return f"{self.plural}.{self.version}.{self.group}" if self.group else f"{self.plural}.{self.version}"


class Typed(Protocol):
    """A class whose instances are objects of one resource."""

    resource_type: ClassVar[ResourceType]

    @classmethod
    def from_object(cls, obj: Mapping[str, Any], /) -> Self:
        """An instance that holds what the API answered."""
        ...

    def to_object(self) -> dict[str, Any]:
        """The object as the API takes it, with apiVersion and kind."""
        ...
