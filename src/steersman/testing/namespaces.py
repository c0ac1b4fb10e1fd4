"""Namespaces for single tests: made for one, gone after it with everything in them.

Nobody else takes part: finalizers are removed by force, since the operators they wait for have ended.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import Any

import orjson

from steersman.client import Client, NotFound
from steersman.objects.resource_type import ResourceType

__all__ = ["NAMESPACES", "add_namespace", "remove_namespace"]

NAMESPACES = ResourceType("", "v1", "Namespace", "namespaces", namespaced=False)

_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_numbers = itertools.count(1)


async def add_namespace(client: Client, prefix: str = "test") -> str:
    """A new namespace; its name."""
    name = f"{prefix}-{os.getpid()}-{next(_numbers)}"
    await client.create({"metadata": {"name": name}}, kind=NAMESPACES)
    return name


async def remove_namespace(client: Client, name: str) -> None:
    """Remove a namespace and all it holds, at once."""
    for resource in await _resources(client):
        await _remove_all(client, resource, name)
    try:
        left = await client.delete(NAMESPACES, name)
    except NotFound:
        return
    if left is not None:
        left["spec"]["finalizers"] = []
        await client.replace(left, kind=NAMESPACES, subresource="finalize")


async def _remove_all(client: Client, resource: ResourceType, namespace: str) -> None:
    page = await client.list_page(resource, namespace, metadata_only=True)
    if not page.items:
        return
    await client.delete_collection(resource, namespace, propagation="Background", grace_s=0)
    page = await client.list_page(resource, namespace, metadata_only=True)
    for item in page.items:
        metadata = orjson.loads(item)["metadata"]
        if metadata.get("finalizers"):
            patch = {"metadata": {"finalizers": None}}
            await client.patch(resource, metadata["name"], patch, namespace, type="merge")


async def _resources(client: Client) -> list[ResourceType]:
    """Everything that lives in namespaces and can be listed and deleted."""
    found: dict[tuple[str, str], ResourceType] = {}
    for path in ("/api", "/apis"):
        document = orjson.loads(await client.request("GET", path, accept=_DISCOVERY))
        for resource in _described(document):
            # Versions of a resource are views of the same objects.
            found.setdefault((resource.group, resource.plural), resource)
    return list(found.values())


def _described(document: dict[str, Any]) -> Iterator[ResourceType]:
    for group in document["items"]:
        for version in group["versions"]:
            for described in version.get("resources", ()):
                if described["scope"] == "Namespaced" and {"list", "deletecollection"} <= {
                    *described["verbs"]
                }:
                    yield ResourceType(
                        group["metadata"].get("name", ""),
                        version["version"],
                        described["responseKind"]["kind"],
                        described["resource"],
                    )
