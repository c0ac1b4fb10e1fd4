"""The soak's verdict on events must be able to be bad."""

from __future__ import annotations

import json

import pytest

from benchmarks.churn import Seen, differences

_WRITES: list[Seen] = [("ADDED", "a", 1), ("MODIFIED", "a", 2), ("DELETED", "a", 0)]


@pytest.mark.parametrize(
    ("events", "wrong"),
    [
        pytest.param([("ADDED", "a", 1), ("MODIFIED", "a", 2), ("DELETED", "a", 3)], [], id="right"),
        pytest.param(
            [("ADDED", "a", 1), ("DELETED", "a", 3)], ["lost: ('MODIFIED', 'a', 2)"], id="lost"
        ),
        pytest.param(
            [("ADDED", "a", 1), ("MODIFIED", "a", 2), ("MODIFIED", "a", 2), ("DELETED", "a", 3)],
            ["a: revision 2 after 2", "not expected: ('MODIFIED', 'a', 2)"],
            id="doubled",
        ),
        pytest.param(
            [("MODIFIED", "a", 2), ("ADDED", "a", 1), ("DELETED", "a", 3)],
            ["a: revision 1 after 2"],
            id="out-of-order",
        ),
        pytest.param(
            [("ADDED", "a", 1), ("MODIFIED", "a", 2), ("DELETED", "a", 3), ("ADDED", "b", 4)],
            ["not expected: ('ADDED', 'b', 4)"],
            id="invented",
        ),
    ],
)  # fmt: skip
def test_differences(events: list[Seen], wrong: list[str]) -> None:
    lines = [
        json.dumps({"type": kind, "object": {"metadata": {"name": name, "resourceVersion": str(revision)}}})
        for kind, name, revision in events
    ]
    assert differences(_WRITES, [line.encode() for line in lines]) == wrong
