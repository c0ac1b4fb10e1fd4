"""What an object has, and what changed between two objects, as sets of fields by the type's schema.

Structs and maps are compared field by field, keyed lists and sets item by item, everything else
(scalars, atomic lists and maps) as a whole. A field is added when it was absent, not when it was null
or empty: the empty object of a type already has its plain structs, and who fills them does not own them.

A schema is compiled once into walkers (kept on the schema); they build sets directly, without paths
in between, because every write to the cluster passes here. Called by `managed` and server-side apply.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, NamedTuple, Protocol

from steersman.objects.fieldsets import LEAF, Fields, item_element, value_element
from steersman.objects.schemas import Schema

__all__ = ["Comparison", "compare", "elements", "field_set"]


class Comparison(NamedTuple):
    added: Fields
    modified: Fields
    removed: Fields

    @property
    def empty(self) -> bool:
        return not (self.added or self.modified or self.removed)


def compare(old: Mapping[str, Any], new: Mapping[str, Any], schema: Schema) -> Comparison:
    """What `new` adds, changes and lacks. Raises FieldSetError for list items that have no identity."""
    added: Fields = {}
    modified: Fields = {}
    removed: Fields = {}
    _object_walker(schema).changes(old, new, added, modified, removed)
    return Comparison(added, modified, removed)


def field_set(value: Mapping[str, Any], schema: Schema) -> Fields:
    """All the fields an object mentions: what a manager that applies it owns."""
    return _object_walker(schema).mentioned(value)


def elements(items: Iterable[Any], schema: Schema) -> list[str]:
    """The path elements of the items of a set or keyed list. Raises FieldSetError."""
    walker = walker_of(schema)
    assert isinstance(walker, _Items)
    return [walker.element(item) for item in items]


class Walker(Protocol):
    """How one node of a type is walked."""

    def whole(self, value: Any) -> Fields:
        """The node of a value that was added or removed: it and all below it."""

    def indivisible(self, old: Any, new: Any) -> bool:
        """Whether a change from old to new is a change of the whole."""

    def changes(self, old: Any, new: Any, added: Fields, modified: Fields, removed: Fields) -> None:
        """Put the changes below this node into the three sets. Only for what is not indivisible."""

    def is_atom(self, value: Any) -> bool:
        """Whether this value is one field, without fields below it."""

    def mentioned(self, value: Any) -> Fields:
        """The members below a value that is applied; the value itself is its parent's to add."""


def walker_of(schema: Schema) -> Walker:
    found = schema.walker
    if found is None:
        found = schema.walker = _compile(schema)
    walker: Walker = found
    return walker


def _compile(schema: Schema) -> Walker:
    if schema.atomic or schema.kind == "scalar":
        return _ATOM
    if schema.kind == "struct":
        return _Struct(schema)
    if schema.kind == "map":
        return _Map(schema)
    if schema.kind == "list":
        return _ATOM if schema.list_type == "atomic" else _Items(schema)
    return _DEDUCED


class _Atom:
    """Scalars, atomic lists and maps: one field, whatever is in it."""

    __slots__ = ()

    def whole(self, value: Any) -> Fields:
        return LEAF

    def indivisible(self, old: Any, new: Any) -> bool:
        return True

    def changes(self, old: Any, new: Any, added: Fields, modified: Fields, removed: Fields) -> None:
        raise AssertionError("an atom has no changes below it")

    def is_atom(self, value: Any) -> bool:
        return True

    def mentioned(self, value: Any) -> Fields:
        return LEAF


_ATOM: Final = _Atom()


class _Step(NamedTuple):
    """One name of a struct or map: its path element and how its value is walked."""

    element: str
    walker: Walker
    #: Owned through its content alone, not as itself.
    declared: bool


class _Named:
    """What structs and maps have in common; subclasses say what a name leads to."""

    __slots__ = ()
    #: Names that are passed over.
    untracked: ClassVar[frozenset[str]] = frozenset()

    def step(self, name: str) -> _Step:
        raise NotImplementedError

    def whole(self, value: Any) -> Fields:
        if not value or not isinstance(value, dict):
            return LEAF
        node: Fields = {".": LEAF}
        for name in value:
            element, walker, _ = self.step(name)
            node[element] = walker.whole(value[name])
        return node

    def indivisible(self, old: Any, new: Any) -> bool:
        return not (old or new) or not _alike(old, new, dict)

    def changes(self, old: Any, new: Any, added: Fields, modified: Fields, removed: Fields) -> None:
        old, new = old or LEAF, new or LEAF
        untracked = self.untracked
        for name, value in new.items():
            if name in untracked:
                continue
            before = old.get(name, _ABSENT)
            if before is _ABSENT:
                element, walker, _ = self.step(name)
                added[element] = walker.whole(value)
            elif before is not value and before != value:
                element, walker, _ = self.step(name)
                _changed(element, walker, before, value, added, modified, removed)
        for name in old:
            if name not in new and name not in untracked:
                element, walker, _ = self.step(name)
                removed[element] = walker.whole(old[name])

    def is_atom(self, value: Any) -> bool:
        return False

    def mentioned(self, value: Any) -> Fields:
        fields: Fields = {}
        for name, item in (value or {}).items():
            if name in self.untracked:
                continue
            element, walker, declared = self.step(name)
            atom = walker.is_atom(item)
            below = LEAF if atom else walker.mentioned(item)
            if atom or item is None or item == {} or not declared:
                fields[element] = {".": LEAF, **below} if below else LEAF
            elif below:
                fields[element] = below
        return fields


_ABSENT: Final = object()


def _alike(old: Any, new: Any, kind: type) -> bool:
    return (old is None or isinstance(old, kind)) and (new is None or isinstance(new, kind))


def _changed(
    element: str, walker: Walker, old: Any, new: Any, added: Fields, modified: Fields, removed: Fields
) -> None:
    """Sort one differing child into the three sets."""
    if walker.indivisible(old, new):
        modified[element] = LEAF
        if walker is _DEDUCED:
            # Where there is no schema, a map may come in place of something else, or go for it.
            modified[element] = walker.whole(new)
            if gone := {name: below for name, below in walker.whole(old).items() if name != "."}:
                removed[element] = gone
    else:
        _changed_parts(element, walker, old, new, added, modified, removed)


def _changed_parts(
    element: str, walker: Walker, old: Any, new: Any, added: Fields, modified: Fields, removed: Fields
) -> None:
    added_below: Fields = {}
    modified_below: Fields = {}
    removed_below: Fields = {}
    walker.changes(old, new, added_below, modified_below, removed_below)
    if added_below:
        added[element] = added_below
    if modified_below:
        modified[element] = modified_below
    if removed_below:
        removed[element] = removed_below


class _Struct(_Named):
    __slots__ = ("_schema", "_steps")

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._steps: dict[str, _Step] = {}

    def step(self, name: str) -> _Step:
        found = self._steps.get(name)
        if found is not None:
            return found
        declared = self._schema.property(name)
        if declared is None:
            # Not remembered: names that are not declared are the client's, and without end.
            return _Step("f:" + name, _DEDUCED if self._schema.preserves_unknown else _ATOM, False)
        made = self._steps[name] = _Step("f:" + name, walker_of(declared), True)
        return made


class _Map(_Named):
    __slots__ = ("_schema", "_values")

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._values: Walker | None = None

    def _value_walker(self) -> Walker:
        # Resolved on first use: a type may be a map of itself.
        if self._values is None:
            self._values = walker_of(self._schema.element())
        return self._values

    def step(self, name: str) -> _Step:
        return _Step("f:" + name, self._value_walker(), False)

    def whole(self, value: Any) -> Fields:
        if value and self._value_walker() is _ATOM and isinstance(value, dict):
            return dict.fromkeys([".", *["f:" + name for name in value]], LEAF)
        return super().whole(value)

    def mentioned(self, value: Any) -> Fields:
        if value and self._value_walker() is _ATOM:
            return {"f:" + name: LEAF for name in value}
        return super().mentioned(value)


class _Items:
    """A list whose items have an identity: key fields, or their own value."""

    __slots__ = ("_defaults", "_keys", "_schema", "_walker")

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._keys = tuple(sorted(schema.keys)) if schema.list_type == "map" else ()
        self._defaults = schema.key_defaults
        self._walker: Walker | None = None

    def _item(self) -> Walker:
        if self._walker is None:
            self._walker = walker_of(self._schema.element())
        return self._walker

    def element(self, item: Any) -> str:
        return item_element(item, self._keys, self._defaults) if self._keys else value_element(item)

    def _grouped(self, items: Iterable[Any] | None) -> dict[str, list[Any]]:
        """The items by element; more than one where a list has duplicates, which it should not."""
        groups: dict[str, list[Any]] = {}
        for item in items or ():
            groups.setdefault(self.element(item), []).append(item)
        return groups

    def whole(self, value: Any) -> Fields:
        if not value or not isinstance(value, list):
            return LEAF
        node: Fields = {".": LEAF}
        walker = self._item()
        for item in value:
            element = self.element(item)
            node[element] = LEAF if element in node else walker.whole(item)
        return node

    def indivisible(self, old: Any, new: Any) -> bool:
        return not (old or new) or not _alike(old, new, list)

    def changes(self, old: Any, new: Any, added: Fields, modified: Fields, removed: Fields) -> None:
        walker = self._item()
        before, after = self._grouped(old), self._grouped(new)
        for element, items in after.items():
            previous = before.get(element, ())
            if len(items) > 1:
                # Duplicates are one field; one that was alone is removed with all it had.
                if len(previous) == 1:
                    removed[element] = walker.whole(previous[0])
                if len(previous) < 2:
                    added[element] = LEAF
                elif previous != items:
                    modified[element] = LEAF
            elif len(previous) > 1:
                added[element] = walker.whole(items[0])
                removed[element] = LEAF
            elif not previous:
                added[element] = walker.whole(items[0])
            elif previous[0] != items[0]:
                _changed(element, walker, previous[0], items[0], added, modified, removed)
        for element, items in before.items():
            if element not in after:
                removed[element] = walker.whole(items[0]) if len(items) == 1 else LEAF

    def is_atom(self, value: Any) -> bool:
        return False

    def mentioned(self, value: Any) -> Fields:
        fields: Fields = {}
        walker = self._item()
        for element, items in self._grouped(value).items():
            below = walker.mentioned(items[0]) if len(items) == 1 else LEAF
            fields[element] = {".": LEAF, **below} if below else LEAF
        return fields


class _Deduced(_Named):
    """Without a schema: objects are maps, all else is an atom."""

    __slots__ = ()

    def step(self, name: str) -> _Step:
        return _Step("f:" + name, self, False)

    def is_atom(self, value: Any) -> bool:
        return not isinstance(value, dict)


_DEDUCED: Final = _Deduced()


class _Metadata(_Struct):
    """An object's own metadata; much of it is the server's, or says what object it is."""

    __slots__ = ()
    untracked = frozenset(
        {
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        }
    )


class _Object(_Struct):
    """A whole API object. Nobody owns its metadata as such, so it counts as there when it is not."""

    __slots__ = ("_metadata",)
    untracked = frozenset({"apiVersion", "kind", "metadata"})

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema)
        self._metadata = _Metadata(schema.property("metadata") or _ANY_METADATA)

    def changes(self, old: Any, new: Any, added: Fields, modified: Fields, removed: Fields) -> None:
        super().changes(old, new, added, modified, removed)
        before, after = old.get("metadata"), new.get("metadata")
        if before is not after:
            _changed_parts("f:metadata", self._metadata, before, after, added, modified, removed)

    def mentioned(self, value: Any) -> Fields:
        fields = super().mentioned(value)
        below = self._metadata.mentioned(value.get("metadata"))
        return {"f:metadata": below, **fields} if below else fields


_ANY_METADATA: Final = Schema("struct", preserves_unknown=True)


def _object_walker(schema: Schema) -> Walker:
    found = schema.object_walker
    if found is None:
        found = schema.object_walker = _Object(schema)
    walker: Walker = found
    return walker
