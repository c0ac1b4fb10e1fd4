"""Custom resource definitions as the public tests make them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steersman.objects.conditions import condition_is
from tests.conformance.promises.keeping import Collection, Object, until
from tests.support.api import ApiClient

__all__ = ["ANYTHING", "custom", "definition", "definitions", "establish", "remove", "version"]

#: A schema that says nothing.
ANYTHING: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def definitions(client: ApiClient) -> Collection:
    return Collection(client, "apiextensions.k8s.io/v1", "customresourcedefinitions")


def version(name: str, schema: Mapping[str, Any] = ANYTHING, *, storage: bool = True, **more: Any) -> Object:
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": dict(schema)},
        **more,
    }


def definition(
    group: str,
    kind: str,
    *versions: Object,
    namespaced: bool = True,
    labels: Object | None = None,
    **spec: Any,
) -> Object:
    singular = kind.lower()
    names = {"plural": f"{singular}s", "singular": singular, "kind": kind, "listKind": f"{kind}List"}
    return {
        "metadata": {"name": f"{singular}s.{group}", **({"labels": labels} if labels else {})},
        "spec": {
            "group": group,
            "scope": "Namespaced" if namespaced else "Cluster",
            "names": names,
            "versions": list(versions or (version("v1"),)),
            **spec,
        },
    }


def custom(client: ApiClient, made: Object, number: str = "v1", namespace: str = "") -> Collection:
    spec = made["spec"]
    return Collection(client, f"{spec['group']}/{number}", spec["names"]["plural"], namespace)


async def establish(client: ApiClient, wanted: Object) -> Object:
    """Create a definition and wait until its resources are served."""
    made = await definitions(client).create(wanted)
    name = made["metadata"]["name"]

    async def established() -> bool:
        return condition_is((await definitions(client).get(name))["status"].get("conditions"), "Established")

    await until(established)
    return await definitions(client).get(name)


async def remove(client: ApiClient, made: Object) -> None:
    """Delete a definition and wait until it is gone."""
    name = made["metadata"]["name"]
    await definitions(client).delete(name)
    await until(lambda: definitions(client).gone(name))
