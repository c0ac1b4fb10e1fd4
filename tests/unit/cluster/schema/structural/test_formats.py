"""String formats, each with texts that have it and texts that do not."""

from __future__ import annotations

import pytest

from steersman.cluster.schema.structural.formats import FORMATS, effective_format

_GOOD = {
    "bsonobjectid": ["507f1f77bcf86cd799439011"],
    "byte": ["aGVsbG8=", "aGVsbG8h"],
    "cidr": ["10.0.0.0/8", "010.0.0.0/8", "2001:db8::/32"],
    "creditcard": ["4111 1111 1111 1111"],
    "date": ["2024-02-29", "0000-02-29"],
    "datetime": ["2024-01-02T03:04:05Z", "2024-01-02t03:04:05.123+01:00"],
    "duration": ["1h30m", "22 ns", "2 days", "1w", "0", "-1.5s"],
    "email": ["a@b.c", "Some One <a@b.c>", '"odd name"@b'],
    "hexcolor": ["#fff", "FFFFFF"],
    "hostname": ["a.example.com", "localhost", "1a.example"],
    "ipv4": ["1.2.3.4", "010.1.1.1"],
    "ipv6": ["::1", "2001:db8::1"],
    "isbn": ["0321751043", "978-0321751041"],
    "isbn10": ["0321751043"],
    "isbn13": ["978-0321751041"],
    "k8slongname": ["a.b-c.d"],
    "k8sshortname": ["a-b"],
    "mac": ["01:02:03:04:ab:cd", "0102.0304.abcd", "01-02-03-04-05-06-07-08"],
    "password": ["", "anything"],
    "rgbcolor": ["rgb(1,2,255)"],
    "ssn": ["111-11-1111", "111 11 1111"],
    "uri": ["http://a.b/c?d=e", "/absolute/path", "mailto:a@b", "https://[::1]:80/"],
    "uuid": ["a8098c1a-f86e-11da-bd1a-00112448be41", "A8098C1AF86E11DABD1A00112448BE41"],
    "uuid3": ["bcd02e22-68f0-3046-a512-327cca9def8f"],
    "uuid4": ["025b0d74-00a2-4048-bf57-227c5111bb34"],
    "uuid5": ["886313e1-3b8a-5372-9b90-0c9aee199e5d"],
}
_BAD = {
    "bsonobjectid": ["507f1f77bcf86cd79943901", "507f1f77bcf86cd79943901z"],
    "byte": ["", "a", "aGVsbG8", "a-_="],
    "cidr": ["10.0.0.0", "10.0.0.0/33"],
    "creditcard": ["4111 1111 1111 1112", "1"],
    "date": ["2023-02-29", "2024-1-1", "today"],
    "datetime": [
        "2024-01-02 03:04:05Z",
        "2024-01-02T24:00:00Z",
        "2024-01-02T03:04:05",
        "2023-02-29T00:00:00Z",
    ],
    "duration": ["", "1", "x", "1 lightyear"],
    "email": ["", "a", "@b", "a@", "a b@c"],
    "hexcolor": ["#ffff", "#ggg"],
    "hostname": ["", "-a", "a..b", "a_b", "a.b1", "x" * 64],
    "ipv4": ["::1", "1.2.3", "256.1.1.1"],
    "ipv6": ["1.2.3.4", ":::"],
    "isbn": ["0321751044", "1"],
    "isbn10": ["0321751044", "978-0321751041"],
    "isbn13": ["978-0321751042"],
    "k8slongname": ["a..b", "A", "a" * 254],
    "k8sshortname": ["a.b", "A", "-a", "a" * 64],
    "mac": ["01:02:03:04:05", "01:02-03:04:05:06"],
    "rgbcolor": ["rgb(1,2,256)", "1,2,3"],
    "ssn": ["1111-11-1111"],
    "uri": ["", "relative/path", "http://a b/", "http://a/%zz", "http://[::1"],
    "uuid": ["a8098c1a-f86e-11da-bd1a-00112448be4", "g8098c1a-f86e-11da-bd1a-00112448be41"],
    "uuid3": ["bcd02e22-68f0-4046-a512-327cca9def8f"],
    "uuid4": ["025b0d74-00a2-3048-bf57-227c5111bb34"],
    "uuid5": ["886313e1-3b8a-4372-9b90-0c9aee199e5d"],
}


def test_every_format_has_cases() -> None:
    assert FORMATS.keys() == _GOOD.keys() == _BAD.keys() | {"password"}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in _GOOD.items() for text in texts])
def test_has_the_format(name: str, text: str) -> None:
    assert FORMATS[name](text)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in _BAD.items() for text in texts])
def test_does_not_have_the_format(name: str, text: str) -> None:
    assert not FORMATS[name](text)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "format": "date-time"}, "date-time"),
        ({"type": "string", "format": "int32"}, ""),
        ({"type": "integer", "format": "int32"}, "int32"),
        ({"type": "integer", "format": "date"}, ""),
        ({"type": "number", "format": "double"}, "double"),
        ({"type": "object", "format": "date"}, ""),
        ({"format": "uuid"}, "uuid"),
        ({"format": "uuid", "x-kubernetes-int-or-string": True}, ""),
    ],
)
def test_formats_constrain_the_types_they_are_made_for(schema: dict[str, object], expected: str) -> None:
    assert effective_format(schema) == expected
