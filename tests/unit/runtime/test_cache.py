"""The cache: who wins when events, lists and our own writes meet."""

from __future__ import annotations

import logging
from typing import Any

import orjson
import pytest

from steersman.objects.resource_type import ResourceType
from steersman.runtime.cache import OWNER, Cache
from steersman.runtime.cached import Cached, Intake
from steersman.runtime.changes import Change
from steersman.runtime.contents import Contents
from steersman.runtime.keys import Key

CONFIG_MAPS = ResourceType("", "v1", "ConfigMap", "configmaps")
A = Key("x", "a")


def obj(
    version: int | str, name: str = "a", *, namespace: str = "x", uid: str = "u1", **metadata: Any
) -> Any:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid,
            "resourceVersion": str(version),
            **metadata,
        },
    }


class Told:
    """A cache and what its handlers heard: those of writer "me" and those of others."""

    def __init__(self, **options: Any) -> None:
        self.cache = Cache(Intake(CONFIG_MAPS), **options)
        self.me: list[Change] = []
        self.others: list[Change] = []
        self.cache.handlers.add(self.me.append, "me")
        self.cache.handlers.add(self.others.append)

    def read(self, *args: Any, **kwargs: Any) -> Cached:
        return self.cache.read(orjson.dumps(obj(*args, **kwargs)))

    def event(self, *args: Any, deleted: bool = False, **kwargs: Any) -> None:
        self.cache.receive(self.cache.read_event(orjson.dumps(obj(*args, **kwargs))), deleted=deleted)

    def wrote(self, *args: Any, **kwargs: Any) -> None:
        self.cache.wrote(obj(*args, **kwargs), "me")

    def listed(self, version: int, *found: Cached, **options: Any) -> list[tuple[str, str]]:
        changes = self.cache.replace(Contents(found), version, **options)
        return [(change.type, change.key.name) for change in changes]

    def version(self, key: Key = A) -> int | None:
        cached = self.cache.get(key)
        return None if cached is None else cached.resource_version

    def heard(self) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        """(type, old version, new version) that the writer and the others heard since the last call."""
        heard = tuple([_shown(change) for change in changes] for changes in (self.me, self.others))
        self.me.clear()
        self.others.clear()
        return heard[0], heard[1]


def _shown(change: Change) -> tuple[Any, ...]:
    versions = [one and one.resource_version for one in (change.old, change.new)]
    return (change.type, *versions)


def both(*changes: tuple[Any, ...]) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    return list(changes), list(changes)


# --- events


def test_events_change_the_content_and_are_told() -> None:
    told = Told()
    told.event(1)
    told.event(2)
    told.event(3, deleted=True)
    assert told.heard() == both(("added", None, 1), ("modified", 1, 2), ("deleted", 2, None))
    assert len(told.cache) == 0
    assert told.cache.get(A) is None


def test_older_and_repeated_events_are_not_told() -> None:
    told = Told()
    told.event(5)
    told.heard()
    for version in (5, 4):
        told.event(version)
        assert (told.version(), told.heard()) == (5, both())
    told.event(4, deleted=True)
    assert (told.version(), told.heard()) == (5, both())


def test_a_deletion_of_what_is_not_there_is_no_news() -> None:
    told = Told()
    told.event(1, deleted=True)
    assert told.heard() == both()


def test_versions_that_are_no_numbers_are_taken_in_the_order_they_come() -> None:
    told = Told()
    told.event("b")
    told.event("a")
    told.event("a")
    told.wrote("c")
    told.event("c")
    mine = [("added", None, 0), ("modified", 0, 0)]
    assert told.heard() == (mine, [*mine, ("modified", 0, 0)])
    cached = told.cache.get(A)
    assert cached is not None
    assert cached.version == "c"


# --- our own writes


def test_a_write_is_visible_at_once_and_its_echo_is_not_told() -> None:
    told = Told()
    told.event(1)
    told.heard()
    told.wrote(5)
    assert told.version() == 5
    assert told.heard() == ([], [("modified", 1, 5)])
    told.event(5)
    assert (told.version(), told.heard()) == (5, both())


def test_a_creation_is_visible_at_once() -> None:
    told = Told()
    told.wrote(5)
    assert (told.version(), told.heard()) == (5, ([], [("added", None, 5)]))
    told.event(5)
    assert told.heard() == both()


def test_without_a_named_writer_handlers_without_one_are_the_writers() -> None:
    told = Told()
    told.cache.wrote(obj(5))
    assert told.heard() == ([("added", None, 5)], [])


def test_someone_elses_change_before_our_write_is_told_though_our_write_hides_it() -> None:
    told = Told()
    told.event(1)
    told.heard()
    told.wrote(5)
    told.heard()
    told.event(3)
    assert (told.version(), told.heard()) == (5, both(("modified", 1, 5)))
    told.event(5)
    assert told.heard() == both()


def test_echoes_of_several_writes_are_all_known() -> None:
    told = Told()
    told.event(1)
    for version in (3, 5, 7):
        told.wrote(version)
    told.heard()
    for version in (3, 5):
        told.event(version)
        assert (told.version(), told.heard()) == (7, both())
    told.event(6)
    assert told.heard() == both(("modified", 1, 7))
    told.event(7)
    told.event(9)
    assert told.heard() == both(("modified", 7, 9))


def test_an_answer_slower_than_the_watch_changes_nothing() -> None:
    told = Told()
    told.event(5)
    told.event(6)
    told.heard()
    told.wrote(5)
    assert (told.version(), told.heard()) == (6, both())


def test_an_answer_after_the_deletion_was_seen_does_not_bring_the_object_back() -> None:
    told = Told()
    told.event(5)
    told.event(6, deleted=True)
    told.wrote(5)
    assert told.version() is None


def test_the_progress_of_a_bookmark_counts_as_well() -> None:
    told = Told()
    told.cache.progress(9, "")
    told.wrote(8)
    assert told.version() is None
    told.wrote(10)
    assert told.version() == 10


def test_an_echo_before_the_answer_is_held_back_from_the_writer_only() -> None:
    told = Told()
    told.event(1)
    told.heard()
    with told.cache.writing(A, "me"):
        told.event(5)
        assert (told.version(), told.heard()) == (5, ([], [("modified", 1, 5)]))
        told.wrote(5)
    assert told.heard() == both()


def test_what_others_changed_during_a_write_is_told_when_it_is_done() -> None:
    told = Told()
    told.event(1)
    told.heard()
    with told.cache.writing(A, "me"):
        told.event(3)
        told.event(5)
        told.event(6)
        told.event(9, name="b")
        told.wrote(5)
        assert told.heard()[0] == [("added", None, 9)]
    assert told.heard() == ([("modified", 1, 3), ("modified", 5, 6)], [])


def test_a_list_during_a_write_is_told_since_it_may_hold_more_than_the_write() -> None:
    told = Told()
    told.event(1)
    told.heard()
    with told.cache.writing(A, "me"):
        cached = told.read(5)
        told.cache.handlers.tell_all(told.cache.replace(Contents([cached]), 5))
        told.wrote(5)
    assert told.heard() == both(("modified", 1, 5))


def test_a_write_that_fails_tells_what_was_held_back() -> None:
    told = Told()

    def write() -> None:
        with told.cache.writing(A, "me"):
            told.event(3)
            raise ValueError

    with pytest.raises(ValueError):
        write()
    assert told.heard()[0] == [("added", None, 3)]


def test_an_own_deletion_seen_before_its_answer_is_not_told_to_the_writer() -> None:
    told = Told()
    told.event(1)
    told.heard()
    with told.cache.writing(A, "me"):
        told.event(2, deleted=True)
        told.cache.removed(A, "u1", "me")
    assert told.heard() == ([], [("deleted", 1, None)])


# --- our own deletions


def test_a_final_deletion_is_visible_at_once_and_stays() -> None:
    told = Told()
    told.event(1)
    told.heard()
    told.cache.removed(A, "u1", "me")
    assert (told.version(), told.heard()) == (None, ([], [("deleted", 1, None)]))
    told.event(2)
    told.event(3, deleted=True)
    assert (told.version(), told.heard()) == (None, both())


def test_the_next_object_of_the_name_is_not_hidden_by_the_deletion_of_the_one_before() -> None:
    told = Told()
    told.event(1)
    told.cache.removed(A, "u1", "me")
    told.heard()
    told.event(2)
    told.wrote(5, uid="u2")
    told.heard()
    told.event(3, deleted=True)
    assert (told.version(), told.heard()) == (5, both())
    told.event(5, uid="u2")
    told.event(6, uid="u2")
    assert told.heard() == both(("modified", 5, 6))


def test_someone_else_may_make_the_object_anew() -> None:
    told = Told()
    told.event(1)
    told.cache.removed(A, "u1", "me")
    told.heard()
    told.event(4, uid="u2")
    assert told.heard() == both(("added", None, 4))


def test_a_slow_answer_does_not_bring_back_what_we_deleted() -> None:
    told = Told()
    told.event(1)
    told.cache.removed(A, "u1", "me")
    told.wrote(2)
    assert told.version() is None


def test_deleting_what_is_another_object_by_now_changes_nothing() -> None:
    told = Told()
    told.event(5, uid="u2")
    told.cache.removed(A, "u1", "me")
    assert told.version() == 5


# --- lists


def test_a_list_is_all_there_is() -> None:
    told = Told()
    told.event(1, name="a")
    told.event(2, name="b")
    told.event(3, name="c")
    changes = told.listed(9, told.read(1, name="a"), told.read(7, name="b"), told.read(8, name="d"))
    assert changes == [("modified", "b"), ("added", "d"), ("deleted", "c")]


def test_what_we_wrote_after_a_list_was_made_outlives_it() -> None:
    told = Told()
    told.event(1)
    told.wrote(12)
    told.wrote(13, name="b")
    changes = told.listed(10, told.read(9))
    assert (told.version(), told.version(Key("x", "b"))) == (12, 13)
    # Somebody wrote 9 and the event of it will not come: the writer has to look again.
    assert changes == [("modified", "a")]
    told.heard()
    told.event(12)
    told.event(13, name="b")
    assert told.heard() == both()


def test_what_we_wrote_before_a_list_was_made_is_as_the_list_says() -> None:
    told = Told()
    told.wrote(5)
    assert told.listed(10) == [("deleted", "a")]


def test_what_we_deleted_does_not_come_back_by_an_older_list() -> None:
    told = Told()
    told.event(1)
    told.cache.removed(A, "u1", "me")
    assert told.listed(1, told.read(1)) == []
    assert told.version() is None
    assert told.listed(5) == []
    told.event(6, uid="u2")
    assert told.version() == 6


def test_a_server_that_went_back_in_time_is_right() -> None:
    told = Told()
    told.event(50)
    told.wrote(60)
    told.event(55, name="b")
    changes = told.listed(20, told.read(15), reset=True)
    assert changes == [("modified", "a"), ("deleted", "b")]
    told.heard()
    told.event(21)
    assert told.heard() == both(("modified", 15, 21))
    told.wrote(22)
    assert told.version() == 22


def test_another_content_of_the_same_version_is_noticed_after_a_reset() -> None:
    told = Told()
    told.event(50)
    assert told.listed(20, told.read(50), reset=True) == []
    assert told.listed(20, told.read(50, labels={"a": "b"}), reset=True) == [("modified", "a")]


def test_a_list_of_one_namespace_leaves_the_others_alone() -> None:
    told = Told(namespaces=["x", "y"])
    told.event(1, namespace="x")
    told.event(2, namespace="y")
    assert told.listed(5, namespace="y") == [("deleted", "a")]
    assert told.cache.keys() == [A]


def test_objects_of_namespaces_not_looked_at_are_not_taken() -> None:
    told = Told(namespaces=["x", "y"])
    told.event(1, namespace="y")
    told.event(1)
    lost = told.cache.watch_namespaces(["x"])
    assert [change.key for change in lost] == [Key("y", "a")]
    told.event(5, namespace="y")
    told.wrote(6, namespace="y")
    assert told.listed(7, told.read(7, namespace="y"), namespace="y") == []
    assert told.cache.keys() == [A]


# --- selections


def test_a_write_that_leaves_the_selection_takes_the_object_out() -> None:
    told = Told(labels="app=web")
    told.event(1, labels={"app": "web"})
    told.heard()
    told.wrote(5, labels={"app": "db"})
    assert (told.version(), told.heard()) == (None, ([], [("deleted", 1, None)]))
    told.event(3, labels={"app": "web"})
    told.event(5, labels={"app": "web"}, deleted=True)
    assert (told.version(), told.heard()) == (None, both())
    told.event(8, labels={"app": "web"})
    assert told.version() == 8


def test_a_write_outside_the_selection_is_not_kept() -> None:
    told = Told(labels="app=web")
    told.wrote(5, labels={"app": "db"})
    assert told.version() is None


def test_whether_fields_are_selected_only_the_api_knows() -> None:
    told = Told(fields="status.phase=Running")
    told.wrote(5)
    assert told.version() is None
    told.event(5)
    told.wrote(6)
    assert told.version() == 6


# --- reading


def test_lists_by_namespace_and_labels() -> None:
    told = Told()
    told.event(1, name="a", labels={"app": "web", "tier": "1"})
    told.event(2, name="b", labels={"app": "db"})
    told.event(3, name="a", namespace="y", labels={"app": "web"})
    told.event(4, name="c")

    def found(*args: Any, **kwargs: Any) -> list[str]:
        return [str(cached.key) for cached in told.cache.list(*args, **kwargs)]

    assert found() == ["x/a", "x/b", "x/c", "y/a"]
    assert found("y") == ["y/a"]
    assert found("z") == []
    assert found(selector="app=web") == ["x/a", "y/a"]
    assert found("x", "app in (web,db),!tier") == ["x/b"]
    assert (A in told.cache, Key("x", "z") in told.cache) == (True, False)


def test_the_owner_index_is_there_when_asked_for_and_kept() -> None:
    told = Told()
    told.event(1, name="a", ownerReferences=[{"uid": "o1"}])
    told.event(2, name="b", ownerReferences=[{"uid": "o1"}, {"uid": "o2"}])

    def owned(uid: str) -> list[str]:
        return [cached.key.name for cached in told.cache.by_index(OWNER, uid)]

    assert (owned("o1"), owned("o2"), owned("o3")) == (["a", "b"], ["b"], [])
    told.event(3, name="b", ownerReferences=[{"uid": "o3"}])
    told.event(4, name="a", deleted=True)
    told.wrote(5, name="c", ownerReferences=[{"uid": "o1"}])
    assert (owned("o1"), owned("o2"), owned("o3")) == (["c"], [], ["b"])


def test_an_index_of_ones_own() -> None:
    told = Told()
    told.event(1, labels={"app": "web"})
    told.cache.add_index("app", lambda cached: [cached.labels()["app"]])
    assert [cached.key for cached in told.cache.by_index("app", "web")] == [A]
    with pytest.raises(ValueError, match="already"):
        told.cache.add_index("app", lambda cached: ())
    with pytest.raises(KeyError):
        told.cache.by_index("other", "web")


def test_an_object_an_index_function_fails_for_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    told = Told()
    told.cache.add_index("app", lambda cached: [cached.labels()["app"]])
    with caplog.at_level(logging.ERROR):
        told.event(1)
    assert told.version() == 1
    assert "x/a" in caplog.text


# --- handlers


def test_a_handler_that_fails_is_reported_and_the_others_hear(caplog: pytest.LogCaptureFixture) -> None:
    cache = Cache(Intake(CONFIG_MAPS))
    heard: list[Change] = []

    def fail(change: Change) -> None:
        raise RuntimeError("no")

    cache.handlers.add(fail)
    cache.handlers.add(heard.append)
    with caplog.at_level(logging.ERROR):
        cache.receive(cache.read(orjson.dumps(obj(1))))
    assert len(heard) == 1
    assert "a handler failed for x/a" in caplog.text


def test_a_removed_handler_hears_nothing() -> None:
    told = Told()
    told.cache.handlers.remove(told.me.append)
    told.event(1)
    assert told.heard() == ([], [("added", None, 1)])
