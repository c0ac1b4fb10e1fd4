"""decode_body answers as kube-apiserver does: the recorded refusals, and the rules behind them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from steersman.cluster.codec import BodyRejected, UnsupportedMediaType, decode_body, decode_options
from steersman.cluster.schema import resources
from steersman.cluster.schema.resources import GVK
from tests.recordings import CONVERSATIONS

CONFIG_MAP = GVK("", "v1", "ConfigMap")
DEPLOYMENT = GVK("apps", "v1", "Deployment")
UNRECOGNIZED = "the object provided is unrecognized (must be of type ConfigMap): "
COLLECTION = re.compile(
    r"/(?:api/(?P<core>v1)|apis/(?P<group>[^/]+)/(?P<version>[^/]+))(?:/namespaces/[^/]+)?/(?P<plural>\w+)$"
)


def rejection(content_type: str, body: bytes, expected: GVK, field_validation: Any = "") -> str:
    with pytest.raises(BodyRejected) as caught:
        decode_body(content_type, body, expected, field_validation)
    return str(caught.value)


def recorded_creates() -> list[Any]:
    """Every recorded POST of a built-in object whose fate was decided by decoding, or that succeeded."""
    steps = []
    for file in sorted(CONVERSATIONS.glob("*.json")):
        for number, step in enumerate(json.loads(file.read_text())["steps"]):
            path, _, query = step["path"].partition("?")
            match = COLLECTION.match(path)
            if step["method"] != "POST" or not match or "body" not in step:
                continue
            found = resources.find(match["group"] or "", match["core"] or match["version"], match["plural"])
            if found is None or "fieldValidation=Loose" in query:
                continue
            steps.append(pytest.param(step, query, found.gvk, id=f"{file.stem}-{number}"))
    return steps


@pytest.mark.parametrize("step, query, expected", recorded_creates())
def test_recorded_creates_are_read_or_refused_alike(step: dict[str, Any], query: str, expected: GVK) -> None:
    body = step["body"] if isinstance(step["body"], str) else json.dumps(step["body"])
    validation: Any = dict(re.findall(r"(\w+)=(\w+)", query)).get("fieldValidation", "")
    content_type = step.get("headers", {}).get("Content-Type", "application/json")
    answer = step["answer"]
    message = answer.get("body", {}).get("message", "") if isinstance(answer.get("body"), dict) else ""
    by_decoding = (
        "cannot be handled as" in message or "unrecognized" in message or "unknown format" in message
    )
    if by_decoding:
        with pytest.raises((BodyRejected, UnsupportedMediaType)) as caught:
            decode_body(content_type, body.encode(), expected, validation)
        assert str(caught.value) == message
    else:
        decoded = decode_body(content_type, body.encode(), expected, validation)
        assert decoded.gvk == expected
        shown = [re.sub(r'^299 - "|"$', "", text).replace('\\"', '"') for text in answer.get("warnings", ())]
        strict = [text for text in shown if text.startswith(("unknown field", "duplicate field"))]
        assert decoded.warnings == strict


@pytest.mark.parametrize(
    "body, fault",
    [
        (b"", "unexpected end of JSON input (<empty>)"),
        (b"{not json", "invalid character 'n' looking for beginning of object key string ({not json)"),
        (b'{"a": 1', 'unexpected end of JSON input ({"a": 1)'),
        (
            b'{"kind": 5}',
            'json: cannot unmarshal number into Go struct field .kind of type string ({"kind": 5})',
        ),
        (b"[1]", None),
        (b"{" + b" " * 40, "unexpected end of JSON input ({" + " " * 29 + " ...)"),
    ],
    ids=["empty", "no key", "cut off", "kind is a number", "array", "long"],
)
def test_unreadable_json_is_called_unrecognized(body: bytes, fault: str | None) -> None:
    prefix = UNRECOGNIZED + "couldn't get version/kind; json parse error: "
    text = rejection("application/json", body, CONFIG_MAP)
    if fault is None:
        fault = (
            "json: cannot unmarshal array into Go value of type struct { APIVersion string "
            '"json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" } (5b315d)'
        )
    assert text == prefix + fault


@pytest.mark.parametrize(
    "body, expected, message",
    [
        (
            {"apiVersion": "v1", "kind": "Secret"},
            CONFIG_MAP,
            'Secret in version "v1" cannot be handled as a ConfigMap: '
            "converting (v1.Secret) to (core.ConfigMap): unknown conversion",
        ),
        (
            {"apiVersion": "extensions/v1beta9", "kind": "Deployment"},
            DEPLOYMENT,
            'Deployment in version "v1beta9" cannot be handled as a Deployment: '
            'no kind "Deployment" is registered for version "extensions/v1beta9" '
            'in scheme "pkg/api/legacyscheme/scheme.go:30"',
        ),
        (
            {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler"},
            GVK("autoscaling", "v2", "HorizontalPodAutoscaler"),
            "the API version in the data (autoscaling/v1) does not match "
            "the expected API version (autoscaling/v2)",
        ),
        (
            {"apiVersion": "a/b/c", "kind": "ConfigMap"},
            CONFIG_MAP,
            UNRECOGNIZED + 'unexpected GroupVersion string: a/b/c ({"apiVersion": "a/b/c", "kind" ...)',
        ),
    ],
    ids=["other kind", "unknown version", "other version", "no group version"],
)
def test_other_kinds_are_refused(body: dict[str, Any], expected: GVK, message: str) -> None:
    assert rejection("application/json", json.dumps(body).encode(), expected) == message


def test_api_version_and_kind_may_be_left_out() -> None:
    decoded = decode_body("application/json", b'{"metadata": {"name": "a"}}', DEPLOYMENT)
    assert (decoded.obj["apiVersion"], decoded.obj["kind"]) == ("apps/v1", "Deployment")


def test_no_content_type_means_json_and_null_an_empty_object() -> None:
    assert decode_body("", b"null", CONFIG_MAP).obj == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {},
    }


def test_numbers_are_quoted_as_written() -> None:
    text = rejection("application/json", b'{"spec": {"replicas": 1e3}}', DEPLOYMENT)
    assert text.endswith(
        "json: cannot unmarshal number 1e3 into Go struct field DeploymentSpec.spec.replicas of type int32"
    )


def test_unknown_and_repeated_fields_come_in_document_order() -> None:
    metadata = b'{"nope": 1, "labels": {"a": "1", "a": "2"}}'
    body = b'{"metadata": ' + metadata + b', "data": {}, "extra": 1, "data": {"k": "v"}}'
    decoded = decode_body("application/json", body, CONFIG_MAP, "Warn")
    assert decoded.warnings == [
        'unknown field "metadata.nope"',
        'duplicate field "metadata.labels.a"',
        'unknown field "extra"',
        'duplicate field "data"',
    ]
    assert decoded.obj["data"] == {"k": "v"}
    assert decoded.obj["metadata"]["labels"] == {"a": "2"}
    assert decode_body("application/json", body, CONFIG_MAP, "Ignore").warnings == []
    assert rejection("application/json", body, CONFIG_MAP, "Strict") == (
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: '
        + ", ".join(decoded.warnings)
    )


def test_duplicates_hidden_behind_escaped_quotes_are_found() -> None:
    body = b'{"data": {"a": "\\u0022\\u0022"}, "data": {"b": "\\u0022\\u0022"}}'
    assert decode_body("application/json", body, CONFIG_MAP).warnings == ['duplicate field "data"']


def test_yaml_bodies_are_read_and_repeated_keys_reported() -> None:
    body = b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata:\n  a: x\n  a: 'y'\nextra: 1\n"
    decoded = decode_body("application/yaml", body, CONFIG_MAP)
    assert decoded.obj["data"] == {"a": "y"}
    assert decoded.warnings == [
        'yaml: unmarshal errors:\n  line 6: key "a" already set in map',
        'unknown field "extra"',
    ]


def test_unknown_fields_of_yaml_come_sorted() -> None:
    body = b"kind: ConfigMap\napiVersion: v1\nzz: 1\nmetadata: {name: a, foo: 1}\naa: 1\n"
    assert decode_body("application/yaml", body, CONFIG_MAP).warnings == [
        'unknown field "aa"',
        'unknown field "metadata.foo"',
        'unknown field "zz"',
    ]


def test_yaml_faults_name_the_line() -> None:
    text = rejection("application/yaml", b"a: b\nc: d: e\n", CONFIG_MAP)
    assert text.startswith(
        "the object provided is unrecognized (must be of type ConfigMap): "
        "yaml: line 2: mapping values are not allowed in this context"
    )


@pytest.mark.parametrize("content_type", ["text/plain", "application/cbor", ";charset=utf-8"])
def test_other_formats_are_unsupported(content_type: str) -> None:
    with pytest.raises(
        UnsupportedMediaType, match=r"application/json, application/yaml, application/vnd\.kubernetes"
    ):
        decode_body(content_type, b"{}", CONFIG_MAP)


def test_parameters_of_a_content_type_are_ignored() -> None:
    assert decode_body("application/json; charset=utf-8", b"{}", CONFIG_MAP).gvk == CONFIG_MAP


@pytest.mark.parametrize(
    "body, fault",
    [
        (b"", "empty data (<empty>)"),
        (b"k8s\0", "empty body (6b387300)"),
        (
            b"{}",
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({})",
        ),
        (b"k8s\0\x0a\xff", "unexpected EOF (6b3873000aff)"),
    ],
    ids=["nothing", "only the prefix", "json", "cut off"],
)
def test_unreadable_protobuf_is_called_unrecognized(body: bytes, fault: str) -> None:
    text = rejection("application/vnd.kubernetes.protobuf", body, CONFIG_MAP)
    assert text == f"the object provided is unrecognized (must be of type ConfigMap): {fault}"


@pytest.mark.parametrize("api_version", ["v1", "apps/v1", "meta.k8s.io/v1", "policy/v1beta1", ""])
def test_options_come_under_any_groups_version(api_version: str) -> None:
    body = {"kind": "DeleteOptions", "apiVersion": api_version, "gracePeriodSeconds": 0, "nope": 1}
    decoded = decode_options("application/json", json.dumps(body).encode(), "DeleteOptions")
    assert decoded["gracePeriodSeconds"] == 0
    assert "nope" not in decoded


@pytest.mark.parametrize(
    ("version", "kind", "message"),
    [
        (
            "apps/v1beta1",
            "Deployment",
            "the API version in the data (apps/v1beta1) does not match the expected API version (apps/v1)",
        ),
        (
            "extensions/v1beta1",
            "Deployment",
            "the API version in the data (extensions/v1beta1) does not match the expected API version (apps/v1)",
        ),
        (
            "extensions/v1beta1",
            "Ingress",
            'Ingress in version "v1beta1" cannot be handled as a Deployment: converting (v1beta1.Ingress) to '
            "(apps.Deployment): unknown conversion",
        ),
        (
            "apps/v1beta9",
            "Deployment",
            'Deployment in version "v1beta9" cannot be handled as a Deployment: no kind "Deployment" is '
            'registered for version "apps/v1beta9" in scheme "pkg/api/legacyscheme/scheme.go:30"',
        ),
    ],
)
def test_versions_that_are_not_served_are_other_versions(version: str, kind: str, message: str) -> None:
    body = f'{{"apiVersion": "{version}", "kind": "{kind}", "spec": {{"rollbackTo": {{}}}}}}'
    with pytest.raises(BodyRejected) as caught:
        decode_body("application/json", body.encode(), GVK("apps", "v1", "Deployment"), "Strict")
    assert str(caught.value) == message


def test_another_version_is_read_strictly_before_it_is_refused() -> None:
    body = b'{"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "spec": {"metrics": []}}'
    expected = GVK("autoscaling", "v2", "HorizontalPodAutoscaler")
    found = {}
    for validation in ("", "Ignore", "Strict"):
        with pytest.raises(BodyRejected) as caught:
            decode_body("application/json", body, expected, validation)
        found[validation] = (str(caught.value).partition(" (")[0], list(caught.value.findings))
    assert found == {
        "": ("the API version in the data", ['unknown field "spec.metrics"']),
        "Ignore": ("the API version in the data", []),
        "Strict": (
            'HorizontalPodAutoscaler in version "v1" cannot be handled as a HorizontalPodAutoscaler: '
            'strict decoding error: unknown field "spec.metrics"',
            [],
        ),
    }


def test_an_eviction_may_be_of_an_older_version() -> None:
    body = b'{"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "a"}}'
    decoded = decode_body("application/json", body, GVK("policy", "v1", "Eviction"))
    assert decoded.obj["apiVersion"] == "policy/v1"


@pytest.mark.parametrize("version", ["v1", "apps/v1", "apps/v9", "example.com/v1", "meta.k8s.io/v1"])
def test_options_are_the_same_in_every_version(version: str) -> None:
    body = f'{{"kind": "DeleteOptions", "apiVersion": "{version}", "gracePeriodSeconds": 5}}'
    assert decode_options("application/json", body.encode(), "DeleteOptions")["gracePeriodSeconds"] == 5


@pytest.mark.parametrize(
    "body, message",
    [
        (b"{", "couldn't get version/kind; json parse error: unexpected end of JSON input"),
        (
            b'{"gracePeriodSeconds": "x"}',
            "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds "
            "of type int64",
        ),
        (
            b'{"kind": "Pod", "apiVersion": "v1"}',
            'no kind "Pod" is registered for version "v1" in scheme '
            '"pkg/apis/meta/internalversion/scheme/register.go:27"',
        ),
    ],
    ids=["cut off", "wrong type", "other kind"],
)
def test_options_are_refused_in_the_decoders_own_words(body: bytes, message: str) -> None:
    with pytest.raises(BodyRejected) as caught:
        decode_options("application/json", body, "DeleteOptions")
    assert str(caught.value) == message
