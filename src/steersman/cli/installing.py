"""Custom resource definitions on an API server: put there, and whether they are missing."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from steersman.cli.failure import CommandFailed
from steersman.cli.process import confirmed
from steersman.client import Client, Forbidden, NoSuchKind
from steersman.objects.custom import CustomResource
from steersman.objects.kinds import Object
from steersman.objects.resource_type import ResourceType
from steersman.operator import Chain

__all__ = ["check_api", "install", "wants_installed"]


_CRD: Final = ResourceType(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
_MANAGER: Final = "steer"
#: A server takes a moment to serve what was defined; more than this says that it will not.
_PATIENCE_S: Final = 30.0
_POLL_S: Final = 0.1


async def install(client: Client, definitions: Iterable[Object]) -> None:
    """Have the API serve these definitions; returns when it does."""
    for definition in definitions:
        live = await client.apply(definition, field_manager=_MANAGER, kind=_CRD)
        name = live["metadata"]["name"]
        try:
            async with asyncio.timeout(_PATIENCE_S):
                while not _established(live):
                    await asyncio.sleep(_POLL_S)
                    live = await client.get(_CRD, name)
                for version in live["spec"]["versions"]:
                    if version["served"]:
                        await _wait_served(client, live["spec"], version["name"])
        except TimeoutError:
            raise CommandFailed(f"the API does not serve {name} though it is installed") from None


async def wants_installed(client: Client, operators: Sequence[Chain[Any]]) -> bool:
    """Whether definitions are missing, and whoever sits at the terminal wants them installed."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    missing = []
    for operator in operators:
        kind = operator.definition.resource
        if issubclass(operator.definition.kind, CustomResource):
            try:
                await client.resource_type(kind.api_version, kind.kind)
            except NoSuchKind:
                missing.append(f"{kind.kind} of {kind.api_version}")
            except Forbidden:
                return False
    if not missing:
        return False
    question = f"The API at {client.host} does not serve {', '.join(missing)}. Install it?"
    return confirmed(question, default=True)


async def check_api(client: Client, operators: Sequence[Chain[Any]]) -> None:
    """Raises ClientError if there is no API to ask. A kind that it does not serve yet is waited for later."""
    for operator in operators:
        kind = operator.definition.resource
        try:
            await client.resource_type(kind.api_version, kind.kind)
        except (NoSuchKind, Forbidden):  # one may be allowed to watch and not to look around
            continue


def _established(definition: Mapping[str, Any]) -> bool:
    conditions = {each["type"]: each for each in definition.get("status", {}).get("conditions") or ()}
    refused = conditions.get("NamesAccepted", {})
    if refused.get("status") == "False":
        raise CommandFailed(f"{definition['metadata']['name']}: {refused['message']}")
    return bool(conditions.get("Established", {}).get("status") == "True")


async def _wait_served(client: Client, spec: Mapping[str, Any], version: str) -> None:
    while True:
        try:
            await client.resource_type(f"{spec['group']}/{version}", spec["names"]["kind"])
        except NoSuchKind:
            await asyncio.sleep(_POLL_S)
        else:
            return
