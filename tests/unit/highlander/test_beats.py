"""The judge of the rounds: two copies at once, or an epoch that goes back, are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.highlander.beats import Beats


def beats(folder: Path, *lines: str) -> Beats:
    file = folder / "worker"
    file.write_text("".join(f"{line} alone\n" if len(line.split()) == 3 else f"{line}\n" for line in lines))
    return Beats(file)


def test_one_after_the_other_is_right(tmp_path: Path) -> None:
    found = beats(tmp_path, "1 x 1.0", "1 x 2.0", "2 y 2.5", "2 y 3.0")
    found.check()
    assert found.gaps() == [0.5]
    assert found.gaps(since=2.7) == []
    assert found.epoch == 2


def test_what_is_written_later_is_read_too(tmp_path: Path) -> None:
    found = beats(tmp_path, "1 x 1.0")
    assert not found.is_alive(1.5)
    with found.file.open("a") as file:
        file.write("1 x 2.0 alone\n2 y 3.")
    assert found.is_alive(1.5)
    assert found.epoch == 1
    with found.file.open("a") as file:
        file.write("5 alone\n")
    assert found.is_alive(1.5, above=1)
    assert [copy.first for copy in found.copies()] == [1.0, 3.5]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("1 x 1.0", "2 y 1.5", "1 x 2.0"), "two copies"),
        (("1 x 1.0", "2 y 1.5 second"), "another process lived"),
        (("2 x 1.0", "1 y 2.0"), "1 after 2"),
    ],
    ids=["overlap", "file-was-locked", "epoch-goes-back"],
)
def test_what_must_not_be_is_found(tmp_path: Path, lines: tuple[str, ...], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        beats(tmp_path, *lines).check()
