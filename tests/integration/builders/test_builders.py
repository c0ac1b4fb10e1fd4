"""What the builders make is what the API server accepts, keeps as it is, and finds unchanged when applied."""

from __future__ import annotations

from typing import Any

from steersman.objects.builders import Resource
from tests.support.api import ApiClient, with_api
from tests.unit.objects.builders.full_examples import FULL_EXAMPLES
from tests.unit.objects.builders.seed_examples import EXAMPLES

#: An unknown field is an error, not something to be dropped.
STRICT = "?fieldManager=builders&fieldValidation=Strict"

APPLY = {"content-type": "application/apply-patch+yaml"}


def missing(sent: Any, kept: Any, path: str = "") -> list[str]:
    """The places of what was sent where something else was kept; the API may have added to it."""
    if isinstance(sent, dict) and isinstance(kept, dict):
        return [
            place for key, value in sent.items() for place in missing(value, kept.get(key), f"{path}.{key}")
        ]
    if isinstance(sent, list) and isinstance(kept, list) and len(sent) <= len(kept):
        return [
            place
            for number, value in enumerate(sent)
            for place in missing(value, kept[number], f"{path}[{number}]")
        ]
    return [] if sent == kept else [f"{path}: {sent!r} became {kept!r}"]


async def create(client: ApiClient, resource: Resource) -> dict[str, Any]:
    path = resource.resource_type.path("default")
    sent = resource.to_object()
    code, answer = await client.ask("POST", path + STRICT, sent)
    assert code == 201, f"{resource!r}: {answer}"
    assert missing(sent, answer) == [], f"{resource!r}"
    return answer


@with_api
async def test_every_seed_example_is_accepted(client: ApiClient) -> None:
    for build in EXAMPLES:
        await create(client, build())


@with_api
async def test_every_method_makes_what_the_api_accepts_and_keeps(client: ApiClient) -> None:
    for build in FULL_EXAMPLES:
        await create(client, build())


@with_api
async def test_applying_an_example_twice_changes_nothing(client: ApiClient) -> None:
    named = [resource for build in (*EXAMPLES, *FULL_EXAMPLES) if "name" in (resource := build()).metadata]
    for resource in named:
        path = resource.resource_type.path("default", resource.name) + STRICT + "&force=true"
        code, first = await client.ask("PATCH", path, resource.to_object(), APPLY)
        assert code == 201, first
        code, second = await client.ask("PATCH", path, resource.to_object(), APPLY)
        assert code == 200, second
        assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


@with_api
async def test_an_object_of_the_api_can_be_changed_and_written_back(client: ApiClient) -> None:
    for build in EXAMPLES:
        answer = await create(client, build())
        changed = type(build()).from_object(answer).label("changed", "yes")
        path = changed.resource_type.path("default", changed.name)
        kept = await client.ok("PUT", path + STRICT, changed.to_object())
        assert kept["metadata"]["labels"]["changed"] == "yes"
