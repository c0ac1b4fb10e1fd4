"""Ways to a webhook: through a Service as in a pod, and with certificates that somebody else keeps."""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest

from steersman.client import Client, Invalid
from steersman.http import client_tls
from steersman.http.certificates import Authority, KeyPair
from steersman.objects.custom import CustomResource, Model, ObjectMeta
from steersman.operator import AdmissionRequest, Denied, Operator, Settings, WebhookSettings
from steersman.testing import Cluster, RunningOperator, eventually
from steersman.webhooks.keeping import SECRETS
from steersman.webhooks.registration import MUTATING, VALIDATING
from tests.support.ports import free_port

NAME = "webapps.example.com"
SERVICE = "webapps-example-com-webhooks"
Object = dict[str, Any]


class Spec(Model):
    image: str


class WebApp(CustomResource, group="example.com", version="v1"):
    spec: Spec


def web(image: str) -> WebApp:
    return WebApp(metadata=ObjectMeta(name="web"), spec=Spec(image=image))


def operator() -> Operator[WebApp]:
    op = Operator(WebApp)

    @op.validate
    async def check(request: AdmissionRequest[WebApp]) -> None:
        if ":" not in request.resource.spec.image:
            raise Denied("an image needs a tag", field="spec.image")

    @op.mutate
    async def complete(request: AdmissionRequest[WebApp]) -> None:
        request.resource.metadata.labels.setdefault("app", request.name)

    return op


def is_ready(started: RunningOperator) -> bool:
    return started.manager is not None and not started.manager.probes.problems()


def own_address() -> str:
    """An address of this machine that endpoints may have: not loopback. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return ""
        address: str = probe.getsockname()[0]
        return "" if address.startswith("127.") else address


def way(address: str, port: int) -> list[Object]:
    """A Service in front of one endpoint."""
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": SERVICE},
        "spec": {"ports": [{"name": "webhooks", "port": 443, "targetPort": port}]},
    }
    endpoints = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": SERVICE, "labels": {"kubernetes.io/service-name": SERVICE}},
        "addressType": "IPv4",
        "ports": [{"name": "webhooks", "port": port, "protocol": "TCP"}],
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
    }
    return [service, endpoints]


async def decides(client: Client) -> bool:
    """Whether the webhooks are asked, and say what they should."""
    made = await client.create(web("nginx:1"), dry_run=True)
    try:
        await client.create(web("nginx"), dry_run=True)
    except Invalid:
        return made.metadata.labels == {"app": "web"}
    return False


@pytest.mark.ours("services that answer without a proxy")
def test_a_pod_is_reached_through_its_service(monkeypatch: pytest.MonkeyPatch) -> None:
    address = own_address()
    if not address:
        pytest.skip("this machine has no address but its own")

    async def test() -> None:
        port = free_port()
        hooks = WebhookSettings(address=f":{port}", linger_s=0.0)
        async with Cluster() as cluster:
            client = cluster.client()
            await cluster.apply(*way(address, port))
            async with cluster.run_operator(
                operator(), settings=Settings(address=None, webhooks=hooks)
            ) as started:
                await eventually(lambda: is_ready(started))
                config = (await client.get(VALIDATING, NAME))["webhooks"][0]["clientConfig"]
                assert config["service"] == {
                    "namespace": "default",
                    "name": SERVICE,
                    "path": "/validate/example.com-v1-webapp",
                    "port": 443,
                }
                await eventually(lambda: decides(client))

    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    asyncio.run(test())


def write(folder: Path, pair: KeyPair) -> None:
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)


async def shown(client: Client, authority: Authority) -> bytes:
    config = (await client.get(VALIDATING, NAME))["webhooks"][0]["clientConfig"]
    port = int(config["url"].split("/")[2].rpartition(":")[2])
    context = client_tls(ca=authority.pem)
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    try:
        certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        assert isinstance(certificate, bytes)
        return certificate
    finally:
        writer.close()
        await writer.wait_closed()


def test_certificates_of_somebody_else_are_served_and_read_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        authority = Authority.make()
        hooks = WebhookSettings(
            address=":0", cert_dir=tmp_path, inject_ca_from="shop/tls", check_every_s=0.1, linger_s=0.0
        )
        async with Cluster() as cluster:
            client = cluster.client()
            async with cluster.run_operator(
                operator(), settings=Settings(address=None, webhooks=hooks)
            ) as started:
                # It is not ready before there is something to serve, and says what is missing.
                assert started.manager is not None
                problems = started.manager.probes.problems
                await eventually(lambda: "tls.crt: No such file" in problems().get("webhooks", ""))
                first, second = (authority.issue("a", names=["127.0.0.1"], server=True) for _ in range(2))
                write(tmp_path, first)
                await eventually(lambda: is_ready(started))
                assert await client.find(SECRETS, "webapps-example-com-webhook-certs") is None
                await inject(client, authority)
                await eventually(lambda: decides(client))

                write(tmp_path, second)

                async def reloaded() -> bool:
                    wanted = ssl.PEM_cert_to_DER_cert(second.certificate.decode())
                    return await shown(client, authority) == wanted

                await eventually(reloaded)
                assert await decides(client)
                # Files in the middle of a change: what was served is served on.
                (tmp_path / "tls.key").write_bytes(first.key)
                await eventually(lambda: "the certificate cannot be used" in caplog.text)
                assert problems() == {}
                assert await decides(client)

    asyncio.run(test())


async def inject(client: Client, authority: Authority) -> None:
    """What cert-manager does where it is asked to by an annotation."""
    for kind in (VALIDATING, MUTATING):
        live = await client.get(kind, NAME)
        assert live["metadata"]["annotations"] == {"cert-manager.io/inject-ca-from": "shop/tls"}
        for each in live["webhooks"]:
            each["clientConfig"]["caBundle"] = base64.b64encode(authority.pem).decode()
        await client.replace(live, kind=kind)
