"""Who owns which fields: keeping metadata.managedFields through creates, updates and patches.

What a request adds or changes becomes its manager's and is taken from all others; what it removes is
nobody's; the rest stays where it was. A manager is known by name, operation, apiVersion and
subresource. Called by the API server on every write, before the object is stored; `Managed` is also
what server-side apply works on. Pure: the time is given, objects are not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from steersman.objects.comparison import Comparison, compare
from steersman.objects.errors import FieldSetError
from steersman.objects.fieldsets import FieldFilter, Fields, difference, normalized, union
from steersman.objects.schemas import Schema

__all__ = ["MAX_UPDATE_MANAGERS", "Converter", "Entry", "Managed", "track_update"]

#: The old and the new object in another apiVersion and that version's schema; None when it is gone.
Converter = Callable[[str], tuple[Mapping[str, Any], Mapping[str, Any], Schema] | None]

#: More managers than this that update, and the oldest become one.
MAX_UPDATE_MANAGERS: Final = 10
_OLD_UPDATES: Final = "ancient-changes"

_Key = tuple[str, str, str, str]


class Entry(NamedTuple):
    """The fields of one manager."""

    manager: str
    operation: str
    api_version: str
    subresource: str
    time: str
    fields: Fields

    @property
    def key(self) -> _Key:
        """What makes two entries the same manager: one that applies is the same in all versions."""
        version = "" if self.operation == "Apply" else self.api_version
        return self.manager, self.operation, version, self.subresource

    def to_object(self) -> dict[str, Any]:
        made: dict[str, Any] = {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": self.fields,
        }
        if not self.time:
            del made["time"]
        if not self.manager:
            del made["manager"]
        if self.subresource:
            made["subresource"] = self.subresource
        return made


class Managed:
    """All managers of one object."""

    __slots__ = ("entries",)

    def __init__(self, entries: Mapping[_Key, Entry] | None = None) -> None:
        self.entries: dict[_Key, Entry] = dict(entries) if entries else {}

    @classmethod
    def decode(cls, items: Sequence[Mapping[str, Any]], *, trusted: bool = False) -> Managed:
        """From metadata.managedFields; `trusted` is what this server wrote. Raises FieldSetError."""
        managed = cls()
        for number, item in enumerate(items):
            if not trusted:
                _check_entry(item, number)
            fields = item.get("fieldsV1") or {}
            entry = Entry(
                item.get("manager", ""),
                item["operation"],
                item["apiVersion"],
                item.get("subresource", ""),
                item.get("time") or "",
                fields if trusted else normalized(fields),
            )
            managed.entries[entry.key] = entry
        return managed

    def encode(self) -> list[dict[str, Any]]:
        """As metadata.managedFields: Apply before Update, then by age."""
        entries = list(self.entries.values())
        if len(entries) > 1:
            entries.sort(
                key=lambda entry: (
                    entry.operation,
                    entry.time,
                    entry.manager,
                    entry.api_version,
                    entry.subresource,
                )
            )
        return [entry.to_object() for entry in entries]

    def put(self, entry: Entry) -> None:
        """Set a manager's entry; one without fields goes."""
        if entry.fields:
            self.entries[entry.key] = entry
        else:
            self.entries.pop(entry.key, None)

    def give_up(self, comparison_for: Callable[[str], Comparison | None]) -> None:
        """Take from every manager what changed or went; an apiVersion that is gone takes its managers, and
        who owns nothing is none."""
        for key, entry in list(self.entries.items()):
            changes = comparison_for(entry.api_version)
            if changes is None:
                del self.entries[key]
                continue
            fields = entry.fields
            for lost in (changes.modified, changes.added, changes.removed):
                if lost:
                    fields = difference(fields, lost)
            if fields is not entry.fields or not fields:
                self.put(entry._replace(fields=fields))

    def cap(self, limit: int = MAX_UPDATE_MANAGERS) -> None:
        """Merge the oldest updates of each version until no more than `limit` are left."""
        if len(self.entries) <= limit:
            return
        updates = [entry for entry in self.entries.values() if entry.operation == "Update"]
        excess = len(updates) - limit
        if excess <= 0:
            return
        updates.sort(key=lambda entry: (entry.time, entry.key))
        first_of_version: dict[str, Entry] = {}
        for entry in updates:
            if excess <= 0:
                return
            first = first_of_version.setdefault(entry.api_version, entry)
            if first is entry:
                continue
            bucket = Entry(_OLD_UPDATES, "Update", entry.api_version, "", entry.time, {})
            existing = self.entries.get(bucket.key)
            if existing is None:
                existing = first
                self.entries.pop(first.key, None)
            self.entries.pop(entry.key, None)
            self.entries[bucket.key] = bucket._replace(fields=union(entry.fields, existing.fields))
            excess -= 1


def track_update(
    live: Mapping[str, Any] | None,
    new: Mapping[str, Any],
    schema: Schema,
    *,
    manager: str,
    api_version: str,
    time: str,
    subresource: str = "",
    keep: FieldFilter | None = None,
    convert: Converter | None = None,
) -> list[dict[str, Any]]:
    """The managedFields of `new`, which a create, update or patch by this manager made from `live`.

    On create `live` is the empty object of the type (what decoding `{}` gives), None for types without
    a fixed form (custom resources). `keep` reduces what the request can own: `excluding(fields_of("status"))`
    on the main resource, the opposite on /status. `convert` gives both objects in another apiVersion;
    without it entries of other versions are taken to have the same form.
    """
    old: Mapping[str, Any] = live or {}
    old_meta: Mapping[str, Any] = old.get("metadata") or {}
    managed = _current_owners(old_meta, new.get("metadata") or {}, subresource)
    if not managed.entries and old_meta.get("uid"):
        # Nobody was tracked so far: this starts with the first apply.
        return []
    try:
        changes = _filtered(compare(old, new, schema), keep)
        if managed.entries:
            managed.give_up(_comparisons(api_version, changes, keep, convert))
    except FieldSetError:
        # A list item without identity: ownership stays what it was, the write goes on.
        return list(old_meta.get("managedFields") or ())
    taken = union(changes.added, changes.modified)
    if not managed.entries:
        first = Entry(manager or "unknown", "Update", api_version, subresource, time, taken)
        return [first.to_object()] if taken else []
    if taken:
        entry = Entry(manager or "unknown", "Update", api_version, subresource, time, taken)
        previous = managed.entries.get(entry.key)
        if previous is not None:
            entry = entry._replace(fields=union(taken, previous.fields))
        managed.entries[entry.key] = entry
    managed.cap()
    return managed.encode()


def _filtered(changes: Comparison, keep: FieldFilter | None) -> Comparison:
    if keep is None:
        return changes
    return Comparison(keep(changes.added), keep(changes.modified), keep(changes.removed))


def _comparisons(
    api_version: str, changes: Comparison, keep: FieldFilter | None, convert: Converter | None
) -> Callable[[str], Comparison | None]:
    """The changes as each apiVersion sees them."""
    known: dict[str, Comparison | None] = {api_version: changes}

    def comparison(version: str) -> Comparison | None:
        if convert is None:
            return changes
        if version not in known:
            converted = convert(version)
            known[version] = None if converted is None else _filtered(compare(*converted), keep)
        return known[version]

    return comparison


def _current_owners(old: Mapping[str, Any], new: Mapping[str, Any], subresource: str) -> Managed:
    """The owners before this request: those it sent, if it may and they make sense, else the stored."""
    stored = old.get("managedFields") or ()
    sent = new.get("managedFields")
    if not stored and not sent:
        return Managed()
    if subresource or sent is None or sent is stored or sent == stored:
        return Managed.decode(stored, trusted=True)
    if sent in ([], [{}]):
        return Managed()
    try:
        managed = Managed.decode(sent)
    except FieldSetError:
        return Managed.decode(stored, trusted=True)
    return managed if managed.entries else Managed.decode(stored, trusted=True)


def _check_entry(item: Mapping[str, Any], number: int) -> None:
    if item.get("operation") not in ("Apply", "Update"):
        raise FieldSetError("operation must be `Apply` or `Update`")
    if not item.get("apiVersion"):
        raise FieldSetError("apiVersion must not be empty")
    fields_type = item.get("fieldsType")
    if not fields_type:
        raise FieldSetError(f"missing fieldsType in managed fields entry {number}")
    if fields_type != "FieldsV1":
        raise FieldSetError(f'invalid fieldsType "{fields_type}" in managed fields entry {number}')
