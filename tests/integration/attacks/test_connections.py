"""Attacks on the wire: headers without end, slow senders, two requests that look like one."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress

import pytest

from .conftest import Peer, bounded

pytestmark = pytest.mark.slow

Connect = Callable[[], Peer]
START = "GET /version HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\n"

HEADERS = {
    "200,000 fields": "A: b\r\n" * 200_000,
    "a value of 2 MB": f"A: {'b' * (2 << 20)}\r\n",
    "a name of 2 MB": f"{'a' * (2 << 20)}: b\r\n",
    "no name": ": b\r\n",
    "a space in the name": "A b: c\r\n",
    "a space before the colon": "A : c\r\n",
    "a NUL": "A: b\0c\r\n",
    "a bare CR": "A: b\rImpersonate-User: x\r\n",
    "a folded line": "A: b\r\n Impersonate-User: x\r\n",
    "two hosts": "Host: y\r\n",
    "no colon": "Abc\r\n",
}


LINES = {
    "one word": "GET",
    "no version": "GET /",
    "version 9": "GET / HTTP/9.9",
    "a NUL": "G\0T / HTTP/1.1",
    "2 MB of path": f"GET /{'a' * (2 << 20)} HTTP/1.1",
    "HTTP/2": "PRI * HTTP/2.0",
}


def answers(peer: Connect, requests: dict[str, str]) -> dict[str, bytes]:
    """What each request gets on a connection of its own. All at once: a refused one lingers for a while."""
    peers = {name: peer() for name in requests}
    for name, each in peers.items():
        # Cut off in the middle of it is as good as an answer.
        with suppress(OSError):
            each.send(requests[name])
    return {name: each.rest() for name, each in peers.items()}


def test_abused_headers_are_refused(peer: Connect) -> None:
    with bounded():
        got = answers(peer, {name: f"{START}{abuse}\r\n" for name, abuse in HEADERS.items()})
    for name, answer in got.items():
        assert not answer or re.match(rb"HTTP/1.1 4\d\d ", answer), (name, answer[:200])


def test_bad_request_lines_are_refused(peer: Connect) -> None:
    with bounded():
        got = answers(peer, {name: f"{line}\r\nHost: x\r\n\r\n" for name, line in LINES.items()})
    for name, answer in got.items():
        assert not answer or re.match(rb"HTTP/1.1 (4\d\d|505) ", answer), (name, answer[:200])


BODY = '{"metadata":{"name":"smuggled"}}'
HIDDEN = (
    "POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\n"
    f"Content-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}"
)
CHUNKED = "Transfer-Encoding: chunked\r\n"

SMUGGLED = {
    "length and chunks": f"Content-Length: 5\r\n{CHUNKED}\r\n0\r\n\r\n",
    "chunks and length": f"{CHUNKED}Content-Length: 5\r\n\r\n0\r\n\r\n",
    "two lengths": "Content-Length: 0\r\nContent-Length: 5\r\n\r\n",
    "a list of lengths": "Content-Length: 0, 5\r\n\r\n",
    "a signed length": "Content-Length: +0\r\n\r\n",
    "a negative length": "Content-Length: -1\r\n\r\n",
    "a hexadecimal length": "Content-Length: 0x0\r\n\r\n",
    "chunks of another spelling": "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunks after identity": "Transfer-Encoding: identity, chunked, identity\r\n\r\n0\r\n\r\n",
    "chunks with a space": "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "chunks behind a tab": "Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
    "a chunk of bad size": f"{CHUNKED}\r\n-1\r\n\r\n",
    "a chunk of huge size": f"{CHUNKED}\r\nfffffffffffffffff\r\n\r\n",
    "a chunk of hexadecimal spelling": f"{CHUNKED}\r\n0x0\r\n\r\n",
}


def test_a_request_that_could_be_read_in_two_ways_is_refused(peer: Connect) -> None:
    """What follows it on the connection is never served."""
    start = START.replace("GET /version", "POST /api/v1/namespaces") + "Content-Type: application/json\r\n"
    with bounded():
        got = answers(peer, {name: start + trick + HIDDEN for name, trick in SMUGGLED.items()})
    for name, answer in got.items():
        assert re.match(rb"HTTP/1.1 (400|501) ", answer), (name, answer[:200])
        assert len(re.findall(rb"HTTP/1.1 \d", answer)) == 1, (name, answer)
    looking = peer()
    looking.send(START.replace("/version", "/api/v1/namespaces/smuggled") + "Connection: close\r\n\r\n")
    assert looking.rest().startswith(b"HTTP/1.1 404 ")


def test_slow_senders_keep_nobody_waiting(peer: Connect) -> None:
    """Two hundred requests that never end, in every state one can be left in; others are served meanwhile."""
    states = [
        "",
        "GET",
        START,
        START + "A: b",
        START.replace("GET", "POST") + "Content-Length: 1000000\r\n\r\n{",
        START.replace("GET", "POST") + CHUNKED + "\r\nfffff\r\n{",
        "GET /api/v1/namespaces?watch=true HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\n\r\n",
    ]
    for number in range(200):
        peer().send(states[number % len(states)])
    with bounded(2.0):
        honest = peer()
        honest.send(START + "Connection: close\r\n\r\n")
        assert honest.rest().startswith(b"HTTP/1.1 200 ")


def test_one_that_asks_and_never_reads(peer: Connect) -> None:
    """Answers that nobody takes are not collected without end."""
    attacker = peer()
    attacker.socket.settimeout(0.5)
    ask = START.replace("/version", "/openapi/v2") + "\r\n"
    # At some time the server stops reading.
    with suppress(OSError):
        for _ in range(500):
            attacker.send(ask)
    with bounded(2.0):
        honest = peer()
        honest.send(START + "Connection: close\r\n\r\n")
        assert honest.rest().startswith(b"HTTP/1.1 200 ")
