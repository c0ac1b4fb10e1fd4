"""Whose an object is, and who is told when it changes."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from steersman.cluster.controllers.ownership import (
    WakeOwners,
    children,
    index_by_controller,
    orphans,
    selector_of,
)
from steersman.objects.resources import PODS, REPLICA_SETS, REPLICATION_CONTROLLERS
from steersman.runtime import Cache, Cached, Change, Key
from steersman.runtime.cached import Intake


def _set(name: str, selector: dict[str, Any], kind: str = "ReplicaSet") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "1"}
    return {"kind": kind, "metadata": metadata, "spec": {"selector": selector}}


def _owners() -> Cache:
    cache = Cache(Intake(REPLICA_SETS))
    for name in ("web", "db"):
        cache.wrote(_set(name, {"matchLabels": {"app": name}}))
    return cache


def _pod(owner: str = "", app: str = "", version: int = 1, kind: str = "ReplicaSet") -> Cached:
    metadata: dict[str, Any] = {"name": "p", "namespace": "default", "labels": {"app": app} if app else {}}
    if owner:
        reference = {
            "apiVersion": "apps/v1",
            "kind": kind,
            "name": owner,
            "uid": f"uid-{owner}",
            "controller": True,
        }
        metadata["ownerReferences"] = [reference]
    return Cached("default", "p", version, orjson.dumps({"metadata": metadata}))


@pytest.mark.parametrize(
    ("old", "new", "woken"),
    [
        pytest.param(None, _pod("web", "web"), {"web"}, id="added to an owner"),
        pytest.param(_pod("web", "web"), None, {"web"}, id="deleted"),
        pytest.param(_pod("web", "web"), _pod("web", "db"), {"web"}, id="labels changed, owner did not"),
        pytest.param(_pod("web", "web"), _pod("", "db"), {"web", "db"}, id="released to others"),
        pytest.param(_pod("web", "web"), _pod("db", "db"), {"web", "db"}, id="from one to the other"),
        pytest.param(None, _pod("", "db"), {"db"}, id="an orphan came"),
        pytest.param(_pod("", "db"), _pod("", "web"), {"web"}, id="an orphan's labels changed"),
        pytest.param(_pod("", "db"), _pod("", "db"), set(), id="an orphan as before"),
        pytest.param(_pod("", "db"), None, set(), id="an orphan gone"),
        pytest.param(None, _pod("", ""), set(), id="an orphan without labels"),
        pytest.param(None, _pod("web", "web", kind="StatefulSet"), set(), id="another kind's"),
    ],
)
def test_who_is_woken(old: Cached | None, new: Cached | None, woken: set[str]) -> None:
    change = Change("modified", Key("default", "p"), old, new)
    assert {key.name for key in WakeOwners(_owners(), REPLICA_SETS)(change)} == woken


def test_an_owner_is_not_woken_by_what_does_not_matter() -> None:
    wake = WakeOwners(_owners(), REPLICA_SETS, lambda old, new: False)
    old, new = _pod("web", "web"), _pod("web", "web", 2)
    assert list(wake(Change("modified", new.key, old, new))) == []
    assert list(wake(Change("added", new.key, None, new))) == [Key("default", "web")]
    assert list(wake(Change("modified", new.key, new, new, resync=True))) == [Key("default", "web")]


def test_a_changed_selector_is_read_again() -> None:
    owners = _owners()
    wake = WakeOwners(owners, REPLICA_SETS)
    assert wake.selecting("default", {"app": "new"}) == []
    changed = _set("web", {"matchLabels": {"app": "new"}})
    changed["metadata"]["resourceVersion"] = "2"
    owners.wrote(changed)
    assert wake.selecting("default", {"app": "new"}) == [Key("default", "web")]


@pytest.mark.parametrize(
    ("kind", "selector", "matches"),
    [
        pytest.param("ReplicaSet", {"matchLabels": {"a": "b"}}, True, id="labels"),
        pytest.param(
            "ReplicaSet", {"matchExpressions": [{"key": "a", "operator": "Exists"}]}, True, id="expressions"
        ),
        pytest.param("ReplicaSet", {}, False, id="an empty one selects nothing"),
        pytest.param(
            "ReplicaSet", {"matchExpressions": [{"key": "a", "operator": "?"}]}, False, id="nonsense"
        ),
        pytest.param("ReplicationController", {"a": "b"}, True, id="a replication controller's"),
        pytest.param("ReplicationController", {"c": "d"}, False, id="another replication controller's"),
    ],
)
def test_selectors(kind: str, selector: dict[str, Any], matches: bool) -> None:
    cache = Cache(Intake(REPLICATION_CONTROLLERS if kind == "ReplicationController" else REPLICA_SETS))
    cache.wrote(_set("web", selector, kind))
    owner = cache.get(("default", "web"))
    assert owner is not None
    assert selector_of(owner).matches({"a": "b"}) is matches


def test_children_and_orphans_are_found_by_index() -> None:
    cache = Cache(Intake(PODS))
    index_by_controller(cache)
    index_by_controller(cache)  # by another controller
    for number, owner in enumerate(["web", "", "web"]):
        obj = _pod(owner).object()
        obj["metadata"].update(name=f"p{number}", uid=str(number), resourceVersion=str(number + 1))
        cache.wrote(obj)
    assert [cached.key.name for cached in children(cache, "uid-web")] == ["p0", "p2"]
    assert [cached.key.name for cached in orphans(cache, "default")] == ["p1"]
    assert orphans(cache, "other") == []
