"""The opening handshake."""

from __future__ import annotations

import pytest

from steersman.http import Headers, RequestRefused
from steersman.http.errors import ProtocolError
from steersman.http.websocket.handshake import accept_request, check_answer

KEY = b"dGhlIHNhbXBsZSBub25jZQ=="
REQUEST = {
    b"upgrade": b"websocket",
    b"connection": b"keep-alive, Upgrade",
    b"sec-websocket-version": b"13",
    b"sec-websocket-key": KEY,
}
ANSWER = {
    b"upgrade": b"WebSocket",
    b"connection": b"upgrade",
    b"sec-websocket-accept": b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
}


def headers(base: dict[bytes, bytes], **changes: str | None) -> Headers:
    fields = dict(base)
    for name, value in changes.items():
        key = name.replace("_", "-").encode()
        fields.pop(key, None)
        if value is not None:
            fields[key] = value.encode()
    return Headers(list(fields.items()))


def test_accept_is_the_one_of_the_rfc() -> None:
    accepted = accept_request("GET", headers(REQUEST), ())
    assert dict(accepted.headers)[b"Sec-WebSocket-Accept"] == ANSWER[b"sec-websocket-accept"]
    assert accepted.subprotocol is None


@pytest.mark.parametrize(
    "method,changes,status",
    [
        ("POST", {}, 400),
        ("GET", {"upgrade": None}, 426),
        ("GET", {"connection": "close"}, 426),
        ("GET", {"sec_websocket_version": "8"}, 426),
        ("GET", {"sec_websocket_key": None}, 400),
        ("GET", {"sec_websocket_key": "c2hvcnQ="}, 400),
        ("GET", {"sec_websocket_key": "not base64!"}, 400),
        ("GET", {"sec_websocket_protocol": "v9"}, 400),
    ],
    ids=["method", "no upgrade", "no connection", "version", "no key", "short key", "bad key", "subprotocol"],
)
def test_bad_requests_are_refused(method: str, changes: dict[str, str | None], status: int) -> None:
    with pytest.raises(RequestRefused) as caught:
        accept_request(method, headers(REQUEST, **changes), ["v1", "v2"])
    assert caught.value.status == status


def test_subprotocol_is_the_clients_first_known_one() -> None:
    request = headers(REQUEST, sec_websocket_protocol="v3, v2, v1")
    accepted = accept_request("GET", request, ["v1", "v2"])
    assert accepted.subprotocol == "v2"
    assert (b"Sec-WebSocket-Protocol", b"v2") in accepted.headers


def test_good_answer_is_taken() -> None:
    assert check_answer(KEY, headers(ANSWER), ()) is None
    assert check_answer(KEY, headers(ANSWER, sec_websocket_protocol="a"), ["a", "b"]) == "a"


@pytest.mark.parametrize(
    "changes",
    [
        {"upgrade": "spdy"},
        {"connection": None},
        {"sec_websocket_accept": "wrong"},
        {"sec_websocket_protocol": "c"},
        {"sec_websocket_extensions": "permessage-deflate"},
    ],
    ids=["upgrade", "connection", "accept", "subprotocol", "extension"],
)
def test_bad_answers_are_errors(changes: dict[str, str | None]) -> None:
    with pytest.raises(ProtocolError):
        check_answer(KEY, headers(ANSWER, **changes), ["a"])
