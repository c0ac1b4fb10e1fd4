"""Single writes by the project's own client, in the benchmark's process."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.process import ServerProcess
from benchmarks.watchers import trusting_tls
from steersman.http import Client

__all__ = ["CONFIGMAPS", "Writer"]

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"

#: Makes a ConfigMap about 1 KB.
_PADDING = "x" * 860


class Writer:
    """Answers are decoded; one that is not 2xx is counted and told."""

    def __init__(self, server: ServerProcess, connections: int) -> None:
        headers = (
            (b"Authorization", b"Bearer " + server.token.encode()),
            (b"Content-Type", b"application/json"),
        )
        self._client = Client(server.url, ssl=trusting_tls(), headers=headers, pool_size=connections)

    async def __aenter__(self) -> Writer:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    async def create(self, name: str) -> int:
        """The new object's revision."""
        return _revision(await self._ask("POST", CONFIGMAPS, _configmap(name, "a")))

    async def update(self, name: str, value: str) -> int:
        return _revision(await self._ask("PUT", f"{CONFIGMAPS}/{name}", _configmap(name, value)))

    async def delete(self, name: str) -> None:
        await self._ask("DELETE", f"{CONFIGMAPS}/{name}")

    async def list(self) -> tuple[dict[str, int], int]:
        """Every object's revision by its name, and the list's own; asked for in pages."""
        found: dict[str, int] = {}
        target = f"{CONFIGMAPS}?limit=500"
        page = target
        while True:
            answer = await self._ask("GET", page)
            for item in answer["items"]:
                found[item["metadata"]["name"]] = _revision(item)
            token = answer["metadata"].get("continue")
            if not token:
                return found, _revision(answer)
            page = f"{target}&continue={token}"

    async def remembers(self, revision: int) -> bool:
        """Whether the server can still tell what was there at a revision."""
        target = f"{CONFIGMAPS}?limit=1&resourceVersionMatch=Exact&resourceVersion={revision}"
        response = await self._client.request("GET", target)
        return response.status == 200

    async def _ask(self, method: str, target: str, content: bytes = b"") -> Any:
        response = await self._client.request(method, target, content=content)
        if response.status not in (200, 201):
            raise RuntimeError(f"{method} {target}: {response.status} {response.content[:500]!r}")
        return json.loads(response.content)


def _revision(answer: Any) -> int:
    return int(answer["metadata"]["resourceVersion"])


def _configmap(name: str, value: str) -> bytes:
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"k": value + _PADDING},
    }
    return json.dumps(body).encode()
