"""Access through the whole server: what a request by somebody gets."""

from __future__ import annotations

from tests.support.api import ApiClient, with_api

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


@with_api
async def test_reviews_are_no_tables(client: ApiClient) -> None:
    body = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    assert (await client.ok("POST", REVIEWS, body))["status"]["allowed"] is True
    code, status = await client.ask("POST", REVIEWS, body, TABLE)
    assert (code, status["reason"]) == (406, "NotAcceptable")


@with_api
async def test_an_account_may_do_what_its_roles_say_until_they_are_gone(client: ApiClient) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    await client.ok("POST", accounts, {"metadata": {"name": "bot"}})
    token = (await client.ok("POST", f"{accounts}/bot/token", {"spec": {}}))["status"]["token"]
    as_bot = {"authorization": f"Bearer {token}"}
    maps = "/api/v1/namespaces/default/configmaps"
    anonymous = await client.raw("GET", maps, headers=as_bot)
    assert anonymous.status == 403
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]
    await client.ok("POST", f"{rbac}/roles", {"metadata": {"name": "r"}, "rules": rules})
    subjects = [{"kind": "ServiceAccount", "name": "bot", "namespace": "default"}]
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    binding = {"metadata": {"name": "b"}, "subjects": subjects, "roleRef": ref}
    await client.ok("POST", f"{rbac}/rolebindings", binding)
    assert (await client.raw("GET", maps, headers=as_bot)).status == 200
    assert (await client.raw("GET", "/api/v1/namespaces/default/secrets", headers=as_bot)).status == 403
    await client.ok("DELETE", f"{rbac}/rolebindings/b")
    assert (await client.raw("GET", maps, headers=as_bot)).status == 403
    await client.ok("DELETE", f"{accounts}/bot")
    assert (await client.raw("GET", maps, headers=as_bot)).status == 401


@with_api
async def test_one_connection_carries_good_and_bad_credentials(client: ApiClient) -> None:
    answers = [
        (await client.raw("GET", "/api", headers=headers)).status
        for headers in ({}, {"authorization": "Bearer guess"}, {}, {"authorization": "Bearer "}, {})
    ]
    assert answers == [200, 401, 200, 403, 200]
