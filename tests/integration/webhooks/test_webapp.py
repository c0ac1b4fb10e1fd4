"""Webhooks of an operator on our API server: refusals, defaults, dry runs, failures, and the registration."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest

from steersman.client import ApiError, Client, Forbidden, Invalid, ServerError, Timeout
from steersman.http import Client as HttpClient
from steersman.http import client_tls
from steersman.objects.builders import ConfigMap
from steersman.objects.custom import CustomResource, Field, Model, ObjectMeta
from steersman.operator import (
    AdmissionRequest,
    Denied,
    Operator,
    Settings,
    WebhookSettings,
    uninstall_webhooks,
)
from steersman.testing import Cluster, RunningOperator, eventually
from steersman.webhooks.registration import MUTATING, SECRETS, VALIDATING

NAME = "webapps.example.com"
SECRET = "webapps-example-com-webhook-certs"
QUICK = Settings(
    address=None, webhooks=WebhookSettings(address=":0", check_every_s=0.2, overlap_s=0.5, linger_s=0.0)
)


class WebAppSpec(Model):
    image: str
    replicas: int = Field(1, ge=0)


class WebApp(CustomResource, group="example.com", version="v1"):
    spec: WebAppSpec


def web(name: str = "web", image: str = "nginx:1.25", **labels: str) -> WebApp:
    return WebApp(metadata=ObjectMeta(name=name, labels=labels), spec=WebAppSpec(image=image))


def operator(seen: list[AdmissionRequest[Any]] | None = None) -> Operator[WebApp]:
    op = Operator(WebApp)
    seen = [] if seen is None else seen

    @op.validate(operations=("CREATE", "UPDATE", "DELETE"))
    async def check(request: AdmissionRequest[WebApp]) -> list[str]:
        seen.append(request)
        app = request.resource
        if request.operation == "DELETE":
            if app.metadata.labels.get("keep"):
                raise Denied(f"{app.name} is to be kept")
            return []
        if ":" not in app.spec.image:
            raise Denied("an image needs a tag", field="spec.image")
        if request.old is not None and request.old.spec.replicas and not app.spec.replicas:
            return ["no server will be running"]
        if app.spec.image == "broken:1":
            raise RuntimeError("password=hunter2")
        return []

    @op.mutate
    async def complete(request: AdmissionRequest[WebApp]) -> None:
        request.resource.metadata.labels.setdefault("app", request.name)

    @op.validate(kind=ConfigMap, operations=("DELETE",), object_selector={"matchLabels": {"of": "web"}})
    async def in_use(request: AdmissionRequest[ConfigMap]) -> None:
        if await request.client.list(WebApp, request.namespace):
            raise Denied(f"{request.name} is in use")

    return op


@asynccontextmanager
async def running(
    op: Operator[WebApp], settings: Settings = QUICK
) -> AsyncIterator[tuple[Cluster, Client, RunningOperator]]:
    async with Cluster() as cluster, cluster.run_operator(op, settings=settings) as started:
        await eventually(lambda: is_ready(started))
        yield cluster, cluster.client(), started


def is_ready(started: RunningOperator) -> bool:
    return started.manager is not None and not started.manager.probes.problems()


def in_loop(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    def run() -> None:
        asyncio.run(test())  # type: ignore[arg-type]

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@in_loop
async def test_what_the_functions_say_is_what_happens() -> None:
    seen: list[AdmissionRequest[Any]] = []
    async with running(operator(seen)) as (_, client, _started):
        with pytest.raises(Invalid) as refused:
            await client.create(web(image="nginx"))
        assert refused.value.message == (
            'admission webhook "check.webapps.example.com" denied the request: spec.image: an image needs a tag'
        )
        assert refused.value.causes == [
            {"reason": "FieldValueInvalid", "message": "an image needs a tag", "field": "spec.image"}
        ]
        assert await client.find(WebApp, "web") is None

        tried = await client.create(web(), dry_run=True)
        assert (tried.metadata.labels, seen[-1].dry_run) == ({"app": "web"}, True)
        assert await client.find(WebApp, "web") is None

        made = await client.create(web(keep="yes"))
        assert made.metadata.labels == {"keep": "yes", "app": "web"}
        assert (seen[-1].dry_run, seen[-1].old, seen[-1].user.username) == (False, None, "admin")

        changed = await client.patch(WebApp, "web", {"spec": {"replicas": 0}})
        assert (seen[-1].operation, seen[-1].old.spec.replicas, changed.spec.replicas) == ("UPDATE", 1, 0)

        with pytest.raises(Forbidden, match=r"denied the request: web is to be kept"):
            await client.delete(WebApp, "web")

        await client.create(ConfigMap("settings").label("of", "web"))
        await client.create(ConfigMap("other"))
        await client.delete(ConfigMap, "other")
        with pytest.raises(Forbidden, match="settings is in use"):
            await client.delete(ConfigMap, "settings")


@in_loop
async def test_a_function_that_fails_is_the_failure_policy_s_and_tells_nobody_why() -> None:
    op = operator()

    @op.validate(failure_policy="Ignore", timeout_s=1)
    async def slow(request: AdmissionRequest[WebApp]) -> None:
        if request.resource.spec.image == "slow:1":
            await asyncio.Event().wait()  # longer than the API waits

    async with running(op) as (_, client, started):
        with pytest.raises(ServerError) as failed:
            await client.create(web(image="broken:1"))
        assert not isinstance(failed.value, Timeout)
        assert "webhook check.webapps.example.com failed; its log says why" in failed.value.message
        assert "hunter2" not in failed.value.message
        # Cut off before the API gives up on it, and let through as declared.
        assert await client.create(web("slow", image="slow:1"))
        assert started.manager is not None
        page = started.manager.metrics.render()[0].decode()
    path = 'webhook="/validate/example.com-v1-webapp'
    assert f'controller_runtime_webhook_panics_total{{{path}"}} 1.0' in page
    assert f'controller_runtime_webhook_requests_total{{code="500",{path}"}} 1.0' in page
    assert f'controller_runtime_webhook_requests_total{{code="504",{path}/slow"}} 1.0' in page
    assert f'controller_runtime_webhook_latency_seconds_count{{{path}/slow"}} 2.0' in page
    assert 'webhook_certificate_expiration_timestamp_seconds{certificate="serving"}' in page


@in_loop
async def test_a_mutating_function_is_asked_again_after_others_and_has_nothing_left_to_do() -> None:
    op, asked = Operator(WebApp), []

    @op.mutate
    async def first(request: AdmissionRequest[WebApp]) -> None:
        asked.append(request.resource.spec.image)
        if "/" not in request.resource.spec.image:
            request.resource.spec.image = f"registry/{request.resource.spec.image}"

    @op.mutate
    async def second(request: AdmissionRequest[WebApp]) -> WebApp:
        spec = request.resource.spec.model_copy(update={"replicas": 3})
        return request.resource.model_copy(update={"spec": spec})

    async with running(op) as (_, client, _started):
        made = await client.create(web())
    assert (made.spec.image, made.spec.replicas) == ("registry/nginx:1.25", 3)
    assert asked == ["nginx:1.25", "registry/nginx:1.25"]


@in_loop
async def test_the_registration_is_repaired_and_left_alone_when_right() -> None:
    async with running(operator()) as (cluster, client, _started):
        live = await client.get(VALIDATING, NAME)
        assert [each["name"] for each in live["webhooks"]] == [
            "check.webapps.example.com",
            "in-use.configmaps.core",
        ]
        # Nothing is written for several rounds of looking.
        with cluster.assert_no_writes() as seen:
            await eventually(
                lambda: sum("webhookconfigurations" in each.resource for each in seen.requests) > 6
            )

        await client.delete(VALIDATING, NAME)
        await eventually(lambda: client.find(VALIDATING, NAME))
        ours = (await client.get(MUTATING, NAME))["webhooks"]
        spoilt = [
            {**ours[0], "objectSelector": {"matchLabels": {"never": "there"}}, "failurePolicy": "Ignore"}
        ]
        await client.patch(MUTATING, NAME, {"webhooks": spoilt})

        async def repaired() -> bool:
            return bool((await client.get(MUTATING, NAME))["webhooks"] == ours)

        await eventually(repaired)


@in_loop
async def test_uninstall_leaves_nothing() -> None:
    async with Cluster() as cluster:
        await cluster.apply(WebApp.crd())
        op = operator()
        async with cluster.run_operator(op, settings=QUICK, install=False) as started:
            await eventually(lambda: is_ready(started))
        client = cluster.client()
        with pytest.raises(ServerError, match="connection refused"):
            await client.create(web())
        removed = await uninstall_webhooks(client, [op.definition])
        assert removed == [
            f"ValidatingWebhookConfiguration {NAME}",
            f"MutatingWebhookConfiguration {NAME}",
            f"Secret {SECRET}",
        ]
        assert await uninstall_webhooks(client, [op.definition]) == []
        await client.create(web(image="nginx"))


async def secret_data(client: Client) -> dict[str, bytes]:
    data = (await client.get(SECRETS, SECRET))["data"]
    return {name: base64.b64decode(value) for name, value in data.items()}


async def registered_bundle(client: Client) -> bytes:
    live = await client.get(VALIDATING, NAME)
    return base64.b64decode(live["webhooks"][0]["clientConfig"]["caBundle"])


@pytest.mark.parametrize("what", ["serving", "authority"])
def test_certificates_rotate_under_load_without_a_failed_request(what: str) -> None:
    async def test() -> None:
        # Long enough for a newcomer that read the registration to get here on a slow machine.
        webhooks = replace(QUICK.webhooks, overlap_s=1.5)
        async with running(operator(), replace(QUICK, webhooks=webhooks)) as (_, client, _started):
            before = await secret_data(client)
            stop = asyncio.Event()

            async def load(worker: int) -> int:
                made = 0
                while not stop.is_set():
                    await client.create(web(f"web-{worker}-{made}"))
                    made += 1
                return made

            async def rotated() -> bool:
                now = await secret_data(client)
                new_authority = now["ca.crt"] != before["ca.crt"]
                return now["tls.crt"] != before["tls.crt"] and new_authority == (what == "authority")

            async def newcomers() -> int:
                """Fresh connections trust what is registered at that moment, and nothing else."""
                made = 0
                while not stop.is_set():
                    await served(client)
                    made += 1
                return made

            workers = [asyncio.ensure_future(load(worker)) for worker in range(4)]
            visitors = asyncio.ensure_future(newcomers())
            try:
                patch = {"metadata": {"annotations": {"steersman.dev/renew": what}}}
                await client.patch(SECRETS, SECRET, patch)
                await eventually(rotated, timeout_s=30)
                after = await secret_data(client)

                async def served_now() -> bool:
                    return await served(client) == ssl.PEM_cert_to_DER_cert(after["tls.crt"].decode())

                await eventually(served_now)
                # The load goes on with what is new.
                count = len(await client.list(WebApp))
                await eventually(lambda: more_than(client, count + 20), timeout_s=30)
            finally:
                stop.set()
                made = await asyncio.gather(*workers)
                met = await visitors
            assert all(made)
            assert met
            assert len(await client.list(WebApp)) == sum(made)
            assert await registered_bundle(client) == after["ca.crt"]
            if what == "authority":
                assert after["ca.crt"].endswith(before["ca.crt"])
            annotations = (await client.get(SECRETS, SECRET))["metadata"].get("annotations") or {}
            assert "steersman.dev/renew" not in annotations

    asyncio.run(test())


async def served(client: Client) -> bytes:
    """The certificate that the API server would be shown now, by a connection of its own."""
    config = (await client.get(VALIDATING, NAME))["webhooks"][0]["clientConfig"]
    where = urlsplit(config["url"])
    context = client_tls(ca=base64.b64decode(config["caBundle"]))
    _, writer = await asyncio.open_connection(where.hostname, where.port, ssl=context)
    try:
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        assert isinstance(shown, bytes)
        return shown
    finally:
        writer.close()
        await writer.wait_closed()


async def more_than(client: Client, count: int) -> bool:
    return len(await client.list(WebApp)) > count


@in_loop
async def test_replicas_share_the_secret_and_one_takes_over_from_another() -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        first = await cluster.run_operator(operator(), settings=QUICK)
        second = cluster.run_operator(operator(), settings=QUICK)
        async with second:
            await eventually(lambda: is_ready(first) and is_ready(second))
            shared = await secret_data(client)
            await first.kill()

            async def taken_over() -> bool:
                with_tag = await tried(client, "nginx:1")
                without = await tried(client, "nginx")
                return (with_tag, without) == ("", "Invalid")

            await eventually(taken_over)
            assert await secret_data(client) == shared
            # One that is started again serves with what was there before.
            async with cluster.run_operator(operator(), settings=QUICK, install=False) as third:
                await eventually(lambda: is_ready(third))
                assert await secret_data(client) == shared
                await eventually(taken_over)


async def tried(client: Client, image: str) -> str:
    """Why a WebApp with this image would not be made; empty if it would."""
    try:
        await client.create(web(image=image), dry_run=True)
    except ApiError as error:
        return type(error).__name__
    return ""


@in_loop
async def test_hostile_bodies_end_in_an_answer() -> None:
    async with running(operator()) as (_, client, _started):
        live = (await client.get(VALIDATING, NAME))["webhooks"][0]["clientConfig"]
        origin, _, path = live["url"].rpartition("/validate/")
        bundle = base64.b64decode(live["caBundle"])
        async with HttpClient(origin, ssl=client_tls(ca=bundle)) as http:
            path = f"/validate/{path}"
            review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
            for body, status in [
                (b"", 400),
                (b"{", 400),
                (b"[]", 400),
                (b"{}", 400),
                (orjson.dumps(review), 400),
                (orjson.dumps({**review, "request": {"uid": "1", "operation": "CONNECT"}}), 400),
                (b" " * (9 << 20), 413),
            ]:
                answer = await http.request("POST", path, content=body)
                assert (answer.status, b"Traceback" in answer.content) == (status, False), body[:60]
            assert (await http.request("GET", path)).status == 405
            assert (await http.request("POST", "/validate/other")).status == 404
