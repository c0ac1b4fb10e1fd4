"""Promises about what goes with its owner, and about namespaces that end."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from tests.conformance.promises.test_workloads import controller, workload
from tests.support.api import ApiClient, api, config_map
from tests.support.manifests import pod
from tests.support.waiting import pass_time

from .keeping import NAMESPACE, Collection, Object, promised, until
from .living import living_promise

#: How long something is watched that must not happen.
WATCHED_S = 1.0
LABELS = {"gctest": "pods"}

_controllers = partial(Collection, version="v1", plural="replicationcontrollers", namespace=NAMESPACE)
_sets = partial(Collection, version="apps/v1", plural="replicasets", namespace=NAMESPACE)
_deployments = partial(Collection, version="apps/v1", plural="deployments", namespace=NAMESPACE)
_pods = partial(Collection, version="v1", plural="pods", namespace=NAMESPACE)
_namespaces = partial(Collection, version="v1", plural="namespaces")
_config_maps = partial(Collection, version="v1", plural="configmaps", namespace=NAMESPACE)


def garbage_promise(name: str, *controllers: str) -> Any:
    return living_promise(f"Garbage collector {name}", "garbagecollector", *controllers)


def namespace_promise(name: str) -> Any:
    return living_promise(name, "namespace", "garbagecollector", "serviceaccount")


async def _until_ready(owners: Collection, name: str, replicas: int) -> Object:
    async def ready() -> bool:
        return (await owners.get(name))["status"].get("readyReplicas") == replicas

    await until(ready)
    return await owners.get(name)


async def _delete(owners: Collection, owner: Object, propagation: str) -> None:
    metadata = owner["metadata"]
    conditions = {"uid": metadata["uid"]}
    await owners.delete(metadata["name"], {"preconditions": conditions, "propagationPolicy": propagation})


async def _until_gone(objects: Collection, name: str) -> None:
    await until(lambda: objects.gone(name))


async def _until_none(objects: Collection) -> None:
    async def none() -> bool:
        return await objects.list() == []

    await until(none)


@garbage_promise("should delete pods created by rc when not orphaning", "replicationcontroller")
async def test_pods_go_with_their_controller(client: ApiClient) -> None:
    owners, pods = _controllers(client), _pods(client)
    owner = await owners.create(controller("simpletest.rc", LABELS, 2))

    async def some() -> bool:
        return await pods.list() != []

    await until(some)
    await _delete(owners, owner, "Background")
    await _until_none(pods)


@garbage_promise("should orphan pods created by rc if delete options say so", "replicationcontroller")
async def test_pods_outlive_a_controller_that_lets_them(client: ApiClient) -> None:
    owners, pods = _controllers(client), _pods(client)
    await owners.create(controller("simpletest.rc", LABELS, 20))
    owner = await _until_ready(owners, "simpletest.rc", 20)
    await _delete(owners, owner, "Orphan")
    await _until_gone(owners, "simpletest.rc")
    await pass_time(WATCHED_S, "in which nothing is deleted")
    left = await pods.list()
    assert len(left) == 20
    assert not any(one["metadata"].get("ownerReferences") for one in left)


@garbage_promise("should delete RS created by deployment when not orphaning", "deployment", "replicaset")
async def test_replica_sets_go_with_their_deployment(client: ApiClient) -> None:
    owners, sets = _deployments(client), _sets(client)
    owner = await owners.create(workload("simpletest.deployment", LABELS, 2))

    async def made() -> bool:
        return len(await sets.list()) == 1

    await until(made)
    await _delete(owners, owner, "Background")
    await _until_none(sets)


@garbage_promise(
    "should orphan RS created by deployment when deleteOptions.PropagationPolicy is Orphan",
    "deployment",
    "replicaset",
)
async def test_replica_sets_outlive_a_deployment_that_lets_them(client: ApiClient) -> None:
    owners, sets = _deployments(client), _sets(client)
    await owners.create(workload("simpletest.deployment", LABELS, 2))
    owner = await _until_ready(owners, "simpletest.deployment", 2)
    await _delete(owners, owner, "Orphan")
    await _until_gone(owners, "simpletest.deployment")
    await pass_time(WATCHED_S, "in which nothing is deleted")
    [left] = await sets.list()
    assert not left["metadata"].get("ownerReferences")


@garbage_promise(
    "should keep the rc around until all its pods are deleted if the deleteOptions says so",
    "replicationcontroller",
)
async def test_a_controller_waits_for_its_pods(client: ApiClient) -> None:
    owners, pods = _controllers(client), _pods(client)
    await owners.create(controller("simpletest.rc", LABELS, 20))
    owner = await _until_ready(owners, "simpletest.rc", 20)
    async with owners.watch() as events:
        await _delete(owners, owner, "Foreground")
        while (await events.next())["type"] != "DELETED":
            pass
    assert await pods.list() == []


@garbage_promise(
    "should not delete dependents that have both valid owner and owner that's waiting for dependents to be "
    "deleted",
    "replicationcontroller",
)
async def test_pods_with_another_owner_stay_and_are_not_waited_for(client: ApiClient) -> None:
    owners, pods = _controllers(client), _pods(client)
    await owners.create(controller("simpletest-rc-to-be-deleted", LABELS, 20))
    other = await owners.create(controller("simpletest-rc-to-stay", {"gctest": "stays"}, 0))
    owner = await _until_ready(owners, "simpletest-rc-to-be-deleted", 20)
    metadata = other["metadata"]
    reference = {"apiVersion": "v1", "kind": "ReplicationController", "name": metadata["name"]}
    patch = {"metadata": {"ownerReferences": [{**reference, "uid": metadata["uid"]}]}}
    names = (await pods.names())[:10]
    for name in names:
        await pods.patch(name, patch, "strategic")
    await _delete(owners, owner, "Foreground")
    await _until_gone(owners, "simpletest-rc-to-be-deleted")
    left = await pods.list()
    assert [one["metadata"]["name"] for one in left] == names
    for one in left:
        assert "deletionTimestamp" not in one["metadata"]
        assert [owner["uid"] for owner in one["metadata"]["ownerReferences"]] == [metadata["uid"]]


@garbage_promise("should not be blocked by dependency circle")
async def test_a_circle_of_pods_goes(client: ApiClient) -> None:
    pods = _pods(client)
    made = [await pods.create(pod(name)) for name in ("pod1", "pod2", "pod3")]
    for dependent, owner in zip(made, (made[2], made[0], made[1]), strict=True):
        metadata = owner["metadata"]
        named = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
        patch = {"metadata": {"ownerReferences": [{**named, "controller": True, "blockOwnerDeletion": True}]}}
        await pods.patch(dependent["metadata"]["name"], patch, "strategic")
    await _delete(pods, made[0], "Foreground")
    await _until_none(pods)


async def _until_account(client: ApiClient, namespace: str) -> None:
    accounts = Collection(client, "v1", "serviceaccounts", namespace)

    async def there() -> bool:
        return not await accounts.gone("default")

    await until(there)


async def _with_namespace(client: ApiClient, plural: str, obj: Object) -> None:
    """Make a namespace with an object in it, delete the namespace, make it again: it is empty."""
    namespaces, objects = _namespaces(client), Collection(client, "v1", plural, "nsdeletetest")
    await namespaces.create({"metadata": {"name": "nsdeletetest"}})
    await _until_account(client, "nsdeletetest")
    await objects.create(obj)
    await namespaces.delete("nsdeletetest")
    await _until_gone(namespaces, "nsdeletetest")
    await namespaces.create({"metadata": {"name": "nsdeletetest"}})
    assert await objects.list() == []


@namespace_promise("Namespaces should ensure that all services are removed when a namespace is deleted")
async def test_services_go_with_their_namespace(client: ApiClient) -> None:
    spec = {"selector": {"foo": "bar"}, "ports": [{"port": 80, "targetPort": 80}]}
    await _with_namespace(client, "services", {"metadata": {"name": "test-service"}, "spec": spec})


@namespace_promise("Namespaces should ensure that all pods are removed when a namespace is deleted")
async def test_pods_go_with_their_namespace(client: ApiClient) -> None:
    await _with_namespace(client, "pods", pod("test-pod"))


@namespace_promise("Namespaces should apply a finalizer to a Namespace")
async def test_a_namespace_gets_another_finalizer(client: ApiClient) -> None:
    namespaces, ours = _namespaces(client), "e2e.example.com/fakeFinalizer"

    def add(obj: Object) -> Object:
        return {**obj, "spec": {"finalizers": [*obj["spec"]["finalizers"], ours]}}

    def remove(obj: Object) -> Object:
        return {**obj, "spec": {"finalizers": [one for one in obj["spec"]["finalizers"] if one != ours]}}

    async def finalize(change: Any) -> Object:
        changed = change(await namespaces.get(NAMESPACE))
        return await client.ok("PUT", namespaces.of(NAMESPACE, "finalize"), changed)

    assert (await finalize(add))["spec"]["finalizers"] == ["kubernetes", ours]
    assert (await finalize(remove))["spec"]["finalizers"] == ["kubernetes"]


@namespace_promise("OrderedNamespaceDeletion namespace deletion should delete pod first")
async def test_pods_go_before_the_rest_of_their_namespace(client: ApiClient) -> None:
    namespaces, pods, maps = _namespaces(client), _pods(client), _config_maps(client)
    made = pod("test-pod")
    made["metadata"]["finalizers"] = ["e2e.example.com/finalizer"]
    await pods.create(made)

    async def running() -> bool:
        return (await pods.get("test-pod"))["status"]["phase"] == "Running"

    await until(running)
    await maps.create(config_map("test-configmap", key="value"))
    await namespaces.delete(NAMESPACE)

    async def processed() -> bool:
        status = (await namespaces.get(NAMESPACE))["status"]
        kinds = [condition["type"] for condition in status.get("conditions") or ()]
        return status["phase"] == "Terminating" and "NamespaceDeletionContentFailure" in kinds

    await until(processed)
    assert await maps.get("test-configmap")
    assert "deletionTimestamp" in (await pods.get("test-pod"))["metadata"]
    await pods.change("test-pod", lambda one: {**one, "metadata": {**one["metadata"], "finalizers": []}})
    await _until_gone(pods, "test-pod")
    await _until_gone(namespaces, NAMESPACE)


promised("ServiceAccounts should guarantee kube-root-ca.crt exist in any namespace")


def test_every_namespace_has_the_certificate() -> None:
    """ServiceAccounts should guarantee kube-root-ca.crt exist in any namespace."""

    async def body() -> None:
        async with api(controllers=("root-ca-certificate-publisher",)) as client:
            await client.ok("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
            maps, name = _config_maps(client), "kube-root-ca.crt"

            async def right() -> bool:
                if await maps.gone(name):
                    return False
                return (await maps.get(name))["data"] == {"ca.crt": client.cluster.authority.pem.decode()}

            await until(right)
            await maps.delete(name, {"gracePeriodSeconds": 0})
            await until(right)
            await maps.replace({"metadata": {"name": name}, "data": {"ca.crt": ""}})
            await until(right)

    asyncio.run(body())
