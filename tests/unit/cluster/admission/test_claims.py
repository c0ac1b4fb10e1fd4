"""PersistentVolumeClaimResize."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.admission.chain import Attributes
from steersman.cluster.admission.claims import PersistentVolumeClaimResize

from .conftest import Object, Stored, write
from .refusals import ask, why

NOT_DYNAMIC = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
    "support resize"
)


def claim(size: str, storage_class: str | None = "fast", phase: str = "Bound", **metadata: Any) -> Object:
    spec: Object = {"resources": {"requests": {"storage": size}}}
    if storage_class is not None:
        spec["storageClassName"] = storage_class
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase}}


def update(new: Object, old: Object) -> Attributes:
    return write("persistentvolumeclaims", new, operation="UPDATE", old=old)


@pytest.fixture
def plugin(stored: Stored) -> PersistentVolumeClaimResize:
    stored.add("storage.k8s.io", "storageclasses", "fast", allowVolumeExpansion=True)
    stored.add("storage.k8s.io", "storageclasses", "fixed", allowVolumeExpansion=False)
    stored.add("storage.k8s.io", "storageclasses", "silent")
    return PersistentVolumeClaimResize(stored)


def test_a_bound_claim_of_a_class_that_allows_it_grows(plugin: PersistentVolumeClaimResize) -> None:
    ask(plugin, update(claim("2Gi"), claim("1Gi")))


@pytest.mark.parametrize("size", ["1Gi", "1Mi"])
def test_what_does_not_grow_is_not_asked_about(plugin: PersistentVolumeClaimResize, size: str) -> None:
    ask(plugin, update(claim(size, "fixed", "Pending"), claim("1Gi", "fixed", "Pending")))


def test_only_bound_claims_grow(plugin: PersistentVolumeClaimResize) -> None:
    expected = "Only bound persistent volume claims can be expanded"
    assert why(plugin, update(claim("2Gi"), claim("1Gi", phase="Pending"))) == expected


@pytest.mark.parametrize("storage_class", ["fixed", "silent", "gone", "", None])
def test_the_class_must_allow_it(plugin: PersistentVolumeClaimResize, storage_class: str | None) -> None:
    assert why(plugin, update(claim("2Gi", storage_class), claim("1Gi", storage_class))) == NOT_DYNAMIC


def test_the_class_may_not_change_meanwhile(plugin: PersistentVolumeClaimResize) -> None:
    assert why(plugin, update(claim("2Gi"), claim("1Gi", "fixed"))) == NOT_DYNAMIC


def test_the_old_annotation_names_the_class(plugin: PersistentVolumeClaimResize) -> None:
    named = {"annotations": {"volume.beta.kubernetes.io/storage-class": "fast"}}
    ask(plugin, update(claim("2Gi", None, **named), claim("1Gi", None, **named)))


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (("UPDATE", "", "persistentvolumeclaims", ""), True),
        (("CREATE", "", "persistentvolumeclaims", ""), False),
        (("UPDATE", "", "persistentvolumeclaims", "status"), False),
        (("UPDATE", "example.com", "persistentvolumeclaims", ""), False),
        (("UPDATE", "", "pods", ""), False),
    ],
    ids=str,
)
def test_interest(
    plugin: PersistentVolumeClaimResize, write: tuple[str, str, str, str], expected: bool
) -> None:
    assert plugin.handles(*write) is expected
