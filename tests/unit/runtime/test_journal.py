"""What a controller remembers of its work, and who is told."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.objects.resources import CONFIG_MAPS
from steersman.runtime import Key, Request
from steersman.runtime.insight import TOKEN, Insight
from steersman.runtime.journal import Journal, note_write
from steersman.runtime.requests import Outcome


def record(journal: Journal, name: str, *, error: Exception | None = None, times: int = 1) -> None:
    for attempt in range(1, times + 1):
        notes = journal.begin(1.0)
        note_write("apply", CONFIG_MAPS, Key("x", name))
        result: Any = "success" if error is None else "error"
        request = Request(Key("x", name), ("added",), attempt)
        journal.record(notes, request, Outcome(result, error, 0.5, None))


def test_the_last_reconciles_of_each_object() -> None:
    journal = Journal()
    record(journal, "a", times=25)
    record(journal, "b")
    entries = journal.of(Key("x", "a"))
    assert [entry.attempt for entry in entries] == list(range(16, 26))
    assert entries[-1].writes == ("apply configmaps x/a",)
    assert journal.of(Key("x", "c")) == []


def test_objects_that_were_worked_on_last_are_remembered() -> None:
    journal = Journal()
    for number in range(1000):
        record(journal, str(number))
    record(journal, "0")
    record(journal, "new")
    names = [key.name for key, _ in journal]
    assert (len(names), names[0], names[-2:]) == (1000, "2", ["0", "new"])


def test_errors_are_kept_as_text() -> None:
    journal = Journal()
    record(journal, "a", error=ValueError("no " * 1000))
    [entry] = journal.of(Key("x", "a"))
    assert entry.error.startswith("ValueError: no no")
    assert len(entry.error) == 500


def test_a_reconcile_that_writes_without_end_is_remembered_in_part() -> None:
    journal = Journal()
    notes = journal.begin(1.0)
    for _ in range(100):
        note_write("create", CONFIG_MAPS, None)
    assert notes.writes == ["create configmaps"] * 50


class Asked:
    """What a request shows of who asks."""

    query_string = ""

    def __init__(self, host: str, token: str = "") -> None:
        self.connection = self
        self.client = (host, 1)
        self.host = "10.0.0.1"
        fields = [("authorization", f"Bearer {token}")] if token else []
        self.headers = dict(fields)


@pytest.mark.parametrize(
    ("host", "token", "status"),
    [
        ("127.0.0.1", "", 200),
        ("127.3.2.1", "", 200),
        ("::1", "", 200),
        ("::ffff:127.0.0.1", "", 200),
        ("10.0.0.1", "", 200),
        ("10.0.0.7", "", 403),
        ("fe80::1%eth0", "", 403),
        ("", "", 403),
        ("10.0.0.7", "secret", 200),
        ("10.0.0.7", "other", 403),
    ],
)
def test_who_is_told(host: str, token: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN, "secret")
    asked: Any = Asked(host, token)
    assert Insight([], lambda: True).serve(asked).status == status


def test_no_token_is_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN, raising=False)
    asked: Any = Asked("10.0.0.7", "")
    asked.headers = {"authorization": "Bearer "}
    assert Insight([], lambda: True).serve(asked).status == 403
