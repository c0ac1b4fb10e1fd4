"""The cache against a dumb twin: a server's content and history, kept in plain dictionaries.

Whatever the order in which writes, answers, events and lists come: a reader never sees anything older than
its own last write, everybody hears what others did, and in the end the cache is what the server has.
"""

from __future__ import annotations

import contextlib
from typing import Any

import orjson
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from steersman.objects.resource_type import ResourceType
from steersman.runtime.cache import OWNER, Cache
from steersman.runtime.cached import Intake
from steersman.runtime.changes import Change
from steersman.runtime.contents import Contents

CONFIG_MAPS = ResourceType("", "v1", "ConfigMap", "configmaps")
NAMES = st.sampled_from("abc")
OWNERS = st.sampled_from(["o1", "o2"])


class Server:
    """Objects by name and what happened to them: (revision, object, deleted, by us)."""

    def __init__(self) -> None:
        self.revision = 1
        self.objects: dict[str, dict[str, Any]] = {}
        self.history: list[tuple[int, dict[str, Any], bool, bool]] = []

    def write(self, name: str, owner: str, *, ours: bool) -> dict[str, Any]:
        self.revision += 1
        before = self.objects.get(name)
        uid = before["metadata"]["uid"] if before else f"u{self.revision}"
        obj = _object(name, self.revision, uid, owner)
        self.objects[name] = obj
        self.history.append((self.revision, obj, False, ours))
        return obj

    def delete(self, name: str, *, ours: bool) -> str:
        self.revision += 1
        metadata = self.objects.pop(name)["metadata"]
        uid: str = metadata["uid"]
        gone = _object(name, self.revision, uid, metadata["ownerReferences"][0]["uid"])
        self.history.append((self.revision, gone, True, ours))
        return uid


def _object(name: str, revision: int, uid: str, owner: str) -> dict[str, Any]:
    metadata = {
        "name": name,
        "namespace": "x",
        "uid": uid,
        "resourceVersion": str(revision),
        "ownerReferences": [{"uid": owner}],
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


class Mirror:
    """A handler that rebuilds the content from what it hears."""

    def __init__(self, machine: Caching) -> None:
        self.machine = machine
        self.versions: dict[str, int] = {}
        #: By name, how new the state was that the cache had when this handler was last told of it.
        self.told: dict[str, int] = {}

    def __call__(self, change: Change) -> None:
        name = change.key.name
        if change.new is None:
            self.versions.pop(name, None)
        else:
            self.versions[name] = change.new.resource_version
        now = self.machine.cache.get(change.key)
        newest = now.resource_version if now is not None else self.machine.delivered
        self.told[name] = max(self.told.get(name, 0), newest)


class Caching(RuleBasedStateMachine):
    """Rules are what can happen; each is one step of the server, the network or our program."""

    def __init__(self) -> None:
        super().__init__()
        self.server = Server()
        self.cache = Cache(Intake(CONFIG_MAPS))
        self.others = Mirror(self)
        self.mine = Mirror(self)
        self.cache.handlers.add(self.others)
        self.cache.handlers.add(self.mine, "me")
        #: The revision up to which events have come, and the one of the last backup restored.
        self.delivered = 0
        self.restored = 0
        self.snapshot: tuple[int, Contents] | None = None
        #: Writes without an answer yet: what to do when it comes.
        self.in_flight: dict[str, Any] = {}
        #: The last state of ours that was answered, until somebody else's later one is seen.
        self.floor: dict[str, int] = {}

    @initialize()
    def sync(self) -> None:
        self.replace_by(*self.listing())

    def listing(self) -> tuple[int, Contents]:
        found = [self.cache.read(orjson.dumps(obj)) for obj in self.server.objects.values()]
        return self.server.revision, Contents(found)

    def replace_by(self, version: int, found: Contents, *, reset: bool = False) -> None:
        changes = self.cache.replace(found, version, reset=reset)
        self.delivered = version
        self.cache.handlers.tell_all(changes)

    # --- the world

    @rule(name=NAMES, owner=OWNERS)
    def somebody_writes(self, name: str, owner: str) -> None:
        self.server.write(name, owner, ours=False)

    @rule(name=NAMES)
    def somebody_deletes(self, name: str) -> None:
        if name in self.server.objects:
            self.server.delete(name, ours=False)

    # --- our program

    @rule(name=NAMES, owner=OWNERS)
    def we_write(self, name: str, owner: str) -> None:
        if name not in self.in_flight:
            bracket = contextlib.ExitStack()
            bracket.enter_context(self.cache.writing(("x", name), "me"))
            obj = self.server.write(name, owner, ours=True)
            self.in_flight[name] = (bracket, obj)

    @rule(name=NAMES)
    def we_delete(self, name: str) -> None:
        if name not in self.in_flight and name in self.server.objects:
            bracket = contextlib.ExitStack()
            bracket.enter_context(self.cache.writing(("x", name), "me"))
            self.in_flight[name] = (bracket, self.server.delete(name, ours=True))

    @rule(name=NAMES)
    def the_answer_comes(self, name: str) -> None:
        if name not in self.in_flight:
            return
        bracket, answer = self.in_flight.pop(name)
        with bracket:
            if isinstance(answer, str):
                self.cache.removed(("x", name), answer, "me")
                self.floor.pop(name, None)
            else:
                self.cache.wrote(answer, "me")
                self.floor[name] = int(answer["metadata"]["resourceVersion"])

    # --- the watch

    @precondition(lambda self: self.snapshot is None and self.delivered < self.server.revision)
    @rule()
    def an_event_comes(self) -> None:
        for revision, obj, deleted, _ in self.server.history:
            if revision > self.delivered:
                self.delivered = revision
                self.cache.receive(self.cache.read_event(orjson.dumps(obj)), deleted=deleted)
                return

    @precondition(lambda self: self.snapshot is None)
    @rule()
    def a_bookmark_comes(self) -> None:
        self.cache.progress(self.delivered, "")

    @precondition(lambda self: self.snapshot is None)
    @rule()
    def a_list_is_made(self) -> None:
        self.snapshot = self.listing()

    @precondition(lambda self: self.snapshot is not None)
    @rule()
    def the_list_comes(self) -> None:
        assert self.snapshot is not None
        self.replace_by(*self.snapshot)
        self.snapshot = None

    @rule(steps=st.integers(1, 6))
    def the_server_is_restored_from_a_backup(self, steps: int) -> None:
        for name in list(self.in_flight):
            self.the_answer_comes(name)
        revision = max(self.server.revision - steps, 1)
        history = [entry for entry in self.server.history if entry[0] <= revision]
        self.server.history, self.server.revision, self.server.objects = history, revision, {}
        for _, obj, deleted, _ in history:
            if deleted:
                del self.server.objects[obj["metadata"]["name"]]
            else:
                self.server.objects[obj["metadata"]["name"]] = obj
        self.floor, self.snapshot, self.restored, self.mine.told = {}, None, revision, {}
        self.replace_by(*self.listing(), reset=True)

    # --- what must hold

    @invariant()
    def no_reader_sees_what_is_older_than_its_own_write(self) -> None:
        for name, floor in self.floor.items():
            cached = self.cache.get(("x", name))
            if cached is not None:
                assert cached.resource_version >= floor
            else:
                deletions = [
                    revision
                    for revision, obj, deleted, _ in self.server.history
                    if deleted and obj["metadata"]["name"] == name
                ]
                assert any(floor < revision <= self.delivered for revision in deletions)

    @invariant()
    def indexes_and_count_agree_with_the_content(self) -> None:
        assert len(self.cache) == len(self.cache.keys())
        for owner in ("o1", "o2"):
            expected = {cached.key for cached in self.cache if cached.owner_uids() == [owner]}
            assert {cached.key for cached in self.cache.by_index(OWNER, owner)} == expected

    @invariant()
    def others_heard_everything_the_cache_has(self) -> None:
        assert self.others.versions == {cached.key.name: cached.resource_version for cached in self.cache}

    def teardown(self) -> None:
        """When all has come, the cache is the server's content and nothing is remembered beside it."""
        if self.snapshot is not None:
            self.the_list_comes()
        for name in list(self.in_flight):
            self.the_answer_comes(name)
        while self.delivered < self.server.revision:
            self.an_event_comes()
        content = {cached.key.name: cached.object() for cached in self.cache}
        assert content == self.server.objects
        assert (self.cache._written, self.cache._gone, self.cache.handlers._held) == ({}, {}, {})
        self.check_that_we_heard_what_others_did()

    def check_that_we_heard_what_others_did(self) -> None:
        since = [entry for entry in self.server.history if entry[0] > self.restored]
        for number, (revision, obj, _, ours) in enumerate(since):
            name = obj["metadata"]["name"]
            # What we deleted after it need not concern us any more.
            deleted_by_us = any(
                later["metadata"]["name"] == name and deleted and by_us
                for _, later, deleted, by_us in since[number:]
            )
            if not ours and not deleted_by_us and name in self.server.objects:
                assert self.mine.told.get(name, 0) >= revision


Caching.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestCaching = Caching.TestCase
