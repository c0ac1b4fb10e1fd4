"""Server-side apply itself: merge, prune, find conflicts, record who owns what.

The order matters and is Kubernetes': the configuration is merged into the live object; what this manager
applied before, left out now and nobody else owns is pruned; what then differs from the live object and is
owned by others is a conflict, or theirs no longer when forced; what became equal is shared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from steersman.objects.comparison import Comparison, compare, field_set
from steersman.objects.errors import FieldSetError
from steersman.objects.fieldsets import (
    FieldFilter,
    Fields,
    contains,
    difference,
    intersection,
    show_path,
    sorted_paths,
    union,
)
from steersman.objects.kinds import Object
from steersman.objects.managed import Entry, Managed, track_update
from steersman.objects.patches.apply import last_applied
from steersman.objects.patches.apply.checking import problems_of, show_problems
from steersman.objects.patches.apply.merging import merge
from steersman.objects.patches.apply.pruning import InVersion, prune, reconciled
from steersman.objects.patches.errors import (
    ApplyConflict,
    BadPatch,
    Conflict,
    InvalidConfiguration,
    PatchFailed,
    Unconvertible,
)
from steersman.objects.schemas import Schema

__all__ = ["BEFORE_FIRST_APPLY", "Applied", "Applier", "apply", "would_change"]


#: Who owns what was there before anybody's fields were tracked.
BEFORE_FIRST_APPLY: Final = "before-first-apply"


class Applied(NamedTuple):
    """The object after applying. It shares parts with the live object and the configuration."""

    #: With the new metadata.managedFields; the live object itself when there is nothing to write.
    object: Object
    #: Whether anything but ownership changed.
    changed: bool

    @property
    def managed_fields(self) -> list[Object]:
        return list(self.object["metadata"].get("managedFields") or ())


@dataclass(frozen=True, slots=True)
class Applier:
    """Who applies, in which version, through which endpoint."""

    manager: str
    api_version: str
    #: Of this operation; an entry's time moves only when the object changes.
    time: str = ""
    subresource: str = ""
    force: bool = False
    #: Reduces what the request can own: `excluding(fields_of("status"))` on the main resource.
    keep: FieldFilter | None = None
    #: Objects in other apiVersions; without it entries of other versions are taken to have the same form.
    convert: InVersion | None = None

    @property
    def key(self) -> tuple[str, str, str, str]:
        return Entry(self.manager, "Apply", self.api_version, self.subresource, "", {}).key


def apply(
    live: Object, config: Object, schema: Schema, applier: Applier, *, empty: Object | None = None
) -> Applied:
    """Apply a configuration to an object. Neither is changed.

    To create, `live` is the empty object of the type: what decoding `{}` gives, `{}` for types without a
    fixed form. An object that nobody's fields were tracked of is compared with `empty`, that same object.
    The result still has to be decoded, defaulted and validated; nulls may be in it.

    Raises ApplyConflict, InvalidConfiguration, BadPatch, PatchFailed.
    """
    metadata = config.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("managedFields"), list):
        raise BadPatch("metadata.managedFields must be nil")
    problems = problems_of(config, schema)
    if problems:
        raise InvalidConfiguration(
            f"failed to create typed patch object ({_shown(config)}): " + show_problems(problems)
        )
    try:
        managed = _owners(live, schema, applier, empty)
        if applier.manager != last_applied.MANAGER:
            return _apply(live, config, schema, applier, managed, applier.force)
        return _apply_as_kubectl(live, config, schema, applier, managed)
    except FieldSetError as error:
        raise PatchFailed(f"failed to create typed live object ({_shown(live)}): {error}") from error


def would_change(
    live: Object,
    config: Object,
    schema: Schema,
    applier: Applier,
    *,
    empty: Object | None = None,
    normal: Callable[[Object], Object] | None = None,
) -> bool:
    """Whether applying, with force, would change the object or who owns it: "match before write".
    `normal` brings an object into its stored form (canonical quantities, defaults, …) before comparing."""
    applied = apply(live, config, schema, replace(applier, time="", force=True), empty=empty)
    if applied.object is live:
        return False
    result = normal(applied.object) if normal is not None else applied.object
    return _timeless(result) != _timeless(live)


def _timeless(obj: Object) -> Object:
    metadata = obj["metadata"]
    entries = [{**entry, "time": None} for entry in metadata.get("managedFields") or ()]
    entries.sort(key=lambda entry: (entry["operation"], entry["manager"], entry.get("subresource", "")))
    return {**obj, "metadata": {**metadata, "managedFields": entries}}


def _shown(obj: Mapping[str, Any]) -> str:
    """An object as errors name it: namespace/name; group/version, Kind=kind"""
    metadata = obj.get("metadata")
    name, namespace = "", ""
    if isinstance(metadata, dict):
        texts = (metadata.get("name"), metadata.get("namespace"))
        name, namespace = (text if isinstance(text, str) else "" for text in texts)
    group, _, version = str(obj.get("apiVersion") or "").rpartition("/")
    return f"{namespace}/{name}; {group}/{version}, Kind={obj.get('kind') or ''}"


def _owners(live: Object, schema: Schema, applier: Applier, empty: Object | None) -> Managed:
    metadata = live.get("metadata") or {}
    entries = metadata.get("managedFields") or ()
    if not entries and metadata.get("uid"):
        entries = track_update(
            empty or {},
            live,
            schema,
            manager=BEFORE_FIRST_APPLY,
            api_version=applier.api_version,
            time=applier.time,
            subresource=applier.subresource,
            keep=applier.keep,
        )
    return Managed.decode(entries, trusted=True)


def _apply_as_kubectl(
    live: Object, config: Object, schema: Schema, applier: Applier, managed: Managed
) -> Applied:
    """Apply, and take over what the same manager applied client-side."""
    try:
        applied = _apply(live, config, schema, applier, Managed(managed.entries), applier.force)
    except _Refused as refused:
        mine = last_applied.fields_last_applied(live, schema, applier.api_version)
        others = [conflict for path, conflict in refused.found if not contains(mine, path)]
        if others:
            raise ApplyConflict(others) from None
        applied = _apply(live, config, schema, applier, managed, force=True)
    annotated = last_applied.with_last_applied(applied.object, config)
    return applied if annotated is applied.object else Applied(annotated, True)


class _Refused(ApplyConflict):
    """Conflicts with the paths of their fields."""

    def __init__(self, found: list[tuple[tuple[str, ...], Conflict]]) -> None:
        self.found = found
        super().__init__([conflict for _, conflict in found])


def _apply(
    live: Object, config: Object, schema: Schema, applier: Applier, managed: Managed, force: bool
) -> Applied:
    own = field_set(config, schema)
    if applier.keep is not None:
        own = applier.keep(own)
    last = managed.entries.get(applier.key)
    merged: Object = merge(live, config, schema)
    foreign = any(entry.api_version != applier.api_version for entry in managed.entries.values())
    same = last is not None and (last.fields, last.api_version) == (own, applier.api_version)
    if merged is live and same and not foreign:
        return Applied(live, False)
    in_version = _versions(applier, schema)
    _reconcile(managed, live, in_version)
    last = managed.entries.get(applier.key)
    entry = Entry(
        applier.manager,
        "Apply",
        applier.api_version,
        applier.subresource,
        last.time if last is not None else "",
        own,
    )
    managed.put(entry)
    # Where there are other versions, the object must be one of each, whatever is pruned.
    if last is not None and (foreign or difference(last.fields, own)):
        merged = _pruned(merged, last, managed, applier, in_version)
    changed = merged is not live
    if changed:
        _settle(live, merged, schema, applier, managed, force)
        managed.put(entry._replace(time=applier.time))
    return Applied(_with_owners(live, merged, managed), changed)


def _versions(applier: Applier, schema: Schema) -> InVersion:
    convert = applier.convert

    def in_version(obj: Object, version: str) -> tuple[Object, Schema] | None:
        here = applier.api_version
        if convert is None or here == version == obj.get("apiVersion", here):
            return obj, schema
        return convert(obj, version)

    return in_version


def _reconcile(managed: Managed, live: Object, in_version: InVersion) -> None:
    """Bring every entry to the schema as it is now; entries of versions that are gone go."""
    schemas: dict[str, Schema | None] = {}
    for key, entry in list(managed.entries.items()):
        version = entry.api_version
        if version not in schemas:
            converted = in_version(live, version)
            schemas[version] = None if converted is None else converted[1]
        schema = schemas[version]
        if schema is None:
            del managed.entries[key]
        else:
            managed.put(entry._replace(fields=reconciled(entry.fields, schema)))


def _pruned(merged: Object, last: Entry, managed: Managed, applier: Applier, in_version: InVersion) -> Object:
    pruned = prune(merged, last, managed.entries.values(), in_version)
    if pruned is merged:
        return merged
    back = in_version(pruned, applier.api_version)
    return merged if back is None else back[0]


def _settle(
    live: Object, merged: Object, schema: Schema, applier: Applier, managed: Managed, force: bool
) -> None:
    """Take from others what changes, or raise."""
    changes = _changes(live, merged, schema, applier)
    found: list[tuple[tuple[str, ...], Conflict]] = []
    for key, entry in list(managed.entries.items()):
        if key == applier.key:
            continue
        change = changes(entry.api_version)
        if change is None:
            del managed.entries[key]
            continue
        disputed = intersection(entry.fields, union(change.modified, change.added))
        if disputed and not force:
            found += _conflicts(entry, disputed)
        managed.put(entry._replace(fields=difference(difference(entry.fields, disputed), change.removed)))
    if found:
        raise _Refused(found)


def _conflicts(entry: Entry, disputed: Fields) -> list[tuple[tuple[str, ...], Conflict]]:
    owner = (entry.manager, entry.operation, entry.api_version, entry.subresource)
    return [(path, Conflict(*owner, show_path(path))) for path in sorted_paths(disputed)]


def _changes(
    live: Object, merged: Object, schema: Schema, applier: Applier
) -> Callable[[str], Comparison | None]:
    """The change as each apiVersion sees it, reduced to what this request can own."""
    known: dict[str, Comparison | None] = {}

    def of(old: Object, new: Object, of_schema: Schema) -> Comparison:
        found, keep = compare(old, new, of_schema), applier.keep
        return found if keep is None else Comparison(*map(keep, found))

    def change(version: str) -> Comparison | None:
        if applier.convert is None:
            version = applier.api_version
        if version not in known:
            if version == applier.api_version:
                known[version] = of(live, merged, schema)
            else:
                assert applier.convert is not None
                old = applier.convert(live, version)
                try:
                    new = applier.convert(merged, version)
                except Unconvertible as error:
                    raise error.during("failed to convert new object") from None
                known[version] = None if old is None or new is None else of(old[0], new[0], new[1])
        return known[version]

    return change


def _with_owners(live: Object, merged: Object, managed: Managed) -> Object:
    entries = managed.encode()
    metadata = merged.get("metadata") or {}
    if entries == (metadata.get("managedFields") or []):
        return merged
    new = {name: value for name, value in metadata.items() if name != "managedFields"}
    if entries:
        new["managedFields"] = entries
    return {**merged, "metadata": new}
