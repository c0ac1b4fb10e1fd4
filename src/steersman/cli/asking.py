"""Asking operators that run what they do: at an address, or in pods of a cluster through port forwarding."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

import orjson

from steersman.cli.failure import CommandFailed, no_use_of_the_api
from steersman.cli.options import Where
from steersman.client import Client, ClientError
from steersman.http import Client as HttpClient
from steersman.http.errors import ClientError as HttpError
from steersman.objects.resources import PODS
from steersman.runtime.insight import PATH, TOKEN

__all__ = ["Running", "running_operators"]

_METRICS: Final = "metrics"
_NAME: Final = "app.kubernetes.io/name"


@dataclass(frozen=True, slots=True)
class Running:
    """One replica of an operator."""

    name: str
    http: HttpClient

    async def ask(self, query: Mapping[str, str]) -> dict[str, Any]:
        target = f"{PATH}?{urlencode(query)}" if query else PATH
        try:
            answer = await self.http.request("GET", target)
        except HttpError as error:
            raise CommandFailed(f"{self.name} does not answer: {error}") from None
        if answer.status != 200:
            said = answer.content.decode(errors="replace").strip()
            raise CommandFailed(f"{self.name} answers {answer.status}: {said}")
        content: dict[str, Any] = orjson.loads(answer.content)
        return content


@asynccontextmanager
async def running_operators(where: Where, operator: str) -> AsyncIterator[list[Running]]:
    """The replicas of an operator, at the address given or wherever its pods are; at least one."""
    async with AsyncExitStack() as stack:
        if where.address is not None:
            yield [await stack.enter_async_context(_at(where.address, where.address))]
            return
        try:
            client = await stack.enter_async_context(
                Client.load(kubeconfig=where.kubeconfig, context=where.context)
            )
            pods = await client.list(PODS, labels=f"{_NAME}={operator}", fields="status.phase=Running")
            replicas = []
            for pod in pods:
                metadata = pod["metadata"]
                port = _metrics_port(pod)
                local = await stack.enter_async_context(
                    client.listen(metadata["name"], port, metadata["namespace"], on_error=_nothing)
                )
                name = f"{metadata['namespace']}/{metadata['name']}"
                replicas.append(await stack.enter_async_context(_at(name, f"127.0.0.1:{local}")))
        except ClientError as error:
            raise no_use_of_the_api(error) from None
        if not replicas:
            raise CommandFailed(
                f"no pod with the label {_NAME}={operator} is running at {client.host}; "
                "give the name of the operator, or --address"
            )
        yield replicas


@asynccontextmanager
async def _at(name: str, address: str) -> AsyncIterator[Running]:
    token = os.environ.get(TOKEN, "")
    headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
    async with HttpClient(f"http://{address}", headers=headers) as http:
        yield Running(name, http)


def _metrics_port(pod: Mapping[str, Any]) -> int:
    for container in pod["spec"]["containers"]:
        for port in container.get("ports") or ():
            if port.get("name") == _METRICS:
                return int(port["containerPort"])
    raise CommandFailed(f"the pod {pod['metadata']['name']} has no port named {_METRICS}")


def _nothing(_: ClientError) -> None:
    """Whoever asks is told by the connection."""
