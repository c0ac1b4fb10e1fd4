"""A definition of several classes serves each of them."""

from __future__ import annotations

from steersman.objects.custom import CustomResource, Model, ObjectMeta, Versions
from tests.integration.custom.test_definitions import define, path_of
from tests.support.api import ApiClient, with_api


class LampSpec(Model):
    watts: int = 5


class Lamp(CustomResource, group="lamps.example.com", version="v1beta1", deprecated="use v1"):
    spec: LampSpec = LampSpec()


class BrightSpec(LampSpec):
    lumen: int = 400


class LampV1(Lamp, version="v1", storage=True, deprecated=False):
    spec: BrightSpec = BrightSpec()


@with_api
async def test_every_version_is_served_and_one_is_stored(client: ApiClient) -> None:
    stored = await define(client, Versions(Lamp, LampV1).crd())
    assert stored["status"]["storedVersions"] == ["v1"]
    lamp = Lamp(metadata=ObjectMeta(name="a"), spec=LampSpec(watts=7))
    await client.ok("POST", path_of(Lamp), lamp.to_object())
    bright = LampV1.from_object(await client.ok("GET", path_of(LampV1, "a")))
    assert (bright.spec.watts, bright.spec.lumen) == (7, 400)


@with_api
async def test_a_conversion_webhook_is_taken(client: ApiClient) -> None:
    made = Versions(Lamp, LampV1).crd(conversion_webhook={"url": "https://127.0.0.1:1/convert"})
    assert (await define(client, made))["spec"]["conversion"] == made["spec"]["conversion"]
