"""The form of Kubernetes' internal types, and equality by meaning."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.schema.validation.pods.internal import (
    internal_diff,
    internal_form,
    semantically_equal,
)

FORMS = {
    "absent fields are shown": (
        "ContainerPort",
        {"containerPort": 80},
        {"Name": "", "HostPort": 0, "ContainerPort": 80, "Protocol": "", "HostIP": ""},
    ),
    "embedded types are flat": (
        "ConfigMapKeySelector",
        {"name": "c", "key": "k"},
        {"Name": "c", "Key": "k", "Optional": None},
    ),
    "versioned types keep their names": (
        "LabelSelector",
        {"matchExpressions": [{"operator": "Exists", "key": "a"}]},
        {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
    ),
    "a missing pointer is null": ("*Probe", None, None),
    "odd names": ("HostAlias", {"ip": "1.2.3.4"}, {"IP": "1.2.3.4", "Hostnames": None}),
}


@pytest.mark.parametrize(("kind", "value", "form"), FORMS.values(), ids=FORMS)
def test_a_value_is_shown_by_its_go_type(kind: str, value: Any, form: Any) -> None:
    shown = internal_form(kind, value)
    assert shown == form
    assert not isinstance(shown, dict) or list(shown) == list(form)


def test_maps_are_shown_in_order() -> None:
    assert list(internal_form("ResourceRequirements", {"limits": {"memory": "1", "cpu": "2"}})["Limits"]) == [
        "cpu",
        "memory",
    ]


EQUALS = {
    "amounts": ("ResourceRequirements", {"limits": {"cpu": "1"}}, {"limits": {"cpu": "1000m"}}, True),
    "other amounts": ("ResourceRequirements", {"limits": {"cpu": "1"}}, {"limits": {"cpu": "2"}}, False),
    "empty and absent": ("PodSpec", {"volumes": []}, {}, True),
    "false and absent": ("PodSpec", {"hostNetwork": False}, {}, True),
    "none and an empty pointer": ("PodSpec", {"hostUsers": False}, {}, False),
    "nothing and everything": ("PersistentVolumeClaimSpec", {"selector": {}}, {}, False),
}


@pytest.mark.parametrize(("kind", "one", "other", "equal"), EQUALS.values(), ids=EQUALS)
def test_values_are_equal_by_meaning(kind: str, one: Any, other: Any, equal: bool) -> None:
    assert semantically_equal(kind, one, other) is equal


def test_a_difference_is_shown_with_three_lines_around_it() -> None:
    old = {"name": "a", "value": "x"}
    assert internal_diff("EnvVar", old, {**old, "value": "<&>"}) == (
        '@@ -1,5 +1,5 @@\n {\n  "Name": "a",\n- "Value": "x",\n+ "Value": "\\u003c\\u0026\\u003e",\n'
        '  "ValueFrom": null\n }\n'
    )
