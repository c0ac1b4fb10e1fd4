"""Errors as clients see them: Kubernetes Status objects.

    StatusError            an answer that is a Status with status=Failure

Everything that goes wrong in an API request ends as one of these, made by the constructors below; their
reasons, codes and wording are the API's contract.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from steersman.objects.fields import FieldError, join

__all__ = [
    "StatusError",
    "already_exists",
    "bad_request",
    "conflict",
    "expired",
    "forbidden",
    "generate_name_conflict",
    "internal_error",
    "invalid",
    "method_not_allowed",
    "method_not_supported",
    "modified",
    "no_such_resource",
    "not_acceptable",
    "not_found",
    "options_invalid",
    "payload_too_large",
    "qualified",
    "revision_too_large",
    "too_many_requests",
    "unauthorized",
    "unavailable",
    "unclassified",
    "unprocessable_patch",
    "unrouted_patch_type",
    "unsupported_media_type",
    "unsupported_patch_type",
]


class StatusError(Exception):
    """An answer with status=Failure. `headers` are added to the response (Retry-After, …)."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: dict[str, Any] | None = None,
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.headers = headers
        #: ListMeta of the Status; an expired continue token brings its replacement here.
        self.metadata: dict[str, Any] = {}

    def status(self) -> dict[str, Any]:
        """The Status object itself."""
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status


def qualified(group: str, name: str) -> str:
    """`deployments.apps`, or `pods` for the core group; likewise for kinds."""
    return f"{name}.{group}" if group else name


def _details(group: str, kind: str, name: str, **extra: Any) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    if kind:
        details["kind"] = kind
    details.update(extra)
    return details


def not_found(group: str, plural: str, name: str) -> StatusError:
    message = f'{qualified(group, plural)} "{name}" not found'
    return StatusError(404, "NotFound", message, _details(group, plural, name))


def no_such_resource() -> StatusError:
    return StatusError(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(group: str, plural: str, name: str) -> StatusError:
    message = f'{qualified(group, plural)} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, _details(group, plural, name))


def generate_name_conflict(group: str, plural: str, name: str) -> StatusError:
    message = (
        f'{qualified(group, plural)} "{name}" already exists, the server was not able to generate a '
        "unique name for the object"
    )
    return StatusError(
        409,
        "AlreadyExists",
        message,
        _details(group, plural, name, retryAfterSeconds=1),
        [(b"Retry-After", b"1")],
    )


def conflict(group: str, plural: str, name: str, why: str) -> StatusError:
    message = f'Operation cannot be fulfilled on {qualified(group, plural)} "{name}": {why}'
    return StatusError(409, "Conflict", message, _details(group, plural, name))


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def modified(group: str, plural: str, name: str) -> StatusError:
    return conflict(group, plural, name, MODIFIED)


def invalid(
    group: str, kind: str, name: str, errors: Sequence[FieldError], *, distinct: bool = True
) -> StatusError:
    """Every error is a cause. One found twice is one of them (`distinct`), or as many as were found: what is
    checked by declared rules has each once. The message has each once."""
    told = {(error.field, error.message): error for error in errors}.values() if distinct else errors
    causes = [{"reason": e.reason, "message": e.message, "field": e.field} for e in told]
    message = f'{qualified(group, kind)} "{name}" is invalid: {join(errors)}'
    return StatusError(422, "Invalid", message, _details(group, kind, name, causes=causes))


def options_invalid(kind: str, errors: Sequence[FieldError]) -> StatusError:
    return invalid("meta.k8s.io", kind, "", errors)


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def unprocessable_patch() -> StatusError:
    """A JSON patch that does not fit the object; kube-apiserver says no more than this either."""
    message = "the server rejected our request due to an error in our request"
    return StatusError(422, "Invalid", message, {})


def forbidden(group: str, plural: str, name: str, why: str) -> StatusError:
    what = qualified(group, plural) + (f' "{name}"' if name else "") if plural else ""
    message = f"{what} is forbidden: {why}" if what else f"forbidden: {why}"
    return StatusError(403, "Forbidden", message, _details(group, plural, name))


def unauthorized() -> StatusError:
    return StatusError(401, "Unauthorized", "Unauthorized")


def method_not_allowed(
    action: str = "the server does not allow this method on the requested resource",
) -> StatusError:
    return StatusError(405, "MethodNotAllowed", action, {})


def method_not_supported(group: str, plural: str, verb: str) -> StatusError:
    message = f'{verb} is not supported on resources of kind "{qualified(group, plural)}"'
    return StatusError(405, "MethodNotAllowed", message, _details(group, plural, ""))


def expired(message: str) -> StatusError:
    return StatusError(410, "Expired", message)


def not_acceptable(available: Sequence[str]) -> StatusError:
    """Said by the router, before any handler is asked."""
    message = "406: Not Acceptable\n\nAvailable representations: " + ", ".join(available)
    return StatusError(406, "NotAcceptable", message, {})


def unsupported_media_type() -> StatusError:
    message = (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    )
    return StatusError(415, "UnsupportedMediaType", message)


def unsupported_patch_type(accepted: Iterable[str]) -> StatusError:
    """The answer to a patch of a known route whose type is none of the accepted."""
    return StatusError(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join(accepted),
    )


def unrouted_patch_type() -> StatusError:
    """The answer to a patch that no route takes."""
    return StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def revision_too_large(asked: int, current: int) -> StatusError:
    details = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    return StatusError(504, "Timeout", message, details, [(b"Retry-After", b"1")])


def too_many_requests(message: str, retry_after_s: int, causes: Sequence[dict[str, str]] = ()) -> StatusError:
    details: dict[str, Any] = {"causes": list(causes)} if causes else {}
    if retry_after_s:
        details["retryAfterSeconds"] = retry_after_s
    headers = [(b"Retry-After", b"%d" % retry_after_s)] if retry_after_s else []
    return StatusError(429, "TooManyRequests", message, details, headers)


def payload_too_large(message: str) -> StatusError:
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {message}")


def internal_error(why: str) -> StatusError:
    return StatusError(
        500, "InternalError", f"Internal error occurred: {why}", {"causes": [{"message": why}]}
    )


def unclassified(message: str) -> StatusError:
    """What kube-apiserver answers where it has no words of its own for an error below it."""
    return StatusError(500, "", message)


def unavailable(why: str) -> StatusError:
    return StatusError(503, "ServiceUnavailable", why, headers=[(b"Retry-After", b"1")])
