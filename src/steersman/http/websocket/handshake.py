"""The opening handshake of RFC 6455, both sides, as pure functions over headers."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass

from steersman.http.errors import BadRequest, ProtocolError, RequestRefused
from steersman.http.headers import Headers

__all__ = ["Accepted", "accept_request", "check_answer", "client_headers", "new_key"]

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


@dataclass(frozen=True, slots=True)
class Accepted:
    """What the server answers with its 101."""

    headers: tuple[tuple[bytes, bytes], ...]
    subprotocol: str | None


def accept_request(method: str, headers: Headers, subprotocols: Sequence[str]) -> Accepted:
    """Check a client's request and choose a subprotocol, in the client's order of preference."""
    if method != "GET":
        raise BadRequest("Bad Request: a WebSocket starts with GET")
    if "websocket" not in headers.tokens("upgrade") or "upgrade" not in headers.tokens("connection"):
        raise RequestRefused(426, "Upgrade Required: websocket", ((b"Upgrade", b"websocket"),))
    if headers.get("sec-websocket-version") != "13":
        raise RequestRefused(
            426, "Upgrade Required: WebSocket version 13", ((b"Sec-WebSocket-Version", b"13"),)
        )
    key = headers.get("sec-websocket-key", "") or ""
    if not _is_key(key):
        raise BadRequest("Bad Request: invalid Sec-WebSocket-Key")
    answer = [
        (b"Upgrade", b"websocket"),
        (b"Connection", b"Upgrade"),
        (b"Sec-WebSocket-Accept", _accept(key.encode())),
    ]
    offered = _list(headers, "sec-websocket-protocol")
    chosen = next((name for name in offered if name in subprotocols), None)
    if chosen is not None:
        answer.append((b"Sec-WebSocket-Protocol", chosen.encode("latin-1")))
    elif offered and subprotocols:
        raise BadRequest(f"Bad Request: none of the requested subprotocols is known: {', '.join(offered)}")
    return Accepted(tuple(answer), chosen)


def new_key() -> bytes:
    return base64.b64encode(os.urandom(16))


def client_headers(key: bytes, subprotocols: Sequence[str]) -> list[tuple[bytes, bytes]]:
    headers = [
        (b"Upgrade", b"websocket"),
        (b"Connection", b"Upgrade"),
        (b"Sec-WebSocket-Version", b"13"),
        (b"Sec-WebSocket-Key", key),
    ]
    if subprotocols:
        headers.append((b"Sec-WebSocket-Protocol", ", ".join(subprotocols).encode("latin-1")))
    return headers


def check_answer(key: bytes, headers: Headers, subprotocols: Sequence[str]) -> str | None:
    """Check the server's 101; the subprotocol it chose."""
    if "websocket" not in headers.tokens("upgrade") or "upgrade" not in headers.tokens("connection"):
        raise ProtocolError("the server switched to something else than a WebSocket")
    if headers.get("sec-websocket-accept") != _accept(key).decode():
        raise ProtocolError("the server's Sec-WebSocket-Accept does not match")
    if headers.get("sec-websocket-extensions"):
        raise ProtocolError("the server uses WebSocket extensions that were not requested")
    chosen = headers.get("sec-websocket-protocol")
    if chosen is not None and chosen not in subprotocols:
        raise ProtocolError(f"the server chose subprotocol {chosen!r}, which was not offered")
    return chosen


def _accept(key: bytes) -> bytes:
    return base64.b64encode(hashlib.sha1(key + _GUID, usedforsecurity=False).digest())


def _is_key(key: str) -> bool:
    try:
        return len(base64.b64decode(key, validate=True)) == 16
    except (binascii.Error, ValueError):
        return False


def _list(headers: Headers, name: str) -> list[str]:
    return [item for value in headers.get_all(name) for part in value.split(",") if (item := part.strip())]
