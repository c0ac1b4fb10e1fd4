"""How the rules of a kind are found and put together with those of metadata."""

from __future__ import annotations

import json
import subprocess
import sys
from copy import deepcopy
from typing import Any

import pytest

from steersman.cluster.schema.validation import (
    rules_for,
    validate_create,
    validate_subresource_update,
    validate_update,
)
from steersman.cluster.schema.validation.rules import ValuelessError
from steersman.objects.fields import Path

OBJECT: dict[str, Any] = {"metadata": {"name": "x", "namespace": "ns", "uid": "u", "resourceVersion": "1"}}


def test_a_kind_without_rules_has_those_of_metadata() -> None:
    errors = validate_create("example.com", "Thing", True, {"metadata": {"name": "X", "namespace": "ns"}})
    assert [error.field for error in errors] == ["metadata.name"]


def test_metadata_that_may_not_change_is_compared() -> None:
    new = deepcopy(OBJECT)
    new["metadata"]["uid"] = "v"
    errors = [str(error) for error in validate_update("example.com", "Thing", True, new, OBJECT)]
    assert errors == ['metadata.uid: Invalid value: "v": field is immutable']


def test_a_subresource_has_its_own_rules() -> None:
    old: dict[str, Any] = {**OBJECT, "spec": {"os": {"name": "windows"}, "containers": None}}
    errors = validate_subresource_update("", "Pod", "resize", True, deepcopy(old), old)
    assert [str(error) for error in errors] == ["[]: Forbidden: windows pods cannot be resized"]


def test_a_value_that_is_not_shown_leaves_no_trace() -> None:
    error = ValuelessError(Path("spec"), "is wrong")
    assert (error.reason, str(error)) == ("FieldValueInvalid", "spec: Invalid value: is wrong")


@pytest.mark.parametrize(
    ("group", "kind"),
    [("", "Pod"), ("", "Service"), ("", "ConfigMap"), ("apps", "Deployment"), ("batch", "Job")],
)
def test_rules_are_found_by_group_and_kind(group: str, kind: str) -> None:
    assert rules_for(group, kind).create is not None


def test_rules_are_loaded_when_they_are_needed() -> None:
    """In a process of its own, since this one has long loaded everything."""
    program = (
        "import json, sys; import steersman.cluster.schema.validation as v; "
        "before = [m for m in sys.modules if m.startswith(v.__name__ + '.pods')]; v.rules_for('', 'Pod'); "
        "print(json.dumps([before, v.__name__ + '.pods.kinds' in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60)
    assert json.loads(done.stdout) == [[], True]
