"""Promises about the schemas of custom resources in OpenAPI, and what kubectl makes of them."""

from __future__ import annotations

import re

import pytest
import yaml

from tests.support.api import ApiClient

from .definitions import ANYTHING, definition, definitions, establish, remove, version
from .keeping import Object, newer, promise, until
from .kubectl import AsyncKubectl, kubectl_for

FOO: Object = yaml.safe_load("""
description: Foo CRD for Testing
type: object
properties:
  spec:
    type: object
    description: Specification of Foo
    properties:
      bars:
        description: List of Bars and their specs.
        type: array
        items:
          type: object
          required:
          - name
          properties:
            name:
              description: Name of Bar.
              type: string
            age:
              description: Age of Bar.
              type: string
            feeling:
              description: Whether Bar is feeling great.
              type: string
              enum:
              - Great
              - Down
            bazs:
              description: List of Bazs.
              items:
                type: string
              type: array
  status:
    description: Status of Foo
    type: object
    properties:
      bars:
        description: List of Bars and their statuses.
        type: array
        items:
          type: object
          properties:
            name:
              description: Name of Bar.
              type: string
            available:
              description: Whether the Bar is installed.
              type: boolean
            quxType:
              description: Indicates to external qux type.
              pattern: in-tree|out-of-tree
              type: string
""")
_BARS: Object = {
    "type": "array",
    "items": {"type": "object"},
    "description": "List of Bars and their statuses.",
}
_DUMMY: Object = {"dummy": {"description": "Dummy property.", "type": "object"}}


def _waldo(description: str, spec: Object | None = None, **more: object) -> Object:
    shown = {"description": "Specification of Waldo", "type": "object", "properties": _DUMMY, **(spec or {})}
    status = {"description": "Status of Waldo", "type": "object", "properties": {"bars": _BARS}}
    return {
        "description": description,
        "type": "object",
        "properties": {"spec": shown, "status": status},
        **more,
    }


WALDO = _waldo("Waldo CRD for Testing")
_PRESERVING: Object = {"x-kubernetes-preserve-unknown-fields": True}
PRESERVE_ROOT = _waldo("preserve-unknown-properties at root for Testing", **_PRESERVING)
PRESERVE_NESTED = _waldo("preserve-unknown-properties in nested field for Testing", _PRESERVING)
#: What the server adds to a schema.
_ADDED = ("metadata", "apiVersion", "kind")
_ADDED_EXTENSIONS = ("x-kubernetes-group-version-kind", "x-kubernetes-selectable-fields")


def _group(suffix: str) -> str:
    return f"crd-publish-openapi-test-{suffix}.example.com"


def _name(suffix: str, number: str, kind: str) -> str:
    """A type's name in the documents."""
    return ".".join([*reversed(_group(suffix).split(".")), number, kind])


async def _published(client: ApiClient, name: str) -> Object | None:
    document = await client.ok("GET", "/openapi/v2")
    found: Object | None = document["definitions"].get(name)
    if found is None:
        return None
    shown = {key: value for key, value in found.items() if key not in _ADDED_EXTENSIONS}
    properties = {key: value for key, value in shown.get("properties", {}).items() if key not in _ADDED}
    return (
        {**shown, "properties": properties}
        if properties
        else {key: value for key, value in shown.items() if key != "properties"}
    )


async def _shows(client: ApiClient, name: str, schema: Object | None) -> None:
    """The document has exactly this schema under the name, soon."""

    async def shown() -> bool:
        return await _published(client, name) == schema

    await until(shown)


async def _set_up(
    client: ApiClient,
    schema: Object | None,
    suffix: str,
    *versions: str,
    kind: str = "Tested",
    expected: bool = True,
) -> Object:
    served = [
        version(number, schema or ANYTHING, storage=place == 0) for place, number in enumerate(versions)
    ]
    made = await establish(client, definition(_group(suffix), kind, *served))
    for number in versions:
        if expected:
            await _shows(client, _name(suffix, number, kind), schema or {"type": "object"})
        else:
            assert await _published(client, _name(suffix, number, kind)) is not None
    return made


async def _clean_up(client: ApiClient, made: Object) -> None:
    await remove(client, made)
    suffix = made["spec"]["group"].removesuffix(".example.com").removeprefix("crd-publish-openapi-test-")
    for each in made["spec"]["versions"]:
        await _shows(client, _name(suffix, each["name"], made["spec"]["names"]["kind"]), None)


def _instance(suffix: str, name: str, **content: object) -> Object:
    return {"kind": "Tested", "apiVersion": f"{_group(suffix)}/v1", "metadata": {"name": name}, **content}


async def _accepted(kubectl: AsyncKubectl, instance: Object) -> None:
    for verb in ("create", "apply"):
        await kubectl(verb, "-f", "-", stdin=instance)
        await kubectl("delete", "testeds", instance["metadata"]["name"])


async def _explains(kubectl: AsyncKubectl, what: str, pattern: str) -> None:
    shown = (await kubectl("explain", what)).out
    assert re.search(pattern, shown, re.DOTALL), shown


_PROMISE = "CustomResourcePublishOpenAPI"


@pytest.mark.slow
@promise(f"{_PROMISE} works for CRD with validation schema")
async def test_kubectl_knows_a_schema(client: ApiClient) -> None:
    made = await _set_up(client, FOO, "foo", "v1")
    async with kubectl_for(client) as kubectl:
        await _accepted(kubectl, _instance("foo", "test-foo", spec={"bars": [{"name": "test-bar"}]}))
        unhappy = {"bars": [{"name": "test-bar", "feeling": "NonExistentValue"}]}
        said = await kubectl.fails("create", "-f", "-", stdin=_instance("foo", "test-foo", spec=unhappy))
        assert 'Unsupported value: "NonExistentValue"' in said
        for verb in ("create", "apply"):
            said = await kubectl.fails(
                verb, "-f", "-", stdin=_instance("foo", "test-foo", spec={"foo": True})
            )
            assert 'unknown field "spec.foo"' in said
            nameless = _instance("foo", "test-foo", spec={"bars": [{"age": "10"}]})
            assert "spec.bars[0].name: Required value" in await kubectl.fails(verb, "-f", "-", stdin=nameless)
        await _explains(
            kubectl,
            "testeds",
            r"DESCRIPTION:.*Foo CRD for Testing.*FIELDS:.*apiVersion.*<string>.*APIVersion defines.*"
            r"spec.*<Object>.*Specification of Foo",
        )
        await _explains(
            kubectl,
            "testeds.metadata",
            r"DESCRIPTION:.*Standard object's metadata.*FIELDS:.*creationTimestamp.*<string>.*"
            r"CreationTimestamp is a timestamp",
        )
        await _explains(
            kubectl,
            "testeds.spec",
            r"DESCRIPTION:.*Specification of Foo.*FIELDS:.*bars.*<\[\]Object>.*List of Bars and their specs",
        )
        await _explains(
            kubectl,
            "testeds.spec.bars",
            r"(FIELD|RESOURCE):.*bars.*<\[\]Object>.*DESCRIPTION:.*List of Bars and their specs.*FIELDS:.*"
            r"bazs.*<\[\]string>.*List of Bazs.*name.*<string>.*Name of Bar",
        )
        assert 'field "bars2" does not exist' in await kubectl.fails("explain", "testeds.spec.bars2")
    await _clean_up(client, made)


@pytest.mark.slow
@promise(f"{_PROMISE} works for CRD without validation schema")
async def test_kubectl_knows_a_resource_without_a_schema(client: ApiClient) -> None:
    made = await _set_up(client, None, "empty", "v1")
    async with kubectl_for(client) as kubectl:
        await _accepted(kubectl, _instance("empty", "test-cr", a={"b": [{"c": "d"}]}))
        await _explains(kubectl, "testeds", r"DESCRIPTION:.*<empty>")
    await _clean_up(client, made)


@pytest.mark.slow
@promise(f"{_PROMISE} works for CRD preserving unknown fields at the schema root")
async def test_kubectl_knows_a_schema_open_at_the_root(client: ApiClient) -> None:
    made = await _set_up(client, PRESERVE_ROOT, "unknown-at-root", "v1", expected=False)
    async with kubectl_for(client) as kubectl:
        await _accepted(kubectl, _instance("unknown-at-root", "test-cr", a={"b": [{"c": "d"}]}))
        await _explains(kubectl, "testeds", "KIND:.*Tested")
    await _clean_up(client, made)


@pytest.mark.slow
@promise(f"{_PROMISE} works for CRD preserving unknown fields in an embedded object")
async def test_kubectl_knows_a_schema_open_further_down(client: ApiClient) -> None:
    made = await _set_up(client, PRESERVE_NESTED, "unknown-in-nested", "v1", expected=False)
    async with kubectl_for(client) as kubectl:
        content = {"a": None, "b": [{"c": "d"}]}
        await _accepted(kubectl, _instance("unknown-in-nested", "test-cr", spec=content))
        await _explains(
            kubectl, "testeds", "DESCRIPTION:.*preserve-unknown-properties in nested field for Testing"
        )
    await _clean_up(client, made)


@promise(f"{_PROMISE} works for multiple CRDs of different groups")
async def test_resources_of_different_groups(client: ApiClient) -> None:
    foo = await _set_up(client, FOO, "foo", "v1")
    waldo = await _set_up(client, WALDO, "waldo", "v1beta1")
    await _shows(client, _name("foo", "v1", "Tested"), FOO)
    await _clean_up(client, foo)
    await _clean_up(client, waldo)


@promise(f"{_PROMISE} works for multiple CRDs of same group but different versions")
async def test_resources_of_different_versions(client: ApiClient) -> None:
    await _clean_up(client, await _set_up(client, FOO, "multi-ver", "v2", "v3"))
    foo = await _set_up(client, FOO, "common-group", "v4", kind="Foo")
    waldo = await _set_up(client, WALDO, "common-group", "v5", kind="Waldo")
    await _shows(client, _name("common-group", "v4", "Foo"), FOO)
    await _clean_up(client, foo)
    await _clean_up(client, waldo)


@promise(f"{_PROMISE} works for multiple CRDs of same group and version but different kinds")
async def test_resources_of_different_kinds(client: ApiClient) -> None:
    foo = await _set_up(client, FOO, "common-group", "v6", kind="Foo")
    waldo = await _set_up(client, WALDO, "common-group", "v6", kind="Waldo")
    await _shows(client, _name("common-group", "v6", "Foo"), FOO)
    await _clean_up(client, foo)
    await _clean_up(client, waldo)


@promise(f"{_PROMISE} updates the published spec when one version gets renamed")
async def test_a_version_is_renamed(client: ApiClient) -> None:
    made = await _set_up(client, FOO, "multi-ver", "v2", "v3")
    path = "/spec/versions/1/name"
    patch = [{"op": "test", "path": path, "value": "v3"}, {"op": "replace", "path": path, "value": "v4"}]
    renamed = await definitions(client).patch(made["metadata"]["name"], patch, "json")
    await _shows(client, _name("multi-ver", "v4", "Tested"), FOO)
    await _shows(client, _name("multi-ver", "v3", "Tested"), None)
    await _shows(client, _name("multi-ver", "v2", "Tested"), FOO)
    await _clean_up(client, renamed)


@promise(f"{_PROMISE} removes definition from spec when one version gets changed to not be served")
async def test_a_version_is_served_no_longer(client: ApiClient) -> None:
    made = await _set_up(client, FOO, "multi-to-single-ver", "v5", "v6alpha1")

    def withdraw(obj: Object) -> Object:
        obj["spec"]["versions"][1]["served"] = False
        return obj

    assert newer(await definitions(client).change(made["metadata"]["name"], withdraw), made)
    await _shows(client, _name("multi-to-single-ver", "v6alpha1", "Tested"), None)
    await _shows(client, _name("multi-to-single-ver", "v5", "Tested"), FOO)
    await _clean_up(client, made)
