"""The request parser: what it understands, what it refuses, and that pieces do not matter."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.http import Limits, Request
from steersman.http.parsing import RequestParser
from steersman.http.request import Connection


class Nobody:
    """An exchange and body source for requests that are only looked at."""

    def open_stream(self, *arguments: Any) -> Any:
        raise AssertionError("not answered here")

    hand_over = open_stream

    def body_wanted(self) -> None: ...

    def body_drained(self) -> None: ...


@dataclass
class Seen:
    """Everything that came of a connection's bytes."""

    requests: list[tuple[str, str, list[tuple[bytes, bytes]], bytes]] = field(default_factory=list)
    refused: int | None = None
    finished: bool = False


def parser(limits: Limits | None = None, streams: Callable[[Request], bool] | None = None) -> RequestParser:
    nobody = Nobody()
    return RequestParser(limits or Limits(), Connection(("", 0), None), nobody, nobody, streams)


def parse(pieces: Iterable[bytes], limits: Limits | None = None) -> Seen:
    seen = Seen()
    subject = parser(limits)
    for piece in pieces:
        subject.feed(piece)
        while subject.ready:
            request = subject.ready.popleft()
            seen.requests.append((request.method, request.target, request.headers.raw, request.content))
            subject.resume()
            subject.advance()
    if subject.refused is not None:
        seen.refused = subject.refused[1].status
    seen.finished = subject.finished
    return seen


def with_head(*fields: str, method: str = "POST", body: str = "", version: str = "HTTP/1.1") -> bytes:
    return "".join([f"{method} /x {version}\r\n", *(f"{f}\r\n" for f in fields), "\r\n", body]).encode(
        "latin-1"
    )


CHUNKED = "Transfer-Encoding: chunked"

REFUSED = {
    "two lengths": with_head("Host: a", "Content-Length: 3", "Content-Length: 4", body="abc"),
    "two equal lengths": with_head("Host: a", "Content-Length: 3", "Content-Length: 3", body="abc"),
    "list of lengths": with_head("Host: a", "Content-Length: 3, 3", body="abc"),
    "signed length": with_head("Host: a", "Content-Length: +3", body="abc"),
    "negative length": with_head("Host: a", "Content-Length: -3", body="abc"),
    "empty length": with_head("Host: a", "Content-Length: ", body="abc"),
    "hexadecimal length": with_head("Host: a", "Content-Length: 0x3", body="abc"),
    "overflowing length": with_head("Host: a", f"Content-Length: {'9' * 30}"),
    "length, then chunked": with_head("Host: a", "Content-Length: 5", CHUNKED, body="0\r\n\r\n"),
    "chunked, then length": with_head("Host: a", CHUNKED, "Content-Length: 5", body="0\r\n\r\n"),
    "chunked twice": with_head("Host: a", CHUNKED, CHUNKED, body="0\r\n\r\n"),
    "chunked and identity": with_head("Host: a", CHUNKED, "Transfer-Encoding: identity", body="0\r\n\r\n"),
    "gzip, chunked": with_head("Host: a", "Transfer-Encoding: gzip, chunked", body="0\r\n\r\n"),
    "chunked, gzip": with_head("Host: a", "Transfer-Encoding: chunked, gzip", body="0\r\n\r\n"),
    "empty member before chunked": with_head("Host: a", "Transfer-Encoding: ,chunked", body="0\r\n\r\n"),
    "identity": with_head("Host: a", "Transfer-Encoding: identity"),
    "xchunked": with_head("Host: a", "Transfer-Encoding: xchunked", body="0\r\n\r\n"),
    "vertical tab before chunked": with_head("Host: a", "Transfer-Encoding: \x0bchunked", body="0\r\n\r\n"),
    "empty Transfer-Encoding": with_head("Host: a", "Transfer-Encoding:"),
    "chunked in HTTP/1.0": with_head("Host: a", CHUNKED, body="0\r\n\r\n", version="HTTP/1.0"),
    "folded header": with_head("Host: a", "X: a\r\n b"),
    "folded first header": b"GET / HTTP/1.1\r\n Host: a\r\n\r\n",
    "bare LF after a header": b"GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n",
    "bare LF after the request line": b"GET / HTTP/1.1\nHost: a\r\n\r\n",
    "bare LF at the end": b"GET / HTTP/1.1\r\nHost: a\r\n\n",
    "bare CR": b"GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n",
    "space before the colon": with_head("Host : a"),
    "tab before the colon": with_head("Host: a", "Content-Length\t: 3", body="abc"),
    "name that is no token": with_head("Host: a", "X(y): z"),
    "empty name": with_head("Host: a", ": z"),
    "header without colon": with_head("Host: a", "X"),
    "NUL in a value": with_head("Host: a", "X: a\0b"),
    "control character in a value": with_head("Host: a", "X: a\x01b"),
    "no Host": with_head("X: y"),
    "two Hosts": with_head("Host: a", "Host: a"),
    "space in the target": b"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
    "control character in the target": b"GET /a\x01b HTTP/1.1\r\nHost: a\r\n\r\n",
    "raw UTF-8 in the target": b"GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n",
    "fragment in the target": b"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n",
    "relative target": b"GET a HTTP/1.1\r\nHost: a\r\n\r\n",
    "unknown method": b"FROB / HTTP/1.1\r\nHost: a\r\n\r\n",
    "lower-case method": b"get / HTTP/1.1\r\nHost: a\r\n\r\n",
    "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/1.2": with_head("Host: a", version="HTTP/1.2"),
    "chunk size with bare LF": with_head("Host: a", CHUNKED, body="3\nabc\r\n0\r\n\r\n"),
    "chunk without its CRLF": with_head("Host: a", CHUNKED, body="3\r\nabc0\r\n\r\n"),
    "space after the chunk size": with_head("Host: a", CHUNKED, body="3 \r\nabc\r\n0\r\n\r\n"),
    "chunk extension with bare LF": with_head("Host: a", CHUNKED, body="3;a=b\nabc\r\n0\r\n\r\n"),
    "0x chunk size": with_head("Host: a", CHUNKED, body="0x3\r\nabc\r\n0\r\n\r\n"),
    "negative chunk size": with_head("Host: a", CHUNKED, body="-3\r\nabc\r\n0\r\n\r\n"),
    "overflowing chunk size": with_head("Host: a", CHUNKED, body="f" * 17 + "\r\nabc\r\n0\r\n\r\n"),
    "length in a trailer": with_head("Host: a", CHUNKED, body="0\r\nContent-Length: 3\r\n\r\n"),
    "broken gzip": with_head("Host: a", "Content-Encoding: gzip", "Content-Length: 3", body="abc"),
    "garbage": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
}


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.parametrize("cut", [False, True], ids=["at once", "byte by byte"])
def test_ambiguous_requests_are_refused_with_400(data: bytes, cut: bool) -> None:
    follow_up = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
    whole = data + follow_up
    pieces = [whole[i : i + 1] for i in range(len(whole))] if cut else [whole]
    assert parse(pieces) == Seen(requests=[], refused=400, finished=True)


@pytest.mark.parametrize(
    "data,status",
    [
        (with_head("Host: a", version="HTTP/2.0"), 505),
        (with_head("Host: a", version="HTTP/0.9"), 505),
        (with_head("Host: a", "Expect: magic", "Content-Length: 1"), 417),
        (with_head("Host: a", "Content-Encoding: br", "Content-Length: 1", body="x"), 415),
        (b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 405),
        (with_head("Host: a", "Content-Length: 11", body="x" * 11), 413),
        (with_head("Host: a", "Expect: 100-continue", "Content-Length: 11"), 413),
        (with_head("Host: a", CHUNKED, body="b\r\n" + "x" * 11 + "\r\n0\r\n\r\n"), 413),
        (with_head("Host: a", CHUNKED, body="1\r\nx\r\n" * 11 + "0\r\n\r\n"), 413),
    ],
    ids=[
        "HTTP/2.0",
        "HTTP/0.9",
        "unknown expectation",
        "unknown coding",
        "CONNECT",
        "long body",
        "long body announced",
        "long chunk",
        "many chunks",
    ],
)
def test_requests_beyond_this_server_get_their_own_status(data: bytes, status: int) -> None:
    assert parse([data], Limits(body_bytes=10)).refused == status


@pytest.mark.parametrize(
    "data",
    [
        with_head("Host: a", *[f"X-{n}: {'y' * 50}" for n in range(30)]),
        with_head("Host: a", "X: " + "y" * 3000),
        with_head("Host: a", "X" * 3000 + ": y"),
        b"GET /" + b"y" * 3000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        b"\r\n" * 1500,
        with_head("Host: a", CHUNKED, body="0\r\nX: " + "y" * 3000),
        with_head("Host: a", CHUNKED, body="1;x=" + "y" * 3000),
    ],
    ids=[
        "many headers",
        "long value",
        "long name",
        "long target",
        "empty lines",
        "trailer",
        "chunk extension",
    ],
)
@pytest.mark.parametrize("step", [50, 900], ids=["small pieces", "large pieces"])
def test_too_long_heads_are_refused_with_431(data: bytes, step: int) -> None:
    pieces = [data[i : i + step] for i in range(0, len(data), step)]
    seen = parse(pieces, Limits(header_bytes=1000))
    assert (seen.requests, seen.refused) == ([], 431)


def test_heads_within_the_limit_pass_whatever_follows_them() -> None:
    data = with_head("Host: a", "Content-Length: 5000", body="x" * 5000)
    assert len(parse([data], Limits(header_bytes=1000)).requests) == 1


def test_gzip_bodies_are_decompressed_within_the_limit() -> None:
    body = gzip.compress(b"a" * 1000)
    head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)
    assert parse([head + body], Limits(body_bytes=1000)).requests[0][3] == b"a" * 1000
    assert parse([head + body], Limits(body_bytes=999)).refused == 413


def test_upgrade_holds_back_what_follows() -> None:
    subject = parser()
    subject.feed(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nGET /other")
    assert [request.upgradable for request in subject.ready] == [True]
    assert subject.blocked
    assert subject.take_held() == b"GET /other"


def test_declined_upgrade_goes_on_as_http() -> None:
    first = b"GET /1 HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    data = first + b"GET /2 HTTP/1.1\r\nHost: a\r\n\r\n"
    assert [request[1] for request in parse([data]).requests] == ["/1", "/2"]


@pytest.mark.parametrize(
    "framing,body",
    [(b"Content-Length: 3", b"abc"), (b"Transfer-Encoding: chunked", b"3\r\nabc\r\n0\r\n\r\n")],
    ids=["length", "chunked"],
)
@pytest.mark.parametrize("cut", [False, True], ids=["at once", "byte by byte"])
def test_upgrade_with_a_body_is_an_ordinary_request(framing: bytes, body: bytes, cut: bool) -> None:
    data = (
        b"POST /1 HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n%b\r\n\r\n%b"
        b"GET /2 HTTP/1.1\r\nHost: a\r\n\r\n" % (framing, body)
    )
    seen = parse([data[i : i + 1] for i in range(len(data))] if cut else [data])
    assert [(request[1], request[3]) for request in seen.requests] == [("/1", b"abc"), ("/2", b"")]


def test_trailers_are_dropped() -> None:
    body = "3\r\nabc\r\n0\r\nAuthorization: evil\r\nHost: b\r\n\r\n"
    seen = parse([with_head("Host: a", CHUNKED, body=body) + with_head("Host: c", method="GET")])
    assert [dict(request[2])[b"host"] for request in seen.requests] == [b"a", b"c"]
    assert all(b"authorization" not in dict(request[2]) for request in seen.requests)


def test_nothing_is_parsed_after_connection_close() -> None:
    data = with_head("Host: a", "Connection: close", method="GET") + with_head("Host: a", method="GET")
    seen = parse([data])
    assert (len(seen.requests), seen.finished, seen.refused) == (1, True, None)


def test_read_ahead_is_bounded() -> None:
    subject = parser(Limits(pipeline=4))
    one = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    subject.feed(one * 20_000)
    assert subject.blocked
    first = len(subject.ready)
    assert first < 1000
    total = 0
    while subject.ready:
        total += len(subject.ready)
        subject.ready.clear()
        subject.advance()
    assert total == 20_000
    assert not subject.blocked


@pytest.mark.parametrize(
    "version,fields,keeps",
    [
        ("HTTP/1.1", (), True),
        ("HTTP/1.1", ("Connection: close",), False),
        ("HTTP/1.0", (), False),
        ("HTTP/1.0", ("Connection: keep-alive",), True),
        ("HTTP/1.0", ("Connection: Keep-Alive, x",), True),
    ],
    ids=["1.1", "1.1 close", "1.0", "1.0 keep-alive", "1.0 listed"],
)
def test_persistence_follows_the_version(version: str, fields: tuple[str, ...], keeps: bool) -> None:
    assert parse([with_head("Host: a", *fields, method="GET", version=version)]).finished is not keeps


@pytest.mark.parametrize(
    "target,raw_path,path,query",
    [
        ("/a/b?c=d?e", "/a/b", "/a/b", "c=d?e"),
        ("/a%2Fb%20c", "/a%2Fb%20c", "/a/b c", ""),
        ("/%C3%A9%FF", "/%C3%A9%FF", "/é\ufffd", ""),
        ("http://host:1/a?b", "/a", "/a", "b"),
        ("http://host", "/", "/", ""),
        ("*", "*", "*", ""),
    ],
    ids=["query", "escapes", "not UTF-8", "absolute", "absolute without path", "asterisk"],
)
def test_targets_are_taken_apart(target: str, raw_path: str, path: str, query: str) -> None:
    subject = parser()
    subject.feed(f"OPTIONS {target} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    (request,) = subject.ready
    assert (request.target, request.raw_path, request.path, request.query_string) == (
        target,
        raw_path,
        path,
        query,
    )


def test_streamed_request_is_ready_before_its_body() -> None:
    subject = parser(streams=lambda request: True)
    subject.feed(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
    (request,) = subject.ready
    assert request.body is not None
    assert (request.body.size, request.body.complete) == (3, False)
    subject.feed(b"def")
    assert (request.body.size, request.body.complete) == (6, True)
    assert not subject.mid_body


TOKEN = st.text("abcdefghijklmnopqrstuvwxyz-", min_size=1, max_size=10).map(lambda name: "x-" + name)
VALUE = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20)


@st.composite
def valid_requests(draw: st.DrawFn) -> bytes:
    """One request with random target, headers and body, chunked or with a length."""
    method = draw(st.sampled_from(["GET", "POST", "PUT", "DELETE"]))
    target = "/" + draw(st.text("abc/%20", max_size=10))
    fields = [f"{name}: {value}" for name, value in draw(st.lists(st.tuples(TOKEN, VALUE), max_size=4))]
    body = draw(st.binary(max_size=60))
    framing = draw(st.sampled_from(["none", "length", "chunked"]))
    lines = [f"{method} {target} HTTP/1.1", "Host: a", *fields]
    if framing == "none":
        return "\r\n".join([*lines, "", ""]).encode()
    if framing == "length":
        return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body
    cuts = sorted(draw(st.lists(st.integers(0, len(body)), max_size=4)))
    parts = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True) if b > a]
    extension = draw(st.sampled_from([b"", b";a=b", b";q"]))
    trailer = draw(st.sampled_from([b"", b"x-trailer: 1\r\n"]))
    chunks = b"".join(b"%x%b\r\n%b\r\n" % (len(part), extension, part) for part in parts)
    head = "\r\n".join([*lines, CHUNKED, "", ""]).encode()
    return head + chunks + b"0\r\n" + trailer + b"\r\n"


def cut(data: bytes, places: list[int]) -> list[bytes]:
    bounds = sorted({min(place, len(data)) for place in places} | {0, len(data)})
    return [data[a:b] for a, b in itertools.pairwise(bounds)]


@settings(deadline=None, max_examples=150)
@given(st.lists(valid_requests(), min_size=1, max_size=4), st.lists(st.integers(0, 800), max_size=12))
def test_pieces_do_not_matter(requests: list[bytes], places: list[int]) -> None:
    data = b"".join(requests)
    whole = parse([data])
    assert len(whole.requests) == len(requests)
    assert whole.refused is None
    assert parse(cut(data, places)) == whole


@settings(deadline=None, max_examples=150)
@given(
    valid_requests(),
    st.lists(st.tuples(st.integers(0, 300), st.binary(max_size=4)), min_size=1, max_size=4),
    st.lists(st.integers(0, 400), max_size=6),
)
def test_damaged_requests_end_the_same_however_cut(
    request: bytes, damage: list[tuple[int, bytes]], places: list[int]
) -> None:
    data = bytearray(request)
    for place, junk in damage:
        data[place : place + 1] = junk
    whole = parse([bytes(data)])
    pieces = parse(cut(bytes(data), places))
    assert (pieces.requests, pieces.refused) == (whole.requests, whole.refused)


LINES = st.sampled_from(
    [
        b"GET /a",
        b"GET /b?c=%20",
        b"DELETE /a",
        b"HEAD /",
        b"GET /x#y",
        b"GET  /a",
        b"POST /a",
        b"PATCH /a?b",
        b"GET http://h/a",
        b"OPTIONS *",
        b"GET /\xff",
        b"get /a",
        b"GET /a HTTP/1.1\r\nHost: b\r\n\r\nGET /smuggled",
    ]
)
VERSIONS = st.sampled_from([b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.0", b"HTTP/1.2"])
FIELDS = st.sampled_from(
    [
        b"Host: a\r\n",
        b"Host: a\r\nX: y \r\n",
        b"Host: a\r\nX: y \r\nX: z\r\n",
        b"Host: a\r\nContent-Length: 2\r\n",
        b"Host: a\r\nContent-Length: 3\r\n",
        b"Host: a\r\nContent-Length: 02\r\n",
        b"Host: a\r\nContent-Length: +2\r\n",
        b"Host: a\r\nContent-Length: 2 \r\n",
        b"Content-Length: 2\r\nHost: a\r\n",
        b"Content-Length: 0\r\nHost: a\r\n",
        b"Host: a\r\nContent-Length: 2\r\nContent-Encoding: gzip\r\n",
        b"Host: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n",
        b"Host: a\r\nContent-Length: 2\r\nContent-Length: 2\r\n",
        b"Host: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        b"Host: a\r\nContent-Length: 2\r\nConnection: Upgrade\r\nUpgrade: x\r\n",
        b"Host: a\r\nTransfer-Encoding: chunked\r\n",
        b"Host: a\r\nConnection: close\r\n",
        b"Host: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n",
        b"X: y\r\n",
        b"",
    ]
)


@settings(deadline=None, max_examples=300)
@given(
    st.lists(
        st.tuples(
            LINES,
            VERSIONS,
            FIELDS,
            st.sampled_from([b"", b"", b"ok", b"ok", b"yes", b"0\r\n\r\n", b"G", b"PO", b"\r\n"]),
        ),
        max_size=8,
    )
)
def test_requests_that_repeat_fields_are_parsed_like_any_other(
    parts: list[tuple[bytes, bytes, bytes, bytes]],
) -> None:
    requests = [b"%b %b\r\n%b\r\n%b" % part for part in parts]
    one_by_one = parse(requests)
    data = b"".join(requests)
    byte_by_byte = parse([data[i : i + 1] for i in range(len(data))])
    assert (one_by_one.requests, one_by_one.refused) == (byte_by_byte.requests, byte_by_byte.refused)


def test_repeated_fields_are_shared_not_parsed_again() -> None:
    subject = parser()
    for path in (b"/1", b"/2"):
        subject.feed(b"GET %b HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n" % path)
    first, second = subject.ready
    assert (first.path, second.path) == ("/1", "/2")
    assert second.headers.get("x") == "y"


def test_repeated_fields_with_bodies_of_other_sizes() -> None:
    subject = parser()
    bodies = [b"a", b"bc", b"", b"d" * 4000, b"ef"]
    for body in bodies:
        subject.feed(
            b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\nX: y\r\n\r\n%b" % (len(body), body)
        )
        assert subject.ready[-1].headers.get("X") == "y"
        assert subject.ready[-1].headers.get("content-length") == str(len(body))
    assert [request.content for request in subject.ready] == bodies
    assert subject.ready[0].headers.get("Content-Length") == "1"


@pytest.mark.parametrize(
    "sent",
    [
        b"PUT /b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nokG",
        b"PUT /b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nok",
        b"PUT /b HTTP/1.1\r\nHost: a\r\nContent-Length: -2\r\n\r\nok",
        b"PUT /b HTTP/1.1\r\nHost: a\r\nContent-Length: 2,2\r\n\r\nok",
        b"PUT /b HTTP/1.1\r\nHost: a\r\nContent-Length: 0x2\r\n\r\nok",
        b"PUT /b HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\nok",
        b"PUT /b HTTP/1.1\r\nHost: a\r\nContent-Length: %b\r\n\r\nok" % (b"9" * 30),
        b"PUT /b HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok",
        b"PUT /b HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nX: y\r\n\r\nok",
    ],
    ids=["more", "less", "signed", "listed", "hexadecimal", "empty", "huge", "two framings", "more fields"],
)
def test_what_only_resembles_known_fields_is_parsed(sent: bytes) -> None:
    known = b"PUT /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok"
    data = known + sent
    assert parse([known, sent]) == parse([data[i : i + 1] for i in range(len(data))])


def test_repeated_fields_respect_streaming_and_limits() -> None:
    head = b"GET %b HTTP/1.1\r\nHost: a\r\n\r\n"
    subject = parser(Limits(header_bytes=100), lambda request: request.path == "/stream")
    for path in (b"/1", b"/stream", b"/" + b"x" * 200):
        subject.feed(head % path)
    first, streamed = subject.ready
    assert first.body is None
    assert streamed.body is not None
    assert streamed.body.complete
    assert subject.refused is not None
    assert subject.refused[1].status == 431


def test_known_fields_do_not_lift_the_limit_of_a_body() -> None:
    head = b"PUT /a HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%b"
    subject = parser(Limits(body_bytes=4), lambda request: request.path == "/stream")
    subject.feed(head % (2, b"ok"))
    subject.feed(head % (5, b"large"))
    assert [request.content for request in subject.ready] == [b"ok"]
    assert subject.refused is not None
    assert subject.refused[1].status == 413


@pytest.mark.parametrize(
    "scrap", [b"G", b"PO", b"GET /", b"GET /c HTTP/1.1\r\nX: "], ids=lambda s: s.decode()
)
def test_repeated_fields_are_not_looked_for_in_the_middle_of_a_request(scrap: bytes) -> None:
    plain = b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
    pieces = [plain, plain + scrap, plain]
    whole = parse([b"".join(pieces)])
    seen = parse(pieces)
    assert (seen.requests, seen.refused) == (whole.requests, whole.refused)
