"""Promises about ReplicationControllers, ReplicaSets, Deployments, StatefulSets and DaemonSets."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.support.api import ApiClient, Events
from tests.support.manifests import pod

from .keeping import NAMESPACE, Collection, Object, newer, promised, until
from .kubectl import kubectl_for
from .living import NODE_NAMES, keep_living, living_promise

REVISION = "deployment.kubernetes.io/revision"
IMAGE, OTHER_IMAGE = "agnhost:2", "agnhost:1"
#: What must run for a kind of workload.
RUNNING = {
    "replicaset": ("replicaset",),
    "deployment": ("deployment", "replicaset"),
    "statefulset": ("statefulset",),
    "daemonset": ("daemonset",),
}

_controllers = partial(Collection, version="v1", plural="replicationcontrollers", namespace=NAMESPACE)
_sets = partial(Collection, version="apps/v1", plural="replicasets", namespace=NAMESPACE)
_deployments = partial(Collection, version="apps/v1", plural="deployments", namespace=NAMESPACE)
_stateful = partial(Collection, version="apps/v1", plural="statefulsets", namespace=NAMESPACE)
_daemons = partial(Collection, version="apps/v1", plural="daemonsets", namespace=NAMESPACE)
_revisions = partial(Collection, version="apps/v1", plural="controllerrevisions", namespace=NAMESPACE)
_pods = partial(Collection, version="v1", plural="pods", namespace=NAMESPACE)
_quotas = partial(Collection, version="v1", plural="resourcequotas", namespace=NAMESPACE)


def workload(name: str, labels: dict[str, str], replicas: int | None = 1, **spec: Any) -> Object:
    """Anything with a selector and a template."""
    containers = [{"name": "agnhost", "image": IMAGE}]
    template = {
        "metadata": {"labels": labels},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": containers},
    }
    count = {} if replicas is None else {"replicas": replicas}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {**count, "selector": {"matchLabels": labels}, "template": template, **spec},
    }


def controller(name: str, labels: dict[str, str], replicas: int = 1) -> Object:
    return workload(name, labels, replicas, selector=labels)


def _changed_image(image: str) -> Callable[[Object], Object]:
    def change(obj: Object) -> Object:
        obj["spec"]["template"]["spec"]["containers"][0]["image"] = image
        return obj

    return change


async def reaches(collection: Collection, name: str, **fields: Any) -> Object:
    """The object when its status has these fields and is about its present generation."""
    found: Object = {}

    async def holds() -> bool:
        found.update(await collection.get(name))
        status = found.get("status") or {}
        seen = status.get("observedGeneration", 0) >= found["metadata"].get("generation", 0)
        return seen and all((status.get(key) or 0) == value for key, value in fields.items())

    await until(holds)
    return found


async def sees(events: Events, holds: Callable[[Object], bool], kind: str = "") -> Object:
    """The first object of a watch for which it holds."""
    while True:
        event = await events.next()
        if (not kind or event["type"] == kind) and holds(event["object"]):
            found: Object = event["object"]
            return found


def _owner_names(obj: Object) -> list[str]:
    return [owner["name"] for owner in obj["metadata"].get("ownerReferences", ()) if owner["controller"]]


def _conditions(obj: Object) -> set[str]:
    return {condition["type"] for condition in (obj.get("status") or {}).get("conditions", ())}


# --- ReplicationControllers


@living_promise(
    "ReplicationController should surface a failure condition on a common issue like exceeded quota",
    "replicationcontroller",
)
async def test_a_quota_is_told_of(client: ApiClient) -> None:
    controllers = _controllers(client)
    await _quotas(client).create({"metadata": {"name": "condition-test"}, "spec": {"hard": {"pods": "2"}}})

    async def counted() -> bool:
        quota = await _quotas(client).get("condition-test")
        return bool((quota["status"].get("hard") or {}).get("pods") == "2")

    await until(counted)
    await controllers.create(controller("condition-test", {"name": "condition-test"}, 3))

    async def failing(expected: bool) -> bool:
        found = await controllers.get("condition-test")
        seen = found["status"].get("observedGeneration", 0) >= found["metadata"]["generation"]
        return seen and ("ReplicaFailure" in _conditions(found)) is expected

    await until(lambda: failing(True))

    def fewer(obj: Object) -> Object:
        obj["spec"]["replicas"] = 2
        return obj

    await controllers.change("condition-test", fewer)
    await until(lambda: failing(False))


@living_promise("ReplicationController should adopt matching pods on creation", "replicationcontroller")
async def test_a_replication_controller_adopts(client: ApiClient) -> None:
    labels = {"name": "pod-adoption"}
    await _pods(client).create(pod("pod-adoption", labels))
    await _controllers(client).create(controller("pod-adoption", labels))

    async def adopted() -> bool:
        return _owner_names(await _pods(client).get("pod-adoption")) == ["pod-adoption"]

    await until(adopted)


@living_promise("ReplicationController should release no longer matching pods", "replicationcontroller")
async def test_a_replication_controller_releases(client: ApiClient) -> None:
    labels = {"name": "pod-release"}
    await _controllers(client).create(controller("pod-release", labels))
    await reaches(_controllers(client), "pod-release", readyReplicas=1)
    [name] = await _pods(client).names("name=pod-release")

    def relabelled(obj: Object) -> Object:
        obj["metadata"]["labels"] = {"name": "not-matching-name"}
        return obj

    await _pods(client).change(name, relabelled)

    async def released() -> bool:
        return not _owner_names(await _pods(client).get(name))

    await until(released)


@living_promise(
    "ReplicationController should get and update a ReplicationController scale", "replicationcontroller"
)
async def test_a_replication_controllers_scale(client: ApiClient) -> None:
    controllers = _controllers(client)
    await controllers.create(controller("e2e-rc", {"name": "e2e-rc"}))
    await reaches(controllers, "e2e-rc", replicas=1)
    scale = await controllers.get("e2e-rc", "scale")
    assert scale["status"]["replicas"] == 1
    scale["metadata"].pop("resourceVersion")
    scale["spec"]["replicas"] = 2
    await controllers.replace(scale, "scale")
    await reaches(controllers, "e2e-rc", replicas=2)


@living_promise(
    "ReplicationController should test the lifecycle of a ReplicationController", "replicationcontroller"
)
async def test_the_life_of_a_replication_controller(client: ApiClient) -> None:
    controllers, labels = _controllers(client), {"test-rc-static": "true"}
    async with controllers.watch("test-rc-static=true") as events:
        created = await controllers.create(controller("rc-test", labels))
        await sees(events, lambda obj: True, "ADDED")
        await sees(events, lambda obj: obj["status"].get("readyReplicas") == 1)
        patched = await controllers.patch(
            "rc-test", {"metadata": {"labels": {"test-rc": "patched"}}}, "strategic"
        )
        assert newer(patched, created)
        await sees(events, lambda obj: obj["metadata"]["labels"].get("test-rc") == "patched", "MODIFIED")
        none_ready = {"status": {"readyReplicas": 0, "availableReplicas": 0}}
        told = await controllers.patch("rc-test", none_ready, "strategic", "status")
        assert "readyReplicas" not in told["status"]
        await sees(events, lambda obj: not obj["status"].get("readyReplicas"), "MODIFIED")
        # The controller knows better.
        await sees(events, lambda obj: obj["status"].get("readyReplicas") == 1)
        assert (await controllers.get("rc-test", "status"))["status"]["replicas"] == 1
        await controllers.patch("rc-test", {"spec": {"replicas": 2}}, "strategic", "scale")
        await sees(events, lambda obj: obj["status"].get("readyReplicas") == 2)

        def less(obj: Object) -> Object:
            obj["status"].update(availableReplicas=1, readyReplicas=1)
            return obj

        await controllers.change("rc-test", less, "status")
        await sees(events, lambda obj: obj["status"].get("readyReplicas") == 1, "MODIFIED")
        [listed] = await controllers.everywhere.list("test-rc-static=true")
        assert listed["metadata"]["labels"] == {**labels, "test-rc": "patched"}
        await controllers.delete_all("test-rc-static=true")
        # Its pods are orphaned by the garbage collector, which is played here.
        await controllers.patch("rc-test", {"metadata": {"finalizers": None}})
        await sees(events, lambda obj: True, "DELETED")


@pytest.mark.slow
@living_promise("Kubectl client Kubectl patch should add annotations for pods in rc", "replicationcontroller")
async def test_kubectl_annotates_the_pods_of_a_replication_controller(client: ApiClient) -> None:
    await _controllers(client).create(controller("agnhost-primary", {"app": "agnhost"}, 2))
    await reaches(_controllers(client), "agnhost-primary", readyReplicas=2)
    async with kubectl_for(client) as kubectl:
        for name in await _pods(client).names("app=agnhost"):
            await kubectl("patch", "pod", name, "-p", '{"metadata":{"annotations":{"x":"y"}}}')
    found = await _pods(client).list("app=agnhost")
    assert [one["metadata"]["annotations"] for one in found] == [{"x": "y"}, {"x": "y"}]


# --- ReplicaSets


@living_promise(
    "ReplicaSet should adopt matching pods on creation and release no longer matching pods", "replicaset"
)
async def test_a_replica_set_adopts_and_releases(client: ApiClient) -> None:
    name, labels = "pod-adoption-release", {"name": "pod-adoption-release"}
    pods = _pods(client)
    await pods.create(pod(name, labels))
    await _sets(client).create(workload(name, labels))

    async def adopted() -> bool:
        return _owner_names(await pods.get(name)) == [name]

    await until(adopted)

    def relabelled(obj: Object) -> Object:
        obj["metadata"]["labels"] = {"name": "not-matching-name"}
        return obj

    await pods.change(name, relabelled)

    async def released() -> bool:
        return not _owner_names(await pods.get(name))

    await until(released)


@living_promise("ReplicaSet Replace and Patch tests", "replicaset")
async def test_a_replica_set_is_replaced_and_patched(client: ApiClient) -> None:
    sets = _sets(client)
    created = await sets.create(workload("test-rs", {"name": "sample-pod"}))
    await reaches(sets, "test-rs", readyReplicas=1)

    def two(obj: Object) -> Object:
        obj["spec"]["replicas"] = 2
        return obj

    await sets.change("test-rs", two)
    containers = [{"name": "test-rs", "image": "pause"}]
    patch = {
        "metadata": {"labels": {"test-rs": "patched"}},
        "spec": {"replicas": 3, "template": {"spec": {"containers": containers}}},
    }
    async with sets.watch("test-rs=patched") as events:
        assert newer(await sets.patch("test-rs", patch, "strategic"), created)
        found = await sees(
            events,
            lambda obj: obj["status"].get("readyReplicas") == obj["status"].get("availableReplicas") == 3,
        )
    assert found["spec"]["template"]["spec"]["containers"][0]["image"] == "pause"


@living_promise("ReplicaSet should list and delete a collection of ReplicaSets", "replicaset")
async def test_replica_sets_are_listed_and_deleted(client: ApiClient) -> None:
    sets = _sets(client)
    await sets.create(workload("test-rs", {"name": "sample-pod", "e2e": "x"}, 3))
    await reaches(sets, "test-rs", readyReplicas=3)
    assert await sets.everywhere.names("e2e=x") == ["test-rs"]
    await sets.delete_all("e2e=x")
    assert await sets.everywhere.names("e2e=x") == []


# --- What several kinds promise

SCALED = [
    (_sets, "replicaset", "ReplicaSet Replicaset should have a working scale subresource"),
    (_deployments, "deployment", "Deployment Deployment should have a working scale subresource"),
    (
        _stateful,
        "statefulset",
        "StatefulSet Basic StatefulSet functionality should have a working scale subresource",
    ),
]


@pytest.mark.parametrize(
    ("of", "runs", "name"), [pytest.param(*case, id=promised(case[2])) for case in SCALED]
)
def test_scaling(of: Callable[[ApiClient], Collection], runs: str, name: str) -> None:
    keep_living(partial(_scaling, of), RUNNING[runs])


async def _scaling(of: Callable[[ApiClient], Collection], client: ApiClient) -> None:
    collection = of(client)
    await collection.create(workload("test", {"name": "sample-pod"}))
    await reaches(collection, "test", readyReplicas=1)
    scale = await collection.get("test", "scale")
    assert (scale["spec"]["replicas"], scale["status"]["replicas"]) == (1, 1)
    scale["metadata"].pop("resourceVersion")
    scale["spec"]["replicas"] = 2
    assert (await collection.replace(scale, "scale"))["spec"]["replicas"] == 2
    assert (await collection.get("test"))["spec"]["replicas"] == 2
    await collection.patch("test", {"spec": {"replicas": 4}}, "strategic", "scale")
    assert (await collection.get("test"))["spec"]["replicas"] == 4
    await reaches(collection, "test", readyReplicas=4)


STATUSES = [
    (_sets, "replicaset", {"readyReplicas": 1}, "ReplicaSet should validate Replicaset Status endpoints"),
    (
        _deployments,
        "deployment",
        {"availableReplicas": 1},
        "Deployment should validate Deployment Status endpoints",
    ),
    (
        _stateful,
        "statefulset",
        {"readyReplicas": 1},
        "StatefulSet Basic StatefulSet functionality should validate Statefulset Status endpoints",
    ),
    (_daemons, "daemonset", {"numberReady": 2}, "Daemon set should verify changes to a daemon set status"),
]


@pytest.mark.parametrize(
    ("of", "runs", "ready", "name"), [pytest.param(*case, id=promised(case[3])) for case in STATUSES]
)
def test_statuses(of: Callable[[ApiClient], Collection], runs: str, ready: Object, name: str) -> None:
    keep_living(partial(_status, of, runs, ready), RUNNING[runs])


async def _status(of: Callable[[ApiClient], Collection], runs: str, ready: Object, client: ApiClient) -> None:
    collection = of(client)
    replicas = None if runs == "daemonset" else 1
    await collection.create(workload("test", {"e2e": "testing"}, replicas))
    await reaches(collection, "test", **ready)
    assert "status" in await collection.get("test", "status")
    condition = {"type": "StatusUpdate", "status": "True", "reason": "E2E", "message": "Set from e2e test"}

    def told(obj: Object) -> Object:
        obj["status"]["conditions"] = [*obj["status"].get("conditions", ()), condition]
        return obj

    async with collection.watch("e2e=testing") as events:
        await collection.change("test", told, "status")
        await sees(events, lambda obj: "StatusUpdate" in _conditions(obj))
        patch = {"status": {"conditions": [{"type": "StatusPatched", "status": "True"}]}}
        patched = await collection.patch("test", patch, part="status")
        assert _conditions(patched) == {"StatusPatched"}
        await sees(events, lambda obj: "StatusPatched" in _conditions(obj))


# --- Deployments


async def _is_at(client: ApiClient, name: str, revision: str, **status: int) -> Object:
    found = await reaches(_deployments(client), name, **status)
    assert found["metadata"]["annotations"][REVISION] == revision
    return found


@living_promise(
    "Deployment RollingUpdateDeployment should delete old pods and create new ones",
    "deployment",
    "replicaset",
)
async def test_a_deployment_takes_over_from_a_replica_set(client: ApiClient) -> None:
    old = workload("test-rolling-update-controller", {"name": "sample-pod", "pod": "agnhost"})
    old["metadata"]["annotations"] = {REVISION: "3546343826724305832"}
    await _sets(client).create(old)
    await reaches(_sets(client), "test-rolling-update-controller", readyReplicas=1)
    await _deployments(client).create(workload("test-rolling-update-deployment", {"name": "sample-pod"}))
    await _is_at(
        client,
        "test-rolling-update-deployment",
        "3546343826724305833",
        replicas=1,
        updatedReplicas=1,
        availableReplicas=1,
    )
    adopted = await _sets(client).get("test-rolling-update-controller")
    assert _owner_names(adopted) == ["test-rolling-update-deployment"]
    assert adopted["spec"]["replicas"] == 0
    assert len(await _sets(client).names()) == 2


@living_promise(
    "Deployment RecreateDeployment should delete old pods and create new ones", "deployment", "replicaset"
)
async def test_new_pods_never_run_with_old_ones(client: ApiClient) -> None:
    deployments, labels = _deployments(client), {"name": "sample-pod-3"}
    await deployments.create(workload("test-recreate", labels, strategy={"type": "Recreate"}))
    await _is_at(client, "test-recreate", "1", replicas=1, updatedReplicas=1, availableReplicas=1)
    async with _pods(client).watch("name=sample-pod-3") as events:
        await deployments.change("test-recreate", _changed_image(OTHER_IMAGE))
        running: set[str] = set()
        while True:
            event = await events.next()
            image = event["object"]["spec"]["containers"][0]["image"]
            if event["type"] == "DELETED":
                running.discard(image)
            else:
                running.add(image)
            assert len(running) <= 1
            if running == {OTHER_IMAGE}:
                break
    await _is_at(client, "test-recreate", "2", replicas=1, updatedReplicas=1, availableReplicas=1)


@living_promise("Deployment deployment should delete old replica sets", "deployment", "replicaset")
async def test_a_deployment_without_history(client: ApiClient) -> None:
    await _sets(client).create(workload("test-cleanup-controller", {"name": "cleanup-pod", "pod": "agnhost"}))
    await reaches(_sets(client), "test-cleanup-controller", readyReplicas=1)
    before = set(await _pods(client).names())
    await _deployments(client).create(
        workload("test-cleanup", {"name": "cleanup-pod"}, revisionHistoryLimit=0)
    )

    async def cleaned() -> bool:
        return await _sets(client).gone("test-cleanup-controller")

    await until(cleaned)
    await reaches(_deployments(client), "test-cleanup", replicas=1, availableReplicas=1)
    # Only the new template's pod was made.
    assert len(set(await _pods(client).names()) - before) == 1


@living_promise("Deployment should run the lifecycle of a Deployment", "deployment", "replicaset")
async def test_the_life_of_a_deployment(client: ApiClient) -> None:
    deployments, labels = _deployments(client), {"test-deployment-static": "true"}
    async with deployments.watch("test-deployment-static=true") as events:
        created = await deployments.create(workload("test-deployment", labels, 2))
        await sees(events, lambda obj: True, "ADDED")
        await sees(events, lambda obj: obj["status"].get("readyReplicas") == 2)
        containers = [{"name": "agnhost", "image": "pause"}]
        patch = {
            "metadata": {"labels": {"test-deployment": "patched"}},
            "spec": {
                "replicas": 1,
                "template": {"spec": {"terminationGracePeriodSeconds": 2, "containers": containers}},
            },
        }
        assert newer(await deployments.patch("test-deployment", patch, "strategic"), created)

        def settled(obj: Object, count: int) -> bool:
            status = obj["status"]
            counts = {status.get(field) for field in ("readyReplicas", "updatedReplicas")}
            return counts == {count} and not status.get("unavailableReplicas")

        await sees(events, lambda obj: settled(obj, 1))
        assert await deployments.everywhere.names("test-deployment-static=true") == ["test-deployment"]
        update = workload("test-deployment", {**labels, "test-deployment": "updated"}, 2)
        update["spec"]["selector"]["matchLabels"] = labels
        update["spec"]["template"]["metadata"]["labels"] = labels
        _changed_image(OTHER_IMAGE)(update)
        await deployments.replace(update)
        found = await deployments.get("test-deployment", "status")
        assert found["spec"]["template"]["spec"]["containers"][0]["image"] == OTHER_IMAGE
        await sees(events, lambda obj: settled(obj, 2))
        none_ready = {"status": {"readyReplicas": 0, "availableReplicas": 0}}
        await deployments.patch("test-deployment", none_ready, "strategic", "status")
        await sees(events, lambda obj: not obj["status"].get("readyReplicas"), "MODIFIED")
        # The controller knows better.
        await sees(events, lambda obj: settled(obj, 2))
        await deployments.delete_all("test-deployment-static=true")
        await sees(events, lambda obj: True, "DELETED")


# --- StatefulSets


@living_promise(
    "StatefulSet Basic StatefulSet functionality should list, patch and delete a collection of StatefulSets",
    "statefulset",
)
async def test_stateful_sets_are_listed_patched_and_deleted(client: ApiClient) -> None:
    sets = _stateful(client)
    created = await sets.create(workload("test-ss", {"name": "sample-pod"}))
    await reaches(sets, "test-ss", readyReplicas=1)
    patch = {
        "metadata": {"labels": {"test-ss": "patched"}},
        "spec": {
            "replicas": 2,
            "template": {"spec": {"containers": [{"name": "test-ss", "image": "pause"}]}},
        },
    }
    assert newer(await sets.patch("test-ss", patch, "strategic"), created)
    found = await reaches(sets, "test-ss", readyReplicas=2, updatedReplicas=2)
    assert found["spec"]["template"]["spec"]["containers"][0]["image"] == "pause"
    assert await sets.everywhere.names("test-ss=patched") == ["test-ss"]
    await sets.delete_all("test-ss=patched")
    assert await sets.everywhere.names("test-ss=patched") == []


@living_promise(
    "StatefulSet Basic StatefulSet functionality should perform canary updates and phased rolling updates of "
    "template modifications",
    "statefulset",
)
async def test_a_canary_and_then_the_others(client: ApiClient) -> None:
    sets = _stateful(client)

    async def at_revisions(status: Object, new: int) -> None:
        """The pods from number `new` on are of the new revision, the others of the old one."""

        async def holds() -> bool:
            found = await _pods(client).list("name=ss2")
            ready = [one for one in found if one["status"]["phase"] == "Running"]
            numbers = {int(one["metadata"]["name"][-1]): one["metadata"]["labels"] for one in ready}
            wanted = {
                number: status["updateRevision" if number >= new else "currentRevision"]
                for number in range(3)
            }
            return {
                number: labels["controller-revision-hash"] for number, labels in numbers.items()
            } == wanted

        await until(holds)

    def partition(number: int) -> Object:
        return {"spec": {"updateStrategy": {"rollingUpdate": {"partition": number}}}}

    update = {"type": "RollingUpdate", "rollingUpdate": {"partition": 3}}
    await sets.create(workload("ss2", {"name": "ss2"}, 3, serviceName="test", updateStrategy=update))
    before = (await reaches(sets, "ss2", readyReplicas=3))["status"]
    assert before["currentRevision"] == before["updateRevision"]
    await sets.change("ss2", _changed_image(OTHER_IMAGE))
    status = (await reaches(sets, "ss2", readyReplicas=3))["status"]
    assert status["currentRevision"] != status["updateRevision"]
    await at_revisions(status, 3)
    await sets.patch("ss2", partition(2))
    await at_revisions(status, 2)
    for name in ("ss2-0", "ss2-2"):
        await _pods(client).delete(name)
    await reaches(sets, "ss2", readyReplicas=3)
    await at_revisions(status, 2)
    for number in (1, 0):
        await sets.patch("ss2", partition(number))
        await at_revisions(status, number)
    after = (await reaches(sets, "ss2", readyReplicas=3, updatedReplicas=3))["status"]
    assert after["currentRevision"] == after["updateRevision"] == status["updateRevision"]


# --- DaemonSets


async def _on_nodes(client: ApiClient, *names: str) -> None:
    """The daemons run exactly there."""

    async def holds() -> bool:
        found = await _pods(client).list("daemonset-name=daemon-set")
        staying = [one for one in found if "deletionTimestamp" not in one["metadata"]]
        running = [one for one in staying if one["status"]["phase"] == "Running"]
        return sorted(one["spec"]["nodeName"] for one in running) == sorted(names) and len(found) == len(
            names
        )

    await until(holds)


def _daemon_set(**spec: Any) -> Object:
    return workload("daemon-set", {"daemonset-name": "daemon-set"}, None, **spec)


async def _launched(client: ApiClient, **spec: Any) -> Object:
    made = await _daemons(client).create(_daemon_set(**spec))
    await _on_nodes(client, *NODE_NAMES)
    found = await reaches(_daemons(client), "daemon-set", numberReady=2)
    status = found["status"]
    assert {status["desiredNumberScheduled"], status["currentNumberScheduled"], status["numberReady"]} == {2}
    return made


@living_promise("Daemon set should run and stop simple daemon", "daemonset")
async def test_a_daemon_that_is_stopped_is_revived(client: ApiClient) -> None:
    await _launched(client)
    stopped, _ = await _pods(client).names()
    await _pods(client).delete(stopped)
    await _on_nodes(client, *NODE_NAMES)
    assert stopped not in await _pods(client).names()


@living_promise("Daemon set should run and stop complex daemon", "daemonset")
async def test_daemons_follow_the_labels_of_nodes(client: ApiClient) -> None:
    nodes = Collection(client, "v1", "nodes")
    subject = _daemon_set(updateStrategy={"type": "OnDelete"})
    subject["spec"]["template"]["spec"]["nodeSelector"] = {"color": "blue"}
    await _daemons(client).create(subject)
    await _on_nodes(client)
    await nodes.patch("node-1", {"metadata": {"labels": {"color": "blue"}}})
    await _on_nodes(client, "node-1")
    await nodes.patch("node-1", {"metadata": {"labels": {"color": "green"}}})
    await _on_nodes(client)
    patch = {
        "spec": {
            "template": {"spec": {"nodeSelector": {"color": "green"}}},
            "updateStrategy": {"type": "RollingUpdate"},
        }
    }
    await _daemons(client).patch("daemon-set", patch, "strategic")
    await _on_nodes(client, "node-1")
    await reaches(_daemons(client), "daemon-set", numberReady=1, desiredNumberScheduled=1)


@living_promise("Daemon set should retry creating failed daemon pods", "daemonset")
async def test_a_daemon_that_failed_is_revived(client: ApiClient) -> None:
    await _launched(client)
    failed = (await _pods(client).list())[0]
    failed["metadata"].pop("resourceVersion")
    failed["status"]["phase"] = "Failed"
    await _pods(client).replace(failed, "status")
    await until(lambda: _pods(client).gone(failed["metadata"]["name"]))
    await _on_nodes(client, *NODE_NAMES)


@living_promise(
    "Daemon set should update pod when spec was updated and update strategy is RollingUpdate", "daemonset"
)
async def test_daemons_are_updated(client: ApiClient) -> None:
    made = await _launched(client, updateStrategy={"type": "RollingUpdate"})

    async def labelled(revision: int) -> None:
        history = await _revisions(client).list("daemonset-name=daemon-set")
        assert max(one["revision"] for one in history) == len(history) == revision
        [current] = [one for one in history if one["revision"] == revision]
        hashed = current["metadata"]["labels"]["controller-revision-hash"]
        pods = await _pods(client).list()
        assert {one["metadata"]["labels"]["controller-revision-hash"] for one in pods} == {hashed}

    await labelled(1)
    patched = await _daemons(client).change("daemon-set", _changed_image(OTHER_IMAGE))
    assert newer(patched, made)
    await reaches(_daemons(client), "daemon-set", updatedNumberScheduled=2, numberAvailable=2)
    await _on_nodes(client, *NODE_NAMES)
    assert {one["spec"]["containers"][0]["image"] for one in await _pods(client).list()} == {OTHER_IMAGE}
    await labelled(2)


@living_promise("Daemon set should list and delete a collection of DaemonSets", "daemonset")
async def test_daemon_sets_are_listed_and_deleted(client: ApiClient) -> None:
    await _launched(client)
    assert await _daemons(client).everywhere.names("daemonset-name=daemon-set") == ["daemon-set"]
    await _daemons(client).delete_all("daemonset-name=daemon-set")
    assert await _daemons(client).everywhere.names("daemonset-name=daemon-set") == []


@living_promise("ControllerRevision should manage the lifecycle of a ControllerRevision", "daemonset")
async def test_the_life_of_a_controller_revision(client: ApiClient) -> None:
    revisions, labels = _revisions(client), "daemonset-name=daemon-set"
    daemon_set = await _launched(client)
    [first] = await revisions.everywhere.list(labels)
    [owner] = first["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("DaemonSet", daemon_set["metadata"]["uid"])
    name = first["metadata"]["name"]
    patched = await revisions.patch(name, {"metadata": {"labels": {name: "patched"}}}, "strategic")
    assert newer(patched, first)
    kept = {key: first["metadata"][key] for key in ("labels", "annotations", "ownerReferences")}
    second = {**first, "metadata": {"name": "daemon-set-second", **kept}, "revision": 2}
    await revisions.create(second)
    assert len(await revisions.list(labels)) == 2
    await revisions.delete(name)
    assert await revisions.names(labels) == ["daemon-set-second"]

    def updated(obj: Object) -> Object:
        obj["metadata"]["labels"]["daemon-set-second"] = "updated"
        return obj

    await revisions.change("daemon-set-second", updated)
    patch = {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 1}}}}
    await _daemons(client).patch("daemon-set", patch, "strategic")

    async def two() -> bool:
        return len(await revisions.list(labels)) == 2

    await until(two)
    await revisions.delete_all("daemon-set-second=updated")
    [last] = await revisions.list(labels)
    assert last["revision"] == 3
