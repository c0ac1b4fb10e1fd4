"""The shape of a type, as patches, field ownership and decoding need to know it.

One structure for built-in types (compiled from the cluster's schema table) and custom resources
(compiled from their OpenAPI schema): what is a map, a list keyed by fields, a set, an atom.
Knows nothing of where schemas come from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["ANY", "Kind", "ListType", "Schema"]

Kind = Literal["struct", "map", "list", "scalar", "any"]
ListType = Literal["atomic", "set", "map"]


@dataclass(slots=True, eq=False)
class Schema:
    """One node of a type. Children of a struct are reached through `property`, which resolves lazily,
    so that recursive types (JSONSchemaProps) are no trouble and unused types cost nothing."""

    kind: Kind
    #: The type's own name ("io.k8s.api.core.v1.Container"), empty for anonymous nodes.
    name: str = ""
    #: JSON type of a scalar: string, integer, number, boolean, int-or-string, quantity, time, micro-time,
    #: bytes.
    scalar: str = ""
    #: int32, int64, double, … where the schema says so.
    format: str = ""
    #: Struct: its fields, a schema or a function that makes it on first use.
    properties: dict[str, Schema | Callable[[], Schema]] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    #: Map: the schema of its values. List: the schema of its items.
    values: Schema | Callable[[], Schema] | None = None
    #: Struct or map changed only as a whole (x-kubernetes-map-type: atomic).
    atomic: bool = False
    list_type: ListType = "atomic"
    #: list_type map: the fields that identify an item (x-kubernetes-list-map-keys).
    keys: tuple[str, ...] = ()
    #: Key field defaults, for items that leave a key out (ports: protocol=TCP).
    key_defaults: Mapping[str, object] = field(default_factory=dict)
    #: Strategic merge: strategies ("merge", "replace", "retainKeys") and the one merge key.
    patch_strategies: tuple[str, ...] = ()
    patch_merge_key: str = ""
    #: Unknown fields are kept (RawExtension, x-kubernetes-preserve-unknown-fields).
    preserves_unknown: bool = False
    #: What `comparison` compiled this node into, as a part and as a whole object; its own business.
    walker: Any = field(default=None, init=False, repr=False)
    object_walker: Any = field(default=None, init=False, repr=False)

    def property(self, name: str) -> Schema | None:
        """The schema of one field of a struct, or None when the type has no such field."""
        found = self.properties.get(name)
        if found is None or isinstance(found, Schema):
            return found
        resolved = self.properties[name] = found()
        return resolved

    def element(self) -> Schema:
        """The schema of a map's values or a list's items."""
        if self.values is None:
            return ANY
        if not isinstance(self.values, Schema):
            self.values = self.values()
        return self.values


#: Anything goes and is one atom: what an untyped value is.
ANY = Schema("any", atomic=True, preserves_unknown=True)
