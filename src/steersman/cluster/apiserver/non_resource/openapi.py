"""/openapi/v2 and /openapi/v3: the documents that `schema.openapi` makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from steersman.cluster.codec.negotiate import parse_accept
from steersman.http import Request, Response

if TYPE_CHECKING:
    from steersman.cluster.schema.openapi import Document, OpenAPI

__all__ = ["serve_openapi"]

_PROTOBUF_V2 = (
    "com.github.proto-openapi.spec.v2@v1.0+protobuf",
    "com.github.proto-openapi.spec.v2.v1.0+protobuf",
)
_JSON = b"application/json"


def serve_openapi(load: Callable[[], OpenAPI], request: Request) -> Response | None:
    """The answer to an OpenAPI path, None when it is not one."""
    path = request.path.rstrip("/")
    if not path.startswith("/openapi/"):
        return None
    openapi = load()
    if path == "/openapi/v3":
        return _answer(request, openapi.index(), b"text/plain; charset=utf-8")
    if path == "/openapi/v2":
        if _prefers_protobuf(request.headers.get("accept") or ""):
            return _answer(request, openapi.v2_protobuf(), b"application/" + _PROTOBUF_V2[1].encode())
        return _answer(request, openapi.v2_json(), _JSON)
    if path.startswith("/openapi/v3/"):
        document = openapi.group_version(path.removeprefix("/openapi/v3/"))
        return Response(404, b"") if document is None else _answer(request, document, _JSON)
    return None


def _prefers_protobuf(accept: str) -> bool:
    for clause in parse_accept(accept):
        if clause.subtype in _PROTOBUF_V2:
            return True
        if clause.subtype in ("json", "*"):
            return False
    return False


def _answer(request: Request, document: Document, content_type: bytes) -> Response:
    etag = f'"{document.digest}"'
    headers = ((b"Content-Type", content_type), (b"ETag", etag.encode()), (b"Vary", b"Accept"))
    if request.headers.get("if-none-match") == etag:
        return Response(304, b"", headers)
    return Response(200, document.body, headers)
