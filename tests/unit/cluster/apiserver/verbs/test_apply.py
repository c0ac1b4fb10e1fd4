"""Server-side apply through the API: what is created, merged, refused and recorded."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from tests.support.api import ApiClient, Object, with_api

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
SERVICES = "/api/v1/namespaces/default/services"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
AUTOSCALERS = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
APPLY = {"content-type": "application/apply-patch+yaml"}
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


async def apply(
    client: ApiClient, path: str, config: Any, manager: str = "one", **query: str
) -> tuple[int, Object]:
    options = "&".join(f"{name}={value}" for name, value in {"fieldManager": manager, **query}.items())
    return await client.ask("PATCH", f"{path}?{options}", config, APPLY)


async def applied(client: ApiClient, path: str, config: Any, manager: str = "one", **query: str) -> Object:
    code, answer = await apply(client, path, config, manager, **query)
    assert code in (200, 201), answer
    return answer


def config_map(name: str = "c", meta: Object | None = None, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **(meta or {})}, "data": data}


def deployment(*containers: Object, name: str = "d", **spec: Any) -> Object:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": list(containers)}}
    spec = {"selector": {"matchLabels": {"app": name}}, "template": template, **spec}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def owned(obj: Object, manager: str, operation: str = "Apply", subresource: str = "") -> Any:
    """The fields of one manager, None if it has none."""
    for entry in obj["metadata"].get("managedFields", ()):
        key = (entry["manager"], entry["operation"], entry.get("subresource", ""))
        if key == (manager, operation, subresource):
            return entry["fieldsV1"]
    return None


# --- Creating


@with_api
async def test_applying_what_is_not_there_creates_it(client: ApiClient) -> None:
    code, made = await apply(client, f"{MAPS}/c", config_map(a="1"))
    assert code == 201
    assert made["data"] == {"a": "1"}
    assert made["metadata"]["namespace"] == "default"
    assert owned(made, "one") == {"f:data": {"f:a": {}}}


@with_api
async def test_a_dry_run_creates_nothing(client: ApiClient) -> None:
    code, made = await apply(client, f"{MAPS}/c", config_map(a="1"), dryRun="All")
    assert (code, made["data"]) == (201, {"a": "1"})
    assert (await client.ask("GET", f"{MAPS}/c"))[0] == 404


@with_api
async def test_defaults_are_filled_in_but_not_owned(client: ApiClient) -> None:
    made = await applied(client, f"{DEPLOYMENTS}/d", deployment({"name": "c", "image": "nginx"}))
    assert made["spec"]["replicas"] == 1
    assert "f:replicas" not in owned(made, "one")["f:spec"]


@with_api
async def test_a_resource_version_is_no_obstacle_to_creating(client: ApiClient) -> None:
    code, _ = await apply(client, f"{MAPS}/c", config_map(meta={"resourceVersion": "7"}, a="1"))
    assert code == 201


@with_api
async def test_a_status_cannot_create_its_object(client: ApiClient) -> None:
    config = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "status": {"phase": "Running"}}
    code, answer = await apply(client, f"{PODS}/p/status", config)
    assert (code, answer["message"]) == (404, 'pods "p" not found')


@with_api
async def test_racing_appliers_share_the_object(client: ApiClient) -> None:
    answers = await asyncio.gather(
        *(apply(client, f"{MAPS}/c", config_map("c", None, **{name: "1"}), name) for name in "abcdefgh")
    )
    assert sorted(code for code, _ in answers) == [200] * 7 + [201]
    assert (await client.ok("GET", f"{MAPS}/c"))["data"] == dict.fromkeys("abcdefgh", "1")


# --- Changing nothing


@with_api
async def test_applying_again_writes_nothing(client: ApiClient) -> None:
    config = deployment({"name": "c", "image": "nginx", "ports": [{"containerPort": 80}]})
    first = await applied(client, f"{DEPLOYMENTS}/d", config)
    assert await applied(client, f"{DEPLOYMENTS}/d", config) == first


@with_api
async def test_what_normalizing_undoes_is_no_change(client: ApiClient) -> None:
    container = {"name": "c", "image": "nginx", "resources": {"limits": {"cpu": "1000m"}}}
    first = await applied(client, f"{DEPLOYMENTS}/d", deployment(container))
    assert first["spec"]["template"]["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1"}}
    assert await applied(client, f"{DEPLOYMENTS}/d", deployment(container)) == first


@with_api
async def test_an_empty_map_is_no_change_either(client: ApiClient) -> None:
    config = config_map(meta={"annotations": {}})
    first = await applied(client, f"{MAPS}/c", config)
    assert await applied(client, f"{MAPS}/c", config) == first


@with_api
async def test_equal_values_are_shared_without_a_time(client: ApiClient) -> None:
    await applied(client, f"{MAPS}/c", config_map(a="1"), "one")
    shared = await applied(client, f"{MAPS}/c", config_map(a="1"), "two")
    assert owned(shared, "one") == owned(shared, "two") == {"f:data": {"f:a": {}}}
    assert [("time" in entry, entry["manager"]) for entry in shared["metadata"]["managedFields"]] == [
        (False, "two"),
        (True, "one"),
    ]


# --- Removing


@with_api
async def test_an_item_goes_with_its_defaults_even_if_another_updated_it(client: ApiClient) -> None:
    await applied(client, f"{DEPLOYMENTS}/d", deployment({"name": "old", "image": "nginx"}))
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "old", "workingDir": "/w"}]}}}}
    await client.patch(f"{DEPLOYMENTS}/d", patch, "strategic-merge")
    after = await applied(client, f"{DEPLOYMENTS}/d", deployment({"name": "new", "image": "nginx"}))
    assert [each["name"] for each in after["spec"]["template"]["spec"]["containers"]] == ["new"]


@with_api
async def test_what_another_still_applies_stays(client: ApiClient) -> None:
    await applied(client, f"{MAPS}/c", config_map(a="1", b="1"), "one")
    await applied(client, f"{MAPS}/c", config_map(a="1"), "two")
    assert (await applied(client, f"{MAPS}/c", config_map(), "one"))["data"] == {"a": "1"}
    assert "data" not in await applied(client, f"{MAPS}/c", config_map(), "two")


@with_api
async def test_what_an_updater_took_stays(client: ApiClient) -> None:
    await applied(client, f"{DEPLOYMENTS}/d", deployment({"name": "c", "image": "nginx"}, replicas=2))
    await client.patch(f"{DEPLOYMENTS}/d?fieldManager=hpa", {"spec": {"replicas": 5}})
    after = await applied(client, f"{DEPLOYMENTS}/d", deployment({"name": "c", "image": "nginx"}))
    assert after["spec"]["replicas"] == 5
    assert owned(after, "hpa", "Update") == {"f:spec": {"f:replicas": {}}}


@with_api
async def test_a_manager_that_applies_nothing_has_no_entry(client: ApiClient) -> None:
    await applied(client, f"{MAPS}/c", config_map(a="1"))
    bare = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    after = await applied(client, f"{MAPS}/c", bare)
    assert "data" not in after
    assert "managedFields" not in after["metadata"]


# --- Conflicts


@with_api
async def test_conflicts_name_every_field_by_manager(client: ApiClient) -> None:
    await applied(client, f"{MAPS}/c", config_map(a="1", b="1"), "one")
    await client.patch(
        f"{MAPS}/c?fieldManager=three", {"data": {"z": "1"}, "metadata": {"labels": {"l": "1"}}}
    )
    config = config_map(meta={"labels": {"l": "2"}}, a="2", b="2", z="2")
    code, answer = await apply(client, f"{MAPS}/c", config, "two")
    assert code == 409
    assert answer["message"] == (
        'Apply failed with 4 conflicts: conflicts with "one":\n- .data.a\n- .data.b\n'
        'conflicts with "three" using v1:\n- .data.z\n- .metadata.labels.l'
    )
    assert answer["reason"] == "Conflict"
    assert answer["details"]["causes"][3] == {
        "reason": "FieldManagerConflict",
        "message": 'conflict with "three" using v1',
        "field": ".metadata.labels.l",
    }


@with_api
async def test_force_takes_the_fields(client: ApiClient) -> None:
    await applied(client, f"{MAPS}/c", config_map(a="1", b="1"), "one")
    after = await applied(client, f"{MAPS}/c", config_map(a="2"), "two", force="true")
    assert after["data"] == {"a": "2", "b": "1"}
    assert owned(after, "one") == {"f:data": {"f:b": {}}}
    assert owned(after, "two") == {"f:data": {"f:a": {}}}


@with_api
async def test_fields_that_nobody_was_tracked_for_belong_to_before_first_apply(client: ApiClient) -> None:
    await client.ok("POST", MAPS, config_map(a="1", b="1"))
    await client.patch(f"{MAPS}/c", {"metadata": {"managedFields": [{}]}})
    code, answer = await apply(client, f"{MAPS}/c", config_map(a="2"))
    assert code == 409
    assert answer["message"] == (
        'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.a'
    )
    after = await applied(client, f"{MAPS}/c", config_map(a="1", n="1"))
    assert owned(after, "before-first-apply", "Update") == {"f:data": {".": {}, "f:a": {}, "f:b": {}}}


@with_api
async def test_a_resource_version_is_a_precondition(client: ApiClient) -> None:
    made = await applied(client, f"{MAPS}/c", config_map(a="1"))
    version = made["metadata"]["resourceVersion"]
    await applied(client, f"{MAPS}/c", config_map(meta={"resourceVersion": version}, a="2"))
    code, answer = await apply(client, f"{MAPS}/c", config_map(meta={"resourceVersion": version}, a="3"))
    assert (code, answer["reason"]) == (409, "Conflict")
    assert answer["message"].startswith(
        'Operation cannot be fulfilled on configmaps "c": the object has been'
    )


@with_api
async def test_a_uid_is_a_precondition(client: ApiClient) -> None:
    code, answer = await apply(client, f"{MAPS}/c", config_map(meta={"uid": "u"}))
    assert code == 409
    assert answer["message"] == (
        'Operation cannot be fulfilled on configmaps "c": uid mismatch: the provided object specified uid u, '
        "and no existing object was found"
    )
    made = await applied(client, f"{MAPS}/c", config_map(a="1"))
    await applied(client, f"{MAPS}/c", config_map(meta={"uid": made["metadata"]["uid"]}, a="2"))
    code, answer = await apply(client, f"{MAPS}/c", config_map(meta={"uid": "u"}))
    assert code == 422
    assert answer["message"] == (
        'ConfigMap "c" is invalid: metadata.uid: Invalid value: "u": field is immutable'
    )


# --- Parts


@with_api
async def test_status_is_applied_through_its_own_endpoint(client: ApiClient) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "nginx"}]},
    }
    made = await applied(client, f"{PODS}/p", {**pod, "status": {"phase": "Failed"}}, "one")
    assert made["status"]["phase"] == "Pending"
    assert "f:status" not in owned(made, "one")
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    config = {**pod, "status": {"phase": "Running", "conditions": [ready]}}
    config["spec"] = {"containers": [{"name": "c", "image": "other"}]}
    after = await applied(client, f"{PODS}/p/status", config, "kubelet", force="true")
    assert after["status"]["phase"] == "Running"
    assert after["spec"]["containers"][0]["image"] == "nginx"
    assert owned(after, "kubelet", subresource="status")["f:status"]["f:conditions"] == {
        'k:{"type":"Ready"}': {".": {}, "f:lastTransitionTime": {}, "f:status": {}, "f:type": {}}
    }
    assert "f:spec" not in owned(after, "kubelet", subresource="status")


@with_api
async def test_the_same_manager_has_an_entry_for_each_endpoint(client: ApiClient) -> None:
    container = {"name": "c", "image": "nginx"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}
    await applied(client, f"{PODS}/p", pod)
    labels = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {name: "1"}}} for name in "ab"]
    await applied(client, f"{PODS}/p", labels[0], "labels")
    after = await applied(client, f"{PODS}/p/status", labels[1], "labels")
    assert after["metadata"]["labels"] == {"a": "1", "b": "1"}
    assert owned(after, "labels") == {"f:metadata": {"f:labels": {"f:a": {}}}}
    assert owned(after, "labels", subresource="status") == {"f:metadata": {"f:labels": {"f:b": {}}}}


@with_api
async def test_replicas_are_applied_through_the_scale(client: ApiClient) -> None:
    config = deployment({"name": "c", "image": "nginx"}, replicas=2)
    await applied(client, f"{DEPLOYMENTS}/d", config, "one")
    scale: Object = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}}
    scale["spec"] = {"replicas": 5}
    code, answer = await apply(client, f"{DEPLOYMENTS}/d/scale", scale, "two")
    assert code == 409
    assert answer["message"] == 'Apply failed with 1 conflict: conflict with "one": .spec.replicas'
    answer = await applied(client, f"{DEPLOYMENTS}/d/scale", scale, "two", force="true")
    assert answer["spec"] == {"replicas": 5}
    after = await client.ok("GET", f"{DEPLOYMENTS}/d")
    assert owned(after, "two", subresource="scale") == {"f:spec": {"f:replicas": {}}}
    assert "f:replicas" not in owned(after, "one")["f:spec"]
    assert after["metadata"]["managedFields"][0]["apiVersion"] == "apps/v1"


@with_api
async def test_scaling_takes_the_replicas_from_who_applied_them(client: ApiClient) -> None:
    config = deployment({"name": "c", "image": "nginx"}, replicas=2)
    await applied(client, f"{DEPLOYMENTS}/d", config, "one")
    await client.patch(f"{DEPLOYMENTS}/d/scale?fieldManager=one", {"spec": {"replicas": 3}})
    after = await client.ok("GET", f"{DEPLOYMENTS}/d")
    assert owned(after, "one", "Update", "scale") == {"f:spec": {"f:replicas": {}}}
    assert "f:replicas" not in owned(after, "one")["f:spec"]


@with_api
async def test_ownership_is_followed_through_versions(client: ApiClient) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    config = {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}}
    first = {"scaleTargetRef": target, "maxReplicas": 3, "targetCPUUtilizationPercentage": 50}
    v1 = {**config, "apiVersion": "autoscaling/v1", "spec": first}
    await applied(client, AUTOSCALERS.format("v1") + "/h", v1, "one")
    v2 = {**config, "apiVersion": "autoscaling/v2", "spec": {"scaleTargetRef": target, "maxReplicas": 5}}
    code, answer = await apply(client, AUTOSCALERS.format("v2") + "/h", v2, "two")
    assert (code, answer["message"]) == (
        409,
        'Apply failed with 1 conflict: conflict with "one": .spec.maxReplicas',
    )
    after = await applied(client, AUTOSCALERS.format("v2") + "/h", v2, "one")
    assert after["spec"]["maxReplicas"] == 5
    entries = after["metadata"]["managedFields"]
    assert [(entry["manager"], entry["apiVersion"]) for entry in entries] == [("one", "autoscaling/v2")]


@with_api
async def test_updates_in_another_version_take_fields_in_the_owners_terms(client: ApiClient) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec = {"scaleTargetRef": target, "maxReplicas": 3, "targetCPUUtilizationPercentage": 50}
    config = {"kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v1", "metadata": {"name": "h"}}
    await applied(client, AUTOSCALERS.format("v1") + "/h", {**config, "spec": spec})
    seen = await client.ok("GET", AUTOSCALERS.format("v2") + "/h")
    seen["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] = 60
    after = await client.ok("PUT", AUTOSCALERS.format("v2") + "/h?fieldManager=two", seen)
    assert owned(after, "one") == {"f:spec": {"f:maxReplicas": {}, "f:scaleTargetRef": {}}}
    assert owned(after, "two", "Update") == {"f:spec": {"f:metrics": {}}}


# --- kubectl


def annotated(config: Object) -> Object:
    text = orjson.dumps(config, option=orjson.OPT_SORT_KEYS).decode() + "\n"
    return {**config, "metadata": {**config["metadata"], "annotations": {LAST_APPLIED: text}}}


@with_api
async def test_kubectl_takes_over_what_it_applied_client_side(client: ApiClient) -> None:
    await client.ok("POST", f"{MAPS}?fieldManager=kubectl-client-side-apply", annotated(config_map(a="1")))
    code, _ = await apply(client, f"{MAPS}/c", config_map(a="2"), "somebody")
    assert code == 409
    after = await applied(client, f"{MAPS}/c", config_map(a="2"), "kubectl")
    assert after["data"] == {"a": "2"}
    text = after["metadata"]["annotations"][LAST_APPLIED]
    assert text == '{"apiVersion":"v1","data":{"a":"2"},"kind":"ConfigMap","metadata":{"name":"c"}}\n'


@with_api
async def test_kubectl_does_not_take_over_what_changed_since(client: ApiClient) -> None:
    await client.ok("POST", MAPS, annotated(config_map(a="1", b="1")))
    await client.patch(f"{MAPS}/c?fieldManager=other", {"data": {"b": "changed"}})
    code, answer = await apply(client, f"{MAPS}/c", config_map(a="2", b="2"), "kubectl")
    assert (code, answer["message"]) == (
        409,
        'Apply failed with 1 conflict: conflict with "other" using v1: .data.b',
    )


# --- What is refused

BAD: dict[str, tuple[Any, int, str]] = {
    "managed fields": (
        config_map(meta={"managedFields": []}),
        400,
        "metadata.managedFields must be nil",
    ),
    "another kind": (
        {**config_map(), "kind": "Secret"},
        400,
        "invalid object type: /v1, Kind=Secret",
    ),
    "no kind": ({"data": {}}, 400, "invalid object type: /, Kind="),
    "another name": (
        config_map("other"),
        400,
        "the name of the object (other) does not match the name on the URL (c)",
    ),
    "no name": (
        {"apiVersion": "v1", "kind": "ConfigMap"},
        400,
        "the name of the object (c based on URL) was undeterminable: name must be provided",
    ),
    "another namespace": (
        config_map(meta={"namespace": "kube-system"}),
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
    ),
    "unknown field": (
        {**config_map(), "dat": {}},
        500,
        "failed to create typed patch object (/c; /v1, Kind=ConfigMap): .dat: field not declared in schema",
    ),
    "wrong type": (
        {**config_map(), "data": {"a": 1}},
        500,
        "failed to create typed patch object (/c; /v1, Kind=ConfigMap): .data.a: expected string, got "
        "&value.valueUnstructured{Value:1}",
    ),
    "no object": (
        b"[1]",
        400,
        "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array "
        "into Go value of type map[string]interface {}",
    ),
}


@pytest.mark.parametrize(("config", "code", "message"), BAD.values(), ids=list(BAD))
def test_a_bad_configuration_is_refused(config: Any, code: int, message: str) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        got, answer = await apply(client, f"{MAPS}/c", config)
        assert (got, answer["message"]) == (code, message)

    check()


@with_api
async def test_items_must_have_an_identity_of_their_own(client: ApiClient) -> None:
    ports = [{"port": 80, "name": "a"}, {"port": 80, "protocol": "TCP", "name": "b"}]
    service: Object = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "namespace": "default"},
    }
    service["spec"] = {"ports": ports}
    code, answer = await apply(client, f"{SERVICES}/s", service)
    assert code == 500
    assert "reason" not in answer
    assert answer["message"] == (
        "failed to create typed patch object (default/s; /v1, Kind=Service): .spec.ports: duplicate entries "
        'for key [port=80,protocol="TCP"]'
    )
    code, answer = await apply(client, f"{DEPLOYMENTS}/d", deployment({"image": "nginx"}))
    assert (code, answer["message"]) == (
        422,
        'Deployment.apps "d" is invalid: spec.template.spec.containers[0].name: Required value',
    )
    code, answer = await apply(client, f"{DEPLOYMENTS}/d", deployment({"image": "a"}, {"image": "b"}))
    assert (code, answer["message"]) == (
        500,
        "failed to create typed patch object (/d; apps/v1, Kind=Deployment): .spec.template.spec.containers: "
        'duplicate entries for key [name=""]',
    )


@with_api
async def test_what_does_not_decode_is_told_with_the_name_it_was_applied_under(client: ApiClient) -> None:
    secret: Object = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "!"}}
    code, answer = await apply(client, "/api/v1/namespaces/default/secrets/s", secret)
    assert (code, answer["message"]) == (
        500,
        "failed to convert new object (/s; /v1, Kind=Secret) to proper version: unable to convert "
        "unstructured object to /v1, Kind=Secret: error decoding from json: illegal base64 data at input "
        "byte 0",
    )


@with_api
async def test_the_result_is_validated(client: ApiClient) -> None:
    code, answer = await apply(client, f"{MAPS}/c", config_map("c", None, **{"not a key": "1"}))
    assert (code, answer["reason"]) == (422, "Invalid")


@pytest.mark.parametrize(
    ("validation", "code"),
    [("Ignore", 201), ("Warn", 201), ("Strict", 400)],
    ids=["ignore", "warn", "strict"],
)
def test_repeated_keys_are_noticed(validation: str, code: int) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a: '1'\n  a: '2'\n"
    said = 'error converting YAML to JSON: yaml: unmarshal errors:\n  line 7: key "a" already set in map'

    @with_api
    async def check(client: ApiClient) -> None:
        path = f"{MAPS}/c?fieldManager=one&fieldValidation={validation}"
        answer = await client.raw("PATCH", path, body, APPLY)
        assert answer.status == code
        warning = '299 - "line 7: key \\"a\\" already set in map"' if validation == "Warn" else None
        assert answer.headers.get("warning") == warning
        if validation == "Strict":
            status = (await client.ask("PATCH", path, body, APPLY))[1]
            assert status["message"] == f"error strict decoding patch: {said}"

    check()


@with_api
async def test_options_are_checked(client: ApiClient) -> None:
    code, answer = await client.ask("PATCH", f"{MAPS}/c", config_map(), APPLY)
    assert code == 422
    assert answer["message"] == (
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'
    )
    code, answer = await client.ask(
        "PATCH", f"{MAPS}/c?fieldManager=one", b"\xa0", {"content-type": "application/apply-patch+cbor"}
    )
    assert code == 415


@with_api
async def test_flow_yaml_with_a_trailing_comma_is_read(client: ApiClient) -> None:
    body = b'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1",}, }'
    assert (await applied(client, f"{MAPS}/c", body))["data"] == {"a": "1"}


@pytest.mark.parametrize("depth", [900, 5000])
def test_a_body_without_bottom_is_refused(depth: int) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        head = b'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": '
        code, answer = await apply(client, f"{MAPS}/c", head + b"[" * depth + b"]" * depth + b"}}")
        assert (code, answer["reason"]) == (400, "BadRequest")
        assert "exceeded max depth" in answer["message"]
        await client.ok("GET", MAPS)

    check()


@with_api
async def test_whole_numbers_may_be_written_as_others(client: ApiClient) -> None:
    applied = deployment({"name": "c", "image": "nginx"})
    applied["spec"]["replicas"] = 2.0
    code, answer = await apply(client, f"{DEPLOYMENTS}/d", applied)
    assert (code, answer["spec"]["replicas"]) == (201, 2)


@with_api
async def test_what_only_the_server_writes_is_not_applied(client: ApiClient) -> None:
    code, status = await apply(client, f"{MAPS}/c", config_map(meta={"resourceVersion": "x"}, a="1"))
    assert (code, status["message"]) == (500, 'strconv.ParseUint: parsing "x": invalid syntax')
    await applied(client, f"{MAPS}/c", config_map(a="1"))
    linked = await applied(client, f"{MAPS}/c", config_map(meta={"selfLink": "x"}, a="2"))
    assert "selfLink" not in linked["metadata"]
