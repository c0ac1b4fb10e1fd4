"""The bytes of a real kube-apiserver, as they came: what a client must be able to read.

One file for each connection: requests in order, and what each read returned, with its time. Headers, chunks,
compression and pauses are the server's own; TLS is taken off and `TOKEN` stands for the credential.
"""

from __future__ import annotations

import base64
import json
import socket
import ssl
import time
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from tests.originals.servers import OriginalCluster
from tests.recordings import WIRE

__all__ = ["CONNECTIONS", "Connection", "received", "record", "wire_names"]

_JSON: Final = "application/json"
_METADATA: Final = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
_MAPS: Final = "/api/v1/namespaces/wire/configmaps"
_INITIAL: Final = "watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=4"
_OBJECTS: Final = 330
_READ: Final = 65536
_PATIENCE_S: Final = 30.0
#: During a watch of some seconds.
_CHANGE_AFTER_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Connection:
    name: str
    why: str
    paths: tuple[str, ...]
    accept: str = _JSON
    compressed: bool = True
    #: Whether objects are changed while it is watched.
    changes: bool = False
    headers: tuple[str, ...] = field(default=())

    def request(self, path: str) -> str:
        lines = [
            f"GET {path} HTTP/1.1", "Host: kubernetes", "Authorization: Bearer TOKEN", "User-Agent: recorder",
            f"Accept: {self.accept}", *(["Accept-Encoding: gzip"] if self.compressed else []),
        ]  # fmt: skip
        return "\r\n".join((*lines, "", ""))


CONNECTIONS: Final = (
    Connection("list-gzip", "a large list, compressed", (_MAPS,)),
    Connection(
        "list-plain",
        "keep-alive: two answers on one connection",
        (f"{_MAPS}?limit=40", "/api/v1/namespaces/default"),
        compressed=False,
    ),
    Connection("list-page", "a page with continue, too small for compression", (f"{_MAPS}?limit=100",)),
    Connection("table-gzip", "a Table", (f"{_MAPS}?limit=300",), _TABLE),
    Connection(
        "watchlist-gzip",
        "initial events compressed flush by flush: several gzip members; then changes",
        (f"{_MAPS}?{_INITIAL}",),
        changes=True,
    ),
    Connection(
        "watchlist-plain",
        "the same, not compressed; ends by timeoutSeconds",
        (f"{_MAPS}?{_INITIAL}",),
        compressed=False,
    ),
    Connection("metadata-watchlist-gzip", "metadata only", (f"{_MAPS}?{_INITIAL}",), _METADATA),
    Connection(
        "watchlist-empty-gzip",
        "nothing there: the first bookmark ends the initial events",
        (f"/api/v1/namespaces/wire/secrets?{_INITIAL}",),
    ),
    Connection(
        "watch-gzip",
        "a plain watch is not compressed",
        (f"{_MAPS}?watch=1&resourceVersion=NOW&timeoutSeconds=3&allowWatchBookmarks=true",),
        changes=True,
    ),
    Connection(
        "watch-future",
        "a revision that is not there yet",
        (f"{_MAPS}?watch=1&resourceVersion=99999999&timeoutSeconds=2",),
    ),
    Connection("watch-of-no-such-kind", "404 in plain text", ("/apis/no.example.com/v1/things?watch=1",)),
    Connection(
        "small",
        "small answers are not compressed although asked for",
        ("/version", "/api/v1/namespaces/wire"),
    ),
    Connection(
        "refusals",
        "refusals on one connection",
        (f"{_MAPS}/none", f"{_MAPS}?fieldSelector=x%3Dy", f"{_MAPS}?resourceVersion=abc"),
    ),
)


def wire_names() -> list[str]:
    return sorted(file.stem for file in WIRE.glob("*.json"))


def received(name: str) -> list[tuple[str, list[bytes]]]:
    """What is recorded of a connection: each request, and its answer in the pieces in which it came."""
    exchanges = json.loads((WIRE / f"{name}.json").read_text())["exchanges"]
    return [
        (one["request"], [base64.b64decode(data) for _, data in one["received"] if data is not None])
        for one in exchanges
    ]


def record(server: OriginalCluster) -> None:
    """Take them all anew, into their files."""
    WIRE.mkdir(exist_ok=True)
    for old in WIRE.glob("*.json"):
        old.unlink()
    _fill(server)
    for connection in CONNECTIONS:
        text = json.dumps({"why": connection.why, "exchanges": _exchanges(server, connection)}, indent=1)
        (WIRE / f"{connection.name}.json").write_text(text + "\n")


def _fill(server: OriginalCluster) -> None:
    _make(server, "/api/v1/namespaces", {"metadata": {"name": "wire"}})
    for number in range(_OBJECTS):
        metadata = {"name": f"c{number:03}", "labels": {"n": str(number)}}
        _make(server, _MAPS, {"metadata": metadata, "data": {"k": f"value {number} " * 20}})


def _make(server: OriginalCluster, path: str, body: Any) -> None:
    code, answer = server.ask("POST", path, body)
    assert code == 201, answer


def _exchanges(server: OriginalCluster, connection: Connection) -> list[Any]:
    address = urlsplit(server.url)
    context = ssl.create_default_context(cadata=server.ca.decode())
    exchanges = []
    with (
        socket.create_connection((address.hostname or "", address.port or 443), _PATIENCE_S) as raw,
        context.wrap_socket(raw, server_hostname=address.hostname) as sock,
    ):
        for path in connection.paths:
            _, there = server.ask("GET", _MAPS + "?limit=1")
            request = connection.request(path.replace("NOW", there["metadata"]["resourceVersion"]))
            sock.sendall(request.replace("TOKEN", server.token).encode())
            change = _change if connection.changes else None
            exchanges.append({"request": request, "received": _pieces(sock, server, change)})
    return exchanges


def _pieces(sock: ssl.SSLSocket, server: OriginalCluster, change: Any) -> list[Any]:
    """One answer, to its end; `change` is called while it comes."""
    started, pieces, whole = time.monotonic(), [], b""
    while not _is_complete(whole):
        waited = time.monotonic() - started
        if change is not None and waited >= _CHANGE_AFTER_S:
            change(server)
            change = None
        sock.settimeout(0.1 if change is not None else _PATIENCE_S)
        try:
            data = sock.recv(_READ)
        except TimeoutError:
            assert change is not None, "the answer does not end"
            continue
        whole += data
        text = base64.b64encode(data).decode() if data else None
        pieces.append([round(time.monotonic() - started, 3), text])
        if not data:
            break
    return pieces


def _change(server: OriginalCluster) -> None:
    _make(server, _MAPS, {"metadata": {"name": "added"}, "data": {"k": "v"}})
    code, answer = server.ask("DELETE", f"{_MAPS}/added")
    assert code == 200, answer


def _is_complete(data: bytes) -> bool:
    head, end, body = data.partition(b"\r\n\r\n")
    if not end:
        return False
    lines = head.lower().split(b"\r\n")
    if b"transfer-encoding: chunked" in lines:
        return body == b"0\r\n\r\n" or body.endswith(b"\r\n0\r\n\r\n")
    length = next(int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:"))
    return len(body) >= length
