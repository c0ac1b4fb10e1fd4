"""Credentials that change over time."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import pytest

from steersman.client import CredentialsError
from steersman.client.credentials import Anonymous, TokenFile, basic, bearer
from tests.unit.client.conftest import StoppedClock


def sent(credentials: TokenFile) -> str | None:
    fields = credentials.current()
    return fields[0][1].decode().removeprefix("Bearer ") if fields else None


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text("one\n")
    return path


def test_a_token_file_is_read_again_every_minute(file: Path, clock: StoppedClock) -> None:
    credentials = TokenFile(file, clock)
    assert sent(credentials) == "one"
    file.write_text("two")
    clock.now += 59
    assert sent(credentials) == "one"
    clock.now += 1
    assert sent(credentials) == "two"


def test_a_token_that_stays_is_the_same_tuple(file: Path, clock: StoppedClock) -> None:
    credentials = TokenFile(file, clock)
    first = credentials.current()
    clock.now += 60
    assert credentials.current() is first


def test_a_refused_token_is_read_again_at_once(file: Path, clock: StoppedClock) -> None:
    credentials = TokenFile(file, clock)
    assert sent(credentials) == "one"
    file.write_text("two")
    assert asyncio.run(credentials.renew(rejected=True)) is True
    assert sent(credentials) == "two"


def test_a_refused_token_that_has_not_changed_is_of_no_use(file: Path, clock: StoppedClock) -> None:
    credentials = TokenFile(file, clock)
    assert sent(credentials) == "one"
    assert asyncio.run(credentials.renew(rejected=True)) is False


@pytest.mark.parametrize("damage", ["gone", "empty", "binary"])
def test_the_last_token_is_kept_while_the_file_is_bad(damage: str, file: Path, clock: StoppedClock) -> None:
    credentials = TokenFile(file, clock)
    assert sent(credentials) == "one"
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(b"" if damage == "empty" else b"\xff\x00")
    clock.now += 60
    assert sent(credentials) == "one"


def test_a_file_that_never_was_is_an_error_that_names_it(tmp_path: Path, clock: StoppedClock) -> None:
    credentials = TokenFile(tmp_path / "nothing", clock)
    assert credentials.current() is None
    with pytest.raises(CredentialsError, match="nothing"):
        asyncio.run(credentials.renew())


def test_a_written_token_stands_in_for_the_file(tmp_path: Path, clock: StoppedClock) -> None:
    file = tmp_path / "token"
    credentials = TokenFile(file, clock, "written")
    assert sent(credentials) == "written"
    file.write_text("from the file")
    clock.now += 60
    assert sent(credentials) == "from the file"


@pytest.mark.parametrize("token", ["a\r\nX-Evil: 1", "tökén", "a\x00"])
def test_a_token_that_would_break_the_header_is_refused_and_not_repeated(token: str) -> None:
    with pytest.raises(ValueError, match="cannot be sent") as caught:
        bearer(token)
    assert token not in str(caught.value)


def test_nobody_sends_nothing() -> None:
    assert Anonymous().current() == ()


def test_a_user_with_password_is_sent_as_basic() -> None:
    ((name, value),) = basic("Jürgen", "a:b")
    assert name == b"Authorization"
    assert base64.b64decode(value.removeprefix(b"Basic ")).decode() == "Jürgen:a:b"
