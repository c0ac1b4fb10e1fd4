"""Validation of metadata, label selectors and conditions."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.objects import metadata
from steersman.objects.fields import Path
from steersman.objects.names import name_is_dns_subdomain

PATH = Path("metadata")


def create_errors(meta: dict[str, Any], *, namespaced: bool = False) -> list[str]:
    found = metadata.validate_object_meta(meta, namespaced=namespaced, name_check=name_is_dns_subdomain)
    return [str(error) for error in found]


def update_errors(new: dict[str, Any], old: dict[str, Any]) -> list[str]:
    return [str(error) for error in metadata.validate_object_meta_update(new, old)]


def owner(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", **fields}


def test_good_metadata_has_no_errors() -> None:
    meta = {
        "name": "a",
        "namespace": "b",
        "generateName": "a-",
        "generation": 1,
        "labels": {"app": "x", "example.com/y": ""},
        "annotations": {"Example.com/Any": "Case"},
        "finalizers": ["example.com/x"],
        "ownerReferences": [owner(controller=True), owner()],
        "managedFields": [{"operation": "Update", "manager": "m", "fieldsType": "FieldsV1"}],
    }
    assert create_errors(meta, namespaced=True) == []


@pytest.mark.parametrize(
    ("meta", "start"),
    [
        ({}, "metadata.name: Required value: name or generateName is required"),
        ({"name": "Bad_Name"}, 'metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain'),
        ({"name": "a", "generateName": "B_"}, 'metadata.generateName: Invalid value: "B_": a lowercase'),
        ({"name": "a", "namespace": "b"}, "metadata.namespace: Forbidden: not allowed on this type"),
        (
            {"name": "a", "generation": -1},
            "metadata.generation: Invalid value: -1: must be greater than or equal to 0",
        ),
        ({"name": "a", "labels": {"a b": ""}}, 'metadata.labels: Invalid value: "a b": name part must'),
        ({"name": "a", "labels": {"a": "b!"}}, 'metadata.labels: Invalid value: "b!": a valid label must be'),
        (
            {"name": "a", "annotations": {"a/b/c": ""}},
            'metadata.annotations: Invalid value: "a/b/c": a valid',
        ),
        (
            {"name": "a", "annotations": {"a": "é" * 131072}},
            "metadata.annotations: Too long: may not be more than 262144 bytes",
        ),
        ({"name": "a", "finalizers": ["x y"]}, 'metadata.finalizers: Invalid value: "x y": name part must'),
        (
            {"name": "a", "finalizers": ["orphan", "foregroundDeletion"]},
            'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: '
            "finalizer orphan and foregroundDeletion cannot be both set",
        ),
        (
            {"name": "a", "ownerReferences": [owner(uid="")]},
            "metadata.ownerReferences[0].uid: Required value: must not be empty",
        ),
        (
            {"name": "a", "ownerReferences": [owner(apiVersion="a/b/c")]},
            'metadata.ownerReferences[0].apiVersion: Invalid value: "a/b/c": '
            "must be <group>/<version> or <version>",
        ),
        (
            {"name": "a", "managedFields": [{"operation": "Write"}]},
            'metadata.managedFields[0].operation: Unsupported value: "Write": '
            'supported values: "Apply", "Update"',
        ),
        (
            {"name": "a", "managedFields": [{"operation": "Apply", "fieldsType": "X"}]},
            'metadata.managedFields[0].fieldsType: Invalid value: "X": must be `FieldsV1`',
        ),
        (
            {"name": "a", "managedFields": [{"operation": "Apply", "manager": "é\t"}]},
            'metadata.managedFields[0].manager: Invalid value: "é\\t": '
            "invalid character U+0009 (at position 2)",
        ),
    ],
)
def test_bad_metadata_is_named(meta: dict[str, Any], start: str) -> None:
    (error,) = create_errors(meta)
    assert error.startswith(start)


def test_namespaced_object_needs_a_namespace() -> None:
    assert create_errors({"name": "a"}, namespaced=True) == ["metadata.namespace: Required value"]
    (error,) = create_errors({"name": "a", "namespace": "a.b"}, namespaced=True)
    assert error == 'metadata.namespace: Invalid value: "a.b": must not contain dots'


def test_one_owner_is_the_controller() -> None:
    meta = {"name": "a", "ownerReferences": [owner(controller=True), owner(name="q", controller=True)]}
    (error,) = create_errors(meta)
    assert error.endswith(
        'Only one reference can have Controller set to true. Found "true" in references for Pod/p and Pod/q'
    )


def test_event_owns_nothing() -> None:
    (error,) = create_errors({"name": "a", "ownerReferences": [owner(kind="Event")]})
    assert error.endswith("/v1, Kind=Event is disallowed from being an owner")


OLD = {"name": "a", "uid": "1", "resourceVersion": "5", "generation": 3, "creationTimestamp": "t"}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({}, None),
        (
            {"resourceVersion": ""},
            'metadata.resourceVersion: Invalid value: "": must be specified for an update',
        ),
        ({"generation": 2}, "metadata.generation: Invalid value: 2: must not be decremented"),
        ({"name": "b"}, 'metadata.name: Invalid value: "b": field is immutable'),
        ({"uid": "2"}, 'metadata.uid: Invalid value: "2": field is immutable'),
        ({"creationTimestamp": None}, "metadata.creationTimestamp: Invalid value: null: field is immutable"),
        ({"deletionTimestamp": "t"}, 'metadata.deletionTimestamp: Invalid value: "t": field is immutable'),
        (
            {"deletionGracePeriodSeconds": 0},
            "metadata.deletionGracePeriodSeconds: Invalid value: 0: field is immutable",
        ),
    ],
)
def test_update_keeps_what_is_immutable(change: dict[str, Any], error: str | None) -> None:
    assert update_errors({**OLD, **change}, OLD) == ([] if error is None else [error])


def test_no_finalizer_is_added_while_the_object_is_deleted() -> None:
    old = {**OLD, "deletionTimestamp": "t", "finalizers": ["example.com/x"]}
    assert update_errors({**old, "finalizers": []}, old) == []
    assert update_errors({**old, "finalizers": ["example.com/x", "example.com/y"]}, old) == [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
        'found new finalizers []string{"example.com/y"}'
    ]


@pytest.mark.parametrize(
    ("requirement", "start"),
    [
        ({"key": "a", "operator": "In", "values": ["b"]}, None),
        ({"key": "a", "operator": "Exists"}, None),
        (
            {"key": "a", "operator": "In"},
            "s.matchExpressions[0].values: Required value: "
            "must be specified when `operator` is 'In' or 'NotIn'",
        ),
        (
            {"key": "a", "operator": "Exists", "values": ["b"]},
            "s.matchExpressions[0].values: Forbidden: may not be specified when `operator` is "
            "'Exists' or 'DoesNotExist'",
        ),
        (
            {"key": "a", "operator": "Like"},
            's.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator',
        ),
        ({"key": "", "operator": "Exists"}, 's.matchExpressions[0].key: Invalid value: "": name part'),
        (
            {"key": "a", "operator": "In", "values": ["x", "!"]},
            's.matchExpressions[0].values[1]: Invalid value: "!": a valid label',
        ),
    ],
)
def test_label_selector(requirement: dict[str, Any], start: str | None) -> None:
    errors = metadata.validate_label_selector({"matchExpressions": [requirement]}, Path("s"))
    if start is None:
        assert errors == []
    else:
        assert str(errors[0]).startswith(start)


def test_old_invalid_selector_values_can_be_tolerated() -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["!"]}]}
    assert metadata.validate_label_selector(selector, Path("s"), allow_invalid_values=True) == []
    assert metadata.validate_label_selector(None, Path("s")) == []


def test_conditions() -> None:
    good = {"type": "Ready", "status": "True", "reason": "Ok", "lastTransitionTime": "t", "message": ""}
    assert metadata.validate_conditions([good], Path("c")) == []
    errors = metadata.validate_conditions(
        [good, good, {"type": "", "status": "Maybe", "observedGeneration": -1, "message": "m" * 40000}],
        Path("c"),
    )
    assert [str(error) for error in errors] == [
        'c[1]: Duplicate value: "Ready"',
        "c[2].type: Required value: is required",
        'c[2].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"',
        "c[2].observedGeneration: Invalid value: -1: must be greater than or equal to zero",
        "c[2].lastTransitionTime: Required value",
        "c[2].reason: Required value",
        "c[2].message: Too long: may not be more than 32768 bytes",
    ]
