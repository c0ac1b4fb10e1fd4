"""Empty lists and maps: stored as nothing, owned and shown as they were given."""

from __future__ import annotations

import pytest

from tests.support.api import ApiClient, Object, with_api

ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
REPLICA_SETS = "/apis/apps/v1/namespaces/default/replicasets"
PODS = "/api/v1/namespaces/default/pods"


@with_api
async def test_who_gives_an_empty_list_owns_it(client: ApiClient) -> None:
    made = await client.ok("POST", ROLES, {"metadata": {"name": "r"}, "rules": []})
    assert made["rules"] is None
    assert [entry["fieldsV1"] for entry in made["metadata"]["managedFields"]] == [{"f:rules": {}}]
    silent = await client.ok("POST", ROLES, {"metadata": {"name": "s"}})
    assert silent["rules"] is None
    assert "managedFields" not in silent["metadata"]
    _, patched = await client.patch(f"{ROLES}/s", {"rules": []})
    assert patched["rules"] is None


def replica_set(labels: Object | None) -> Object:
    metadata = {} if labels is None else {"labels": labels}
    template = {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {
        "metadata": {"name": "r"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }


@pytest.mark.parametrize("labels, shown", [({}, "{}"), (None, "null"), ({"x": "y"}, '{"x":"y"}')])
def test_a_refusal_shows_what_was_given(labels: Object | None, shown: str) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        code, status = await client.ask("POST", REPLICA_SETS, replica_set(labels))
        causes = [cause["message"] for cause in status["details"]["causes"]]
        words = f"Invalid value: {shown}: `selector` does not match template `labels`"
        assert (code, causes) == (422, [words])
        config = {"apiVersion": "apps/v1", "kind": "ReplicaSet", **replica_set(labels)}
        apply = {"content-type": "application/apply-patch+yaml"}
        _, status = await client.ask("PATCH", f"{REPLICA_SETS}/r?fieldManager=m", config, apply)
        assert [cause["message"] for cause in status["details"]["causes"]] == [words]

    check()


@with_api
async def test_what_an_update_empties_is_shown_empty(client: ApiClient) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeSelector": {"a": "b"}}
    await client.ok("POST", PODS, {"metadata": {"name": "p"}, "spec": spec})
    body = {"metadata": {"name": "p"}, "spec": spec | {"nodeSelector": {}}}
    code, put = await client.ask("PUT", f"{PODS}/p", body)
    assert (code, '+ "NodeSelector": {},' in put["message"]) == (422, True)
    code, patched = await client.patch(f"{PODS}/p", {"spec": {"nodeSelector": {"a": None}}})
    assert (code, '+ "NodeSelector": {},' in patched["message"]) == (422, True)
