"""What becomes of an object, by the standing of its owners."""

from __future__ import annotations

import pytest

from steersman.cluster.controllers.garbagecollector.items import (
    FOREGROUND,
    ORPHAN,
    GCVerdict,
    Item,
    Owners,
    decide,
    shown_within,
)
from steersman.objects.kinds.views.metadata import LifetimeOwner

A, B, C = (LifetimeOwner("v1", "ConfigMap", name, f"uid-{name}") for name in "abc")
WAITING = Item(uid="w", deletion_timestamp="2026-01-01T00:00:00Z", finalizers=(FOREGROUND,))
PLAIN = Item(uid="p")


@pytest.mark.parametrize(
    ("owners", "finalizers", "dependents", "verdict"),
    [
        pytest.param(Owners(solid=[A]), (), (), GCVerdict(), id="kept"),
        pytest.param(
            Owners(solid=[A], waiting=[B], absent=[C]),
            (),
            (),
            GCVerdict(release=("uid-c", "uid-b")),
            id="released",
        ),
        pytest.param(Owners(solid=[A]), (ORPHAN,), (PLAIN,), GCVerdict(), id="kept whatever it would do"),
        pytest.param(Owners(absent=[A]), (), (), GCVerdict(delete="Background"), id="deleted"),
        pytest.param(Owners(absent=[A]), (), (PLAIN,), GCVerdict(delete="Background"), id="deleted first"),
        pytest.param(Owners(absent=[A]), (ORPHAN,), (PLAIN,), GCVerdict(delete="Orphan"), id="orphaning"),
        pytest.param(
            Owners(absent=[A]), (FOREGROUND,), (PLAIN,), GCVerdict(delete="Foreground"), id="as it was told"
        ),
        pytest.param(Owners(waiting=[A]), (), (), GCVerdict(delete="Background"), id="leaf"),
        pytest.param(Owners(waiting=[A]), (), (PLAIN,), GCVerdict(delete="Foreground"), id="branch"),
        pytest.param(
            Owners(waiting=[A], absent=[B]),
            (ORPHAN,),
            (PLAIN,),
            GCVerdict(delete="Foreground"),
            id="owner wins",
        ),
        pytest.param(
            Owners(waiting=[A]),
            (),
            (PLAIN, WAITING),
            GCVerdict(delete="Foreground", unblock=True),
            id="circle",
        ),
    ],
)
def test_one_solid_owner_keeps_an_object(
    owners: Owners, finalizers: tuple[str, ...], dependents: tuple[Item, ...], verdict: GCVerdict
) -> None:
    assert decide(Item(uid="x", finalizers=finalizers), owners, dependents) == verdict


@pytest.mark.parametrize(
    ("deleting", "finalizers", "waiting", "orphaning"),
    [
        (False, (FOREGROUND, ORPHAN), False, False),
        (True, (), False, False),
        (True, ("example.com/other",), False, False),
        (True, ("example.com/other", FOREGROUND), True, False),
        (True, (ORPHAN,), False, True),
    ],
)
def test_an_owner_waits_only_while_it_is_deleted(
    deleting: bool, finalizers: tuple[str, ...], waiting: bool, orphaning: bool
) -> None:
    item = Item(deletion_timestamp="2026-01-01T00:00:00Z" if deleting else None, finalizers=finalizers)
    assert (item.waiting, item.orphaning) == (waiting, orphaning)


def _refers(*blocks: bool | None) -> Item:
    references = [
        LifetimeOwner("v1", "ConfigMap", f"o{number}", f"uid-{number}", block)
        for number, block in enumerate(blocks)
    ]
    return Item(owner_references=tuple(references))


@pytest.mark.parametrize(
    ("before", "after", "freed"),
    [
        pytest.param(_refers(True), _refers(True), [], id="same"),
        pytest.param(_refers(True, True), _refers(True), ["uid-1"], id="dropped"),
        pytest.param(_refers(True), _refers(False), ["uid-0"], id="unblocked"),
        pytest.param(_refers(True), _refers(None), ["uid-0"], id="not said"),
        pytest.param(_refers(None, False), _refers(), [], id="never blocked"),
    ],
)
def test_a_change_frees_the_owners_that_were_blocked(before: Item, after: Item, freed: list[str]) -> None:
    assert [one.uid for one in before.freed(after)] == freed


def test_metadata_is_read_as_the_api_sends_it() -> None:
    item = Item.decode(
        b'{"kind":"PartialObjectMetadata","metadata":{"uid":"u","resourceVersion":"7","name":"n",'
        b'"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["orphan"],"ownerReferences":'
        b'[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"o","controller":true,'
        b'"blockOwnerDeletion":true}]}}'
    )
    assert item.orphaning
    assert item.blocks("o")
    assert not item.blocks("u")
    assert item.resource_version == "7"
    [reference] = item.owner_references
    assert shown_within(reference, "ns") == "[apps/v1/ReplicaSet, namespace: ns, name: r, uid: o]"
