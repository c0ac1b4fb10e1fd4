"""The resources that the API serves (discovery), custom and aggregated ones included, for the garbage
collector and the namespace controller.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from steersman.client import Client, Unreachable
from steersman.objects.resource_type import ResourceType

__all__ = ["DiscoveredResource", "DiscoveredResources", "discover"]

_ACCEPT: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class DiscoveredResource(NamedTuple):
    """A resource in one version, and its verbs."""

    resource: ResourceType
    verbs: frozenset[str]
    preferred: bool
    """Whether this is the version to use if there are several."""

    def supports(self, *verbs: str) -> bool:
        return self.verbs.issuperset(verbs)


class DiscoveredResources(NamedTuple):
    """The resources served, and the groups whose discovery failed."""

    resources: list[DiscoveredResource]
    stale: list[str]
    """Groups with version whose server does not answer: it is not known what they have."""

    def preferred(self, *verbs: str) -> list[ResourceType]:
        """The resources that support these verbs, each in one version."""
        return [served.resource for served in self.resources if served.preferred and served.supports(*verbs)]


class _Kind(msgspec.Struct):
    kind: str = ""


class _Resource(msgspec.Struct, rename="camel"):
    resource: str
    scope: str
    response_kind: _Kind | None = None
    verbs: list[str] = []


class _Version(msgspec.Struct):
    version: str
    resources: list[_Resource] = []
    freshness: str = ""


class _Metadata(msgspec.Struct):
    name: str = ""


class _Group(msgspec.Struct):
    metadata: _Metadata
    versions: list[_Version] = []


class _Groups(msgspec.Struct):
    items: list[_Group]


_decode = msgspec.json.Decoder(_Groups).decode


async def discover(client: Client) -> DiscoveredResources:
    """Ask the API. Raises `ClientError`, also for an answer that says nothing: nobody may take that for an
    API that serves nothing."""
    found = DiscoveredResources([], [])
    for root in ("/api", "/apis"):
        answer = await client.request("GET", root, accept=_ACCEPT)
        try:
            groups = _decode(answer).items
        except msgspec.DecodeError as error:
            raise Unreachable(f"{root} did not answer with discovery: {error}", maybe_done=False) from None
        for group in groups:
            _add_group(found, group)
    return found


def _add_group(found: DiscoveredResources, group: _Group) -> None:
    seen: set[str] = set()
    for version in group.versions:
        name = group.metadata.name
        if version.freshness == "Stale":
            found.stale.append(f"{name}/{version.version}" if name else version.version)
            continue
        for resource in version.resources:
            kind = resource.response_kind.kind if resource.response_kind is not None else ""
            kept = ResourceType(
                name, version.version, kind, resource.resource, resource.scope == "Namespaced"
            )
            found.resources.append(
                DiscoveredResource(kept, frozenset(resource.verbs), resource.resource not in seen)
            )
            seen.add(resource.resource)
