from __future__ import annotations

from steersman.cluster.store import Event
from steersman.cluster.store.watchers import StoreWatches


def event(key, revision):
    return Event(key, revision, b"", None)


def test_only_watchers_of_touched_tables_and_of_spans_are_asked():
    watchers, calls = StoreWatches(), []
    for prefix in ("/a/b/", "/a/c/", "/a/b/ns/", "/a/", ""):
        watchers.add(
            prefix, 0, lambda events, prefix=prefix: calls.append((prefix, [e.revision for e in events]))
        )
    commit = [event("/a/b/ns/1", 1), event("/a/b/2", 2), event("solo", 3)]
    watchers.dispatch({"/a/b/": commit[:2], "": commit[2:]}, commit)
    assert sorted(calls) == [("", [1, 2, 3]), ("/a/", [1, 2]), ("/a/b/", [1, 2]), ("/a/b/ns/", [1])]


def test_watchers_of_a_whole_table_share_one_list():
    watchers, lists = StoreWatches(), []
    for _ in range(3):
        watchers.add("/a/b/", 0, lists.append)
    commit = [event("/a/b/1", 1)]
    watchers.dispatch({"/a/b/": commit}, commit)
    assert [events is commit for events in lists] == [True] * 3


def test_a_cancelled_watcher_leaves_nothing_behind():
    watchers = StoreWatches()
    first, second = (watchers.add("/a/b/", 0, print) for _ in range(2))
    first.cancel()
    second.cancel()
    second.cancel()
    assert watchers._by_table == {}


def test_closing_cancels_all():
    watchers, calls = StoreWatches(), []
    for prefix in ("", "/a/b/", "/a/b/"):
        watchers.add(prefix, 0, calls.append)
    watchers.close()
    commit = [event("/a/b/1", 1)]
    watchers.dispatch({"/a/b/": commit}, commit)
    assert calls == []
