"""PodStatusWriter without a schema that an apply would change nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.objects.patches.apply import Applier, ApplyConflict, apply
from steersman.objects.patches.apply.matching import applied_values, is_applied
from tests.unit.objects.patches.test_apply_twin import Story, stories, take, whole

Object = dict[str, Any]


@settings(max_examples=200)
@given(stories(), st.data())
def test_a_configuration_said_to_be_applied_changes_nothing(story: Story, data: st.DataObject) -> None:
    schema = whole(story.schema)
    live: Object = {"apiVersion": "v1", "metadata": {}}
    for step in story.steps:
        try:
            live = {**take(live, step, schema), "apiVersion": "v1"}
        except ApplyConflict:
            continue
    configs = [step.content for step in story.steps]
    config = {**data.draw(st.sampled_from(configs)), "apiVersion": "v1", "metadata": {}}
    if is_applied(live, config, "one"):
        new = {name: value for name, value in config.items() if name != "apiVersion"}
        applied = apply(live, new, schema, Applier("one", "v1", "later", force=True))
        assert not applied.changed
        assert applied.managed_fields == live["metadata"].get("managedFields", [])


@settings(max_examples=100)
@given(stories())
def test_what_was_just_applied_is_applied(story: Story) -> None:
    schema = whole(story.schema)
    live: Object = {"apiVersion": "v1", "metadata": {}}
    for step in story.steps:
        if step.kind != "force" or not step.content:
            continue
        live = {**take(live, step, schema), "apiVersion": "v1"}
        assert is_applied(live, {**step.content, "metadata": {"name": "x"}}, step.manager)


def deployment(**changes: Any) -> Object:
    container = {
        "name": "app",
        "image": "nginx:1",
        "ports": [{"containerPort": 80}],
        "resources": {"limits": {"cpu": "1000m", "memory": 1024}},
        **changes,
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "x", "labels": {"app": "web"}},
        "spec": {"replicas": 2, "template": {"spec": {"containers": [container]}}},
    }


def live_deployment() -> Object:
    live = deployment()
    container = live["spec"]["template"]["spec"]["containers"][0]
    container["ports"][0]["protocol"] = "TCP"
    container["resources"] = {"limits": {"cpu": "1", "memory": "1024"}}
    container["imagePullPolicy"] = "IfNotPresent"
    live["spec"]["strategy"] = {"type": "RollingUpdate"}
    live["status"] = {"replicas": 2}
    port = 'k:{"containerPort":80,"protocol":"TCP"}'
    fields = {
        "f:metadata": {"f:labels": {"f:app": {}}},
        "f:spec": {
            "f:replicas": {},
            "f:template": {
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"app"}': {
                            ".": {},
                            "f:name": {},
                            "f:image": {},
                            "f:ports": {port: {".": {}, "f:containerPort": {}}},
                            "f:resources": {"f:limits": {"f:cpu": {}, "f:memory": {}}},
                        }
                    }
                }
            },
        },
    }
    entry = {"manager": "me", "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": fields}
    live["metadata"]["managedFields"] = [
        {"manager": "me", "operation": "Update", "apiVersion": "apps/v1", "fieldsV1": {}},
        {"manager": "other", "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": {}},
        entry,
    ]
    return live


def test_defaults_status_and_other_spellings_of_quantities_do_not_matter():
    assert is_applied(live_deployment(), deployment(), "me")


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(deployment(image="nginx:2"), id="another value"),
        pytest.param(deployment(args=["x"]), id="a new field"),
        pytest.param(deployment(resources={"limits": {"cpu": "1"}}), id="a field less"),
        pytest.param(deployment(resources={"limits": {"cpu": "2", "memory": 1024}}), id="another quantity"),
        pytest.param(deployment(ports=[{"containerPort": 81}]), id="another item"),
        pytest.param(deployment(ports=[{"containerPort": 80}, {"containerPort": 81}]), id="an item more"),
        pytest.param(deployment(name="other"), id="another key"),
        pytest.param({**deployment(), "metadata": {"name": "web", "labels": {}}}, id="labels gone"),
    ],
)
def test_a_difference_is_seen(wanted: Object) -> None:
    assert not is_applied(live_deployment(), wanted, "me")


def test_an_object_others_changed_is_not_applied():
    live = live_deployment()
    live["spec"]["replicas"] = 5
    assert not is_applied(live, deployment(), "me")


def test_a_manager_that_never_applied_has_to():
    assert not is_applied(live_deployment(), deployment(), "somebody")


def test_a_truth_value_is_not_a_number():
    live = live_deployment()
    live["spec"]["replicas"] = True
    wanted = deployment()
    wanted["spec"]["replicas"] = 1
    assert not is_applied(live, wanted, "me")


def test_applied_values_change_with_what_was_applied_and_with_nothing_else():
    before = applied_values(live_deployment(), "me")
    live = live_deployment()
    live["status"]["replicas"] = 1
    live["spec"]["strategy"]["type"] = "Recreate"
    assert applied_values(live, "me") == before
    live["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:2"
    assert applied_values(live, "me") != before
    assert applied_values(live, "somebody") is None
