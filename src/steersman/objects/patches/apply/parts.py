"""What lies below one node of a type, asked the way merging, removing and checking walk it.

Private to server-side apply. `comparison` answers the same questions for itself, compiled for speed.
"""

from __future__ import annotations

from typing import Final

from steersman.objects.schemas import Schema

__all__ = ["below", "is_atomic", "is_keyed", "items_of"]

#: Where no schema is known: objects are maps of more such values, all else is one atom.
_DEDUCED: Final = Schema("any", preserves_unknown=True)


def is_atomic(schema: Schema) -> bool:
    """Whether values change only as a whole."""
    kind = schema.kind
    return schema.atomic or kind == "scalar" or (kind == "list" and schema.list_type == "atomic")


def is_keyed(schema: Schema) -> bool:
    """A list whose items have an identity: a keyed list or a set."""
    return schema.kind == "list" and schema.list_type != "atomic" and not schema.atomic


def below(schema: Schema, name: str) -> Schema:
    """The schema of one field of a struct, map or untyped object. Fields a struct does not declare are
    untyped: whether they are allowed at all is `checking`'s concern."""
    if schema.kind == "struct":
        return schema.property(name) or _DEDUCED
    return schema.element() if schema.kind == "map" else _DEDUCED


def items_of(schema: Schema) -> Schema:
    """The schema of a list's items; a set of fields may know of items where the type has no list any more."""
    return schema.element() if schema.kind == "list" else _DEDUCED
