"""What every namespace has, and tokens that are kept in Secrets."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

from steersman.cluster.controllers.setup import Options
from steersman.objects.resources import CONFIG_MAPS, NAMESPACES, SECRETS, SERVICE_ACCOUNTS
from tests.integration.controllers.workloads import NAMESPACE, World, with_workloads

Object = dict[str, Any]

CERTIFICATE = "-----BEGIN CERTIFICATE-----\n"
OPTIONS = Options(
    root_certificate=CERTIFICATE,
    sign_token=lambda account, secret: f"{account['metadata']['uid']} {secret['metadata']['name']}",
)
TYPE = "kubernetes.io/service-account-token"
ACCOUNT = "kubernetes.io/service-account"
DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such "
    "as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions "
    "of Kubernetes clusters."
)

both = with_workloads("serviceaccount", "root-ca-certificate-publisher", "namespace", options=OPTIONS)
tokens = with_workloads("serviceaccount-token", options=OPTIONS)


async def _found(world: World, namespace: str) -> tuple[Object, Object]:
    async def made() -> tuple[Object, Object]:
        account = await world.client.get(SERVICE_ACCOUNTS, "default", namespace)
        return account, await world.client.get(CONFIG_MAPS, "kube-root-ca.crt", namespace)

    found: tuple[Object, Object] = await world.until(made)
    return found


@both
async def test_every_namespace_has_an_account_and_the_certificate(world: World) -> None:
    await world.create(NAMESPACES, {"metadata": {"name": "new"}})
    for namespace in ("new", "default", "kube-system", "kube-public", "kube-node-lease"):
        _, published = await _found(world, namespace)
        assert published["data"] == {"ca.crt": CERTIFICATE}
        assert published["metadata"]["annotations"] == {"kubernetes.io/description": DESCRIPTION}
    await world.quiet()


@both
async def test_what_is_deleted_comes_back(world: World) -> None:
    before = await _found(world, NAMESPACE)
    await world.client.delete(SERVICE_ACCOUNTS, "default", NAMESPACE)
    await world.client.delete(CONFIG_MAPS, "kube-root-ca.crt", NAMESPACE)

    async def made_anew() -> bool:
        after = await _found(world, NAMESPACE)
        pairs = zip(before, after, strict=True)
        return all(old["metadata"]["uid"] != new["metadata"]["uid"] for old, new in pairs)

    await world.until(made_anew)


@both
async def test_a_certificate_that_was_changed_is_put_right(world: World) -> None:
    await _found(world, NAMESPACE)
    wrong = {
        "data": {"ca.crt": "wrong", "more": "x"},
        "metadata": {"annotations": None, "labels": {"a": "b"}},
    }
    await world.client.patch(CONFIG_MAPS, "kube-root-ca.crt", wrong, NAMESPACE)

    async def right() -> bool:
        published = await world.client.get(CONFIG_MAPS, "kube-root-ca.crt", NAMESPACE)
        assert published["data"] == {"ca.crt": CERTIFICATE}
        assert published["metadata"]["annotations"] == {"kubernetes.io/description": DESCRIPTION}
        assert published["metadata"]["labels"] == {"a": "b"}
        return True

    await world.until(right)
    await world.quiet()


@both
async def test_nothing_is_made_in_a_namespace_that_ends(world: World) -> None:
    await world.create(NAMESPACES, {"metadata": {"name": "new"}})
    await _found(world, "new")
    await world.client.delete(NAMESPACES, "new")

    async def gone() -> bool:
        return await world.client.find(NAMESPACES, "new") is None

    await world.until(gone)
    assert list(await world.client.list(SERVICE_ACCOUNTS, "new")) == []


async def _account(world: World, name: str = "robot", **more: Any) -> Object:
    metadata = {"name": name, "namespace": NAMESPACE}
    return await world.create(SERVICE_ACCOUNTS, {"metadata": metadata, **more})


async def _secret(world: World, name: str = "token", account: str = "robot", **annotations: str) -> Object:
    named = {f"{ACCOUNT}.name": account, **annotations}
    metadata = {"name": name, "namespace": NAMESPACE, "annotations": named}
    return await world.create(SECRETS, {"metadata": metadata, "type": TYPE})


async def _filled(world: World, name: str = "token") -> dict[str, str]:
    async def filled() -> dict[str, str]:
        secret = await world.client.get(SECRETS, name, NAMESPACE)
        return {key: base64.b64decode(value).decode() for key, value in (secret.get("data") or {}).items()}

    data: dict[str, str] = await world.until(filled)
    return data


async def _gone(world: World, name: str = "token") -> None:
    async def gone() -> bool:
        return await world.client.find(SECRETS, name, NAMESPACE) is None

    await world.until(gone)


@tokens
async def test_a_secret_for_a_token_gets_one(world: World) -> None:
    uid = (await _account(world))["metadata"]["uid"]
    await _secret(world)
    expected = {"ca.crt": CERTIFICATE, "namespace": NAMESPACE, "token": f"{uid} token"}
    assert await _filled(world) == expected
    secret = await world.client.get(SECRETS, "token", NAMESPACE)
    assert secret["metadata"]["annotations"] == {f"{ACCOUNT}.name": "robot", f"{ACCOUNT}.uid": uid}
    await world.quiet()
    await world.client.patch(SECRETS, "token", {"data": {"ca.crt": None, "token": None}}, NAMESPACE)
    await world.until(lambda: _complete(world, expected))


async def _complete(world: World, expected: dict[str, str]) -> bool:
    return await _filled(world) == expected


@tokens
async def test_tokens_go_with_their_account(world: World) -> None:
    await _account(world)
    await _secret(world)
    await _filled(world)
    await world.client.delete(SERVICE_ACCOUNTS, "robot", NAMESPACE)
    await _gone(world)


@tokens
async def test_tokens_of_another_account_of_that_name_go(world: World) -> None:
    await _account(world)
    await _secret(world, **{f"{ACCOUNT}.uid": "another"})
    await _gone(world)


@tokens
async def test_tokens_without_an_account_go(world: World) -> None:
    await _secret(world)
    await _gone(world)


@tokens
async def test_an_account_forgets_tokens_that_are_gone_and_nothing_else(world: World) -> None:
    await world.create(SECRETS, {"metadata": {"name": "other", "namespace": NAMESPACE}})
    await _account(world, secrets=[{"name": "token"}, {"name": "other"}])
    await _secret(world)
    await _filled(world)
    await world.client.delete(SECRETS, "token", NAMESPACE)

    async def forgotten() -> bool:
        account = await world.client.get(SERVICE_ACCOUNTS, "robot", NAMESPACE)
        return account.get("secrets") == [{"name": "other"}]

    await world.until(forgotten)
    await world.client.delete(SECRETS, "other", NAMESPACE)
    await asyncio.sleep(2)
    assert await forgotten()
