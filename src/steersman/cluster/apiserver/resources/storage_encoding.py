"""The encoding of objects in the store: JSON bytes that are framed for clients without being decoded.

At rest an object is its JSON without `kind` and `apiVersion` (constant for its resource), metadata
first and, once committed, resourceVersion first in it:

    {"metadata":{"resourceVersion":"42","name":"a",…},"data":{…}}

So a list is its items joined by commas, a single object is a constant head plus the bytes, a watch event
likewise, and the revision is written at a fixed offset when the store assigns it.
"""

from __future__ import annotations

import sys

import msgspec
import orjson

from steersman.objects.kinds import Object

__all__ = [
    "Envelope",
    "Metadata",
    "decode",
    "encode",
    "envelope",
    "object_head",
    "restamp",
    "revision_of",
    "stamp",
    "stamp_text",
]

_OPEN = b'{"metadata":{'
_STAMP_OFFSET = len(_OPEN)
_STAMP = b'"resourceVersion":"'
_STAMPED_OFFSET = len(_OPEN + _STAMP)


def encode(obj: Object) -> bytes:
    """An object's bytes before it has a revision. Everything but metadata keeps its order."""
    metadata = obj["metadata"]
    if "resourceVersion" in metadata:
        metadata = {key: value for key, value in metadata.items() if key != "resourceVersion"}
    body = {"metadata": metadata}
    for key, value in obj.items():
        if key != "metadata" and key != "kind" and key != "apiVersion":
            body[key] = value
    return orjson.dumps(body)


def stamp(value: bytes, revision: int) -> bytes:
    """The bytes with their revision; `value` is fresh from `encode` or an older stamped form."""
    if value.startswith(_STAMP, _STAMP_OFFSET):
        return restamp(value, revision)
    return b'%b"resourceVersion":"%d",%b' % (_OPEN, revision, value[_STAMP_OFFSET:])


def stamp_text(value: bytes, version: str) -> bytes:
    """Bytes fresh from `encode` with whatever a client says their version is."""
    return b'%b"resourceVersion":%b,%b' % (_OPEN, orjson.dumps(version), value[_STAMP_OFFSET:])


def restamp(value: bytes, revision: int) -> bytes:
    """Stamped bytes with another revision, as in an event that shows an earlier state."""
    end = value.index(b'"', _STAMPED_OFFSET)
    return b"%b%d%b" % (value[:_STAMPED_OFFSET], revision, value[end:])


def revision_of(value: bytes) -> int:
    """The revision of stamped bytes; bytes without one are newer than any."""
    if not value.startswith(_STAMP, _STAMP_OFFSET):
        return sys.maxsize
    return int(value[_STAMPED_OFFSET : value.index(b'"', _STAMPED_OFFSET)])


def object_head(api_version: str, kind: str) -> bytes:
    """What replaces the opening brace of stored bytes to make a whole object."""
    return b'{"kind":%b,"apiVersion":%b,' % (orjson.dumps(kind), orjson.dumps(api_version))


def decode(value: bytes, api_version: str, kind: str) -> Object:
    """The whole object. A fresh one each time: callers may change it."""
    return {"kind": kind, "apiVersion": api_version, **orjson.loads(value)}


class Metadata(msgspec.Struct):
    """The part of metadata that filters and deletions look at."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""  # noqa: N815 - the wire's name
    labels: dict[str, str] = {}
    deletionTimestamp: str = ""  # noqa: N815


class Envelope(msgspec.Struct):
    metadata: Metadata


_envelope = msgspec.json.Decoder(Envelope).decode


def envelope(value: bytes) -> Metadata:
    """Only the metadata, without decoding the rest."""
    return _envelope(value).metadata
