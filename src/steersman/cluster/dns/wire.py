"""DNS messages (RFC 1035, 6891): parsing and writing.

Names are tuples of labels as they were spelled; compare them in lower case. Input may be hostile: compression
pointers only lead back, names and messages are bounded, and everything else raises `MalformedMessage`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from steersman.cluster.dns.errors import MalformedMessage

__all__ = [
    "LONGEST_LABEL",
    "DnsMessage",
    "DnsQuestion",
    "DnsRecord",
    "Name",
    "RecordType",
    "ResponseCode",
    "address_record",
    "name_of",
    "name_record",
    "read",
    "soa_record",
    "srv_record",
    "text_of",
    "txt_record",
    "write",
]

Name = tuple[bytes, ...]


class RecordType:
    """Types of DNS records."""

    A, NS, CNAME, SOA, PTR, TXT, AAAA, SRV, OPT, AXFR, ANY = 1, 2, 5, 6, 12, 16, 28, 33, 41, 252, 255


class ResponseCode:
    """DNS response codes (RCODE)."""

    NOERROR, FORMERR, SERVFAIL, NXDOMAIN, NOTIMP, REFUSED, BADVERS = 0, 1, 2, 3, 4, 5, 16


_IN: Final = 1
_RESPONSE, _AUTHORITATIVE, _TRUNCATED, _DESIRED, _AVAILABLE = 0x8000, 0x0400, 0x0200, 0x0100, 0x0080
_HEADER: Final = struct.Struct("!6H")
_FIELDS: Final = struct.Struct("!HHIH")
_SHORT: Final = struct.Struct("!H")
_PAIR: Final = struct.Struct("!HH")
_SERVICE: Final = struct.Struct("!3H")
_TIMES: Final = struct.Struct("!5I")
_POINTER: Final = 0xC000
LONGEST_LABEL: Final = 63
_LONGEST_NAME: Final = 255
_MOST_RECORDS: Final = 4096
_LARGEST: Final = 65535
#: What is told to be taken by UDP: a size that is not fragmented anywhere.
_PAYLOAD: Final = 1232
#: Names in the data of these, after so many bytes.
_NAMES_IN: Final = {RecordType.NS: 0, RecordType.CNAME: 0, RecordType.PTR: 0, RecordType.SRV: _SERVICE.size}


@dataclass(frozen=True, slots=True)
class DnsQuestion:
    """The question of a message: name, type and class."""

    name: Name
    kind: int
    class_: int = _IN


@dataclass(frozen=True, slots=True)
class DnsRecord:
    """A resource record."""

    name: Name
    kind: int
    ttl: int
    #: Without the name that ends it, if `target` is one.
    data: bytes = b""
    #: The name that the data ends with (or, of a SOA, begins with).
    target: Name | None = None
    class_: int = _IN


@dataclass(slots=True)
class DnsMessage:
    """A DNS query or response."""

    number: int
    question: DnsQuestion | None = None
    is_response: bool = False
    operation: int = 0
    code: int = 0
    authoritative: bool = False
    truncated: bool = False
    recursion_desired: bool = False
    recursion_available: bool = False
    answers: list[DnsRecord] = field(default_factory=list)
    authority: list[DnsRecord] = field(default_factory=list)
    additional: list[DnsRecord] = field(default_factory=list)
    #: The largest message the sender takes by UDP, if it speaks EDNS.
    payload: int | None = None
    edns_version: int = 0


# --- names and records


def name_of(text: str) -> Name:
    """The name that a text with dots stands for."""
    return tuple(label.encode() for label in text.rstrip(".").split(".") if label)


def text_of(name: Name) -> str:
    return ".".join(label.decode("ascii", "backslashreplace") for label in name) + "."


def address_record(name: Name, address: str, ttl: int) -> DnsRecord:
    if ":" in address:
        return DnsRecord(name, RecordType.AAAA, ttl, IPv6Address(address).packed)
    return DnsRecord(name, RecordType.A, ttl, IPv4Address(address).packed)


def name_record(name: Name, kind: int, target: Name, ttl: int) -> DnsRecord:
    """A CNAME, NS or PTR."""
    return DnsRecord(name, kind, ttl, b"", target)


def srv_record(name: Name, weight: int, port: int, target: Name, ttl: int) -> DnsRecord:
    return DnsRecord(name, RecordType.SRV, ttl, _SERVICE.pack(0, weight, port), target)


def txt_record(name: Name, text: bytes, ttl: int) -> DnsRecord:
    return DnsRecord(name, RecordType.TXT, ttl, bytes((len(text),)) + text)


def soa_record(name: Name, server: Name, mailbox: Name, serial: int, ttl: int) -> DnsRecord:
    times = _TIMES.pack(serial, 7200, 1800, 86400, ttl)
    return DnsRecord(name, RecordType.SOA, ttl, _uncompressed(mailbox) + times, server)


def _uncompressed(name: Name) -> bytes:
    return b"".join(bytes((len(label),)) + label for label in name) + b"\0"


# --- reading


def read(data: bytes) -> DnsMessage:
    """The message these bytes are. Raises `MalformedMessage`."""
    if not _HEADER.size <= len(data) <= _LARGEST:
        raise MalformedMessage("too short or too long")
    number, flags, questions, *counts = _HEADER.unpack_from(data)
    message = DnsMessage(
        number,
        is_response=bool(flags & _RESPONSE),
        operation=flags >> 11 & 0xF,
        code=flags & 0xF,
        authoritative=bool(flags & _AUTHORITATIVE),
        truncated=bool(flags & _TRUNCATED),
        recursion_desired=bool(flags & _DESIRED),
        recursion_available=bool(flags & _AVAILABLE),
    )
    if questions > 1 or sum(counts) > _MOST_RECORDS:
        raise MalformedMessage("too many questions or records")
    position = _HEADER.size
    try:
        if questions:
            name, position = _read_name(data, position)
            message.question = DnsQuestion(name, *_PAIR.unpack_from(data, position))
            position += _PAIR.size
        sections = (message.answers, message.authority, message.additional)
        for section, count in zip(sections, counts, strict=True):
            for _ in range(count):
                record, position = _read_record(data, position)
                if record.kind == RecordType.OPT:
                    _note_options(message, record)
                else:
                    section.append(record)
    except (struct.error, IndexError) as error:
        raise MalformedMessage("cut off") from error
    return message


def _note_options(message: DnsMessage, record: DnsRecord) -> None:
    if message.payload is not None or record.name:
        raise MalformedMessage("options in a wrong place")
    message.payload = record.class_
    message.edns_version = record.ttl >> 16 & 0xFF
    message.code |= record.ttl >> 24 << 4


def _read_name(data: bytes, position: int) -> tuple[Name, int]:
    """A name and where it ends. Pointers must lead further back each time, so there is no way in circles."""
    labels: list[bytes] = []
    length, end, limit = 1, -1, position
    while True:
        size = data[position]
        if size >= 0xC0:
            if end < 0:
                end = position + 2
            position = _SHORT.unpack_from(data, position)[0] & ~_POINTER
            if position >= limit:
                raise MalformedMessage("a pointer that does not lead back")
            limit = position
            continue
        if size > LONGEST_LABEL:
            raise MalformedMessage("an unknown kind of label")
        position += 1
        if not size:
            return tuple(labels), end if end >= 0 else position
        label = data[position : position + size]
        length += size + 1
        if len(label) < size or length > _LONGEST_NAME:
            raise MalformedMessage("a name that is cut off or too long")
        labels.append(label)
        position += size


def _read_record(data: bytes, position: int) -> tuple[DnsRecord, int]:
    name, position = _read_name(data, position)
    kind, class_, ttl, size = _FIELDS.unpack_from(data, position)
    position += _FIELDS.size
    end = position + size
    if end > len(data):
        raise MalformedMessage("a record that is cut off")
    before = _NAMES_IN.get(kind)
    if before is None:
        return DnsRecord(name, kind, ttl, data[position:end], None, class_), end
    target, after = _read_name(data, position + before)
    if after != end:
        raise MalformedMessage("a record with a wrong length")
    return DnsRecord(name, kind, ttl, data[position : position + before], target, class_), end


# --- writing


class _Writer:
    """Writes a message with name compression."""

    def __init__(self) -> None:
        self.data = bytearray(_HEADER.size)
        self._known: dict[Name, int] = {}

    def name(self, name: Name) -> None:
        for start in range(len(name)):
            rest = name[start:]
            if (known := self._known.get(rest)) is not None:
                self.data += _SHORT.pack(_POINTER | known)
                return
            if len(self.data) < _POINTER ^ 0xFFFF:
                self._known[rest] = len(self.data)
            self.data.append(len(name[start]))
            self.data += name[start]
        self.data.append(0)

    def record(self, record: DnsRecord) -> None:
        self.name(record.name)
        self.data += _FIELDS.pack(record.kind, record.class_, record.ttl, 0)
        start = len(self.data)
        if record.target is None:
            self.data += record.data
        elif record.kind == RecordType.SOA:
            self.name(record.target)
            self.data += record.data
        elif record.kind == RecordType.SRV:
            # RFC 2782: its target is never compressed.
            self.data += record.data + _uncompressed(record.target)
        else:
            self.data += record.data
            self.name(record.target)
        _SHORT.pack_into(self.data, start - 2, len(self.data) - start)

    def back_to(self, size: int) -> None:
        """Forget what was written after that."""
        del self.data[size:]
        self._known = {name: place for name, place in self._known.items() if place < size}


def write(message: DnsMessage, limit: int = _LARGEST) -> bytes:
    """The bytes of a message, at most `limit`: first additional records are left out, which is no loss, then
    others, which is told (`truncated`)."""
    writer = _Writer()
    if message.question is not None:
        writer.name(message.question.name)
        writer.data += _PAIR.pack(message.question.kind, message.question.class_)
    options = _options(message)
    room = limit - len(options)
    truncated, counts = message.truncated, []
    for section in (message.answers, message.authority, message.additional):
        count = 0 if truncated else _write_section(writer, section, room)
        counts.append(count)
        truncated |= count < len(section) and section is not message.additional
    counts[2] += bool(options)
    flags = (
        (_RESPONSE if message.is_response else 0)
        | message.operation << 11
        | (_AUTHORITATIVE if message.authoritative else 0)
        | (_TRUNCATED if truncated else 0)
        | (_DESIRED if message.recursion_desired else 0)
        | (_AVAILABLE if message.recursion_available else 0)
        | message.code & 0xF
    )
    _HEADER.pack_into(writer.data, 0, message.number, flags, message.question is not None, *counts)
    return bytes(writer.data + options)


def _write_section(writer: _Writer, records: Iterable[DnsRecord], room: int) -> int:
    """How many of the records there was room for."""
    count = 0
    for record in records:
        before = len(writer.data)
        writer.record(record)
        if len(writer.data) > room:
            writer.back_to(before)
            break
        count += 1
    return count


def _options(message: DnsMessage) -> bytes:
    if message.payload is None:
        return b""
    extended = message.code >> 4 << 24
    payload = _PAYLOAD if message.is_response else message.payload
    return b"\0" + _FIELDS.pack(RecordType.OPT, payload, extended, 0)
