"""Promises about what others read: config maps, secrets, leases, templates, limits, priorities."""

from __future__ import annotations

import base64

import pytest

from tests.support.api import ApiClient, config_map
from tests.support.manifests import pod

from .keeping import NAMESPACE, Collection, Object, keep, newer, promise, promised


def _in_namespace(client: ApiClient, plural: str, namespace: str = NAMESPACE) -> Collection:
    return Collection(client, "v1", plural, namespace)


def _coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("plural", "content"),
    [
        pytest.param(
            "configmaps",
            {"data": {"": "value-1"}},
            id=promised("ConfigMap should fail to create ConfigMap with empty key"),
        ),
        pytest.param(
            "secrets",
            {"data": {"": _coded("value-1\n")}},
            id=promised("Secrets should fail to create secret due to empty secret key"),
        ),
    ],
)
def test_a_key_has_a_name(plural: str, content: Object) -> None:
    async def test(client: ApiClient) -> None:
        objects = _in_namespace(client, plural)
        await objects.refused({"metadata": {"name": "empty-key"}, **content}, 422)
        assert await objects.gone("empty-key")

    keep(test)


@pytest.mark.parametrize(
    ("plural", "values"),
    [
        pytest.param(
            "configmaps",
            [f"value-{number}" for number in range(1, 6)],
            id=promised("ConfigMap should be immutable if `immutable` field is set"),
        ),
        pytest.param(
            "secrets",
            [_coded(f"value-{number}\n") for number in range(1, 6)],
            id=promised("Secrets should be immutable if `immutable` field is set"),
        ),
    ],
)
def test_what_is_immutable_stays(plural: str, values: list[str]) -> None:
    async def test(client: ApiClient) -> None:
        objects = _in_namespace(client, plural)
        data = {f"data-{number}": value for number, value in enumerate(values[:3], 1)}
        current = await objects.create({"metadata": {"name": "immutable"}, "data": data})
        current["data"]["data-4"] = values[3]
        current = await objects.replace(current)
        current["immutable"] = True
        current = await objects.replace(current)
        more = {**current, "data": {**current["data"], "data-5": values[4]}}
        for wrong in (more, {**current, "immutable": False}):
            code, status = await client.ask("PUT", objects.of("immutable"), wrong)
            assert (code, status["reason"]) == (422, "Invalid")
            assert await objects.get("immutable") == current
        current["metadata"]["labels"] = {"label1": "value1"}
        await objects.replace(current)
        await objects.delete("immutable")

    keep(test)


@promise("ConfigMap should update ConfigMap successfully")
async def test_a_config_map_is_replaced_without_a_version(client: ApiClient) -> None:
    objects = _in_namespace(client, "configmaps")
    wanted = config_map("test", **{"data-1": "value-1", "data-2": "value-2"})
    wanted["metadata"]["namespace"] = NAMESPACE
    await objects.create(wanted)
    await objects.replace({**wanted, "data": {"data": "value"}})
    assert (await objects.get("test"))["data"] == {"data": "value"}


@promise("ConfigMap should run through a ConfigMap lifecycle")
async def test_the_life_of_a_config_map(client: ApiClient) -> None:
    objects = _in_namespace(client, "configmaps")
    await objects.create(config_map("test", {"test-configmap-static": "true"}, valueName="value"))
    found = await objects.get("test")
    assert found["data"] == {"valueName": "value"}
    assert found["metadata"]["labels"] == {"test-configmap-static": "true"}
    patch = {"metadata": {"labels": {"test-configmap": "patched"}}, "data": {"valueName": "value1"}}
    assert newer(await objects.patch("test", patch, "strategic"), found)
    [patched] = await objects.everywhere.list("test-configmap=patched")
    assert patched["metadata"]["labels"] == {"test-configmap-static": "true", "test-configmap": "patched"}
    assert patched["data"] == {"valueName": "value1"}
    await objects.delete_all("test-configmap-static=true")
    assert await objects.list("test-configmap-static=true") == []


@promise("Secrets should patch a secret")
async def test_a_secret_is_patched(client: ApiClient) -> None:
    secrets = _in_namespace(client, "secrets")
    metadata = {"name": "test", "labels": {"testsecret-constant": "true"}}
    created = await secrets.create({"metadata": metadata, "data": {"key": _coded("value")}, "type": "Opaque"})
    assert await secrets.everywhere.names("testsecret-constant=true") == ["test"]
    patch = {"metadata": {"labels": {"testsecret": "true"}}, "data": {"key": _coded("value1")}}
    await secrets.patch("test", patch, "strategic")
    found = await secrets.get("test")
    assert newer(found, created)
    assert found["data"] == {"key": _coded("value1")}
    await secrets.delete_all("testsecret=true")
    assert await secrets.everywhere.list("testsecret-constant=true") == []


def _lease(holder: str, duration: int, transitions: int, *times: int) -> Object:
    acquired, renewed = (f"0001-01-01T00:0{time // 60}:{time % 60:02}.000000Z" for time in times)
    return {
        "holderIdentity": holder,
        "leaseDurationSeconds": duration,
        "acquireTime": acquired,
        "renewTime": renewed,
        "leaseTransitions": transitions,
    }


@promise("Lease lease API should be available")
async def test_leases(client: ApiClient) -> None:
    leases = Collection(client, "coordination.k8s.io/v1", "leases", NAMESPACE)
    spec = _lease("holder", 30, 0, 2, 5)
    created = await leases.create({"metadata": {"name": "lease"}, "spec": spec})
    assert (await leases.get("lease"))["spec"] == spec
    updated = _lease("holder2", 30, 1, 20, 50)
    await leases.replace({**created, "spec": updated})
    assert (await leases.get("lease"))["spec"] == updated
    patched = _lease("holder3", 60, 2, 50, 70)
    await leases.patch("lease", {"spec": patched}, "strategic")
    read = await leases.get("lease")
    assert read["spec"] == patched
    assert newer(read, created)
    metadata = {"name": "lease2", "labels": {"deletecollection": "true"}}
    await leases.create({"metadata": metadata, "spec": spec})
    assert await leases.names() == ["lease", "lease2"]
    await leases.delete_all("deletecollection=true")
    assert await leases.names() == ["lease"]
    await leases.delete("lease")
    assert await leases.gone("lease")
    await leases.everywhere.list()


def _template(name: str, **labels: str) -> Object:
    containers = [{"name": "nginx", "image": "nginx:1.27"}]
    return {"metadata": {"name": name, "labels": labels}, "template": {"spec": {"containers": containers}}}


@promise("PodTemplates should run the lifecycle of PodTemplates")
async def test_the_life_of_a_pod_template(client: ApiClient) -> None:
    templates = _in_namespace(client, "podtemplates")
    selector = "podtemplate-static=true"
    assert await templates.everywhere.list(selector) == []
    await templates.create(_template("x", **{"podtemplate-static": "true"}))
    read = await templates.get("x")
    patched = await templates.patch("x", {"metadata": {"labels": {"podtemplate": "patched"}}}, "strategic")
    assert newer(patched, read)
    assert (await templates.get("x"))["metadata"]["labels"]["podtemplate"] == "patched"
    await templates.delete("x")
    assert await templates.everywhere.list(selector) == []


@promise("PodTemplates should delete a collection of pod templates")
async def test_a_collection_of_pod_templates_is_deleted(client: ApiClient) -> None:
    templates = _in_namespace(client, "podtemplates")
    for number in (1, 2, 3):
        await templates.create(_template(f"test-podtemplate-{number}", **{"podtemplate-set": "true"}))
    assert len(await templates.list("podtemplate-set=true")) == 3
    await templates.delete_all("podtemplate-set=true")
    assert await templates.list("podtemplate-set=true") == []


@promise("PodTemplates should replace a pod template")
async def test_a_pod_template_is_replaced(client: ApiClient) -> None:
    templates = _in_namespace(client, "podtemplates")
    await templates.create(_template("x"))

    def update(obj: Object) -> Object:
        obj["metadata"]["annotations"] = {"updated": "true"}
        return obj

    assert (await templates.change("x", update))["metadata"]["annotations"] == {"updated": "true"}


def _amounts(cpu: str = "", memory: str = "", storage: str = "") -> Object:
    given = {"cpu": cpu, "memory": memory, "ephemeral-storage": storage}
    return {name: amount for name, amount in given.items() if amount}


def _limit_range(name: str, **labels: str) -> Object:
    limits = {
        "type": "Container",
        "min": _amounts("50m", "100Mi", "100Gi"),
        "max": _amounts("500m", "500Mi", "500Gi"),
        "default": _amounts("500m", "500Mi", "500Gi"),
        "defaultRequest": _amounts("100m", "200Mi", "200Gi"),
    }
    return {"metadata": {"name": name, "labels": labels}, "spec": {"limits": [limits]}}


def _asking(name: str, requests: Object, limits: Object) -> Object:
    container = {"name": "pause", "image": "pause", "resources": {"requests": requests, "limits": limits}}
    return pod(name, containers=[container])


_SMALLER = _amounts("9m", "49Mi", "49Gi")


@promise("LimitRange should create a LimitRange with defaults and ensure pod has those defaults applied.")
async def test_a_limit_range_gives_defaults(client: ApiClient) -> None:
    ranges, pods = _in_namespace(client, "limitranges"), _in_namespace(client, "pods")
    await _in_namespace(client, "serviceaccounts").create({"metadata": {"name": "default"}})
    assert await ranges.list("time=x") == []
    async with ranges.watch("time=x") as events:
        await ranges.create(_limit_range("limit-range", time="x"))
        assert await events.take(1) == [("ADDED", "limit-range")]
        limit_range = await ranges.get("limit-range")
        limits = limit_range["spec"]["limits"][0]
        assert limits["defaultRequest"] == _amounts("100m", "200Mi", "200Gi")
        assert limits["default"] == _amounts("500m", "500Mi", "500Gi")
        [container] = (await pods.create(_asking("none", {}, {})))["spec"]["containers"]
        assert container["resources"] == {"requests": limits["defaultRequest"], "limits": limits["default"]}
        some = _asking("some", _amounts("", "150Mi", "150Gi"), _amounts("300m"))
        [container] = (await pods.create(some))["spec"]["containers"]
        assert container["resources"] == {
            "requests": _amounts("300m", "150Mi", "150Gi"),
            "limits": _amounts("300m", "500Mi", "500Gi"),
        }
        little, much = _amounts("10m", "50Mi", "50Gi"), _amounts("600m", "600Mi", "600Gi")
        for requests in (little, much):
            await pods.refused(_asking("wrong", requests, {}), 403 if requests is little else 422)
        limits["min"] = _SMALLER
        await ranges.replace(limit_range)
        assert (await ranges.get("limit-range"))["spec"]["limits"][0]["min"] == _SMALLER
        assert await events.take(1) == [("MODIFIED", "limit-range")]
        await pods.create(_asking("little", little, {}))
        await pods.refused(_asking("much", much, {}), 422)
        await ranges.delete("limit-range", {"gracePeriodSeconds": 30})
        assert await events.take(1) == [("DELETED", "limit-range")]
    assert await ranges.list() == []
    await pods.create(_asking("much", much, {}))


@promise("LimitRange should list, patch and delete a LimitRange by collection")
async def test_a_limit_range_is_patched(client: ApiClient) -> None:
    await Collection(client, "v1", "namespaces").create({"metadata": {"name": "other"}})
    ranges, others = _in_namespace(client, "limitranges"), _in_namespace(client, "limitranges", "other")
    created = await ranges.create(_limit_range("lr", lr="created", **{"e2e-test": "lr"}))
    await others.create(_limit_range("lr", lr="created", **{"e2e-test": "lr"}))
    assert len(await ranges.everywhere.list("e2e-test=lr")) == 2
    limits = {**created["spec"]["limits"][0], "min": _SMALLER}
    metadata = {"creationTimestamp": created["metadata"]["creationTimestamp"], "labels": {"lr": "patched"}}
    patched = await ranges.patch("lr", {"metadata": metadata, "spec": {"limits": [limits]}}, "strategic")
    assert patched["metadata"]["labels"]["lr"] == "patched"
    assert [each["min"] for each in patched["spec"]["limits"]] == [_SMALLER]
    assert newer(patched, created)
    await ranges.delete_all("lr=patched")
    assert await ranges.list("lr=patched") == []
    [left] = await ranges.everywhere.list("e2e-test=lr")
    assert left["metadata"]["namespace"] == "other"


@promise(
    "SchedulerPreemption PriorityClass endpoints verify PriorityClass endpoints can be operated with different HTTP methods"
)
async def test_what_may_change_of_a_priority_class(client: ApiClient) -> None:
    classes = Collection(client, "scheduling.k8s.io/v1", "priorityclasses")
    made = [await classes.create({"metadata": {"name": f"p{value}"}, "value": value}) for value in (1, 2)]
    patching = {"content-type": "application/strategic-merge-patch+json"}
    code, status = await client.ask("PATCH", classes.of("p1"), {"value": 10}, patching)
    assert (code, status["reason"]) == (422, "Invalid")
    code, status = await client.ask("PUT", classes.of("p2"), {**made[1], "value": 20})
    assert (code, status["reason"]) == (422, "Invalid")
    await classes.patch("p1", {"description": "updated description"}, "strategic")
    await classes.replace({**made[1], "description": "updated description"})
    assert {"p1", "p2"} <= set(await classes.names())
    for before in made:
        live = await classes.get(before["metadata"]["name"])
        assert (live["value"], live["description"]) == (before["value"], "updated description")
        assert newer(live, before)
