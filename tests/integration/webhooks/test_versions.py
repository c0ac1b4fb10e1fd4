"""A resource of two versions on our API server: converted by the operator, and rewritten in the stored one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from steersman.client import Client
from steersman.objects.custom import CustomResource, Model, ObjectMeta
from steersman.objects.custom import crd as definition_of
from steersman.operator import Operator, Settings, WebhookSettings
from steersman.testing import Cluster, RunningOperator, eventually
from steersman.webhooks import migrate_stored_versions
from steersman.webhooks.registration import CRDS

NAME = "webapps.example.com"
QUICK = Settings(
    address=None, webhooks=WebhookSettings(address=":0", check_every_s=0.2, overlap_s=1.5, linger_s=0.0)
)


class OldSpec(Model):
    image: str


class OldWebApp(CustomResource, group="example.com", version="v1", kind="WebApp"):
    spec: OldSpec


class Image(Model):
    name: str
    tag: str = "latest"


class Spec(Model):
    image: Image
    replicas: int = 1


class WebApp(CustomResource, group="example.com", version="v2"):
    spec: Spec


def operator() -> Operator[WebApp]:
    op = Operator(WebApp)

    @op.convert(OldWebApp, WebApp)
    def upgrade(old: OldWebApp) -> WebApp:
        name, _, tag = old.spec.image.partition(":")
        return WebApp(spec=Spec(image=Image(name=name, tag=tag or "latest")))

    @op.convert(WebApp, OldWebApp)
    def downgrade(new: WebApp) -> OldWebApp:
        return OldWebApp(spec=OldSpec(image=f"{new.spec.image.name}:{new.spec.image.tag}"))

    return op


def old(name: str, image: str = "nginx:1.25") -> OldWebApp:
    return OldWebApp(metadata=ObjectMeta(name=name), spec=OldSpec(image=image))


def is_ready(started: RunningOperator) -> bool:
    return started.manager is not None and not started.manager.probes.problems()


def in_loop(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    def run() -> None:
        asyncio.run(test())  # type: ignore[arg-type]

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


async def stored_versions(client: Client) -> list[str]:
    versions: list[str] = (await client.get(CRDS, NAME))["status"]["storedVersions"]
    return versions


async def revisions(client: Client) -> dict[str, str]:
    return {each.name: each.metadata.resource_version for each in await client.list(OldWebApp)}


@in_loop
async def test_a_second_version_is_served_stored_and_migrated_to() -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        await cluster.apply(definition_of(OldWebApp))
        for number in range(5):
            await client.create(old(f"web-{number}"))
        before = await revisions(client)
        async with cluster.run_operator(operator(), settings=QUICK) as started:
            await eventually(lambda: is_ready(started))

            async def migrated() -> bool:
                return await stored_versions(client) == ["v2"]

            await eventually(migrated, timeout_s=30)
            after = await revisions(client)
            assert after.keys() == before.keys()
            assert not set(after.values()) & set(before.values())
            seen = await client.get(WebApp, "web-3")
            assert (seen.spec.image.name, seen.spec.image.tag) == ("nginx", "1.25")
            # What the old version cannot say is not lost by writing through it.
            await client.patch(WebApp, "web-3", {"spec": {"replicas": 7}})
            await client.patch(OldWebApp, "web-3", {"spec": {"image": "nginx:1.27"}})
            again = await client.get(WebApp, "web-3")
            assert (again.spec.image.tag, again.spec.replicas) == ("1.27", 7)
            assert [each.spec.image for each in await client.list(OldWebApp)].count("nginx:1.25") == 4
            with cluster.assert_no_writes():
                assert await migrate_stored_versions(client, NAME) == 0
        live = await client.get(CRDS, NAME)
        assert live["spec"]["conversion"]["strategy"] == "None"


def test_a_migration_can_be_interrupted_and_prunes_nothing_before_its_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asyncio.run(interrupted_migration(caplog))


async def interrupted_migration(caplog: pytest.LogCaptureFixture) -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        await cluster.apply(definition_of(OldWebApp))
        for number in range(6):
            await client.create(old(f"web-{number}"))
        await cluster.apply(operator().definition.crd() or {})
        assert await stored_versions(client) == ["v1", "v2"]
        before = await revisions(client)
        cluster.faults.refuse(403, verb="patch", resource=WebApp, skip=3)
        async with cluster.run_operator(operator(), settings=QUICK, install=False) as started:
            await eventually(lambda: is_ready(started))

            async def half() -> bool:
                after = await revisions(client)
                return sum(after[name] != before[name] for name in after) == 3

            await eventually(half, timeout_s=30)
            await eventually(lambda: "cannot be rewritten" in caplog.text)
            assert await stored_versions(client) == ["v1", "v2"]
            assert await migrate_stored_versions(client, NAME) == 6
            assert await stored_versions(client) == ["v2"]
