"""Certificates, server and registration together, in virtual time: who writes, when, and what is waited for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from steersman.aio import Scope
from steersman.objects.custom import CustomResource, Model, Versions
from steersman.operator import AdmissionRequest, Operator, OperatorError, Settings, assemble
from steersman.runtime import Metrics
from steersman.testing import Cluster, virtual_time
from steersman.webhooks import WebhookService, WebhookSettings, default_names
from steersman.webhooks.certificates import Certificates
from steersman.webhooks.errors import CannotListen, WebhookError
from steersman.webhooks.keeping import RENEW_ANNOTATION
from steersman.webhooks.registration import SECRETS, VALIDATING

NAME = "webapps.example.com"
SECRET, SERVICE = default_names(NAME)


class Spec(Model):
    image: str = ""


class WebApp(CustomResource, group="example.com", version="v1"):
    spec: Spec


class NewWebApp(CustomResource, group="example.com", version="v2", kind="WebApp"):
    spec: Spec


async def check(request: AdmissionRequest[Any]) -> None:
    return None


@asynccontextmanager
async def serving(
    cluster: Cluster, *, leads: Callable[[], bool] = lambda: True, **options: Any
) -> AsyncIterator[WebhookService]:
    op = Operator(WebApp)
    op.validate(check)
    service = WebhookService(
        NAME,
        op.definition.hooks,
        {},
        cluster.client(),
        settings=WebhookSettings(**{"address": ":0", **options}),
        metrics=Metrics(),
        clock=cluster.clock,
        is_leader=leads,
    )
    assert service.check() == "not started"
    async with Scope() as scope:
        scope.start(service.run())
        await cluster.clock.settle()
        yield service


async def current(cluster: Cluster) -> Certificates:
    found = Certificates.from_data((await cluster.client().get(SECRETS, SECRET))["data"])
    assert found is not None
    return found


@virtual_time
async def test_a_new_authority_is_announced_for_the_whole_overlap() -> None:
    async with Cluster() as cluster, serving(cluster) as service:
        assert service.check() == ""
        before = await current(cluster)
        wish = {"metadata": {"annotations": {RENEW_ANNOTATION: "authority"}}}
        await cluster.client().patch(SECRETS, SECRET, wish)
        await cluster.clock.advance(31)
        announced = await current(cluster)
        assert (len(announced.authorities), announced.serving) == (2, before.serving)
        await cluster.clock.advance(28)
        assert (await current(cluster)).serving == before.serving
        await cluster.clock.advance(33)
        assert (await current(cluster)).is_of_newest


@virtual_time
async def test_a_replica_that_does_not_lead_registers_when_it_starts_and_repairs_nothing() -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        leading = False
        async with serving(cluster, leads=lambda: leading) as service:
            assert service.check() == ""
            assert await client.find(VALIDATING, NAME) is not None
            await client.delete(VALIDATING, NAME)
            await cluster.clock.advance(300)
            assert await client.find(VALIDATING, NAME) is None
            leading = True
            await cluster.clock.advance(31)
            assert await client.find(VALIDATING, NAME) is not None


@virtual_time
async def test_it_waits_for_an_api_that_refuses_and_says_so() -> None:
    async with Cluster() as cluster:
        op = Operator(WebApp)
        op.validate(check)
        faulty = cluster.client(faulty=True)
        fault = cluster.faults.refuse(403, resource="secrets")
        manager = assemble(
            [op],
            faulty,
            clock=cluster.clock,
            settings=Settings(address=None, webhooks=WebhookSettings(address=":0")),
        )
        async with Scope() as scope:
            scope.start(manager.run())
            await cluster.clock.advance(5)
            assert manager.probes.problems() == {"webhooks": "injected: Forbidden"}
            fault.remove()
            await cluster.clock.advance(2)
            assert manager.probes.problems() == {}
            # It can answer while the API is away, so nobody must be kept from asking it.
            cluster.faults.refuse(503, resource="secrets")
            await cluster.clock.advance(100)
            assert manager.probes.problems() == {}


@virtual_time
async def test_an_address_that_is_taken_ends_it() -> None:
    async with Cluster() as cluster, serving(cluster) as service:
        with pytest.raises(CannotListen, match="cannot listen on"):
            async with serving(cluster, address=f"127.0.0.1:{service.port}"):
                pass


def test_settings_that_contradict_each_other() -> None:
    with pytest.raises(WebhookError, match="set cert_dir"):
        WebhookSettings(inject_ca_from="a/b").check()
    with pytest.raises(WebhookError, match="twice as long"):
        WebhookSettings(serving_life_s=100, authority_life_s=150).check()
    assert default_names("webapps.example.com") == (
        "webapps-example-com-webhook-certs",
        "webapps-example-com-webhooks",
    )


@virtual_time
async def test_two_operators_of_one_process_cannot_answer_at_one_path() -> None:
    async with Cluster() as cluster:
        first, second = Operator(WebApp), Operator(WebApp, name="other")
        first.validate(check)
        second.validate(check)
        with pytest.raises(OperatorError, match="two operators have a webhook at /validate/example"):
            assemble([first, second], cluster.client(), settings=Settings(address=None))


def test_an_operator_s_versions_are_those_it_converts() -> None:
    op = Operator(NewWebApp)
    assert op.definition.versions is None

    @op.convert(WebApp, NewWebApp)
    def upgrade(old: WebApp) -> NewWebApp:
        return NewWebApp(spec=old.spec)

    made = op.definition.crd()
    assert made is not None
    assert [(each["name"], each["storage"]) for each in made["spec"]["versions"]] == [
        ("v1", False),
        ("v2", True),
    ]
    op.definition.check()
    assert upgrade(WebApp(spec=Spec(image="a"))).spec.image == "a"

    versions = Versions(WebApp, NewWebApp, storage="v1")
    given = Operator(WebApp).with_versions(versions)
    assert given.definition.versions is versions


def test_stopping_in_a_pod_goes_on_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    assert WebhookSettings().linger == 0.0
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert (WebhookSettings().linger, WebhookSettings(linger_s=1.0).linger) == (5.0, 1.0)
    assert WebhookSettings().by_service
    assert not WebhookSettings(host="laptop").by_service
