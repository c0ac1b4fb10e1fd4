"""The errors of decoding a request body and of content negotiation.

CodecError
├── Malformed              bytes that are no JSON, YAML or protobuf; the text is the one Go's parsers give
├── BodyRejected           400 BadRequest: a body that is no object of the expected kind
├── UnsupportedMediaType   415: a Content-Type that is not understood
└── NotAcceptable          406: an Accept that cannot be satisfied

The text of the last three is the whole message of the Status.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["BodyRejected", "CodecError", "Malformed", "NotAcceptable", "UnsupportedMediaType"]


class CodecError(ValueError):
    """Base of this package's errors: all are the client's fault."""


class Malformed(CodecError):
    """Bytes that cannot be parsed."""


class BodyRejected(CodecError):
    """A body that cannot be decoded into the expected kind. `findings` are the strict decoding errors found
    so far.
    """

    def __init__(self, message: str, findings: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.findings = findings


class UnsupportedMediaType(CodecError):
    """A Content-Type the server does not read."""


_WRITTEN = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")


class NotAcceptable(CodecError):
    """An Accept header that names nothing the server can write."""

    def __init__(self, accepted: Sequence[str] = _WRITTEN) -> None:
        super().__init__(f"only the following media types are accepted: {', '.join(accepted)}")
