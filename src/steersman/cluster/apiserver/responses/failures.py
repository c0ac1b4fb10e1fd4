"""Failures as responses: every exception becomes a Kubernetes Status.

`refusal_of` knows the exceptions that are answers to the client; any other is a fault of the server (500),
logged with its traceback.
"""

from __future__ import annotations

import logging

from steersman.cluster.apiserver.pipeline.bodies import strict_warnings
from steersman.cluster.apiserver.responses.forms import form_of_accept
from steersman.cluster.apiserver.responses.render import JSON, Form
from steersman.cluster.apiserver.responses.warning_headers import warning_headers
from steersman.cluster.codec.errors import BodyRejected, NotAcceptable, UnsupportedMediaType
from steersman.cluster.codec.negotiate import PLAIN
from steersman.cluster.store import StoreError, Unavailable
from steersman.http import Request, RequestRefused
from steersman.objects.status import (
    StatusError,
    bad_request,
    internal_error,
    unavailable,
    unsupported_media_type,
)

__all__ = ["fault", "form_of_status", "refusal_of", "status_of"]

_log = logging.getLogger(__name__)


def form_of_status(request: Request | None) -> Form:
    """How a Status is shown before the request is routed: as its Accept header says, else as JSON."""
    accept = request.headers.get("accept") if request is not None else None
    if not accept:
        return JSON
    try:
        return form_of_accept(accept, "", "", PLAIN)
    except NotAcceptable:
        return JSON


def status_of(error: Exception) -> StatusError:
    """Any exception as a Status."""
    return refusal_of(error) or fault(error)


def refusal_of(error: Exception) -> StatusError | None:
    """An exception that is an answer to the client, as a Status; None for any other."""
    match error:
        case StatusError():
            return error
        case BodyRejected():
            refusal = bad_request(str(error))
            if error.findings:
                refusal.headers = warning_headers(tuple(strict_warnings(error.findings)))
            return refusal
        case UnsupportedMediaType():
            return unsupported_media_type()
        case NotAcceptable():
            return StatusError(406, "NotAcceptable", str(error))
        case Unavailable():
            return unavailable(f"the store does not take writes: {error}")
        case StoreError():
            return internal_error(str(error))
        case RequestRefused():
            if error.status == 413:
                return StatusError(413, "RequestEntityTooLarge", error.message, headers=error.headers)
            return StatusError(error.status, "", error.message, headers=error.headers)
    return None


def fault(error: Exception) -> StatusError:
    """An exception that is a mistake of the server: logged, and 500 for the client."""
    _log.error("request failed", exc_info=error)
    return internal_error("the server failed to handle the request; its log says why")
