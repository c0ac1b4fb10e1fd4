"""Webhooks, conversions and migration run under exactly the rights derived from them, and miss each one."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from steersman.client import Client
from steersman.client.credentials import FixedFields, bearer
from steersman.objects.custom import CustomResource, Model, ObjectMeta
from steersman.objects.custom import crd as definition_of
from steersman.operator import AdmissionRequest, Operator, Settings, WebhookSettings
from steersman.operator.packaging import Permission, permissions, rbac
from steersman.testing import Cluster, eventually
from steersman.webhooks.keeping import RENEW_ANNOTATION
from steersman.webhooks.registration import CRDS, SECRETS

NAME, NAMESPACE = "webapp-operator", "default"
DEFINITION, SECRET = "webapps.example.com", "webapps-example-com-webhook-certs"
SETTINGS = Settings(
    address=None, webhooks=WebhookSettings(address=":0", check_every_s=0.1, overlap_s=1.0, linger_s=0.0)
)


class Spec(Model):
    image: str


class OldWebApp(CustomResource, group="example.com", version="v1", kind="WebApp"):
    spec: Spec


class WebApp(CustomResource, group="example.com", version="v2"):
    spec: Spec


op = Operator(WebApp)


@op.validate
async def check(request: AdmissionRequest[WebApp]) -> None:
    return None


@op.mutate
async def complete(request: AdmissionRequest[WebApp]) -> None:
    return None


@op.convert(OldWebApp, WebApp)
def upgrade(old: OldWebApp) -> WebApp:
    return WebApp(spec=old.spec)


@op.convert(WebApp, OldWebApp)
def downgrade(new: WebApp) -> OldWebApp:
    return OldWebApp(spec=new.spec)


GRANTED = permissions([op], namespace=NAMESPACE, name=NAME)


async def live(granted: list[Permission], missed: str = "") -> bool:
    """Start, convert, migrate and change the authority, or run into `missed`; whether it came to the end."""
    problems: list[str] = []
    async with Cluster() as cluster:
        client = cluster.client()
        await cluster.apply(definition_of(OldWebApp))
        await client.create(OldWebApp(metadata=ObjectMeta(name="web"), spec=Spec(image="a")))
        await cluster.apply(op.definition.crd() or {}, *rbac(granted, name=NAME, namespace=NAMESPACE))
        credentials = FixedFields(bearer(await token(client)))
        running = cluster.run_operator(op, settings=SETTINGS, install=False, credentials=credentials)

        async def at_the_end() -> bool:
            if running.manager is not None:
                problems.append(running.manager.probes.problems().get("webhooks", ""))
            await wish(client)
            secret = await client.find(SECRETS, SECRET)
            renewed = secret is not None and secret["metadata"].get("labels", {}).get("asked") == "yes"
            renewed = renewed and RENEW_ANNOTATION not in (secret["metadata"].get("annotations") or {})
            stored = (await client.get(CRDS, DEFINITION))["status"]["storedVersions"]
            return renewed and stored == ["v2"]

        async def over() -> str:
            if await at_the_end():
                return "the end"
            found = missed and (any(missed in each for each in problems) or missed in _logged())
            return "missed" if found else ""

        outcome = await eventually(over, timeout_s=30)
        await running.stop()
    return outcome == "the end"


async def wish(client: Client) -> None:
    """Ask for another authority, once, when there is a first one."""
    secret = await client.find(SECRETS, SECRET)
    if secret is not None and "asked" not in (secret["metadata"].get("labels") or {}):
        metadata = {"labels": {"asked": "yes"}, "annotations": {RENEW_ANNOTATION: "authority"}}
        await client.patch(SECRETS, SECRET, {"metadata": metadata})


async def token(client: Client) -> str:
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{NAME}/token"
    made = await client.request("POST", path, body={"spec": {"expirationSeconds": 3600}})
    issued: str = json.loads(made)["status"]["token"]
    return issued


_records: list[str] = []


def _logged() -> str:
    return "\n".join(_records)


class _Keeping(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        _records.append(record.getMessage())


@pytest.fixture(autouse=True)
def _log() -> object:
    handler = _Keeping()
    logging.getLogger("steersman").addHandler(handler)
    _records.clear()
    yield
    logging.getLogger("steersman").removeHandler(handler)


def test_they_are_enough() -> None:
    assert asyncio.run(live(GRANTED))


def test_each_is_needed() -> None:
    async def without_each() -> list[str]:
        turns = asyncio.Semaphore(4)

        async def without(permission: Permission) -> str:
            async with turns:
                rest = [each for each in GRANTED if each is not permission]
                over = await live(rest, f'cannot {permission.verb} resource "{permission.resource}"')
                return f"{permission.verb} {permission.resource}" if over else ""

        return await asyncio.gather(*map(without, GRANTED))

    assert not [each for each in asyncio.run(without_each()) if each]
