"""Which volume suits a claim."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.controllers.volumes.growth import wants_more
from steersman.objects.volume_claims import best_volume, default_class, has_class, mismatch

Object = dict[str, Any]


def claim(size: str = "1Gi", **spec: Any) -> Object:
    wanted: Object = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "resources": {"requests": {"storage": size}},
    }
    return {"metadata": {"name": "c", "namespace": "ns", "uid": "u"}, "spec": {**wanted, **spec}}


def volume(
    name: str, size: str = "1Gi", phase: str = "Available", labels: Object | None = None, **spec: Any
) -> Object:
    has: Object = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "capacity": {"storage": size},
    }
    return {
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {**has, **spec},
        "status": {"phase": phase},
    }


FOR_IT = {"namespace": "ns", "name": "c"}
MANY = ["ReadWriteOnce", "ReadOnlyMany"]


@pytest.mark.parametrize(
    ("wanted", "volumes", "chosen"),
    [
        pytest.param(claim(), [volume("big", "5Gi"), volume("small", "2Gi")], "small", id="the smallest"),
        pytest.param(claim(), [volume("a", "500Mi")], None, id="too small"),
        pytest.param(
            claim(), [volume("a", accessModes=MANY), volume("b", "9Gi")], "b", id="the fewest ways of access"
        ),
        pytest.param(claim(accessModes=["ReadOnlyMany"]), [volume("a")], None, id="no such access"),
        pytest.param(claim(), [volume("a", storageClassName="slow")], None, id="another class"),
        pytest.param(
            claim(storageClassName=None), [volume("a", storageClassName="")], "a", id="both of no class"
        ),
        pytest.param(claim(volumeMode="Block"), [volume("a")], None, id="another mode"),
        pytest.param(claim(), [volume("a", volumeMode="Filesystem")], "a", id="the mode that is meant"),
        pytest.param(claim(), [volume("a", "1Gi", "Released")], None, id="not free"),
        pytest.param(claim(), [volume("a", "1Gi", "Pending")], None, id="not free yet"),
        pytest.param(
            claim(), [volume("a", claimRef={"namespace": "ns", "name": "x"})], None, id="somebody else's"
        ),
        pytest.param(
            claim(), [volume("a"), volume("b", "9Gi", claimRef=FOR_IT)], "b", id="the one reserved for it"
        ),
        pytest.param(
            claim(), [volume("b", claimRef={**FOR_IT, "uid": "other"})], None, id="reserved for its namesake"
        ),
        pytest.param(
            claim(selector={"matchLabels": {"k": "v"}}),
            [volume("a"), volume("b", "9Gi", labels={"k": "v"})],
            "b",
            id="the one it selects",
        ),
        pytest.param(
            claim(volumeAttributesClassName="gold"), [volume("a")], None, id="another class of attributes"
        ),
    ],
)
def test_the_best_volume(wanted: Object, volumes: list[Object], chosen: str | None) -> None:
    found = best_volume(wanted, volumes, waits=False)
    assert (found and found["metadata"]["name"]) == chosen


def test_only_reserved_volumes_are_for_claims_that_wait_for_a_pod() -> None:
    assert best_volume(claim(), [volume("a")], waits=True) is None
    reserved = volume("b", claimRef=FOR_IT)
    assert best_volume(claim(), [volume("a"), reserved], waits=True) is reserved


def test_volumes_that_are_being_deleted_are_nobodys() -> None:
    going = volume("a")
    going["metadata"]["deletionTimestamp"] = "now"
    assert best_volume(claim(), [going], waits=False) is None
    assert mismatch(going, claim()) == 'the volume is marked for deletion "a"'


@pytest.mark.parametrize(
    ("wanted", "has", "problem"),
    [
        pytest.param(claim(), volume("a"), "", id="suits"),
        pytest.param(claim("2Gi"), volume("a"), "requested PV is too small", id="size"),
        pytest.param(
            claim(), volume("a", storageClassName="x"), "storageClassName does not match", id="class"
        ),
        pytest.param(claim(volumeMode="Block"), volume("a"), "incompatible volumeMode", id="mode"),
        pytest.param(
            claim(accessModes=["ReadWriteMany"]), volume("a"), "incompatible accessMode", id="access"
        ),
        pytest.param(
            claim(),
            volume("a", volumeAttributesClassName="g"),
            "volumeAttributesClassName does not match",
            id="attributes",
        ),
    ],
)
def test_why_a_claim_cannot_have_what_it_asks_for(wanted: Object, has: Object, problem: str) -> None:
    assert mismatch(has, wanted) == problem


def storage_class(name: str, created: str, default: bool = True) -> Object:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    return {"metadata": {"name": name, "creationTimestamp": created, "annotations": annotations}}


def test_the_newest_default_class_counts() -> None:
    classes = [storage_class("a", "1"), storage_class("c", "2"), storage_class("b", "2")]
    assert default_class([*classes, storage_class("z", "9", default=False)]) == "b"
    assert default_class([storage_class("z", "9", default=False)]) is None


def test_a_claim_of_no_class_says_so() -> None:
    assert has_class(claim(storageClassName=""))
    assert not has_class(claim(storageClassName=None))


@pytest.mark.parametrize(
    ("phase", "has", "more"),
    [
        pytest.param("Bound", "500Mi", True, id="more"),
        pytest.param("Bound", "1Gi", False, id="just as much"),
        pytest.param("Pending", "500Mi", False, id="not bound"),
        pytest.param("Bound", None, False, id="nobody knows"),
    ],
)
def test_claims_that_want_more(phase: str, has: str | None, more: bool) -> None:
    status: Object = {"phase": phase}
    if has is not None:
        status["capacity"] = {"storage": has}
    assert wants_more({**claim(), "status": status}) is more
