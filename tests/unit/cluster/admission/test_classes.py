"""Default classes, protection of storage in use, and the taint of new nodes."""

from __future__ import annotations

import pytest

from steersman.cluster.admission.classes import (
    DefaultIngressClass,
    DefaultStorageClass,
    StorageObjectInUseProtection,
)
from steersman.cluster.admission.nodes import TaintNodesByCondition

from .conftest import Object, Stored, write

STORAGE_MARK = "storageclass.kubernetes.io/is-default-class"
INGRESS_MARK = "ingressclass.kubernetes.io/is-default-class"


def add_storage_class(
    stored: Stored, name: str, year: int, value: str = "true", mark: str = STORAGE_MARK
) -> None:
    metadata = {"creationTimestamp": f"{year}-01-01T00:00:00Z", "annotations": {mark: value}}
    stored.add("storage.k8s.io", "storageclasses", name, metadata=metadata)


def claimed(stored: Stored, spec: Object, metadata: Object | None = None) -> str | None:
    claim = {"metadata": metadata or {}, "spec": spec}
    DefaultStorageClass(stored).admit(write("persistentvolumeclaims", claim))
    name: str | None = spec.get("storageClassName")
    return name


def test_without_a_default_class_a_claim_stays_without(stored: Stored) -> None:
    add_storage_class(stored, "plain", 2024, "false")
    stored.add("storage.k8s.io", "storageclasses", "bare")
    assert claimed(stored, {}) is None


def test_the_newest_default_class_wins_then_the_first_by_name(stored: Stored) -> None:
    for name, year in (("old", 2020), ("b", 2024), ("a", 2024), ("older", 2019)):
        add_storage_class(stored, name, year)
    assert claimed(stored, {}) == "a"


def test_the_old_mark_of_a_default_class_counts(stored: Stored) -> None:
    add_storage_class(stored, "beta", 2020, mark="storageclass.beta.kubernetes.io/is-default-class")
    assert claimed(stored, {}) == "beta"


@pytest.mark.parametrize(
    ("spec", "annotations", "kept"),
    [
        ({"storageClassName": "mine"}, {}, "mine"),
        ({"storageClassName": ""}, {}, ""),
        ({}, {"volume.beta.kubernetes.io/storage-class": "mine"}, None),
    ],
)
def test_a_claim_that_says_its_class_keeps_it(
    stored: Stored, spec: Object, annotations: Object, kept: str | None
) -> None:
    add_storage_class(stored, "default", 2024)
    assert claimed(stored, spec, {"annotations": annotations}) == kept


@pytest.mark.parametrize(
    ("spec", "annotations", "shown"),
    [
        ({}, {}, "new"),
        ({"ingressClassName": "mine"}, {}, "mine"),
        ({}, {"kubernetes.io/ingress.class": ""}, None),
        ({}, {"other": "x"}, "new"),
    ],
)
def test_an_ingress_gets_the_newest_default_class(
    stored: Stored, spec: Object, annotations: Object, shown: str | None
) -> None:
    for name, year in (("old", 2020), ("new", 2024)):
        metadata = {"creationTimestamp": f"{year}-01-01T00:00:00Z", "annotations": {INGRESS_MARK: "true"}}
        stored.add("networking.k8s.io", "ingressclasses", name, metadata=metadata)
    ingress = {"metadata": {"annotations": annotations}, "spec": spec}
    DefaultIngressClass(stored).admit(write("ingresses", ingress, group="networking.k8s.io"))
    assert spec.get("ingressClassName") == shown


@pytest.mark.parametrize(
    ("group", "plural", "finalizer"),
    [
        ("", "persistentvolumeclaims", "kubernetes.io/pvc-protection"),
        ("", "persistentvolumes", "kubernetes.io/pv-protection"),
        ("storage.k8s.io", "volumeattributesclasses", "kubernetes.io/vac-protection"),
    ],
)
def test_what_is_protected_is_protected_once(group: str, plural: str, finalizer: str) -> None:
    plugin = StorageObjectInUseProtection()
    obj: Object = {"metadata": {"finalizers": ["mine"]}}
    for _ in range(2):
        plugin.admit(write(plural, obj, group=group))
    assert obj["metadata"]["finalizers"] == ["mine", finalizer]
    bare: Object = {}
    plugin.admit(write(plural, bare, group=group))
    assert bare["metadata"]["finalizers"] == [finalizer]


TAINT = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ([], [TAINT]),
        ([TAINT], [TAINT]),
        ([{**TAINT, "effect": "NoExecute"}], [{**TAINT, "effect": "NoExecute"}, TAINT]),
        ([{"key": "mine", "effect": "NoSchedule"}], [{"key": "mine", "effect": "NoSchedule"}, TAINT]),
    ],
)
def test_a_new_node_is_not_ready(given: list[Object], shown: list[Object]) -> None:
    node: Object = {"spec": {"taints": list(given)} if given else {}}
    TaintNodesByCondition().admit(write("nodes", node, namespace=""))
    assert node["spec"]["taints"] == shown


def test_nodes_do_not_share_their_taint() -> None:
    first, second = {"spec": {}}, {"spec": {}}  # type: ignore[var-annotated]
    for node in (first, second):
        TaintNodesByCondition().admit(write("nodes", node))
    first["spec"]["taints"][0]["value"] = "x"
    assert second["spec"]["taints"] == [TAINT]


@pytest.mark.parametrize(
    ("plugin", "group", "plural"),
    [
        (DefaultStorageClass(Stored()), "", "persistentvolumeclaims"),
        (DefaultIngressClass(Stored()), "networking.k8s.io", "ingresses"),
        (StorageObjectInUseProtection(), "", "persistentvolumes"),
        (TaintNodesByCondition(), "", "nodes"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_only_creation_of_the_object_itself_is_looked_at(
    plugin: DefaultStorageClass | DefaultIngressClass, group: str, plural: str
) -> None:
    assert plugin.handles("CREATE", group, plural, "")
    assert not plugin.handles("UPDATE", group, plural, "")
    assert not plugin.handles("CREATE", group, plural, "status")
    assert not plugin.handles("CREATE", group or "example.com", "others", "")
    assert not plugin.handles("CREATE", "example.com", plural, "")
