"""Which error an answer becomes."""

from __future__ import annotations

import orjson
import pytest

import steersman.client
from steersman.client import errors
from steersman.client.errors import ApiError, ClientError, api_error, status_error
from steersman.http import Headers
from steersman.objects.status import StatusError

NO_HEADERS = Headers([])


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (405, "MethodNotAllowed", errors.MethodNotAllowed),
        (406, "NotAcceptable", errors.UnsupportedMedia),
        (409, "AlreadyExists", errors.AlreadyExists),
        (409, "Conflict", errors.Conflict),
        (410, "Expired", errors.Expired),
        (410, "Gone", errors.Expired),
        (413, "RequestEntityTooLarge", errors.RequestTooLarge),
        (415, "UnsupportedMediaType", errors.UnsupportedMedia),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.ServerError),
        (500, "ServerTimeout", errors.Timeout),
        (503, "ServiceUnavailable", errors.Unavailable),
        (504, "Timeout", errors.Timeout),
        (418, "", ApiError),
    ],
)
def test_a_status_becomes_the_error_of_its_reason(code: int, reason: str, kind: type[ApiError]) -> None:
    status = {"kind": "Status", "code": code, "reason": reason, "message": "no", "details": {"name": "a"}}
    error = api_error(code, NO_HEADERS, orjson.dumps(status))
    assert type(error) is kind
    assert (error.code, error.reason, str(error), error.details) == (code, reason, "no", {"name": "a"})
    assert isinstance(error, StatusError)
    assert isinstance(error, ClientError)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the server answered 502"),
        (b"<html>Bad Gateway</html>\n", "the server answered 502: <html>Bad Gateway</html>"),
        (b'{"not": "a Status"}', 'the server answered 502: {"not": "a Status"}'),
        (b"\xff" * 3, "the server answered 502: \ufffd\ufffd\ufffd"),
    ],
    ids=["empty", "html", "json", "binary"],
)
def test_an_answer_that_is_no_status_is_quoted(content: bytes, message: str) -> None:
    error = api_error(502, NO_HEADERS, content)
    assert type(error) is errors.ServerError
    assert str(error) == message


def test_a_long_answer_is_cut() -> None:
    assert len(str(api_error(500, NO_HEADERS, b"x" * 100_000))) < 600


@pytest.mark.parametrize(
    ("headers", "details", "expected"),
    [
        ([(b"retry-after", b"7")], None, 7.0),
        ([], {"retryAfterSeconds": 3}, 3.0),
        ([(b"retry-after", b"7")], {"retryAfterSeconds": 3}, 7.0),
        ([(b"retry-after", b"Wed, 21 Oct 2026 07:28:00 GMT")], None, None),
        ([], None, None),
    ],
    ids=["header", "details", "header first", "a date", "nothing"],
)
def test_retry_after_is_read_from_header_or_details(
    headers: list[tuple[bytes, bytes]], details: dict[str, int] | None, expected: float | None
) -> None:
    error = status_error({"code": 429, "details": details}, headers=Headers(headers))
    assert error.retry_after_s == expected


def test_causes_are_those_of_the_details() -> None:
    causes = [{"reason": "FieldValueRequired", "field": "spec"}]
    assert status_error({"code": 422, "details": {"causes": causes}}).causes == causes
    assert status_error({"code": 422}).causes == []


def test_every_name_is_exported_and_every_error_is_a_client_error() -> None:
    assert all(hasattr(steersman.client, name) for name in steersman.client.__all__)
    assert sorted(steersman.client.__all__) == steersman.client.__all__
    kinds = [value for value in vars(errors).values() if isinstance(value, type)]
    assert all(issubclass(kind, ClientError) for kind in kinds if kind.__module__ == errors.__name__)
