"""DNS messages: what is written is read again, and no bytes do harm."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.cluster.dns.errors import MalformedMessage
from steersman.cluster.dns.wire import (
    DnsMessage,
    DnsQuestion,
    DnsRecord,
    RecordType,
    ResponseCode,
    address_record,
    name_of,
    name_record,
    read,
    soa_record,
    srv_record,
    text_of,
    txt_record,
    write,
)

labels = st.binary(min_size=1, max_size=20)
names = st.lists(labels, max_size=8).map(tuple)
ttls = st.integers(0, 2**31 - 1)
records = st.one_of(
    st.builds(address_record, names, st.ip_addresses().map(str), ttls),
    st.builds(
        name_record, names, st.sampled_from([RecordType.CNAME, RecordType.NS, RecordType.PTR]), names, ttls
    ),
    st.builds(srv_record, names, st.integers(0, 65535), st.integers(0, 65535), names, ttls),
    st.builds(txt_record, names, st.binary(max_size=255), ttls),
)
sections = st.lists(records, max_size=6)
messages = st.builds(
    DnsMessage,
    st.integers(0, 65535),
    st.none()
    | st.builds(DnsQuestion, names, st.integers(0, 65535).filter(lambda kind: kind != RecordType.OPT)),
    is_response=st.booleans(),
    operation=st.integers(0, 15),
    code=st.integers(0, 15),
    authoritative=st.booleans(),
    recursion_desired=st.booleans(),
    recursion_available=st.booleans(),
    answers=sections,
    authority=sections,
    additional=sections,
)


@given(messages)
def test_what_is_written_is_read_again(message: DnsMessage) -> None:
    assert read(write(message)) == message


@given(st.binary(max_size=600))
def test_any_bytes_are_a_message_or_malformed(data: bytes) -> None:
    try:
        message = read(data)
    except MalformedMessage:
        return
    assert isinstance(message, DnsMessage)


@given(messages, st.data())
def test_damaged_message_is_read_or_malformed(message: DnsMessage, data: st.DataObject) -> None:
    damaged = bytearray(write(message))
    for _ in range(data.draw(st.integers(1, 5))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(damaged)))
    for candidate in (bytes(damaged), bytes(damaged[:cut])):
        try:
            read(candidate)
        except MalformedMessage:
            continue


@given(messages, st.integers(512, 1500))
def test_message_keeps_to_its_limit(message: DnsMessage, limit: int) -> None:
    message.payload = 1232
    data = write(message, limit)
    again = read(data)
    assert len(data) <= max(limit, 12 + 255 + 4 + 11)
    kept = (again.answers, again.authority, again.additional)
    for shorter, whole in zip(kept, (message.answers, message.authority, message.additional), strict=True):
        assert shorter == whole[: len(shorter)]
    lost = len(again.answers) < len(message.answers) or len(again.authority) < len(message.authority)
    assert again.truncated == lost


def test_names_are_written_once() -> None:
    name = name_of("web.default.svc.cluster.local")
    message = DnsMessage(
        1, DnsQuestion(name, RecordType.A), answers=[address_record(name, "10.0.0.1", 5)] * 2
    )
    data = write(message)
    assert data.count(b"\x03web") == 1
    assert data.endswith(b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 5, 4) + bytes([10, 0, 0, 1]))


def test_target_of_srv_is_not_compressed() -> None:
    name = name_of("a.b")
    data = write(
        DnsMessage(1, DnsQuestion(name, RecordType.SRV), answers=[srv_record(name, 100, 80, name, 5)])
    )
    assert data.count(b"\x01a\x01b\x00") == 2


def test_spelling_is_kept() -> None:
    name = name_of("WeB.DefAULT")
    message = read(
        write(DnsMessage(1, DnsQuestion(name, RecordType.A), answers=[address_record(name, "10.0.0.1", 5)]))
    )
    assert message.question is not None
    assert text_of(message.question.name) == text_of(message.answers[0].name) == "WeB.DefAULT."


def test_options_carry_size_and_long_codes() -> None:
    answer = DnsMessage(1, DnsQuestion((b"a",), 1), is_response=True, code=ResponseCode.BADVERS, payload=4096)
    again = read(write(answer))
    assert (again.code, again.payload) == (ResponseCode.BADVERS, 1232)


def test_soa_has_its_times() -> None:
    record = soa_record((b"z",), (b"ns", b"z"), (b"root", b"z"), 7, 5)
    data = write(DnsMessage(1, authority=[record]))
    assert data.endswith(struct.pack("!5I", 7, 7200, 1800, 86400, 5))


_QUESTION_HEADER = struct.pack("!6H", 1, 0, 1, 0, 0, 0)

HOSTILE = {
    "too short": b"\0" * 11,
    "pointer to itself": _QUESTION_HEADER + b"\xc0\x0c\0\1\0\1",
    "pointer ahead": _QUESTION_HEADER + b"\xc0\x20\0\1\0\1" + b"\1a\0" * 20,
    "pointers in a circle": _QUESTION_HEADER + b"\1a\xc0\x0c\0\1\0\1",
    "unknown label": _QUESTION_HEADER + b"\x41a\0\0\1\0\1",
    "name cut off": _QUESTION_HEADER + b"\x05ab",
    "name too long": _QUESTION_HEADER + (b"\x3f" + b"a" * 63) * 5 + b"\0\0\1\0\1",
    "two questions": struct.pack("!6H", 1, 0, 2, 0, 0, 0) + b"\1a\0\0\1\0\1" * 2,
    "more records than bytes": struct.pack("!6H", 1, 0, 0, 9, 0, 0),
    "too many records": struct.pack("!6H", 1, 0, 0, 65535, 65535, 65535),
    "data cut off": struct.pack("!6H", 1, 0, 0, 1, 0, 0) + b"\0" + struct.pack("!HHIH", 1, 1, 5, 99),
    "two options": struct.pack("!6H", 1, 0, 0, 0, 0, 2) + (b"\0" + struct.pack("!HHIH", 41, 512, 0, 0)) * 2,
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_bytes_are_malformed(data: bytes) -> None:
    with pytest.raises(MalformedMessage):
        read(data)


def test_record_that_says_less_than_its_name_is_malformed() -> None:
    head = struct.pack("!6H", 1, 0, 0, 1, 0, 0) + b"\0" + struct.pack("!HHIH", RecordType.CNAME, 1, 5, 1)
    with pytest.raises(MalformedMessage):
        read(head + b"\1a\0")


def test_unknown_records_are_kept_as_they_are() -> None:
    record = DnsRecord((b"a",), 999, 5, b"whatever")
    assert read(write(DnsMessage(1, answers=[record]))).answers == [record]
