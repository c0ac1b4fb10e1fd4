"""What can be told of a command by reading it."""

from __future__ import annotations

import math

import pytest

from steersman.cluster.node.simulated.commands import life_of


@pytest.mark.parametrize(
    ("command", "life"),
    [
        (["sleep", "300"], (300, 0)),
        (["/bin/sleep", "1.5m"], (90, 0)),
        (["sleep", "infinity"], (math.inf, 0)),
        (["true"], (0, 0)),
        (["/bin/false"], (0, 1)),
        (["echo", "done"], (0, 0)),
        (["/bin/sh", "-c", "exit 1"], (0, 1)),
        (["sh", "-c", "exit"], (0, 0)),
        (["sh", "-c", "sleep 2 && exit 3"], (2, 3)),
        (["sh", "-c", "echo 'a; b'\nsleep 2; sleep 3;"], (5, 0)),
        (["sh", "-c", "false && sleep 9"], (0, 1)),
        (["sh", "-c", "false; sleep 9"], (9, 0)),
        (["sh", "-c", "exit 2; sleep 9"], (0, 2)),
        (["bash", "-c", ""], (0, 0)),
    ],
    ids=repr,
)
def test_what_can_be_told(command: list[str], life: tuple[float, int]) -> None:
    assert life_of({"command": command}) == life
    assert life_of({"command": command[:1], "args": command[1:]}) == life


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["nginx", "-g", "daemon off;"],
        ["sleep"],
        ["sleep", "soon"],
        ["sh"],
        ["sh", "-ec", "exit 1"],
        ["sh", "-c", "exit $CODE"],
        ["sh", "-c", "while true; do sleep 1; done"],
        ["sh", "-c", "sleep 1 &"],
        ["sh", "-c", "sleep 1 | cat"],
        ["sh", "-c", "test -e /done || exit 1"],
        ["sh", "-c", "echo 'unfinished"],
    ],
    ids=repr,
)
def test_what_cannot_be_told(command: list[str]) -> None:
    assert life_of({"command": command}) is None


def test_arguments_alone_say_nothing_without_their_image() -> None:
    assert life_of({"args": ["sleep", "1"]}) is None


@pytest.mark.parametrize(
    ("image", "life"),
    [
        ("registry.example:5000/pause:3.10", (math.inf, 0)),
        ("pause", (math.inf, 0)),
        ("registry.example/pause@sha256:ab", (math.inf, 0)),
        ("pause-menu:1", None),
        ("pause/menu:1", None),
    ],
)
def test_images_that_do_nothing_do_it_for_ever(image: str, life: tuple[float, int] | None) -> None:
    assert life_of({"image": image}) == life
