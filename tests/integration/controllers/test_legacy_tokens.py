"""Tokens in Secrets: their use is noted, and those that are not used for a year are cleaned up."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest

from steersman.aio import Scope
from steersman.client import Client, Unauthorized
from steersman.client.credentials import FixedFields, bearer
from steersman.cluster.controllers.registry import add_controllers
from steersman.cluster.controllers.setup import Setup
from steersman.objects.resources import CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS
from steersman.runtime import Manager
from tests.integration.controllers.workloads import NAMESPACE, World, with_workloads
from tests.sim.virtual_time import VirtualClock

Object = dict[str, Any]

USED, INVALID = "kubernetes.io/legacy-token-last-used", "kubernetes.io/legacy-token-invalid-since"
TRACKING = "kube-apiserver-legacy-service-account-token-tracking"
REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


class Later(VirtualClock):
    """The same time, 400 days on."""

    def wall(self) -> float:
        return super().wall() + 400 * 86_400


async def _token(world: World) -> Object:
    """A token's Secret that its account names."""
    account = {"metadata": {"name": "robot"}, "secrets": [{"name": "token"}]}
    made = await world.create(SERVICE_ACCOUNTS, account)
    named = {
        "kubernetes.io/service-account.name": "robot",
        "kubernetes.io/service-account.uid": made["metadata"]["uid"],
    }
    secret = {
        "metadata": {"name": "token", "annotations": named},
        "type": "kubernetes.io/service-account-token",
    }
    stored = await world.create(SECRETS, secret)
    access = world.cluster.api_server.api.access
    signed = access.tokens.issue_legacy(made, stored)
    data = {"token": base64.b64encode(signed.encode()).decode()}
    return await world.client.patch(SECRETS, "token", {"data": data}, NAMESPACE)


def _robot(world: World, secret: Object) -> Client:
    token = base64.b64decode(secret["data"]["token"]).decode()
    return Client(world.cluster.transport(), credentials=FixedFields(bearer(token)), host="steersman")


async def _labels(world: World) -> dict[str, str]:
    return (await world.get(SECRETS, "token"))["metadata"].get("labels") or {}


@with_workloads()
async def test_the_day_of_the_last_use_is_noted(world: World) -> None:
    since = (await world.client.get(CONFIG_MAPS, TRACKING, "kube-system"))["data"]["since"]
    robot = _robot(world, await _token(world))
    await robot.request("POST", REVIEWS, body={})

    async def noted() -> bool:
        return (await _labels(world)).get(USED) == since

    await world.until(noted)
    version = (await world.get(SECRETS, "token"))["metadata"]["resourceVersion"]
    await robot.request("POST", REVIEWS, body={})
    await asyncio.sleep(1)
    assert (await world.get(SECRETS, "token"))["metadata"]["resourceVersion"] == version


@with_workloads()
async def test_an_unused_token_is_marked_refused_and_deleted(world: World) -> None:
    secret = await _token(world)
    manager = Manager(world.cluster.client(), clock=Later(), address=None)
    add_controllers(Setup(manager), ["legacy-serviceaccount-token-cleaner"])
    async with Scope() as scope:
        running = scope.start(manager.run())

        async def marked() -> str | None:
            return (await _labels(world)).get(INVALID)

        await world.until(marked)
        with pytest.raises(Unauthorized):
            await _robot(world, secret).request("POST", REVIEWS, body={})
        old = {"metadata": {"labels": {INVALID: "2020-01-01"}}}
        await world.client.patch(SECRETS, "token", old, NAMESPACE)

        async def gone() -> bool:
            return await world.client.find(SECRETS, "token", NAMESPACE) is None

        await world.until(gone)
        running.cancel()
