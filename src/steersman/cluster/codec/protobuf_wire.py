"""The protobuf wire format: tags, varints and length-delimited fields, read from untrusted bytes.

Every read is checked against the end of its message; errors raise Malformed with the messages of Go's
generated decoders.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from steersman.cluster.codec.errors import Malformed

__all__ = [
    "BYTES",
    "FIXED32",
    "FIXED64",
    "VARINT",
    "EncodedField",
    "fields",
    "signed",
    "varint",
    "varints",
]

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5
_FIXED_SIZES: Final = {FIXED64: 8, FIXED32: 4}
_CUT_OFF: Final = "unexpected EOF"
_LONGEST_VARINT: Final = 10


class EncodedField(NamedTuple):
    """One field in the bytes: the value of a varint, or the start and end of its bytes."""

    number: int
    wire_type: int
    #: VARINT: the value. Else: the offset where the bytes start.
    value: int
    end: int


def fields(data: bytes, at: int, end: int) -> Iterator[EncodedField]:
    """The fields of the message in data[at:end]."""
    while at < end:
        tag = data[at]
        at += 1
        if tag >= 0x80:
            tag, at = varint(data, at - 1, end)
        number, wire_type = tag >> 3, tag & 7
        if number <= 0:
            raise Malformed(f"proto: illegal tag {number} (wire type {wire_type})")
        if wire_type == BYTES:
            length, at = varint(data, at, end)
            if length > end - at:
                raise Malformed(_CUT_OFF)
            yield EncodedField(number, wire_type, at, at + length)
            at += length
        elif wire_type == VARINT:
            value, at = varint(data, at, end)
            yield EncodedField(number, wire_type, value, at)
        else:
            size = _FIXED_SIZES.get(wire_type)
            if size is None:
                raise Malformed(f"proto: illegal wireType {wire_type}")
            if size > end - at:
                raise Malformed(_CUT_OFF)
            yield EncodedField(number, wire_type, at, at + size)
            at += size


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """(value, offset behind it)."""
    value = shift = 0
    for _ in range(_LONGEST_VARINT):
        if at >= end:
            raise Malformed(_CUT_OFF)
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
    raise Malformed("proto: integer overflow")


def varints(data: bytes, at: int, end: int) -> Iterator[int]:
    """A packed list."""
    while at < end:
        value, at = varint(data, at, end)
        yield value


def signed(value: int, bits: int) -> int:
    """A varint as the two's complement number of a field that is `bits` wide."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value
