"""Header lookup."""

from __future__ import annotations

from steersman.http import Headers

HEADERS = Headers([(b"host", b"a"), (b"accept", b"x "), (b"accept", b"Y, z\t"), (b"x-latin", b"\xe9")])


def test_lookup_ignores_case_and_trailing_whitespace() -> None:
    assert HEADERS.get("Accept") == "x"
    assert HEADERS.get_all("ACCEPT") == ["x", "Y, z"]
    assert HEADERS.get("X-Latin") == "é"


def test_asking_again_gives_the_same_whatever_the_default() -> None:
    headers = Headers([(b"accept", b"x"), (b"accept", b"y")])
    for default in (None, "d", None):
        assert headers.get("accept", default) == "x"
        assert headers.get("nope", default) == default


def test_absent_names_give_the_default() -> None:
    assert HEADERS.get("nope") is None
    assert HEADERS.get("nope", "d") == "d"
    assert HEADERS.get_all("nope") == []
    assert "nope" not in HEADERS
    assert "HOST" in HEADERS


def test_tokens_are_split_over_all_repetitions() -> None:
    assert HEADERS.tokens("accept") == ["x", "y", "z"]


def test_iteration_and_length_cover_every_field() -> None:
    assert len(HEADERS) == 4
    assert list(HEADERS)[2] == ("accept", "Y, z")


def test_repr_hides_values() -> None:
    assert "secret" not in repr(Headers([(b"authorization", b"secret")]))


def test_one_value_replaced() -> None:
    headers = Headers([(b"a", b"1"), (b"b", b"2")])
    assert (headers.get("A"), headers.get("a"), headers.get("b"), headers.get("c")) == ("1", "1", "2", None)
    changed = headers.replacing(0, b"3")
    assert (changed.get("A"), changed.get("a"), changed.get("b"), changed.get("c")) == ("3", "3", "2", None)
    assert changed.raw == [(b"a", b"3"), (b"b", b"2")]
    assert headers.get("a") == "1"
