"""Which resource a kind is, asked of the API and remembered."""

from __future__ import annotations

import msgspec

from steersman.client.errors import NoSuchKind, NotFound, Unreachable
from steersman.client.sending import Sender
from steersman.objects.resource_type import ResourceType

__all__ = ["Discovery"]


class _Resource(msgspec.Struct):
    name: str
    kind: str
    namespaced: bool = False


class _Resources(msgspec.Struct):
    resources: list[_Resource] = []


_decode = msgspec.json.Decoder(_Resources).decode


class Discovery:
    """Kinds by apiVersion. A kind that is not known is looked for anew each time: it may come."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._known: dict[tuple[str, str], ResourceType] = {}

    async def find(self, api_version: str, kind: str) -> ResourceType:
        """Raises `NoSuchKind`."""
        if (api_version, kind) not in self._known:
            await self._load(api_version)
        try:
            return self._known[api_version, kind]
        except KeyError:
            raise NoSuchKind(api_version, kind) from None

    def forget(self, resource: ResourceType) -> None:
        """The API does not serve it (any more)."""
        self._known.pop((resource.api_version, resource.kind), None)

    async def _load(self, api_version: str) -> None:
        group, _, version = api_version.rpartition("/")
        try:
            answer = await self._sender.send(
                "GET", f"/apis/{api_version}" if group else f"/api/{api_version}"
            )
        except NotFound:
            return
        try:
            resources = _decode(answer.content).resources
        except msgspec.DecodeError as error:
            said = f"the response is not a list of the resources of {api_version}: {error}"
            raise Unreachable(said, maybe_done=False) from error
        for found in resources:
            if "/" not in found.name:
                resource = ResourceType(group, version, found.kind, found.name, found.namespaced)
                self._known[api_version, found.kind] = resource
