"""Random writes, reads and forgetting, against a twin too simple to be wrong."""

from __future__ import annotations

import asyncio

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steersman.cluster.store import Compacted, Conflict, Event, FutureRevision, NotFound, Range, Record

KEYS = st.sampled_from(["/a/b/1", "/a/b/2", "/a/b/n/1", "/a/c/1", "/a/b", "/x/y/z", "lone"])
PREFIXES = st.sampled_from(["", "/", "/a/", "/a/b", "/a/b/", "/a/b/n/", "/x/y/", "lone", "none"])
REVISIONS = st.integers(0, 25)
PUT = st.tuples(st.just("put"), KEYS, st.binary(max_size=3), st.none() | REVISIONS)
DELETE = st.tuples(st.just("delete"), KEYS, st.none() | REVISIONS)
STEPS = st.one_of(
    # What is listed thrice happens thrice as often.
    PUT,
    PUT,
    PUT,
    DELETE,
    st.tuples(st.just("together"), st.lists(PUT | DELETE, max_size=6)),
    st.tuples(st.just("range"), PREFIXES, KEYS | st.just(""), st.integers(0, 4), REVISIONS),
    st.tuples(st.just("watch"), PREFIXES, REVISIONS),
    st.tuples(st.just("compact"), REVISIONS),
)


def stamp(value: bytes, revision: int) -> bytes:
    return value.partition(b"@")[0] + b"@%d" % revision


class Twin:
    """Keeps every state it was ever in."""

    def __init__(self):
        self.states = [{}]
        self.events = []
        self.compacted = 0

    @property
    def revision(self):
        return len(self.states) - 1

    def put(self, key, value, expected):
        before = self.check("put", key, expected, self.states[-1])
        revision = self.revision + 1
        record = Record(key, stamp(value, revision), revision, before.created if before else revision)
        self.states.append(self.states[-1] | {key: record})
        self.events.append(Event(key, revision, record.value, before))
        return record

    def delete(self, key, expected):
        before = self.check("delete", key, expected, self.states[-1])
        revision = self.revision + 1
        self.states.append({k: record for k, record in self.states[-1].items() if k != key})
        self.events.append(Event(key, revision, stamp(before.value, revision), before, True))
        return self.events[-1]

    def check(self, verb, key, expected, state):
        before = state.get(key)
        if verb == "delete" and before is None:
            raise NotFound(key)
        if expected is not None and expected != (before.revision if before else 0):
            raise Conflict(key, before)
        return before

    def range(self, prefix, after, limit, revision):
        state = self.states[self.known(revision) if revision else self.revision]
        found = [state[key] for key in sorted(state) if key.startswith(prefix) and key > after]
        kept = found[:limit] if limit else found
        return Range(kept, revision or self.revision, len(found) - len(kept))

    def since(self, prefix, revision):
        return [event for event in self.events[self.known(revision) :] if event.key.startswith(prefix)]

    def known(self, revision):
        if revision < self.compacted:
            raise Compacted(revision, self.compacted)
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)
        return revision

    def compact(self, revision):
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)
        self.compacted = max(self.compacted, revision)


def outcome(action, *arguments):
    try:
        return action(*arguments)
    except (Conflict, NotFound, Compacted, FutureRevision) as error:
        return type(error), error.args


async def outcome_of(awaitable):
    try:
        return await awaitable
    except (Conflict, NotFound, Compacted, FutureRevision) as error:
        return type(error), error.args


def write(store, step):
    verb, key, *value, expected = step
    return getattr(store, verb)(key, *value, expected=expected)


class Pair:
    """A store and its twin, doing the same."""

    def __init__(self, store):
        self.store = store
        self.twin = Twin()
        self.watches = []

    async def step(self, verb, *arguments):
        if verb in ("put", "delete"):
            arguments, verb = ([(verb, *arguments)],), "together"
        await getattr(self, verb)(*arguments)
        assert (self.store.revision, self.store.compacted) == (self.twin.revision, self.twin.compacted)
        assert list(self.store.range("").records) == self.twin.range("", "", 0, 0).records
        for prefix, since, seen in self.watches:
            assert seen == [e for e in self.twin.events[since:] if e.key.startswith(prefix)]

    async def together(self, steps):
        """Those done were done in their order; each refused one is right at some moment of the turn."""
        first = self.twin.revision
        done = await asyncio.gather(*(outcome_of(write(self.store, step)) for step in steps))
        for result, (verb, *arguments) in zip(done, steps, strict=True):
            if not isinstance(result, tuple):
                assert result == getattr(self.twin, verb)(*arguments)
        for result, (verb, key, *_, expected) in zip(done, steps, strict=True):
            if isinstance(result, tuple):
                moments = self.twin.states[first:]
                assert result in [outcome(self.twin.check, verb, key, expected, state) for state in moments]

    async def range(self, prefix, after, limit, revision):
        def found():
            result = self.store.range(prefix, after=after, limit=limit, revision=revision)
            assert self.store.count(prefix) == len(self.twin.range(prefix, "", 0, 0).records)
            return result._replace(records=list(result.records))

        assert outcome(found) == outcome(self.twin.range, prefix, after, limit, revision)

    async def watch(self, prefix, since):
        seen = []
        expected = outcome(self.twin.since, prefix, since)
        refused = outcome(self.store.watch, prefix, since, seen.extend)
        if isinstance(expected, tuple):
            assert refused == expected
        else:
            self.watches.append((prefix, since, seen))

    async def compact(self, revision):
        assert await outcome_of(self.store.compact(revision)) == outcome(self.twin.compact, revision)


@settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(steps=st.lists(STEPS, max_size=30))
def test_a_store_does_what_its_twin_does(engine, steps):
    async def run():
        async with engine(stamp=stamp) as store:
            pair = Pair(store)
            for step in steps:
                await pair.step(*step)

    asyncio.run(run())
