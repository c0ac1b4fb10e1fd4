"""The official Python client: typed CRUD, patches, paging, watches, options and errors."""

# The client's configuration and watching have no types.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException

from steersman.cluster.local import ClusterConfig, LocalCluster
from tests.support.manifests import config_map, deployment, pod
from tests.support.steer import Steer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def api(server: Steer) -> Iterator[client.ApiClient]:
    with config.new_client_from_config(str(server.kubeconfig)) as api_client:
        yield api_client


@pytest.fixture(scope="module")
def core(api: client.ApiClient) -> Any:
    return client.CoreV1Api(api)


@pytest.fixture(scope="module")
def apps(api: client.ApiClient) -> Any:
    return client.AppsV1Api(api)


def make(core: Any, namespace: str, *names: str, **labels: str) -> None:
    for name in names:
        core.create_namespaced_config_map(namespace, config_map(name, labels))


def names(listed: Any) -> list[str]:
    return [item.metadata.name for item in listed.items]


def test_an_object_is_made_read_replaced_and_deleted(core: Any, namespace: str) -> None:
    made = core.create_namespaced_config_map(
        namespace, client.V1ConfigMap(metadata=client.V1ObjectMeta(name="cm"), data={"a": "1"})
    )
    assert made.metadata.uid
    read = core.read_namespaced_config_map("cm", namespace)
    assert read == made
    read.data["b"] = "2"
    replaced = core.replace_namespaced_config_map("cm", namespace, read)
    assert replaced.data == {"a": "1", "b": "2"}
    assert int(replaced.metadata.resource_version) > int(made.metadata.resource_version)
    gone = core.delete_namespaced_config_map("cm", namespace)
    assert gone["status"] == "Success"
    assert gone["details"] == {"kind": "configmaps", "name": "cm", "uid": made.metadata.uid}
    with pytest.raises(ApiException) as refused:
        core.read_namespaced_config_map("cm", namespace)
    assert refused.value.status == 404


@pytest.mark.parametrize(
    ("content_type", "patch", "expected"),
    [
        ("application/strategic-merge-patch+json", {"data": {"b": "2", "a": None}}, {"b": "2"}),
        ("application/merge-patch+json", {"data": {"b": "2"}}, {"a": "1", "b": "2"}),
        ("application/json-patch+json", [{"op": "move", "from": "/data/a", "path": "/data/c"}], {"c": "1"}),
    ],
    ids=["strategic", "merge", "json"],
)
def test_patch(core: Any, namespace: str, content_type: str, patch: Any, expected: dict[str, str]) -> None:
    core.create_namespaced_config_map(namespace, config_map("cm", a="1"))
    patched = core.patch_namespaced_config_map("cm", namespace, patch, _content_type=content_type)
    assert patched.data == expected


def test_lists_by_selectors(core: Any, namespace: str) -> None:
    make(core, namespace, "a", "b", tier="front")
    make(core, namespace, "c", tier="back")
    listed = core.list_namespaced_config_map(namespace, label_selector="tier in (front),tier!=back")
    assert names(listed) == ["a", "b"]
    assert names(core.list_namespaced_config_map(namespace, field_selector="metadata.name=c")) == ["c"]
    everywhere = core.list_config_map_for_all_namespaces(field_selector=f"metadata.namespace={namespace}")
    assert names(everywhere) == ["a", "b", "c"]


def test_pages_show_one_state(core: Any, namespace: str) -> None:
    make(core, namespace, "a", "b", "c", "d", "e")
    first = core.list_namespaced_config_map(namespace, limit=2)
    assert names(first) == ["a", "b"]
    assert first.metadata.remaining_item_count == 3
    # What comes in between belongs to a later state.
    make(core, namespace, "bb")
    core.delete_namespaced_config_map("d", namespace)
    second = core.list_namespaced_config_map(namespace, limit=2, _continue=first.metadata._continue)
    assert names(second) == ["c", "d"]
    third = core.list_namespaced_config_map(namespace, limit=2, _continue=second.metadata._continue)
    assert names(third) == ["e"]
    assert not third.metadata._continue
    assert {page.metadata.resource_version for page in (first, second, third)} == {
        first.metadata.resource_version
    }


def test_status_is_updated_apart(apps: Any, namespace: str) -> None:
    made = apps.create_namespaced_deployment(namespace, deployment("web"))
    made.status = client.V1DeploymentStatus(replicas=1, observed_generation=1)
    made.spec.replicas = 9
    updated = apps.replace_namespaced_deployment_status("web", namespace, made)
    assert (updated.status.replicas, updated.spec.replicas, updated.metadata.generation) == (1, 1, 1)


def test_scale(apps: Any, namespace: str) -> None:
    apps.create_namespaced_deployment(namespace, deployment("web", replicas=1))
    scale = apps.read_namespaced_deployment_scale("web", namespace)
    assert scale.status.selector == "app=web"
    scale.spec.replicas = 4
    assert apps.replace_namespaced_deployment_scale("web", namespace, scale).spec.replicas == 4
    patched = apps.patch_namespaced_deployment_scale("web", namespace, {"spec": {"replicas": 6}})
    assert patched.spec.replicas == 6
    assert apps.read_namespaced_deployment("web", namespace).spec.replicas == 6


def test_binding_and_eviction(core: Any, namespace: str) -> None:
    core.create_namespaced_pod(namespace, pod("p", terminationGracePeriodSeconds=0))
    binding = client.V1Binding(
        metadata=client.V1ObjectMeta(name="p"), target=client.V1ObjectReference(kind="Node", name="n1")
    )
    core.create_namespaced_pod_binding("p", namespace, binding, _preload_content=False)
    bound = core.read_namespaced_pod("p", namespace)
    assert bound.spec.node_name == "n1"
    assert [(item.type, item.status) for item in bound.status.conditions] == [("PodScheduled", "True")]
    core.create_namespaced_pod_eviction(
        "p", namespace, client.V1Eviction(metadata=client.V1ObjectMeta(name="p")), _preload_content=False
    )
    assert names(core.list_namespaced_pod(namespace)) == []


def test_delete_options(core: Any, apps: Any, namespace: str) -> None:
    make(core, namespace, "cm")
    wrong = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid="another"))
    with pytest.raises(ApiException) as refused:
        core.delete_namespaced_config_map("cm", namespace, body=wrong)
    assert refused.value.status == 409
    core.delete_namespaced_config_map("cm", namespace, dry_run="All")
    assert names(core.list_namespaced_config_map(namespace)) == ["cm"]
    apps.create_namespaced_deployment(namespace, deployment("web"))
    apps.delete_namespaced_deployment("web", namespace, propagation_policy="Foreground")
    held = apps.read_namespaced_deployment("web", namespace)
    assert held.metadata.finalizers == ["foregroundDeletion"]
    core.create_namespaced_pod(namespace, pod("p", nodeName="n1"))
    deleted = core.delete_namespaced_pod("p", namespace, grace_period_seconds=3)
    assert deleted.metadata.deletion_grace_period_seconds == 3


def test_delete_collection(core: Any, namespace: str) -> None:
    make(core, namespace, "a", "b", go="yes")
    make(core, namespace, "c")
    core.delete_collection_namespaced_config_map(namespace, label_selector="go=yes")
    assert names(core.list_namespaced_config_map(namespace)) == ["c"]


def test_watch_and_resume(core: Any, namespace: str) -> None:
    start = core.list_namespaced_config_map(namespace).metadata.resource_version
    make(core, namespace, "a", "b")
    core.patch_namespaced_config_map("a", namespace, {"data": {"x": "1"}})
    core.delete_namespaced_config_map("b", namespace)
    seen = []
    watcher = watch.Watch()
    for event in watcher.stream(core.list_namespaced_config_map, namespace, resource_version=start):
        seen.append((event["type"], event["object"].metadata.name, event["object"].metadata.resource_version))
        if len(seen) == 4:
            watcher.stop()
    assert [item[:2] for item in seen] == [
        ("ADDED", "a"),
        ("ADDED", "b"),
        ("MODIFIED", "a"),
        ("DELETED", "b"),
    ]
    resumed = [
        (event["type"], event["object"].metadata.name)
        for event in watch.Watch().stream(
            core.list_namespaced_config_map, namespace, resource_version=seen[1][2], timeout_seconds=1
        )
    ]
    assert resumed == [("MODIFIED", "a"), ("DELETED", "b")]


def test_watch_begins_with_what_is_there_and_goes_on(core: Any, namespace: str) -> None:
    make(core, namespace, "a")
    seen = []
    watcher = watch.Watch()
    for event in watcher.stream(core.list_namespaced_config_map, namespace):
        seen.append((event["type"], event["object"].metadata.name))
        if len(seen) == 1:
            make(core, namespace, "b")
        else:
            watcher.stop()
    assert seen == [("ADDED", "a"), ("ADDED", "b")]


Attempt = Callable[[Any, Any, str], Any]


@pytest.mark.parametrize(
    ("attempt", "status", "reason", "message"),
    [
        pytest.param(
            lambda core, apps, namespace: core.read_namespaced_pod("none", namespace),
            404, "NotFound", 'pods "none" not found', id="not found",
        ),
        pytest.param(
            lambda core, apps, namespace: core.create_namespaced_config_map(namespace, config_map("there")),
            409, "AlreadyExists", 'configmaps "there" already exists', id="already exists",
        ),
        pytest.param(
            lambda core, apps, namespace: core.replace_namespaced_config_map(
                "there", namespace, config_map("there") | {"metadata": {"name": "there", "resourceVersion": "1"}}
            ),
            409, "Conflict", "the object has been modified", id="conflict",
        ),
        pytest.param(
            lambda core, apps, namespace: apps.create_namespaced_deployment(namespace, deployment("w", -1)),
            422, "Invalid", "spec.replicas: Invalid value: -1: must be greater than or equal to 0", id="invalid",
        ),
        pytest.param(
            lambda core, apps, namespace: core.replace_namespaced_config_map("there", namespace, config_map("other")),
            400, "BadRequest",
            "the name of the object (other) does not match the name on the URL (there)", id="wrong name",
        ),
        pytest.param(
            lambda core, apps, namespace: core.list_namespaced_config_map(namespace, _continue="nonsense"),
            400, "BadRequest", "continue key is not valid", id="bad continue",
        ),
        pytest.param(
            lambda core, apps, namespace: core.list_namespaced_config_map(
                namespace, resource_version="999999999", resource_version_match="Exact"),
            504, "Timeout", "Too large resource version: 999999999", id="future",
        ),
    ],
)  # fmt: skip
def test_errors_are_exceptions_with_a_status(
    core: Any,
    apps: Any,
    namespace: str,
    attempt: Attempt,
    status: int,
    reason: str,
    message: str,
) -> None:
    make(core, namespace, "there")
    with pytest.raises(ApiException) as refused:
        attempt(core, apps, namespace)
    body = json.loads(refused.value.body or "")
    assert (refused.value.status, body["kind"], body["code"]) == (status, "Status", status)
    assert body["reason"] == reason
    assert message in body["message"]


def test_a_wrong_token_is_unauthorized(server: Steer) -> None:
    configuration = client.Configuration()
    config.load_kube_config(str(server.kubeconfig), client_configuration=configuration)
    # It reads the kubeconfig's token again before each request.
    configuration.refresh_api_key_hook = None
    configuration.api_key = dict.fromkeys(configuration.api_key, "Bearer wrong")
    with client.ApiClient(configuration) as api_client, pytest.raises(ApiException) as refused:
        client.CoreV1Api(api_client).list_namespace()
    assert refused.value.status == 401


def test_dynamic_client_finds_resources_by_discovery(
    api: client.ApiClient, namespace: str, tmp_path: Path
) -> None:
    from kubernetes.dynamic import DynamicClient

    dynamic = DynamicClient(api, cache_file=str(tmp_path / "discovery"))
    deployments = dynamic.resources.get(api_version="apps/v1", kind="Deployment")
    deployments.create(deployment("web"), namespace=namespace)
    assert [item.metadata.name for item in deployments.get(namespace=namespace).items] == ["web"]
    status = deployments.status.get(name="web", namespace=namespace)
    assert status.spec.replicas == 1


def test_what_has_been_forgotten_is_gone() -> None:
    def use(kubeconfig: str, forget: Callable[[], None]) -> None:
        with config.new_client_from_config(kubeconfig) as api_client:
            core: Any = client.CoreV1Api(api_client)
            make(core, "default", "a", "b", "c")
            page = core.list_namespaced_config_map("default", limit=1)
            forget()
            with pytest.raises(ApiException) as refused:
                list(watch.Watch().stream(core.list_namespace, resource_version="1", timeout_seconds=5))
            assert refused.value.status == 410
            assert refused.value.reason.startswith("Expired: too old resource version: 1 (")
            with pytest.raises(ApiException) as refused:
                core.list_namespaced_config_map("default", limit=1, resource_version="1",
                                                resource_version_match="Exact")  # fmt: skip
            assert refused.value.status == 410
            make(core, "default", "d")
            forget()
            with pytest.raises(ApiException) as refused:
                core.list_namespaced_config_map("default", limit=1, _continue=page.metadata._continue)
            body = json.loads(refused.value.body or "")
            assert (body["code"], body["reason"]) == (410, "Expired")
            # The rest can be had from the state of now, by the token that comes with the refusal.
            rest = core.list_namespaced_config_map("default", _continue=body["metadata"]["continue"])
            assert names(rest) == ["b", "c", "d"]

    async def serve() -> None:
        async with LocalCluster(ClusterConfig()) as cluster:
            loop = asyncio.get_running_loop()

            def forget() -> None:
                compaction = cluster.store.compact(cluster.store.revision)
                asyncio.run_coroutine_threadsafe(compaction, loop).result(20)

            await asyncio.to_thread(use, str(cluster.kubeconfig), forget)

    asyncio.run(serve())
