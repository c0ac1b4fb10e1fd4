"""The WebApp operator runs under exactly the rights that are derived from it, and needs each of them.

Everything in one life of a WebApp: two API servers' ways of following objects (lists, and streams), a
conflict, an event that happens twice, the end. A right that is taken away is missed in that life, and the
operator's log says which one it was.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from steersman.cli.loading import load
from steersman.client import Client
from steersman.client.credentials import FixedFields, bearer
from steersman.objects.builders import Deployment
from steersman.operator.packaging import Permission, permissions, rbac
from steersman.testing import Cluster, mark_ready, virtual_time

NAME, NAMESPACE = "webapp-operator", "default"


webapp = load(str(Path(__file__).parents[3] / "examples" / "06-webapp" / "webapp.py")).module
GRANTED = permissions([webapp.op], namespace=NAMESPACE, name=NAME)
#: Asked for by an admission plugin (OwnerReferencesPermissionEnforcement) that is off unless turned on.
NOT_ASKED_FOR = {("webapps/finalizers", "update")}
MISSED = [each for each in GRANTED if (each.resource, each.verb) not in NOT_ASKED_FOR]


async def live(cluster: Cluster, granted: list[Permission]) -> bool:
    """A WebApp's life under an operator with these rights; whether it came to its end."""
    client = cluster.client()
    await cluster.apply(*rbac(granted, name=NAME, namespace=NAMESPACE))
    credentials = FixedFields(bearer(await token(client)))
    # Servers that cannot stream their objects are asked for lists.
    cluster.faults.refuse(422, verb="watch", times=3)
    operator = cluster.run_operator(webapp.op, credentials=credentials)
    await cluster.clock.advance(5)
    await client.create(web())
    await cluster.clock.advance(5)
    for _ in range(2):  # the same thing happens twice
        await ready_if_there(client)
        await cluster.clock.advance(5)
        await client.patch(webapp.WebApp, "web", {"spec": {"image": "nginx:1.27"}})
        await cluster.clock.advance(5)
    cluster.faults.refuse(409, verb="patch", resource="webapps/status", times=1)
    await client.patch(webapp.WebApp, "web", {"spec": {"replicas": 4}})
    await cluster.clock.advance(5)
    await client.delete(webapp.WebApp, "web")
    await cluster.clock.advance(15)
    await operator.stop()
    return await client.find(webapp.WebApp, "web") is None


def web() -> Any:
    return {
        "apiVersion": "example.com/v1",
        "kind": "WebApp",
        "metadata": {"name": "web"},
        "spec": {"image": "nginx:1.25", "replicas": 3},
    }


async def token(client: Client) -> str:
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{NAME}/token"
    made = await client.request("POST", path, body={"spec": {"expirationSeconds": 3600}})
    issued: str = json.loads(made)["status"]["token"]
    return issued


async def ready_if_there(client: Client) -> None:
    if await client.find(Deployment, "web") is not None:
        await mark_ready(client, Deployment, "web")


def refusals(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [text for text in (record.getMessage() for record in caplog.records) if " cannot " in text]


@virtual_time
async def test_it_runs_under_exactly_these_rights(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with Cluster() as cluster:
        assert await live(cluster, GRANTED)
    assert refusals(caplog) == []


@pytest.mark.parametrize("missing", MISSED, ids=lambda each: f"{each.verb}-{each.resource}{each.name}")
def test_every_right_is_missed_when_it_is_taken_away(
    missing: Permission, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    @virtual_time
    async def lived() -> None:
        async with Cluster() as cluster:
            await live(cluster, [each for each in GRANTED if each != missing])

    lived()
    resource = f'cannot {missing.verb} resource "{missing.resource}" in API group "{missing.group}"'
    assert any(resource in text for text in refusals(caplog)), refusals(caplog)
