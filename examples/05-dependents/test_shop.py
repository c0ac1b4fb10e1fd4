"""The order in which a shop is built, told by what is there at each stage."""

from __future__ import annotations

from shop import Shop, ShopSpec, op

from steersman import Client, Deployment, Ingress, Job, ObjectMeta, Secret, Service, StatefulSet
from steersman.testing import eventually, mark_ready
from steersman.testing.plugin import OperatorRunner


def shop(host: str | None = None) -> Shop:
    return Shop(metadata=ObjectMeta(name="harbour"), spec=ShopSpec(version="1.0", host=host))


async def succeed(client: Client, name: str) -> None:
    """What a job's controller says when its pod has succeeded."""
    now = "2026-01-01T00:00:00Z"
    conditions = [
        {"type": kind, "status": "True", "lastProbeTime": now, "lastTransitionTime": now}
        for kind in ("SuccessCriteriaMet", "Complete")
    ]
    status = {"succeeded": 1, "startTime": now, "completionTime": now, "conditions": conditions}
    await client.patch(Job, name, {"status": status}, subresource="status")


async def waited_for(client: Client) -> str:
    """What the Ready condition says."""
    conditions = (await client.get(Shop, "harbour")).status.conditions
    return next((f"{each.status}: {each.message}" for each in conditions if each.type == "Ready"), "")


async def says(client: Client, text: str) -> bool:
    return await waited_for(client) == text


async def test_a_shop_is_built_in_order(client: Client, run_operator: OperatorRunner) -> None:
    await run_operator(op)
    await client.create(shop("shop.example.com"))

    text = "False: waiting for database, migration, web, address, entrance"
    await eventually(lambda: says(client, text))
    assert await client.get(StatefulSet, "harbour-db")
    assert await client.find(Job, "harbour-migrate-1.0") is None

    await mark_ready(client, StatefulSet, "harbour-db")
    await eventually(lambda: says(client, "False: waiting for migration, web, address, entrance"))
    assert await client.find(Deployment, "harbour") is None

    await succeed(client, "harbour-migrate-1.0")
    await eventually(lambda: says(client, "True: everything is there and ready"))
    for kind in (Deployment, Service, Ingress):
        assert await client.get(kind, "harbour")


async def test_a_new_version_is_migrated_before_it_serves(
    client: Client, run_operator: OperatorRunner
) -> None:
    await run_operator(op)
    await build(client)
    await client.patch(Shop, "harbour", {"spec": {"version": "1.1"}})
    await eventually(lambda: client.find(Job, "harbour-migrate-1.1"))
    assert await image(client) == "shop:1.0"
    await succeed(client, "harbour-migrate-1.1")

    async def upgraded() -> bool:
        return await image(client) == "shop:1.1"

    await eventually(upgraded)


async def test_the_password_is_made_up_once(client: Client, run_operator: OperatorRunner) -> None:
    await run_operator(op)
    await build(client)
    first = (await client.get(Secret, "harbour-db")).value("password")
    await client.patch(Shop, "harbour", {"spec": {"replicas": 5}})

    async def scaled() -> bool:
        return (await client.get(Deployment, "harbour")).spec["replicas"] == 5

    await eventually(scaled)
    assert first
    assert (await client.get(Secret, "harbour-db")).value("password") == first


async def test_without_a_host_there_is_no_ingress(client: Client, run_operator: OperatorRunner) -> None:
    await run_operator(op)
    await build(client)
    assert await client.find(Ingress, "harbour") is None
    await client.patch(Shop, "harbour", {"spec": {"host": "shop.example.com"}})
    await eventually(lambda: client.find(Ingress, "harbour"))
    await client.patch(Shop, "harbour", {"spec": {"host": None}})

    async def gone() -> bool:
        return await client.find(Ingress, "harbour") is None

    await eventually(gone)


async def build(client: Client) -> None:
    await client.create(shop())
    await eventually(lambda: client.find(StatefulSet, "harbour-db"))
    await mark_ready(client, StatefulSet, "harbour-db")
    await eventually(lambda: client.find(Job, "harbour-migrate-1.0"))
    await succeed(client, "harbour-migrate-1.0")
    await eventually(lambda: says(client, "True: everything is there and ready"))


async def image(client: Client) -> str:
    deployment = await client.get(Deployment, "harbour")
    text: str = deployment.spec["template"]["spec"]["containers"][0]["image"]
    return text
