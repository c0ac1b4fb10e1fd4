"""ConfigMaps, Secrets, ServiceAccounts and Namespaces."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from steersman.cluster.schema.validation import validate_subresource_update

METADATA = {"name": "a", "namespace": "default", "resourceVersion": "1"}
MEBIBYTE = 1024 * 1024
KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
    "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
FROZEN = "Forbidden: field is immutable when `immutable` is set"


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


CONFIG_MAPS = {
    "valid": ({"data": {"a": "b"}, "binaryData": {"c": b64("d")}}, []),
    "key with a space": (
        {"data": {"bad key!": "v"}},
        [f'data[bad key!]: Invalid value: "bad key!": {KEY_RULE}'],
    ),
    "climbing key": (
        {"binaryData": {"..": b64("v")}},
        ["binaryData[..]: Invalid value: \"..\": must not be '..'"],
    ),
    "key in both": (
        {"data": {"a": "1"}, "binaryData": {"a": b64("2")}},
        ['data[a]: Invalid value: "a": duplicate of key present in binaryData'],
    ),
    "as large as can be": ({"data": {"a": "x" * (MEBIBYTE - 3)}, "binaryData": {"b": b64("abc")}}, []),
    "one byte too large": (
        {"data": {"a": "x" * (MEBIBYTE - 3)}, "binaryData": {"b": b64("abcd")}},
        ["[]: Too long: may not be more than 1048576 bytes"],
    ),
    "counted in bytes": (
        {"data": {"a": "é" * (MEBIBYTE // 2 + 1)}},
        ["[]: Too long: may not be more than 1048576 bytes"],
    ),
}


@pytest.mark.parametrize("fields, expected", CONFIG_MAPS.values(), ids=CONFIG_MAPS)
def test_config_map_is_created_or_refused(created: Any, fields: Any, expected: list[str]) -> None:
    assert created("", "ConfigMap", {"metadata": METADATA}, fields) == expected


IMMUTABLE = {"metadata": METADATA, "immutable": True, "data": {"k": "v"}, "type": "Opaque"}
FREEZES = {
    "labels may change": ("ConfigMap", {"metadata": {"labels": {"a": "b"}}}, []),
    "thawing and changing": (
        "ConfigMap",
        {"immutable": None, "data": {"k": "changed"}},
        [f"immutable: {FROZEN}", f"data: {FROZEN}"],
    ),
    "setting to false": ("ConfigMap", {"immutable": False}, [f"immutable: {FROZEN}"]),
    "adding binary data": ("ConfigMap", {"binaryData": {"b": "Yg=="}}, [f"binaryData: {FROZEN}"]),
    "secret's data": ("Secret", {"data": {"k": "dg=="}}, [f"data: {FROZEN}"]),
    "secret's type": ("Secret", {"type": "custom"}, ['type: Invalid value: "custom": field is immutable']),
}


@pytest.mark.parametrize("kind, patch, expected", FREEZES.values(), ids=FREEZES)
def test_immutable_data_stays(updated: Any, kind: str, patch: Any, expected: list[str]) -> None:
    assert updated("", kind, IMMUTABLE, patch) == expected


REDACTED = '"<secret contents redacted>"'
SECRETS = {
    "opaque": ("Opaque", {"any": "dg=="}, []),
    "own type": ("example.com/own", {}, []),
    "wrong key": ("Opaque", {"a b": "dg=="}, [f'data[a b]: Invalid value: "a b": {KEY_RULE}']),
    "too large": (
        "Opaque",
        {"a": b64("x" * (MEBIBYTE + 1))},
        ["data: Too long: may not be more than 1048576 bytes"],
    ),
    "token without account": (
        "kubernetes.io/service-account-token",
        {},
        ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
    ),
    "registry configuration missing": (
        "kubernetes.io/dockerconfigjson",
        {},
        ["data[.dockerconfigjson]: Required value"],
    ),
    "registry configuration": (
        "kubernetes.io/dockerconfigjson",
        {".dockerconfigjson": b64('{"auths": {}}')},
        [],
    ),
    "registry configuration is not JSON": (
        "kubernetes.io/dockerconfigjson",
        {".dockerconfigjson": b64("nope")},
        [
            f"data[.dockerconfigjson]: Invalid value: {REDACTED}: "
            "invalid character 'o' in literal null (expecting 'u')"
        ],
    ),
    "registry configuration is a list": (
        "kubernetes.io/dockercfg",
        {".dockercfg": b64("[]")},
        [
            f"data[.dockercfg]: Invalid value: {REDACTED}: "
            "json: cannot unmarshal array into Go value of type map[string]interface {}"
        ],
    ),
    "login without either": (
        "kubernetes.io/basic-auth",
        {},
        ["data[username]: Required value", "data[password]: Required value"],
    ),
    "login with a name": ("kubernetes.io/basic-auth", {"username": ""}, []),
    "empty key": (
        "kubernetes.io/ssh-auth",
        {"ssh-privatekey": ""},
        ["data[ssh-privatekey]: Required value"],
    ),
    "certificate without key": ("kubernetes.io/tls", {"tls.crt": ""}, ["data[tls.key]: Required value"]),
    "no certificate": (
        "kubernetes.io/tls",
        {},
        ["data[tls.crt]: Required value", "data[tls.key]: Required value"],
    ),
}


def test_null_bytes_are_no_bytes(created: Any) -> None:
    secret = {
        "metadata": METADATA,
        "type": "kubernetes.io/dockercfg",
        "data": {".dockercfg": None, "a": None},
    }
    assert created("", "Secret", secret, {}) == [
        f"data[.dockercfg]: Invalid value: {REDACTED}: unexpected end of JSON input"
    ]


@pytest.mark.parametrize("kind, data, expected", SECRETS.values(), ids=SECRETS)
def test_secret_is_created_or_refused(created: Any, kind: str, data: Any, expected: list[str]) -> None:
    assert created("", "Secret", {"metadata": METADATA}, {"type": kind, "data": data}) == expected


NAMESPACE: dict[str, Any] = {
    "metadata": {"name": "team", "resourceVersion": "1"},
    "spec": {"finalizers": ["kubernetes"]},
    "status": {"phase": "Active"},
}
NAMESPACES = {
    "valid": ({}, []),
    "dots in the name": (
        {"metadata": {"name": "a.b"}},
        ['metadata.name: Invalid value: "a.b": must not contain dots'],
    ),
    "own finalizer": ({"spec": {"finalizers": ["example.com/x", "kubernetes"]}}, []),
    "unknown finalizer": (
        {"spec": {"finalizers": ["cleanup"]}},
        [
            'spec.finalizers: Invalid value: "cleanup": '
            "name is neither a standard finalizer name nor is it fully qualified"
        ],
    ),
}


@pytest.mark.parametrize("patch, expected", NAMESPACES.values(), ids=NAMESPACES)
def test_namespace_is_created_or_refused(created: Any, patch: Any, expected: list[str]) -> None:
    assert created("", "Namespace", NAMESPACE, patch) == expected


def test_finalizing_names_the_wrong_finalizer() -> None:
    new = {**NAMESPACE, "spec": {"finalizers": ["kubernetes", "cleanup"]}}
    assert [
        str(error)
        for error in validate_subresource_update("", "Namespace", "finalize", False, new, NAMESPACE)
    ] == [
        'spec.finalizers[1]: Invalid value: "cleanup": '
        "name is neither a standard finalizer name nor is it fully qualified"
    ]


PHASES = {
    "active": (NAMESPACE, "Active", []),
    "terminating too early": (
        NAMESPACE,
        "Terminating",
        [
            "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if "
            "`deletionTimestamp` is empty"
        ],
    ),
    "active too late": (
        {**NAMESPACE, "metadata": {**NAMESPACE["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}},
        "Active",
        [
            'status.Phase: Invalid value: "Active": '
            "may only be 'Terminating' if `deletionTimestamp` is not empty"
        ],
    ),
}


@pytest.mark.parametrize("namespace, phase, expected", PHASES.values(), ids=PHASES)
def test_phase_follows_deletion(reported: Any, namespace: Any, phase: str, expected: list[str]) -> None:
    assert reported("", "Namespace", namespace, {"status": {"phase": phase}}) == expected
