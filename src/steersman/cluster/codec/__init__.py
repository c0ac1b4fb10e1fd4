"""Encoding and decoding of API objects: JSON, YAML and protobuf, and content negotiation.

`decode_body` turns a request's body into an object of the expected kind; `negotiate` chooses the format of
the response. Knows types through `cluster.schema`, and nothing of stores or requests.
"""

from __future__ import annotations

from steersman.cluster.codec.body import (
    DecodedBody,
    FieldValidation,
    ParsedBody,
    claimed_kind,
    decode_body,
    decode_options,
    internal_type,
    kind_error,
    parse_body,
    strict_error,
    unrecognized,
)
from steersman.cluster.codec.errors import (
    BodyRejected,
    CodecError,
    Malformed,
    NotAcceptable,
    UnsupportedMediaType,
)
from steersman.cluster.codec.json import repeated_fields
from steersman.cluster.codec.negotiate import (
    DISCOVERY,
    PLAIN,
    RESOURCE,
    Representation,
    is_routed,
    negotiate,
    wants_pretty,
)

__all__ = [
    "DISCOVERY",
    "PLAIN",
    "RESOURCE",
    "BodyRejected",
    "CodecError",
    "DecodedBody",
    "FieldValidation",
    "Malformed",
    "NotAcceptable",
    "ParsedBody",
    "Representation",
    "UnsupportedMediaType",
    "claimed_kind",
    "decode_body",
    "decode_options",
    "internal_type",
    "is_routed",
    "kind_error",
    "negotiate",
    "parse_body",
    "repeated_fields",
    "strict_error",
    "unrecognized",
    "wants_pretty",
]
