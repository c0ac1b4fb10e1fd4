"""What can go wrong between a client and the API, and whose fault it is.

ClientError
├── ConfigError             a kubeconfig or environment that cannot be used; names the file and field
│   └── NoKubeconfig        there is none
├── CredentialsError        credentials could not be had (a plugin failed, a file is gone)
├── ImpossibleName          not valid for any object or namespace (a ValueError as well); no request was sent
├── NoSuchKind              the API serves no such kind (yet)
├── Unreachable             no (complete) answer; `maybe_done` tells whether the server may have acted
├── CommandFailed           a command in a container did not run, or not to its end
├── ForwardingFailed        a port of a pod cannot be reached
└── ApiError                the API refused: a Status with code, reason, message and details
    ├── BadRequest          400
    ├── Unauthorized        401 who are you?
    ├── Forbidden           403 you may not
    ├── NotFound            404
    ├── MethodNotAllowed    405
    ├── AlreadyExists       409 create of a name that is taken
    ├── Conflict            409 the object has changed since; read it again
    ├── Expired             410 the revision or continue token is too old; list again
    ├── RequestTooLarge     413
    ├── UnsupportedMedia    415 (and 406)
    ├── Invalid             422 `causes` says what is wrong where
    ├── TooManyRequests     429 even after waiting as told
    └── ServerError         5xx
        ├── Timeout         the server gave up waiting; it may have acted
        └── Unavailable     503 not now
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from steersman.http import Headers
from steersman.objects.status import StatusError

__all__ = [
    "AlreadyExists",
    "ApiError",
    "BadRequest",
    "ClientError",
    "CommandFailed",
    "ConfigError",
    "Conflict",
    "CredentialsError",
    "Expired",
    "Forbidden",
    "ForwardingFailed",
    "ImpossibleName",
    "Invalid",
    "MethodNotAllowed",
    "NoKubeconfig",
    "NoSuchKind",
    "NotFound",
    "RequestTooLarge",
    "ServerError",
    "Timeout",
    "TooManyRequests",
    "Unauthorized",
    "Unavailable",
    "Unreachable",
    "UnsupportedMedia",
    "api_error",
    "status_error",
]

#: How much of an answer that is no Status is repeated in the error.
_EXCERPT = 512


class ClientError(Exception):
    """Anything this package raises on purpose."""


class ImpossibleName(ClientError, ValueError):
    """The caller gave a name that no object or namespace can have; a retry cannot succeed."""


class ConfigError(ClientError):
    """The configuration cannot be used; one sentence that names the file and field."""


class NoKubeconfig(ConfigError):
    """None of the kubeconfig files is there."""


class CredentialsError(ClientError):
    """There are no credentials to send."""


class NoSuchKind(ClientError):
    """The API serves no such kind; a definition may be missing or not established yet."""

    def __init__(self, api_version: str, kind: str) -> None:
        super().__init__(f'no matches for kind "{kind}" in version "{api_version}"')
        self.api_version = api_version
        self.kind = kind


class Unreachable(ClientError):
    """The server gave no (complete) answer. With `maybe_done` the request may have had its effect."""

    def __init__(self, message: str, *, maybe_done: bool = True) -> None:
        super().__init__(message)
        self.maybe_done = maybe_done


class CommandFailed(ClientError):
    """A command could not be run in a container, or its end is not known."""


class ForwardingFailed(ClientError):
    """A port of a pod cannot be reached (any more)."""


class ApiError(StatusError, ClientError):
    """The API refused. Subclasses say why; `reason` and `details` say it for machines."""

    @property
    def causes(self) -> list[dict[str, Any]]:
        """What is wrong with which field, as far as the API says."""
        causes = (self.details or {}).get("causes")
        return causes if isinstance(causes, list) else []

    def has_cause(self, reason: str) -> bool:
        """Whether the API names this among the causes: `NamespaceTerminating`, `FieldManagerConflict`, …"""
        return any(cause.get("reason") == reason for cause in self.causes)

    @property
    def retry_after_s(self) -> float | None:
        """How long the server asks to wait before another try."""
        for name, value in self.headers:
            if name.lower() == b"retry-after" and value.strip().isdigit():
                return float(value)
        seconds = (self.details or {}).get("retryAfterSeconds")
        return float(seconds) if isinstance(seconds, int) and seconds > 0 else None


class BadRequest(ApiError):
    pass


class Unauthorized(ApiError):
    pass


class Forbidden(ApiError):
    pass


class NotFound(ApiError):
    pass


class MethodNotAllowed(ApiError):
    pass


class AlreadyExists(ApiError):
    pass


class Conflict(ApiError):
    pass


class Expired(ApiError):
    pass


class RequestTooLarge(ApiError):
    pass


class UnsupportedMedia(ApiError):
    pass


class Invalid(ApiError):
    pass


class TooManyRequests(ApiError):
    pass


class ServerError(ApiError):
    pass


class Timeout(ServerError):
    pass


class Unavailable(ServerError):
    pass


#: The reason decides where one code has several meanings.
_BY_REASON: Mapping[str, type[ApiError]] = {
    "AlreadyExists": AlreadyExists,
    "Expired": Expired,
    "Gone": Expired,
    "Timeout": Timeout,
    "ServerTimeout": Timeout,
}
_BY_CODE: Mapping[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    406: UnsupportedMedia,
    409: Conflict,
    410: Expired,
    413: RequestTooLarge,
    415: UnsupportedMedia,
    422: Invalid,
    429: TooManyRequests,
    503: Unavailable,
    504: Timeout,
}


def api_error(code: int, headers: Headers, content: bytes) -> ApiError:
    """The error of a failed answer, which may come from a proxy on the way and be no Status."""
    try:
        status = orjson.loads(content)
    except orjson.JSONDecodeError:
        status = None
    if not isinstance(status, dict) or status.get("kind") != "Status":
        text = content[:_EXCERPT].decode(errors="replace").strip()
        status = {"message": f"the server answered {code}{': ' + text if text else ''}"}
    return status_error(status, code, headers)


def status_error(status: Mapping[str, Any], code: int = 500, headers: Headers | None = None) -> ApiError:
    """The error that a Status describes; `code` is used where it names none."""
    code = status.get("code") or code
    reason = status.get("reason") or ""
    kind = _BY_REASON.get(reason) or _BY_CODE.get(code) or (ServerError if code >= 500 else ApiError)
    message = status.get("message") or reason or f"the server answered {code}"
    error = kind(code, reason, message, status.get("details"), headers.raw if headers is not None else ())
    error.metadata = status.get("metadata") or {}
    return error
