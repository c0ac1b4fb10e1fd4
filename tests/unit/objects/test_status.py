"""Failures as clients see them."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.objects import fields, status
from steersman.objects.fields import Path
from steersman.objects.status import StatusError

SPEC = Path("spec")


def test_a_status_in_the_order_clients_know() -> None:
    shown = status.not_found("apps", "deployments", "d").status()
    assert list(shown.items()) == [
        ("kind", "Status"),
        ("apiVersion", "v1"),
        ("metadata", {}),
        ("status", "Failure"),
        ("message", 'deployments.apps "d" not found'),
        ("reason", "NotFound"),
        ("details", {"name": "d", "group": "apps", "kind": "deployments"}),
        ("code", 404),
    ]


@pytest.mark.parametrize(
    ("error", "code", "reason", "message", "details"),
    [
        (
            status.not_found("", "pods", "p"),
            404,
            "NotFound",
            'pods "p" not found',
            {"name": "p", "kind": "pods"},
        ),
        (
            status.no_such_resource(),
            404,
            "NotFound",
            "the server could not find the requested resource",
            {},
        ),
        (
            status.already_exists("", "pods", "p"),
            409,
            "AlreadyExists",
            'pods "p" already exists',
            {"name": "p", "kind": "pods"},
        ),
        (
            status.generate_name_conflict("apps", "deployments", "d-x"),
            409,
            "AlreadyExists",
            'deployments.apps "d-x" already exists, the server was not able to generate a unique name for '
            "the object",
            {"name": "d-x", "group": "apps", "kind": "deployments", "retryAfterSeconds": 1},
        ),
        (
            status.conflict("", "pods", "p", "why"),
            409,
            "Conflict",
            'Operation cannot be fulfilled on pods "p": why',
            {"name": "p", "kind": "pods"},
        ),
        (
            status.modified("", "pods", "p"),
            409,
            "Conflict",
            'Operation cannot be fulfilled on pods "p": the object has been modified; please apply your '
            "changes to the latest version and try again",
            {"name": "p", "kind": "pods"},
        ),
        (
            status.invalid("apps", "Deployment", "d", [fields.required(SPEC)]),
            422,
            "Invalid",
            'Deployment.apps "d" is invalid: spec: Required value',
            {
                "name": "d",
                "group": "apps",
                "kind": "Deployment",
                "causes": [{"reason": "FieldValueRequired", "message": "Required value", "field": "spec"}],
            },
        ),
        (
            status.options_invalid("ListOptions", [fields.forbidden(SPEC, "no")]),
            422,
            "Invalid",
            'ListOptions.meta.k8s.io "" is invalid: spec: Forbidden: no',
            {
                "group": "meta.k8s.io",
                "kind": "ListOptions",
                "causes": [{"reason": "FieldValueForbidden", "message": "Forbidden: no", "field": "spec"}],
            },
        ),
        (status.bad_request("what?"), 400, "BadRequest", "what?", None),
        (
            status.forbidden("", "pods", "p", "no"),
            403,
            "Forbidden",
            'pods "p" is forbidden: no',
            {"name": "p", "kind": "pods"},
        ),
        (
            status.forbidden("", "pods", "", "no"),
            403,
            "Forbidden",
            "pods is forbidden: no",
            {"kind": "pods"},
        ),
        (status.forbidden("", "", "", "no"), 403, "Forbidden", "forbidden: no", {}),
        (status.unauthorized(), 401, "Unauthorized", "Unauthorized", None),
        (
            status.method_not_allowed(),
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
            {},
        ),
        (status.expired("too old"), 410, "Expired", "too old", None),
        (
            status.unrouted_patch_type(),
            415,
            "UnsupportedMediaType",
            "415: Unsupported Media Type",
            {},
        ),
        (
            status.revision_too_large(7, 5),
            504,
            "Timeout",
            "Timeout: Too large resource version: 7, current: 5",
            {
                "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
                "retryAfterSeconds": 1,
            },
        ),
        (
            status.payload_too_large("limit is 3"),
            413,
            "RequestEntityTooLarge",
            "Request entity too large: limit is 3",
            None,
        ),
        (
            status.internal_error("oops"),
            500,
            "InternalError",
            "Internal error occurred: oops",
            {"causes": [{"message": "oops"}]},
        ),
        (status.unavailable("later"), 503, "ServiceUnavailable", "later", None),
        (status.too_many_requests("slower", 0), 429, "TooManyRequests", "slower", {}),
        (
            status.too_many_requests("slower", 10, [{"reason": "R", "message": "m"}]),
            429,
            "TooManyRequests",
            "slower",
            {"causes": [{"reason": "R", "message": "m"}], "retryAfterSeconds": 10},
        ),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, StatusError) else "",
)
def test_reasons_codes_and_wording(
    error: StatusError, code: int, reason: str, message: str, details: dict[str, Any] | None
) -> None:
    shown = error.status()
    assert (shown["code"], shown["reason"], shown["message"]) == (code, reason, message)
    assert shown.get("details") == details
    assert str(error) == message


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (status.generate_name_conflict("", "pods", "p"), "1"),
        (status.revision_too_large(7, 5), "1"),
        (status.unavailable("later"), "1"),
        (status.too_many_requests("slower", 10), "10"),
    ],
    ids=lambda value: value.reason if isinstance(value, StatusError) else "",
)
def test_those_worth_a_retry_say_when(error: StatusError, seconds: str) -> None:
    assert dict(error.headers) == {b"Retry-After": seconds.encode()}


def test_others_say_nothing_about_retries() -> None:
    assert not status.not_found("", "pods", "p").headers
    assert not status.too_many_requests("slower", 0).headers


def test_a_repeated_cause_is_told_once() -> None:
    errors = [fields.required(SPEC), fields.forbidden(SPEC, "no"), fields.required(SPEC)]
    shown = status.invalid("", "Pod", "p", errors).status()
    assert [cause["message"] for cause in shown["details"]["causes"]] == ["Required value", "Forbidden: no"]
    assert shown["message"] == 'Pod "p" is invalid: [spec: Required value, spec: Forbidden: no]'


def test_a_status_without_a_reason_shows_none() -> None:
    shown = StatusError(418, "", "short and stout").status()
    assert "reason" not in shown
    assert "details" not in shown


def test_an_expired_list_may_bring_a_new_token() -> None:
    error = status.expired("too old")
    error.metadata = {"continue": "abc"}
    assert error.status()["metadata"] == {"continue": "abc"}
    assert status.expired("too old").status()["metadata"] == {}
