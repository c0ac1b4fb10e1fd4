"""What a real kube-apiserver answered: objects it accepted are valid, and its refusals are ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from steersman.cluster.schema.decode import decode
from steersman.cluster.schema.defaults import apply_defaults
from steersman.cluster.schema.resources import GVK
from steersman.cluster.schema.validation import validate_create, validate_update
from tests.recordings import CONVERSATIONS

Object = dict[str, Any]

#: Kinds whose rules are tested in this folder's other files by pod, apps and batch.
KINDS = {
    "Pod": "",
    "PodTemplate": "",
    "ReplicationController": "",
    "Deployment": "apps",
    "ReplicaSet": "apps",
    "StatefulSet": "apps",
    "DaemonSet": "apps",
    "ControllerRevision": "apps",
    "Job": "batch",
    "CronJob": "batch",
}


def _steps(name: str) -> list[Object]:
    steps: list[Object] = json.loads((CONVERSATIONS / f"{name}.json").read_text())["steps"]
    return steps


def _accepted() -> Iterator[Any]:
    for path in sorted(CONVERSATIONS.glob("*.json")):
        for number, step in enumerate(_steps(path.stem)):
            body = step["answer"].get("body")
            if isinstance(body, dict) and body.get("kind") in KINDS and "spec" in body:
                yield pytest.param(body, id=f"{path.stem}-{number}")


def _readable(obj: Object) -> Object:
    """The recordings hide what differs from run to run; labels must still be label values."""
    return json.loads(
        json.dumps(obj).replace('"<uid>"', '"uid"').replace('"<time>"', '"2024-01-01T00:00:00Z"')
    )


@pytest.mark.parametrize("body", list(_accepted()))
def test_what_was_accepted_is_valid(body: Object) -> None:
    obj = _readable(body)
    kind = obj["kind"]
    assert [str(error) for error in validate_create(KINDS[kind], kind, True, obj)] == []
    obj["metadata"]["resourceVersion"] = "1"
    assert [str(error) for error in validate_update(KINDS[kind], kind, True, obj, deepcopy(obj))] == []


def _refused() -> Iterator[Any]:
    for path in sorted(CONVERSATIONS.glob("*.json")):
        for number, step in enumerate(_steps(path.stem)):
            body, answer = step.get("body"), step["answer"]
            created = step["method"] == "POST" and isinstance(body, dict) and body.get("kind") in KINDS
            if created and answer["code"] == 422:
                yield pytest.param(body, answer["body"]["details"]["causes"], id=f"{path.stem}-{number}")


@pytest.mark.parametrize(("body", "causes"), list(_refused()))
def test_what_was_refused_is_refused_in_the_same_words(body: Object, causes: list[Object]) -> None:
    group, _, version = body["apiVersion"].rpartition("/")
    gvk = GVK(group, version, body["kind"])
    obj = decode(gvk, body).obj
    obj["metadata"]["namespace"] = "ns"
    apply_defaults(*gvk, obj)
    found = validate_create(group, body["kind"], True, obj)
    assert [(error.reason, error.field, error.message) for error in found] == [
        (cause["reason"], cause["field"], cause["message"]) for cause in causes
    ]


def test_a_refused_move_to_another_node_shows_the_recorded_difference() -> None:
    steps = _steps("deletion")
    refused = next(step for step in steps if step.get("why") == "immutable")
    accepted = next(step for step in steps if step.get("why") == "image may change")
    old = _readable(accepted["answer"]["body"])
    old["metadata"]["resourceVersion"] = "1"
    new = deepcopy(old)
    new["spec"]["nodeName"] = refused["body"]["spec"]["nodeName"]
    causes = refused["answer"]["body"]["details"]["causes"]
    found = validate_update("", "Pod", True, new, old)
    assert [(error.reason, error.field, error.message) for error in found] == [
        (cause["reason"], cause["field"], cause["message"]) for cause in causes
    ]
