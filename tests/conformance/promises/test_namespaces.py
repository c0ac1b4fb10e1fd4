"""Promises about namespaces."""

from __future__ import annotations

from tests.support.api import ApiClient

from .keeping import NAMESPACE, Collection, Object, newer, promise


def _namespaces(client: ApiClient) -> Collection:
    return Collection(client, "v1", "namespaces")


def _condition(kind: str, message: str) -> Object:
    """As a typed client sends it: a time that is not set is null."""
    return {"type": kind, "status": "True", "lastTransitionTime": None, "reason": "E2E", "message": message}


@promise("Namespaces should patch a Namespace")
async def test_a_namespace_is_patched(client: ApiClient) -> None:
    namespaces = _namespaces(client)
    made = await namespaces.create({"metadata": {"name": "nspatchtest"}})
    labels = {"metadata": {"labels": {"testLabel": "testValue"}}}
    assert newer(await namespaces.patch("nspatchtest", labels, "strategic"), made)
    assert (await namespaces.get("nspatchtest"))["metadata"]["labels"]["testLabel"] == "testValue"


@promise("Namespaces should apply changes to a namespace status")
async def test_the_status_of_a_namespace_is_changed(client: ApiClient) -> None:
    namespaces = _namespaces(client)
    assert (await namespaces.get(NAMESPACE, "status"))["status"]["phase"] == "Active"
    annotations = {"annotations": {"e2e-patched-ns-status": NAMESPACE}}
    patch = {
        "metadata": annotations,
        "status": {"conditions": [_condition("StatusPatch", "Patched by an e2e test")]},
    }
    patched = await namespaces.patch(NAMESPACE, patch, part="status")
    assert patched["metadata"]["annotations"]["e2e-patched-ns-status"] == NAMESPACE
    assert patched["status"]["conditions"][-1]["reason"] == "E2E"
    assert patched["status"]["conditions"][-1]["message"] == "Patched by an e2e test"

    def update(obj: Object) -> Object:
        obj["status"]["conditions"].append(_condition("StatusUpdate", "Updated by an e2e test"))
        return obj

    updated = await namespaces.change(NAMESPACE, update, "status")
    assert updated["status"]["conditions"][-1]["type"] == "StatusUpdate"
    assert updated["status"]["conditions"][-1]["message"] == "Updated by an e2e test"


@promise("Namespaces should apply an update to a Namespace")
async def test_a_namespace_is_updated(client: ApiClient) -> None:
    def update(obj: Object) -> Object:
        obj["metadata"]["labels"][NAMESPACE] = "updated"
        return obj

    updated = await _namespaces(client).change(NAMESPACE, update)
    assert updated["metadata"]["labels"][NAMESPACE] == "updated"
