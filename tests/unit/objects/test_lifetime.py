"""An object's two timestamps: when it was created, and that its deletion was requested."""

from __future__ import annotations

from datetime import UTC, datetime

from steersman.objects.lifetime import created_at, is_deleting


def test_creation_time_is_read() -> None:
    created = {"metadata": {"creationTimestamp": "2026-01-02T03:04:05Z"}}
    assert created_at(created) == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_an_object_is_deleting_from_the_request_on() -> None:
    assert is_deleting({"metadata": {"name": "a", "deletionTimestamp": "2026-01-02T03:04:05Z"}})
    assert not is_deleting({"metadata": {"name": "a"}})
    assert not is_deleting({"metadata": {"name": "a", "deletionTimestamp": None}})
