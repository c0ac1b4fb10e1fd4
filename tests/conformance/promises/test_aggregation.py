"""The promise about aggregated API servers, and that their schemas are among ours."""

from __future__ import annotations

import pytest

from steersman.objects.conditions import find_condition
from tests.support.api import ApiClient

from .keeping import NAMESPACE, Collection, Object, keep, newer, promise, until
from .kubectl import kubectl_for
from .sample_server import API, GROUP, NAME, Sample, registered


def _flunder(name: str, namespace: str) -> Object:
    metadata = {"labels": {"sample-label": "true"}, "name": name, "namespace": namespace}
    return {"apiVersion": API, "kind": "Flunder", "metadata": metadata}


def _condition(kind: str, message: str) -> Object:
    made = {"type": kind, "status": "True", "reason": "E2E", "message": message}
    return {**made, "lastTransitionTime": None}


@promise("Aggregator Should be able to support the 1.17 Sample API Server using the current Aggregator")
async def test_another_server_behind_the_api(client: ApiClient) -> None:
    sample = Sample()
    async with registered(client, sample) as registrations:
        flunders = Collection(client, API, "flunders", "default")
        code, made = await client.ask("POST", flunders.path, _flunder("rest-flunder", "default"))
        assert (code, made["apiVersion"], made["kind"]) == (201, API, "Flunder")
        assert await flunders.names() == ["rest-flunder"]
        await flunders.delete("rest-flunder")
        assert await flunders.list() == []
        assert "admin" in sample.users
        await _discovered(client)
        dynamic = Collection(client, API, "flunders", NAMESPACE)
        await dynamic.create(_flunder("dynamic-flunder", NAMESPACE))
        assert len(await dynamic.list()) == 1
        await _changed(registrations)
        await dynamic.delete("dynamic-flunder")
        assert await dynamic.list() == []
        await registrations.delete_all(f"{NAME}=updated")
        assert await registrations.list(f"{NAME}=updated") == []


async def _discovered(client: ApiClient) -> None:
    headers = {"accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}

    async def shown() -> bool:
        items = (await client.ok("GET", "/apis", headers=headers))["items"]
        return any(
            resource["resource"] == "flunders"
            for group in items
            if group["metadata"]["name"] == GROUP
            for version in group["versions"]
            for resource in version.get("resources", ())
        )

    await until(shown)


async def _changed(registrations: Collection) -> None:
    """The registration is read and changed in every way."""
    shown = await registrations.get(NAME, "status")
    assert shown["status"]["conditions"][0]["message"] == "all checks passed"
    patched = await registrations.patch(NAME, {"spec": {"versionPriority": 400}})
    assert patched["spec"]["versionPriority"] == 400
    assert newer(patched, shown)
    assert NAME in await registrations.names()
    await registrations.patch(NAME, {"metadata": {"labels": {"e2e-apiservice": "patched"}}}, "strategic")
    assert (await registrations.get(NAME))["metadata"]["labels"]["e2e-apiservice"] == "patched"

    def add(obj: Object) -> Object:
        obj["status"]["conditions"].append(_condition("StatusUpdated", "Set from e2e test"))
        return obj

    await registrations.change(NAME, add, "status")
    conditions = (await registrations.get(NAME, "status"))["status"]["conditions"]
    assert (find_condition(conditions, "StatusUpdated") or {})["message"] == "Set from e2e test"

    def label(obj: Object) -> Object:
        obj["metadata"]["labels"] = {NAME: "updated"}
        return obj

    assert (await registrations.change(NAME, label))["metadata"]["labels"] == {NAME: "updated"}
    conditions = (await registrations.get(NAME, "status"))["status"]["conditions"]
    more = [*conditions, _condition("StatusPatched", "Set by e2e test")]
    await registrations.patch(NAME, {"status": {"conditions": more}}, part="status")
    conditions = (await registrations.get(NAME, "status"))["status"]["conditions"]
    assert (find_condition(conditions, "StatusPatched") or {})["message"] == "Set by e2e test"


@pytest.mark.slow
@pytest.mark.parametrize("modern", [True, False], ids=["version 3", "version 2 only"])
def test_kubectl_explains_what_another_server_has(modern: bool) -> None:
    async def test(client: ApiClient) -> None:
        async with registered(client, Sample(modern)) as registrations, kubectl_for(client) as kubectl:

            async def published() -> bool:
                return f"apis/{API}" in (await client.ok("GET", "/openapi/v3"))["paths"]

            await until(published)
            shown = (await kubectl("explain", "flunders.spec")).out
            assert "reference\t<string>" in shown
            assert "Of another." in shown
            document = await client.ok("GET", "/openapi/v2")
            assert f"/apis/{API}/namespaces/{{namespace}}/flunders" in document["paths"]
            assert "/version/" not in document["paths"]
            assert "com.example.wardle.v1alpha1.Flunder" in document["definitions"]
            await registrations.delete(NAME)

            async def withdrawn() -> bool:
                return not await published()

            await until(withdrawn)
            assert (
                "com.example.wardle.v1alpha1.Flunder"
                not in (await client.ok("GET", "/openapi/v2"))["definitions"]
            )

    keep(test)
