"""Containers whose pod says other resources now."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.node.actions import pod_actions
from steersman.cluster.node.resizing import Resizing, resizing

from .views import container, pod, view

Object = dict[str, Any]

SMALL: Object = {"requests": {"cpu": "100m", "memory": "32Mi"}, "limits": {"memory": "64Mi"}}
MORE_CPU: Object = {**SMALL, "requests": {"cpu": "200m", "memory": "32Mi"}}
MORE_MEMORY: Object = {**SMALL, "limits": {"memory": "128Mi"}}
RESTART_FOR_MEMORY = [
    {"resourceName": "cpu", "restartPolicy": "NotRequired"},
    {"resourceName": "memory", "restartPolicy": "RestartContainer"},
]

#: name → (what the spec says, what it has, its policy, what is to be done)
CASES: dict[str, tuple[Object, Object | None, list[Object], Resizing]] = {
    "nothing has changed": (SMALL, SMALL, [], ""),
    "the same in other words": ({"requests": {"cpu": "0.1"}}, {"requests": {"cpu": "100m"}}, [], ""),
    "it is not known what it has": (SMALL, None, [], ""),
    "another request": (MORE_CPU, SMALL, [], "update"),
    "another limit": (MORE_MEMORY, SMALL, [], "update"),
    "a limit where none was": (SMALL, {}, [], "update"),
    "something that cannot be resized": ({"limits": {"example.com/gpu": "1"}}, {}, [], ""),
    "a change that needs no restart": (MORE_CPU, SMALL, RESTART_FOR_MEMORY, "update"),
    "a change that needs one": (MORE_MEMORY, SMALL, RESTART_FOR_MEMORY, "restart"),
}


@pytest.mark.parametrize(("says", "has", "policy", "expected"), CASES.values(), ids=CASES.keys())
def test_what_is_to_be_done(says: Object, has: Object | None, policy: list[Object], expected: str) -> None:
    spec = {"name": "a", "resources": says, "resizePolicy": policy}
    assert resizing(spec, container("a", resources=has)) == expected


def changed_pod(**fields: Any) -> Object:
    made = pod("a", "b")
    made["spec"]["containers"][0] |= {"resources": MORE_MEMORY, **fields}
    return made


def test_a_container_gets_other_resources_while_it_runs() -> None:
    actions = pod_actions(view(changed_pod(), container("a", resources=SMALL), container("b", resources={})))
    assert [status.name for _, status in actions.resize] == ["a"]
    assert (actions.kill, actions.start, actions.nothing) == ([], [], False)


def test_a_container_is_started_again_to_get_other_resources() -> None:
    made = changed_pod(resizePolicy=RESTART_FOR_MEMORY)
    actions = pod_actions(view(made, container("a", resources=SMALL), container("b", resources={})))
    assert [kill.message for kill in actions.kill] == ["Container a resize requires restart"]
    assert [one["name"] for one in actions.start] == ["a"]
    assert actions.resize == []


def test_a_sidecar_gets_other_resources_while_it_runs() -> None:
    made = pod("a", init=("side",), sidecars=("side",))
    made["spec"]["initContainers"][0]["resources"] = MORE_CPU
    actions = pod_actions(view(made, container("a"), container("side", resources=SMALL)))
    assert [status.name for _, status in actions.resize] == ["side"]
