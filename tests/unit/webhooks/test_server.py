"""The server over real TLS: certificates change under open connections, and stopping answers what was asked."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

import orjson
import pytest

from steersman.aio import SystemClock
from steersman.http import Client as HttpClient
from steersman.http import client_tls
from steersman.http.certificates import Authority, KeyPair
from steersman.objects.custom import ConversionError, CustomResource, Model, Versions
from steersman.operator import AdmissionRequest, Operator
from steersman.runtime import Metrics
from steersman.webhooks.conversion import conversion_path, converted
from steersman.webhooks.errors import WebhookError
from steersman.webhooks.server import WebhookServer
from steersman.webhooks.tls import ReloadingTls

PATH = "/validate/example.com-v1-webapp"


class Spec(Model):
    image: str = ""


class WebApp(CustomResource, group="example.com", version="v1"):
    spec: Spec


class NewWebApp(CustomResource, group="example.com", version="v2", kind="WebApp"):
    spec: Spec


def review(image: str) -> bytes:
    obj = {
        "apiVersion": "example.com/v1",
        "kind": "WebApp",
        "metadata": {"name": "web"},
        "spec": {"image": image},
    }
    request = {"uid": "1", "operation": "CREATE", "object": obj}
    return orjson.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})


def server(function: Any, metrics: Metrics | None = None) -> WebhookServer:
    op = Operator(WebApp)
    op.validate(timeout_s=10)(function)
    client: Any = None
    return WebhookServer(op.definition.hooks, {}, client, metrics or Metrics(), SystemClock())


async def accept(request: AdmissionRequest[WebApp]) -> None:
    return None


def test_certificates_change_while_connections_are_open() -> None:
    async def test() -> None:
        old, new = Authority.make("old"), Authority.make("new")
        tls = ReloadingTls(old.issue("a", names=["127.0.0.1"], server=True))
        serving = server(accept)
        await serving.start("127.0.0.1:0", tls)
        origin = f"https://127.0.0.1:{serving.port}"
        async with (
            HttpClient(origin, ssl=client_tls(ca=old.pem), pool_size=1) as before,
            HttpClient(origin, ssl=client_tls(ca=new.pem)) as after,
        ):
            assert (await before.request("POST", PATH, content=review("a"))).status == 200
            pair = new.issue("b", names=["127.0.0.1"], server=True)
            assert (tls.use(pair), tls.use(pair)) == (True, False)
            # The connection that is open goes on, though nobody would trust its certificate any more.
            assert (await before.request("POST", PATH, content=review("a"))).status == 200
            assert (await after.request("POST", PATH, content=review("a"))).status == 200
            # What cannot be used changes nothing.
            with pytest.raises(ssl.SSLError):
                tls.use(KeyPair(pair.certificate, old.key))
        async with HttpClient(origin, ssl=client_tls(ca=new.pem)) as again:
            assert (await again.request("POST", PATH, content=review("a"))).status == 200
        await serving.drain(5)

    asyncio.run(test())


def test_stopping_answers_what_was_asked() -> None:
    async def test() -> None:
        asked, go = asyncio.Event(), asyncio.Event()

        async def slow(request: AdmissionRequest[WebApp]) -> None:
            asked.set()
            await go.wait()

        authority = Authority.make()
        serving = server(slow)
        await serving.start(
            "127.0.0.1:0", ReloadingTls(authority.issue("a", names=["127.0.0.1"], server=True))
        )
        async with HttpClient(f"https://127.0.0.1:{serving.port}", ssl=client_tls(ca=authority.pem)) as http:
            answer = asyncio.ensure_future(http.request("POST", PATH, content=review("a")))
            await asked.wait()
            drained = asyncio.ensure_future(serving.drain(10))
            await asyncio.sleep(0)
            go.set()
            assert orjson.loads((await answer).content)["response"]["allowed"] is True
            await drained

    asyncio.run(test())


def test_a_function_has_less_time_than_the_api_waits() -> None:
    async def test() -> None:
        async def forever(request: AdmissionRequest[WebApp]) -> None:
            await asyncio.Event().wait()

        authority = Authority.make()
        metrics = Metrics()
        serving = server(forever, metrics)
        await serving.start(
            "127.0.0.1:0", ReloadingTls(authority.issue("a", names=["127.0.0.1"], server=True))
        )
        async with HttpClient(f"https://127.0.0.1:{serving.port}", ssl=client_tls(ca=authority.pem)) as http:
            answer = await http.request("POST", f"{PATH}?timeout=1s", content=review("a"))
            assert answer.status == 504
        await serving.drain(5)
        assert f'requests_total{{code="504",webhook="{PATH}"}} 1.0' in metrics.render()[0].decode()

    asyncio.run(test())


def test_a_port_that_is_taken_is_said_in_one_sentence() -> None:
    async def test() -> None:
        tls = ReloadingTls(Authority.make().issue("a", names=["127.0.0.1"], server=True))
        first, second = server(accept), server(accept)
        await first.start("127.0.0.1:0", tls)
        with pytest.raises(WebhookError, match=r"cannot listen on 127\.0\.0\.1:"):
            await second.start(f"127.0.0.1:{first.port}", tls)
        await first.drain(5)

    asyncio.run(test())


def test_conversions_say_what_failed() -> None:
    versions = Versions(WebApp, NewWebApp, storage="v2")

    @versions.converts(WebApp, NewWebApp)
    def upgrade(old: WebApp) -> NewWebApp:
        if not old.spec.image:
            raise ConversionError("there is no image")
        return NewWebApp(spec=Spec(image=old.spec.image.upper()))

    def asked(*images: str) -> Any:
        objects = [
            {
                "apiVersion": "example.com/v1",
                "kind": "WebApp",
                "metadata": {"name": "a"},
                "spec": {"image": image},
            }
            for image in images
        ]
        request = {"uid": "7", "desiredAPIVersion": "example.com/v2", "objects": objects}
        question = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
        return asyncio.run(converted(versions, question))["response"]

    assert conversion_path(WebApp.resource_type) == "/convert/example.com-webapp"
    good = asked(*["a"] * 120)
    assert (good["uid"], good["result"]) == ("7", {"status": "Success"})
    assert [each["spec"]["image"] for each in good["convertedObjects"]] == ["A"] * 120
    bad = asked("a", "")
    assert bad["convertedObjects"] == []
    assert bad["result"]["status"] == "Failure"
    assert "there is no image" in bad["result"]["message"]
