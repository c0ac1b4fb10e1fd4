"""Decoding gives the normal form and Go's words for what does not fit."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.cluster.schema.decode import decode
from steersman.cluster.schema.errors import DecodeError
from steersman.cluster.schema.findings import Literal, Repeated
from steersman.cluster.schema.resources import GVK
from steersman.cluster.schema.table import kinds

CONFIG_MAP = GVK("", "v1", "ConfigMap")
SECRET = GVK("", "v1", "Secret")
SERVICE = GVK("", "v1", "Service")
POD = GVK("", "v1", "Pod")
DEPLOYMENT = GVK("apps", "v1", "Deployment")
LEASE = GVK("coordination.k8s.io", "v1", "Lease")
CRD = GVK("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


def container(**fields: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "c", **fields}]}}


def first_container(obj: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = obj["spec"]["containers"][0]
    return found


@pytest.mark.parametrize(
    "gvk, data, normal",
    [
        (CONFIG_MAP, {}, {"metadata": {}}),
        (CONFIG_MAP, {"data": {}, "immutable": None}, {"metadata": {}}),
        (CONFIG_MAP, {"immutable": False}, {"metadata": {}, "immutable": False}),
        (CONFIG_MAP, {"data": {"a": None}}, {"metadata": {}, "data": {"a": ""}}),
        (CONFIG_MAP, {"metadata": {"name": "", "generation": 0, "labels": {}}}, {"metadata": {}}),
        (CONFIG_MAP, {"metadata": None}, {"metadata": {}}),
        (
            DEPLOYMENT,
            {"spec": {"replicas": 0, "paused": False}},
            {
                "metadata": {},
                "spec": {
                    "replicas": 0,
                    "selector": None,
                    "strategy": {},
                    "template": {"metadata": {}, "spec": {"containers": None}},
                },
                "status": {},
            },
        ),
        (POD, {"spec": {"containers": []}}, {"metadata": {}, "spec": {"containers": None}, "status": {}}),
        (
            SERVICE,
            {"spec": {"ports": [{"port": 80}, None]}},
            {
                "metadata": {},
                "spec": {"ports": [{"port": 80, "targetPort": 0}, {"port": 0, "targetPort": 0}]},
                "status": {"loadBalancer": {}},
            },
        ),
        (
            POD,
            {"spec": {"containers": [], "volumes": [{"name": "v", "emptyDir": {}}]}},
            {
                "metadata": {},
                "spec": {"containers": None, "volumes": [{"name": "v", "emptyDir": {}}]},
                "status": {},
            },
        ),
    ],
    ids=[
        "nothing",
        "empty map and null",
        "pointer keeps false",
        "null in a map is empty",
        "zero values go",
        "null struct",
        "always written",
        "empty required list is null",
        "int or string",
        "empty struct behind a pointer",
    ],
)
def test_normal_form(gvk: GVK, data: dict[str, Any], normal: dict[str, Any]) -> None:
    assert decode(gvk, data).obj == normal


@pytest.mark.parametrize(
    "given_text, stored",
    [
        ("0.5", "500m"),
        ("1024Mi", "1Gi"),
        (2, "2"),
        (0.25, "250m"),
        (None, "0"),
        (" 1 ", "1"),
        (1e-7, "100n"),
    ],
)
def test_quantities_are_canonical(given_text: Any, stored: str) -> None:
    decoded = decode(POD, container(resources={"limits": {"cpu": given_text}}))
    assert first_container(decoded.obj)["resources"] == {"limits": {"cpu": stored}}


@pytest.mark.parametrize(
    "given_text, stored",
    [
        ("2024-02-29T12:00:00Z", "2024-02-29T12:00:00Z"),
        ("2024-02-29T12:00:00.999+02:00", "2024-02-29T10:00:00Z"),
        ("0001-01-01T00:00:00Z", None),
    ],
)
def test_times_are_in_utc_and_whole_seconds(given_text: str, stored: str | None) -> None:
    metadata = decode(CONFIG_MAP, {"metadata": {"creationTimestamp": given_text}}).obj["metadata"]
    assert metadata.get("creationTimestamp") == stored


def test_micro_times_have_six_decimals() -> None:
    decoded = decode(LEASE, {"spec": {"renewTime": "2024-01-01T01:00:00.123456+01:00"}})
    assert decoded.obj["spec"] == {"renewTime": "2024-01-01T00:00:00.123456Z"}


def test_bytes_are_canonical_base64() -> None:
    assert decode(SECRET, {"data": {"a": "YQ\n==", "b": "YR=="}}).obj["data"] == {"a": "YQ==", "b": "YQ=="}


@pytest.mark.parametrize("given_number, shown", [(3.0, "3"), (0.5, "0.5"), (3, "3"), (1e22, "1e+22")])
def test_whole_numbers_are_shown_without_decimals(given_number: float, shown: str) -> None:
    version = {"schema": {"openAPIV3Schema": {"maximum": given_number}}}
    obj = decode(CRD, {"spec": {"versions": [version]}}).obj
    maximum = obj["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["maximum"]
    assert orjson.dumps(maximum).decode() == shown


def test_a_condition_shows_its_zero_time_as_null() -> None:
    decoded = decode(POD, {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    assert decoded.obj["status"]["conditions"] == [
        {"type": "Ready", "status": "True", "lastProbeTime": None, "lastTransitionTime": None}
    ]


def test_free_form_values_are_kept() -> None:
    fields = {"f:data": {".": {}, "f:x": {}}}
    decoded = decode(CONFIG_MAP, {"metadata": {"managedFields": [{"fieldsV1": fields}]}})
    assert decoded.obj["metadata"]["managedFields"] == [{"fieldsV1": fields}]
    revision = decode(GVK("apps", "v1", "ControllerRevision"), {"data": {"a": [None, {}]}, "revision": 1})
    assert revision.obj["data"] == {"a": [None, {}]}


def test_schemas_of_custom_resources_keep_their_shapes() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": {"type": "string"}, "default": [], "enum": [None, 1]},
            "b": {"additionalProperties": False, "nope": 1},
        },
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    decoded = decode(CRD, {"spec": {"group": "g", "names": {}, "scope": "Cluster", "versions": [version]}})
    kept = decoded.obj["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert kept["properties"]["a"] == schema["properties"]["a"]  # type: ignore[index]
    assert kept["properties"]["b"] == {"additionalProperties": False}
    assert decoded.strict_errors == [
        'unknown field "spec.versions[0].schema.openAPIV3Schema.properties.b.nope"'
    ]


QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
INTO = "json: cannot unmarshal {} into Go struct field {} of type {}"


@pytest.mark.parametrize(
    "gvk, data, message",
    [
        (
            DEPLOYMENT,
            {"spec": {"replicas": "3"}},
            INTO.format("string", "DeploymentSpec.spec.replicas", "int32"),
        ),
        (
            DEPLOYMENT,
            {"spec": {"replicas": True}},
            INTO.format("bool", "DeploymentSpec.spec.replicas", "int32"),
        ),
        (
            DEPLOYMENT,
            {"spec": {"replicas": 1.5}},
            INTO.format("number 1.5", "DeploymentSpec.spec.replicas", "int32"),
        ),
        (
            DEPLOYMENT,
            {"spec": {"replicas": Literal("1e3")}},
            INTO.format("number 1e3", "DeploymentSpec.spec.replicas", "int32"),
        ),
        (
            DEPLOYMENT,
            {"spec": {"replicas": 2**31}},
            INTO.format("number 2147483648", "DeploymentSpec.spec.replicas", "int32"),
        ),
        (CONFIG_MAP, {"data": {"a": 1}}, INTO.format("number", "ConfigMap.data", "string")),
        (CONFIG_MAP, {"data": ["a"]}, INTO.format("array", "ConfigMap.data", "map[string]string")),
        (CONFIG_MAP, {"metadata": "x"}, INTO.format("string", "ConfigMap.metadata", "v1.ObjectMeta")),
        (CONFIG_MAP, {"immutable": "yes"}, INTO.format("string", "ConfigMap.immutable", "bool")),
        (
            POD,
            {"spec": {"containers": {}}},
            INTO.format("object", "PodSpec.spec.containers", "[]v1.Container"),
        ),
        (
            POD,
            {"spec": {"containers": ["x"]}},
            INTO.format("string", "PodSpec.spec.containers", "v1.Container"),
        ),
        (
            POD,
            container(ports=[{"protocol": {}}]),
            INTO.format("object", "ContainerPort.spec.containers.ports.protocol", "v1.Protocol"),
        ),
        (
            POD,
            container(command="sh"),
            INTO.format("string", "Container.spec.containers.command", "[]string"),
        ),
        (
            SERVICE,
            {"spec": {"ports": [{"targetPort": 1.5}]}},
            INTO.format("number 1.5", "ServicePort.spec.ports.targetPort", "int32"),
        ),
        (
            CONFIG_MAP,
            {"metadata": {"creationTimestamp": 5}},
            INTO.format("number", "ObjectMeta.metadata.creationTimestamp", "string"),
        ),
        (POD, container(resources={"limits": {"cpu": "a"}}), QUANTITY),
        (POD, container(resources={"limits": {"cpu": True}}), QUANTITY),
        (SECRET, {"data": {"a": "YQ="}}, "illegal base64 data at input byte 3"),
        (SECRET, {"data": {"a": "a b="}}, "illegal base64 data at input byte 1"),
        (SECRET, {"data": {"a": "abcde"}}, "illegal base64 data at input byte 4"),
        (SECRET, {"data": {"a": "=="}}, "illegal base64 data at input byte 0"),
        (SECRET, {"data": {"a": "YQ==YQ=="}}, "illegal base64 data at input byte 4"),
        (SECRET, {"data": {"a": 1}}, INTO.format("number", "Secret.data", "[]uint8")),
        (SECRET, {"data": {"a": ["x"]}}, INTO.format("string", "Secret.data", "uint8")),
        (SECRET, {"data": {"a": [256]}}, INTO.format("number 256", "Secret.data", "uint8")),
        (
            POD,
            {"spec": {"volumes": [{"emptyDir": "x"}]}},
            INTO.format("string", "Volume.spec.volumes.VolumeSource.emptyDir", "v1.EmptyDirVolumeSource"),
        ),
        (
            POD,
            {"spec": {"volumes": [{"configMap": {"name": 5}}]}},
            INTO.format(
                "number",
                "ConfigMapVolumeSource.spec.volumes.VolumeSource.configMap.LocalObjectReference.name",
                "string",
            ),
        ),
        (
            POD,
            container(livenessProbe={"httpGet": {"port": True}}),
            INTO.format(
                "bool", "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port", "int32"
            ),
        ),
        (
            CONFIG_MAP,
            {"metadata": {"creationTimestamp": "2024-13-01T00:00:00Z"}},
            'parsing time "2024-13-01T00:00:00Z": month out of range',
        ),
        (
            CONFIG_MAP,
            {"metadata": {"creationTimestamp": "2024-02-30T00:00:00Z"}},
            'parsing time "2024-02-30T00:00:00Z": day out of range',
        ),
        (
            CONFIG_MAP,
            {"metadata": {"creationTimestamp": "2024-02-03 00:00:00Z"}},
            'parsing time "2024-02-03 00:00:00Z" as "2006-01-02T15:04:05Z07:00": '
            'cannot parse " 00:00:00Z" as "T"',
        ),
        (
            CONFIG_MAP,
            {"metadata": {"creationTimestamp": "2024-02-03T00:00:00"}},
            'parsing time "2024-02-03T00:00:00" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00"',
        ),
        (
            CONFIG_MAP,
            {"metadata": {"creationTimestamp": "2024-02-03T00:00:00Zx"}},
            'parsing time "2024-02-03T00:00:00Zx": extra text: "x"',
        ),
        (
            LEASE,
            {"spec": {"renewTime": "2024-01-01T00:00:00Z"}},
            'parsing time "2024-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": '
            'cannot parse "Z" as ".000000"',
        ),
        (
            LEASE,
            {"spec": {"renewTime": "2024-01-01T00:00:00.123456789Z"}},
            'parsing time "2024-01-01T00:00:00.123456789Z" as "2006-01-02T15:04:05.000000Z07:00": '
            'cannot parse "789Z" as "Z07:00"',
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_the_words_of_go(
    gvk: GVK, data: dict[str, Any], message: str
) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(gvk, data)
    assert str(caught.value) == message


def test_the_first_type_error_counts_but_self_decoding_types_end_it() -> None:
    with pytest.raises(DecodeError, match=r"ConfigMap\.data of type string"):
        decode(CONFIG_MAP, {"data": {"a": 1}, "immutable": 5})
    with pytest.raises(DecodeError, match="quantities must match"):
        decode(POD, {"metadata": 1, **container(resources={"limits": {"cpu": "x"}})})


def test_unknown_fields_are_named_by_path_in_document_order() -> None:
    data = {
        "zeta": 1,
        "metadata": {"nope": 1},
        "spec": {
            "containers": [{"name": "a", "env": [{"name": "x", "Value": "y"}]}, {"bad": 1}],
            "securityContext": {"foo": {"bar": 1}},
        },
    }
    assert decode(POD, data).strict_errors == [
        'unknown field "zeta"',
        'unknown field "metadata.nope"',
        'unknown field "spec.containers[0].env[0].Value"',
        'unknown field "spec.containers[1].bad"',
        'unknown field "spec.securityContext.foo"',
    ]


def test_no_more_than_a_hundred_strict_errors() -> None:
    assert len(decode(CONFIG_MAP, {f"x{number}": 1 for number in range(150)}).strict_errors) == 100


def test_repeated_keys_are_reported_where_they_mean_something() -> None:
    labels = Repeated({"a": "2"})
    labels.repeated = ("a",)
    data = Repeated({"metadata": {"labels": labels}, "nope": 2})
    data.repeated = ("metadata", "nope")
    assert decode(CONFIG_MAP, data).strict_errors == [
        'duplicate field "metadata"',
        'duplicate field "metadata.labels.a"',
        'unknown field "nope"',
    ]


def test_input_is_left_alone() -> None:
    data = {"metadata": {"labels": {"a": "b"}, "finalizers": ["x"]}}
    obj = decode(CONFIG_MAP, data).obj
    obj["metadata"]["labels"]["c"] = "d"
    obj["metadata"]["finalizers"].append("y")
    assert data == {"metadata": {"labels": {"a": "b"}, "finalizers": ["x"]}}


def test_deep_recursion_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(3000):
        schema = {"not": schema}
    version = {"schema": {"openAPIV3Schema": schema}}
    with pytest.raises(DecodeError, match="exceeded max depth"):
        decode(CRD, {"spec": {"versions": [version]}})


def test_unknown_kinds_are_a_key_error() -> None:
    with pytest.raises(KeyError):
        decode(GVK("", "v1", "Nope"), {})


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda children: (
        st.lists(children, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["metadata", "spec", "status", "name", "template", "containers", "data", "items", "x"]
            ),
            children,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@settings(max_examples=200, deadline=None)
@given(
    gvk=st.sampled_from(sorted(kinds())),
    data=st.dictionaries(st.sampled_from(["metadata", "spec", "data", "status"]), JSON_VALUES),
)
def test_any_json_decodes_or_is_refused_and_normal_form_is_stable(gvk: GVK, data: dict[str, Any]) -> None:
    try:
        obj = decode(gvk, data).obj
    except DecodeError:
        return
    again = decode(gvk, obj)
    assert again.obj == obj
    assert again.strict_errors == []
