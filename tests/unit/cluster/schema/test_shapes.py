"""Built-in types as patches and field ownership see them."""

from __future__ import annotations

import pytest

from steersman.cluster.schema.resources import GVK, all_resources
from steersman.cluster.schema.shapes import schema_named, schema_of
from steersman.objects.schemas import ANY, Schema


def at(gvk: GVK, *path: str) -> Schema:
    """The schema at a path; `[]` goes to a list's items or a map's values."""
    schema = schema_of(gvk)
    for step in path:
        child = schema.element() if step == "[]" else schema.property(step)
        assert child is not None, step
        schema = child
    return schema


POD = GVK("", "v1", "Pod")
SERVICE = GVK("", "v1", "Service")
DEPLOYMENT = GVK("apps", "v1", "Deployment")


def test_lists_keyed_by_fields() -> None:
    ports = at(POD, "spec", "containers", "[]", "ports")
    assert (ports.kind, ports.list_type, ports.keys) == ("list", "map", ("containerPort", "protocol"))
    assert ports.key_defaults == {"containerPort": 0, "protocol": "TCP"}
    assert (ports.patch_merge_key, ports.patch_strategies) == ("containerPort", ("merge",))
    assert at(SERVICE, "spec", "ports").key_defaults == {"port": 0, "protocol": "TCP"}
    assert at(POD, "spec", "containers").key_defaults == {"name": ""}
    assert at(POD, "spec", "imagePullSecrets").key_defaults == {"name": ""}
    assert at(GVK("", "v1", "ServiceAccount"), "secrets").key_defaults == {}
    flow_schema = GVK("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema")
    assert at(flow_schema, "status", "conditions").key_defaults == {}


def test_sets_atoms_and_maps() -> None:
    assert at(POD, "metadata", "finalizers").list_type == "set"
    assert at(POD, "spec", "tolerations").list_type == "atomic"
    assert at(POD, "metadata", "labels").kind == "map"
    assert at(DEPLOYMENT, "spec", "selector").atomic
    assert not at(DEPLOYMENT, "spec", "template").atomic
    assert at(POD, "spec", "nodeSelector").atomic
    # A reference is atomic, except where a field says otherwise.
    assert at(GVK("", "v1", "Event"), "involvedObject").atomic
    assert not at(GVK("", "v1", "PersistentVolume"), "spec", "claimRef").atomic


def test_strategies_of_patches() -> None:
    assert at(DEPLOYMENT, "spec", "strategy").patch_strategies == ("retainKeys",)
    assert at(POD, "spec", "volumes").patch_strategies == ("merge", "retainKeys")


@pytest.mark.parametrize(
    "path, scalar",
    [
        (("metadata", "creationTimestamp"), "time"),
        (("spec", "containers", "[]", "resources", "limits", "[]"), "quantity"),
        (("spec", "containers", "[]", "livenessProbe", "httpGet", "port"), "int-or-string"),
        (("spec", "containers", "[]", "tty"), "boolean"),
        (("spec", "priority"), "integer"),
    ],
)
def test_scalars(path: tuple[str, ...], scalar: str) -> None:
    schema = at(POD, *path)
    assert (schema.kind, schema.scalar) == ("scalar", scalar)


def test_free_form_values_are_any() -> None:
    assert at(GVK("apps", "v1", "ControllerRevision"), "data") is ANY


def test_unknown_fields_and_kinds() -> None:
    assert schema_of(POD).property("nope") is None
    with pytest.raises(KeyError):
        schema_of(GVK("", "v1", "Nope"))


def test_recursive_types_resolve_lazily() -> None:
    name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    properties = schema_named(name).property("properties")
    assert properties is not None
    assert properties.element() is schema_named(name)


@pytest.mark.parametrize("gvk", [each.gvk for each in all_resources()], ids=str)
def test_every_resource_has_a_schema_with_metadata(gvk: GVK) -> None:
    assert schema_of(gvk).property("metadata") is not None
