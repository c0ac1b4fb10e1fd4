"""Annotations of pods that Kubernetes gives a meaning."""

from __future__ import annotations

import json
from typing import Any

import pytest

TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP = "container.seccomp.security.alpha.kubernetes.io/c"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/c"


@pytest.fixture
def annotated(created: Any, pod: dict[str, Any]) -> Any:
    """The errors of creating the pod with one annotation, and other fields of its spec."""

    def errors(key: str, value: str, **spec: Any) -> list[str]:
        found: list[str] = created("", "Pod", pod, {"metadata": {"annotations": {key: value}}, "spec": spec})
        return found

    return errors


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ('[{"key": "a", "operator": "Exists"}]', ""),
        ("null", ""),
        ("x", "invalid character 'x' looking for beginning of value"),
        *(
            (value, "json: cannot unmarshal the value into the annotation's Go type")
            for value in ("5", "{}", "[1]", '[{"key": 1}]', "[" * 5000 + "]" * 5000)
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_tolerations_are_a_list_of_them(annotated: Any, value: str, problem: str) -> None:
    shown = f'metadata.annotations: Invalid value: "{TOLERATIONS}": {problem}'
    assert annotated(TOLERATIONS, value) == ([shown] if problem else [])


def test_tolerations_are_judged_like_those_of_the_spec(annotated: Any) -> None:
    (error,) = annotated(TOLERATIONS, json.dumps([{"key": "a", "operator": "Odd"}]))
    assert error == (
        f'metadata.annotations.{TOLERATIONS}[0].operator: Unsupported value: "Odd": supported values: "Equal", '
        '"Exists"'
    )


@pytest.mark.parametrize("key", [SECCOMP_POD, SECCOMP])
def test_seccomp_profiles(annotated: Any, key: str) -> None:
    for profile in ("runtime/default", "docker/default", "unconfined", "localhost/mine"):
        assert annotated(key, profile) == []
    assert annotated(key, "mine") == [
        f'metadata.annotations.{key}: Invalid value: "mine": must be a valid seccomp profile'
    ]
    assert annotated(key, "localhost/../mine") == [
        f"metadata.annotations.{key}: Invalid value: \"../mine\": must not contain '..'"
    ]


def test_app_armor_profiles(annotated: Any) -> None:
    for profile in ("runtime/default", "unconfined", "localhost/mine", ""):
        assert annotated(APP_ARMOR, profile) == []
    assert annotated(APP_ARMOR, "mine") == [
        f'metadata.annotations[{APP_ARMOR}]: Invalid value: "mine": invalid AppArmor profile name: "mine"'
    ]
    other = APP_ARMOR.replace("/c", "/d")
    assert annotated(other, "unconfined") == [
        f'metadata.annotations[{other}]: Invalid value: "d": container not found'
    ]


LOCAL = {"type": "Localhost", "localhostProfile": "mine"}
SECCOMP_TYPE = (
    "securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match"
)
MATCHES: list[tuple[str, dict[str, Any], str]] = [
    ("runtime/default", {"type": "RuntimeDefault"}, ""),
    ("docker/default", {"type": "RuntimeDefault"}, ""),
    ("unconfined", {"type": "Unconfined"}, ""),
    ("localhost/mine", LOCAL, ""),
    ("unconfined", {"type": "RuntimeDefault"}, SECCOMP_TYPE),
    ("runtime/default", {"type": "Unconfined"}, SECCOMP_TYPE),
    ("unconfined", LOCAL, SECCOMP_TYPE),
    (
        "localhost/yours",
        LOCAL,
        "securityContext.seccompProfile.localhostProfile: Forbidden: seccomp profile in annotation and field "
        "must match",
    ),
]


@pytest.mark.parametrize(("annotation", "profile", "expected"), MATCHES, ids=str)
def test_annotation_and_field_say_the_same(
    annotated: Any, container: dict[str, Any], annotation: str, profile: dict[str, Any], expected: str
) -> None:
    context = {"securityContext": {"seccompProfile": profile}}
    assert annotated(SECCOMP_POD, annotation, **context) == ([f"spec.{expected}"] if expected else [])
    inside = {"containers": [{**container, **context}]}
    assert annotated(SECCOMP, annotation, **inside) == (
        [f"spec.containers[0].{expected}"] if expected else []
    )
    # One of both alone is fine.
    assert annotated("other", annotation, **context) == []
    assert annotated(SECCOMP, annotation) == []


def test_app_armor_annotation_and_field_say_the_same(annotated: Any, container: dict[str, Any]) -> None:
    forbidden = (
        "securityContext.appArmorProfile.type: Forbidden: apparmor type in annotation and field must match"
    )
    default = {"securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}}
    refused = [f"spec.containers[0].{forbidden}"]
    assert annotated(APP_ARMOR, "runtime/default", **default) == []
    assert annotated(APP_ARMOR, "unconfined", **default) == refused
    own = {"containers": [{**container, **default}]}
    assert annotated(APP_ARMOR, "unconfined", **own) == refused
    assert annotated(APP_ARMOR, "docker/default", **own)[-1] == refused[0]
    assert annotated("other", "unconfined", **default) == []
