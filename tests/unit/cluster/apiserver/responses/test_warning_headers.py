"""Warnings on their way into headers."""

from __future__ import annotations

import pytest

from steersman.cluster.apiserver.responses.warning_headers import warning_headers

CASES: dict[str, tuple[list[str], list[str]]] = {
    "each once, nothing for nothing": (["a", "", "b", "a"], ["a", "b"]),
    "quoted": (['say "hi"', "a\\b"], ['say \\"hi\\"', "a\\\\b"]),
    "what would split a header is not sent": (["a\nb", "c\x85d", "ok"], ["ok"]),
    "long alone": (["x" * 4096], ["x" * 4096]),
    "too long alone": (["x" * 4097], ["x" * 256]),
    "together too long": (["x" * 4000, "y" * 97, "z" * 300], ["x" * 256, "y" * 97, "z" * 256]),
    "characters, not bytes": (["ü" * 4096], ["ü" * 4096]),
    "no more than fit": (
        [f"{number:04d}" + "x" * 496 for number in range(100)],
        [f"{number:04d}" + "x" * 252 for number in range(16)],
    ),
}


@pytest.mark.parametrize(("warnings", "shown"), CASES.values(), ids=CASES)
def test_warnings_are_bounded(warnings: list[str], shown: list[str]) -> None:
    assert warning_headers(warnings) == [(b"Warning", f'299 - "{text}"'.encode()) for text in shown]
