"""What the API is told: by Service or URL, with our CA or cert-manager's; written only if it is not so yet."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from steersman.http.certificates import Authority
from steersman.objects.custom import CustomResource, Model
from steersman.objects.custom import crd as definition_of
from steersman.operator import AdmissionRequest, Operator
from steersman.testing import Cluster, virtual_time
from steersman.webhooks import Reach, Registration, WebhookError
from steersman.webhooks.registration import CRDS, MUTATING, VALIDATING

NAME = "webapps.example.com"
PEM = Authority.make().pem
SERVICE = Reach(service=("shop", "hooks", 443))


class Spec(Model):
    image: str = ""


class WebApp(CustomResource, group="example.com", version="v1"):
    spec: Spec


class NewWebApp(CustomResource, group="example.com", version="v2", kind="WebApp"):
    spec: Spec


async def check(request: AdmissionRequest[Any]) -> None:
    return None


def registration(**options: Any) -> Registration:
    op = Operator(WebApp)
    op.validate(check).mutate(check)
    return Registration(NAME, op.definition.hooks, options.pop("converted", ()), **options)


@pytest.mark.parametrize(
    ("reach", "bundle", "config"),
    [
        (
            SERVICE,
            b"pem",
            {
                "service": {"namespace": "shop", "name": "hooks", "path": "/x", "port": 443},
                "caBundle": base64.b64encode(b"pem").decode(),
            },
        ),
        (Reach(origin="https://10.0.0.1:9443"), None, {"url": "https://10.0.0.1:9443/x"}),
    ],
    ids=["service", "url"],
)
def test_the_way_there(reach: Reach, bundle: bytes | None, config: dict[str, Any]) -> None:
    assert reach.client_config("/x", bundle) == config


@virtual_time
async def test_it_is_written_once_and_what_others_add_to_its_metadata_stays() -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        ours = registration()
        assert not await ours.ensure(client, SERVICE, PEM, write=False)
        assert await client.find(VALIDATING, NAME) is None
        assert await ours.ensure(client, SERVICE, PEM, write=True)
        await client.patch(MUTATING, NAME, {"metadata": {"labels": {"team": "shop"}}})
        with cluster.assert_no_writes():
            assert await ours.ensure(client, SERVICE, PEM, write=True)
        assert not await ours.ensure(client, SERVICE, PEM + PEM, write=False)
        assert await ours.ensure(client, SERVICE, PEM + PEM, write=True)
        live = await client.get(MUTATING, NAME)
        assert live["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "steersman", "team": "shop"}
        assert base64.b64decode(live["webhooks"][0]["clientConfig"]["caBundle"]) == PEM + PEM


@virtual_time
async def test_the_ca_of_cert_manager_is_left_to_it() -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        ours = registration(inject_ca_from="shop/hooks-tls")
        assert await ours.ensure(client, SERVICE, None, write=True)
        live = await client.get(VALIDATING, NAME)
        assert live["metadata"]["annotations"] == {"cert-manager.io/inject-ca-from": "shop/hooks-tls"}
        live["webhooks"][0]["clientConfig"]["caBundle"] = base64.b64encode(PEM).decode()
        await client.replace(live, kind=VALIDATING)
        with cluster.assert_no_writes():
            assert await ours.ensure(client, SERVICE, None, write=True)


@virtual_time
async def test_conversions_need_their_definition() -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        ours = registration(converted=[WebApp.resource_type])
        with pytest.raises(WebhookError, match=f"the definition {NAME}"):
            await ours.ensure(client, SERVICE, PEM, write=True)
        await cluster.apply(definition_of(WebApp, NewWebApp, storage="v2"))
        assert not await ours.ensure(client, SERVICE, PEM, write=False)
        assert await ours.ensure(client, SERVICE, PEM, write=True)
        with cluster.assert_no_writes():
            assert await ours.ensure(client, SERVICE, PEM, write=True)
        conversion = (await client.get(CRDS, NAME))["spec"]["conversion"]
        assert conversion["strategy"] == "Webhook"
        service = conversion["webhook"]["clientConfig"]["service"]
        assert service == {
            "namespace": "shop",
            "name": "hooks",
            "path": "/convert/example.com-webapp",
            "port": 443,
        }
