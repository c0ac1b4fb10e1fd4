"""How responses become bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.http.response import BATCH_BYTES, batches, encode_head, status_line


@pytest.mark.parametrize(
    "field",
    [(b"X", b"a\r\nY: b"), (b"X", b"a\nb"), (b"X", b"a\rb"), (b"X\r\nY", b"a")],
    ids=["CRLF in value", "LF in value", "CR in value", "CRLF in name"],
)
def test_line_breaks_cannot_be_injected(field: tuple[bytes, bytes]) -> None:
    with pytest.raises(ValueError, match="line break"):
        encode_head(status_line(200), [field], b"")


def test_head_is_start_line_fields_and_framing() -> None:
    head = encode_head(status_line(200), [(b"A", b"b")], b"C: d\r\n")
    assert head == b"HTTP/1.1 200 OK\r\nA: b\r\nC: d\r\n\r\n"


def test_unregistered_status_still_has_a_line() -> None:
    assert status_line(299) == b"HTTP/1.1 299 Unknown\r\n"
    with pytest.raises(ValueError, match="not an HTTP status"):
        status_line(99)


@given(st.lists(st.integers(0, 3 * BATCH_BYTES), max_size=5), st.booleans())
def test_batches_keep_the_bytes_and_the_bound(sizes: list[int], single: bool) -> None:
    pieces = [bytes([index]) * size for index, size in enumerate(sizes)]
    whole = b"".join(pieces)
    parts = list(batches(whole if single else pieces))
    assert b"".join(parts) == whole
    assert all(0 < len(part) <= BATCH_BYTES for part in parts)
