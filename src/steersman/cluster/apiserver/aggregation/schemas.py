"""OpenAPI documents of aggregated API servers: fetched when they change, and merged into our own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import orjson

from steersman.cluster.apiserver.aggregation.availability import AGGREGATOR
from steersman.cluster.apiserver.aggregation.identity import identity_headers
from steersman.cluster.apiserver.aggregation.registrations import Backend
from steersman.cluster.schema.openapi.foreign import Foreign, converted, part_of
from steersman.http import ClientResponse
from steersman.http.transport import Transport

__all__ = ["Published", "fetch_published"]

_TIMEOUT_S: Final = 30.0
_ROOT: Final = "/openapi/v3"


@dataclass(frozen=True, slots=True)
class Published:
    """What a backend says about itself, and how to see that it says so still."""

    foreign: Foreign
    #: Of the version 2 document.
    etag: str = ""
    #: Of the version 3 document; it has a hash in it. Empty when there is none.
    url: str = ""


async def fetch_published(
    transport: Transport, backend: Backend, before: Published | None
) -> Published | None:
    """A backend's documents, `before` as far as it did not change. None when it has none.

    Raises ClientError; ValueError for what is no OpenAPI document.
    """
    path = backend.path.removeprefix("/")
    v2, etag = await _fetch_v2(transport, path, before)
    url = await _v3_url(transport, path)
    if url and before is not None and before.url == url:
        v3 = before.foreign.v3
    elif url:
        v3 = (await _get(transport, url)).content
        if not isinstance(orjson.loads(v3), dict):
            raise ValueError("a version 3 document that is not an object")
    elif v2.get("paths"):
        v3 = converted(v2, backend.version)
    else:
        return None
    return Published(Foreign(path, v2, v3), etag, url)


async def _get(transport: Transport, target: str, etag: str = "") -> ClientResponse:
    headers = [*identity_headers(AGGREGATOR), (b"Accept", b"application/json")]
    if etag:
        headers.append((b"If-None-Match", etag.encode("latin-1")))
    return await transport.request("GET", target, headers=headers, timeout_s=_TIMEOUT_S)


async def _fetch_v2(transport: Transport, path: str, before: Published | None) -> tuple[Any, str]:
    answer = await _get(transport, "/openapi/v2", before.etag if before is not None else "")
    if answer.status == 304 and before is not None:
        return before.foreign.v2, before.etag
    if answer.status != 200:
        return {}, ""
    return part_of(orjson.loads(answer.content), path), answer.headers.get("etag") or ""


async def _v3_url(transport: Transport, path: str) -> str:
    """Where the version 3 document is; only below the place where such documents are."""
    answer = await _get(transport, _ROOT)
    if answer.status != 200:
        return ""
    document = orjson.loads(answer.content)
    paths = document.get("paths") if isinstance(document, dict) else None
    entry = paths.get(path) if isinstance(paths, dict) else None
    url = entry.get("serverRelativeURL") if isinstance(entry, dict) else None
    return url if isinstance(url, str) and url.startswith(f"{_ROOT}/") else ""
