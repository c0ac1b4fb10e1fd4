"""Objects by namespace and name."""

from __future__ import annotations

from steersman.runtime.cached import Cached
from steersman.runtime.contents import Contents


def one(namespace: str, name: str, version: int = 1) -> Cached:
    return Cached(namespace, name, version, b"{}")


def test_a_name_is_there_once_in_its_namespace() -> None:
    contents = Contents([one("x", "a"), one("y", "a"), one("x", "a", 2)])
    assert len(contents) == 2
    found = contents.get(("x", "a"))
    assert found is not None
    assert found.resource_version == 2
    assert ("y", "a") in contents
    assert ("y", "b") not in contents
    assert ("z", "a") not in contents


def test_what_is_taken_out_is_gone_and_may_have_been() -> None:
    contents = Contents([one("x", "a"), one("x", "b")])
    contents.take_out(("x", "a"))
    contents.take_out(("x", "a"))
    contents.take_out(("z", "a"))
    assert [cached.name for cached in contents] == ["b"]
    contents.take_out(("x", "b"))
    assert (len(contents), contents.within("x")) == (0, [])


def test_a_namespace_or_all_can_be_listed() -> None:
    contents = Contents([one("x", "a"), one("", "c"), one("x", "b")])
    assert [cached.name for cached in contents.within("x")] == ["a", "b"]
    assert sorted(cached.name for cached in contents.within(None)) == ["a", "b", "c"]


def test_changes_while_it_is_gone_through_do_no_harm() -> None:
    contents = Contents([one("x", "a"), one("x", "b")])
    seen = []
    for cached in contents:
        seen.append(cached.name)
        contents.take_out(cached.key)
        contents.put(one("new", cached.name))
    assert seen == ["a", "b"]
    assert len(contents) == 2
