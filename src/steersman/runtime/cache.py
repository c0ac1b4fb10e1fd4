"""The objects of one resource, as the last watch event or our own last write shows them.

An informer fills it (`receive`, `replace`); controllers read it and report what they wrote (`wrote`,
`removed`). Reading never waits and never asks the API.

**Read your own writes.** What the API answered to a write is in the cache at once. The watch may be behind
or ahead of that answer, so versions decide:

| what comes                                  | versus what is there   | the cache   | handlers            |
|---------------------------------------------|------------------------|-------------|---------------------|
| event                                       | newer than ours        | event's     | told                |
| event                                       | same version           | stays       | not told: echo      |
| event of someone else's earlier change      | older than our write   | stays       | told, with ours     |
| event, not after a write                    | older                  | stays       | not told            |
| event of what we deleted                    | nothing, or recreated  | stays       | not told            |
| answer to a write                           | newer than ours        | answer's    | others are told     |
| answer to a write                           | older or same          | stays       | not told: was told  |
| answer to a write the watch has passed      | nothing                | stays empty | deleted since       |
| list                                        | written after the list | stays       | told if unsure      |
| list that lacks it                          | written after the list | stays       | not told            |
| list of a server that went back in time     | anything               | the list's  | told what differs   |

Versions that are no numbers cannot be compared: whatever comes later is then taken to be newer.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from steersman.objects.selectors import LabelSelector
from steersman.runtime.cached import OPAQUE, Cached, Intake
from steersman.runtime.changes import Change, Handlers
from steersman.runtime.contents import Contents
from steersman.runtime.indexes import Index, IndexFunction
from steersman.runtime.keys import Key

__all__ = ["OWNER", "Cache"]

# Named since `Cache.list` hides the type in the class.
Objects = list[Cached]
Changes = list[Change]
Keys = list[Key]

#: The index by owner, there when first asked for: uid of each owner reference.
OWNER: Final = "owner"
#: The version of a deletion: no event of the same object can be newer.
_FINAL: Final = sys.maxsize
_EVERYWHERE: Final = ""


@dataclass(slots=True)
class _Written:
    """Writes of one object whose events have not come yet."""

    #: The object before them.
    base: Cached | None
    versions: list[int] = field(default_factory=list)

    def passed(self, version: int) -> bool:
        """The watch has come to `version`: whether that is one of these writes."""
        echo = version in self.versions
        self.versions = [later for later in self.versions if later > version]
        return echo


class _Gone(NamedTuple):
    """What we took out before the watch said so."""

    uid: str
    version: int

    def covers(self, cached: Cached) -> bool:
        return cached.uid == self.uid and cached.resource_version <= self.version


class Cache:
    """The objects of one resource that were selected; see the module for who wins when."""

    def __init__(
        self,
        intake: Intake,
        handlers: Handlers | None = None,
        *,
        labels: str = "",
        fields: str = "",
        namespaces: Iterable[str] | None = None,
    ) -> None:
        """`labels`, `fields` and `namespaces` (None: all) say which objects the API sends."""
        self.handlers = handlers or Handlers()
        self._intake = intake
        self._labels = LabelSelector.parse(labels)
        self._fields = fields
        self._namespaces = None if namespaces is None else frozenset(namespaces)
        self._contents = Contents()
        self._indexes: dict[str, Index] = {}
        self._written: dict[Key, _Written] = {}
        self._gone: dict[Key, _Gone] = {}
        #: How far each watch has come: by its namespace, or for all namespaces.
        self._progress: dict[str, int] = {}

    # --- reading

    def get(self, key: tuple[str, str]) -> Cached | None:
        """The object of a key (or of a pair of namespace and name)."""
        return self._contents.get(key)

    def __len__(self) -> int:
        return len(self._contents)

    def __contains__(self, key: tuple[str, str]) -> bool:
        return key in self._contents

    def __iter__(self) -> Iterator[Cached]:
        return iter(self._contents)

    def keys(self) -> Keys:
        return [cached.key for cached in self]

    def list(self, namespace: str | None = None, selector: LabelSelector | str | None = None) -> Objects:
        """The objects of a namespace, or of all; those whose labels match."""
        found = self._contents.within(namespace)
        if isinstance(selector, str):
            selector = LabelSelector.parse(selector)
        if selector is None or selector.empty:
            return found
        return [cached for cached in found if selector.matches(cached.labels())]

    def by_index(self, name: str, value: str) -> Objects:
        """The objects filed under `value`. Raises KeyError for an index nobody added."""
        if name == OWNER and name not in self._indexes:
            self.add_index(OWNER, Cached.owner_uids)
        found = map(self.get, self._indexes[name].keys(value))
        return [cached for cached in found if cached is not None]

    def add_index(self, name: str, function: IndexFunction) -> None:
        """File objects under the values `function` reads from them; it must not fail or change them."""
        if name in self._indexes:
            raise ValueError(f"there is an index {name!r} already")
        index = Index(function)
        for cached in self:
            index.put(cached)
        self._indexes[name] = index

    # --- what we write ourselves

    def writing(self, key: tuple[str, str], writer: Hashable = None) -> AbstractContextManager[None]:
        """Surrounds a write and its `wrote` or `removed`, so that an echo before the answer is known as one.

        The cache goes on with the watch; only handlers of `writer` hear of the object's changes later.
        """
        return self.handlers.holding(key if isinstance(key, Key) else Key(*key), writer)

    def wrote(self, obj: Mapping[str, Any], writer: Hashable = None) -> None:
        """The API answered this to our write: it is visible now. Handlers of `writer` are not told."""
        key = Key.of(obj)
        old = self.get(key)
        new = self._intake.read_object(obj, old)
        self.handlers.own(key, writer, new.resource_version)
        if new is old or self._is_past(key, new, old):
            return
        if not self._selects(new):
            if old is not None:
                self._gone[key] = _Gone(new.uid, new.resource_version)
                self._take_out(key)
                self.handlers.tell_others(Change("deleted", key, old, None), writer)
            return
        if new.resource_version != OPAQUE:
            self._written.setdefault(key, _Written(old)).versions.append(new.resource_version)
        self._put(new)
        self.handlers.tell_others(Change("modified" if old else "added", key, old, new), writer)

    def removed(self, key: tuple[str, str], uid: str, writer: Hashable = None) -> None:
        """Our delete of this very object is final: it is not visible any more."""
        key = Key(*key)
        self.handlers.own(key, writer, uid)
        old = self.get(key)
        if old is None or old.uid != uid:
            return
        self._gone[key] = _Gone(uid, _FINAL)
        self._take_out(key)
        self.handlers.tell_others(Change("deleted", key, old, None), writer)

    def _is_past(self, key: Key, new: Cached, old: Cached | None) -> bool:
        """Whether an answer to a write tells nothing new, since the watch was faster or we deleted it."""
        gone = self._gone.get(key)
        if gone is not None and gone.covers(new):
            return True
        if old is not None:
            return new.same_version(old) or new.older_than(old)
        # Only the API knows whether it selects fields; the event will tell.
        return bool(self._fields) or OPAQUE < new.resource_version <= self._progress_at(key)

    def _selects(self, cached: Cached) -> bool:
        if not self._watches(cached.namespace):
            return False
        return self._labels.empty or self._labels.matches(cached.labels())

    # --- what the informer brings

    def read(self, data: bytes) -> Cached:
        """What the API sent, as it is kept."""
        return self._intake.read(data)

    def read_event(self, data: bytes) -> Cached:
        """The same of an event that goes on from what is cached: an echo is what is cached."""
        return self._intake.read(data, self.get)

    def receive(self, new: Cached, *, deleted: bool = False) -> None:
        """An event of the watch."""
        key = new.key
        if not self._watches(key.namespace):
            return
        self.progress(new.resource_version, key.namespace)
        written = self._written.get(key)
        foreign = written is not None and not written.passed(new.resource_version)
        if written is not None and not written.versions:
            del self._written[key]
        if self._is_gone(key, new, deleted):
            return
        old = self.get(key)
        if old is None:
            if not deleted:
                self._put(new)
                self.handlers.tell(Change("added", key, None, new))
        elif new.older_than(old):
            if written is not None and foreign:
                # Our write came after it and has it in it, yet somebody else changed the object.
                self.handlers.tell(Change("modified", key, written.base, old))
        elif deleted:
            self._take_out(key)
            self.handlers.tell(Change("deleted", key, old, None))
        elif not new.same_version(old):
            self._put(new)
            self.handlers.tell(Change("modified", key, old, new))

    def _is_gone(self, key: Key, new: Cached, deleted: bool) -> bool:
        """Whether an event is about what we took out before; the last such event ends that."""
        gone = self._gone.get(key)
        if gone is None:
            return False
        covered = gone.covers(new)
        if deleted or not covered:
            del self._gone[key]
        return covered

    def progress(self, version: int, namespace: str) -> None:
        """The watch (of this namespace, if each has its own) has come to `version`."""
        scope = namespace if self._namespaces is not None else _EVERYWHERE
        if version > self._progress.get(scope, 0):
            self._progress[scope] = version

    def _progress_at(self, key: Key) -> int:
        return self._progress.get(key.namespace if self._namespaces is not None else _EVERYWHERE, 0)

    def replace(
        self,
        objects: Contents,
        version: int,
        *,
        namespace: str | None = None,
        initial: bool = False,
        reset: bool = False,
    ) -> Changes:
        """All there is (in a namespace, or anywhere) as of `version`; returns the changes, nobody is told.
        Where nobody listens, as when a large cache is filled first, none are made.

        With `reset` the server has another history than the one we know: what it has is right.
        """
        changes: list[Change] = []
        if namespace is not None and not self._watches(namespace):
            return changes
        if reset:
            self._forget(namespace)
        listening = self.handlers.listening
        for new in objects:
            change = self._replace_one(new, version, initial=initial, reset=reset)
            if change is not None and listening:
                changes.append(change)
        for old in self._contents.within(namespace):
            if old.key not in objects and (reset or old.resource_version <= version or version == OPAQUE):
                self._take_out(old.key)
                if listening:
                    changes.append(Change("deleted", old.key, old, None))
        self._settle(objects, version, namespace)
        return changes

    def _replace_one(self, new: Cached, version: int, *, initial: bool, reset: bool) -> Change | None:
        key = new.key
        gone = self._gone.get(key)
        if gone is not None and gone.covers(new):
            return None
        old = self.get(key)
        if old is None:
            self._put(new)
            return Change("added", key, None, new, initial)
        if not reset and (new.same_version(old) or old.resource_version > version):
            # Between our write and this list somebody else's change may have gone by unseen.
            written = self._written.get(key)
            return None if written is None else Change("modified", key, written.base, old)
        if reset and new.data == old.data:
            return None
        self._put(new)
        return Change("modified", key, old, new)

    def _settle(self, objects: Contents, version: int, namespace: str | None) -> None:
        """After a list: forget what only mattered until the watch had come this far."""
        for key in [key for key in self._gone if _within(key, namespace)]:
            listed = objects.get(key)
            if listed is None or not self._gone[key].covers(listed):
                del self._gone[key]
        for key in [key for key in self._written if _within(key, namespace)]:
            self._written[key].passed(version)
            if not self._written[key].versions:
                del self._written[key]
        self.progress(version, namespace or _EVERYWHERE)

    def _forget(self, namespace: str | None) -> None:
        self._gone = {key: gone for key, gone in self._gone.items() if not _within(key, namespace)}
        self._written = {key: kept for key, kept in self._written.items() if not _within(key, namespace)}
        self._progress.pop(namespace or _EVERYWHERE, None)

    def watch_namespaces(self, namespaces: Collection[str]) -> Changes:
        """Other namespaces are watched from now on; returns what is lost, nobody is told."""
        dropped = (self._namespaces or frozenset()) - frozenset(namespaces)
        changes = [
            change
            for namespace in dropped
            for change in self.replace(Contents(), OPAQUE, namespace=namespace, reset=True)
        ]
        self._namespaces = frozenset(namespaces)
        return changes

    def _watches(self, namespace: str) -> bool:
        return self._namespaces is None or namespace in self._namespaces

    # --- keeping

    def _put(self, cached: Cached) -> None:
        self._contents.put(cached)
        for index in self._indexes.values():
            index.put(cached)

    def _take_out(self, key: Key) -> None:
        self._contents.take_out(key)
        for index in self._indexes.values():
            index.take_out(key)


def _within(key: Key, namespace: str | None) -> bool:
    return namespace is None or key.namespace == namespace
