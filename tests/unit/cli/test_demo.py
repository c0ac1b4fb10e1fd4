"""How `steer demo` is shown, on terminals of any kind and size."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from steersman.cli.demo.scene import Scene
from steersman.cli.demo.screen import _fitting, shown, starting
from steersman.runtime.cached import Cached
from steersman.testing import eventually

STORY = [
    "A cluster is up at https://127.0.0.1:45123.",
    "A WebApp is created with 3 replicas. The operator creates its pods.",
    "The app answers at http://127.100.0.1:8080.",
    "The app is scaled to 5 replicas by a change of its spec.",
    "The process of hello-6f6684b759-2fs6x crashes; its node restarts it.",
    "The pod hello-6f6684b759-zpcqm is deleted; a new pod replaces it.",
    "All 5 pods are ready, and no request failed.",
    "Open http://127.100.0.1:8080 in a browser. Ctrl-C stops everything.",
    "175 requests were answered, 0 failed.",
]


def pod(number: int, phase: str = "Running", ready: bool = True, reason: str = "") -> Cached:
    name = f"hello-6f6684b759-{number:05}"
    container = {"ready": ready, "restartCount": 0, "state": {"waiting": {"reason": reason}}}
    status = {"phase": phase, "podIP": f"127.244.0.{number + 10}", "containerStatuses": [container]}
    return Cached("default", name, 1, json.dumps({"metadata": {"name": name}, "status": status}).encode())


def scene(pods: int = 5, *others: Cached) -> Scene:
    cache: Any = [*(pod(number) for number in range(pods)), *others]
    found = Scene(
        cache, Path("/tmp/steersman-ojl1r2bq/kubeconfig"), url="http://127.100.0.1:8080", wanted=pods
    )
    for line in STORY:
        found.say(line)
    return found


def lines_of(found: Scene, width: int, height: int) -> list[str]:
    console = Console(width=width, height=height, file=io.StringIO(), force_terminal=True, color_system=None)
    console.print(_fitting(found, console))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize(
    ("pods", "width", "height"),
    [(5, 80, 24), (7, 80, 24), (6, 80, 18), (5, 120, 40), (5, 70, 24)],
    ids=["ordinary", "more pods", "few lines", "large", "narrow"],
)
def test_the_picture_fits_the_terminal(pods: int, width: int, height: int) -> None:
    shown = lines_of(scene(pods), width, height)
    assert len(shown) < height
    text = " ".join(" ".join(shown).split())
    assert "175 requests were answered" in text
    assert "export KUBECONFIG=/tmp/steersman-ojl1r2bq/kubeconfig" in text
    assert text.count("Running, ready") == pods


def test_where_there_is_room_the_whole_story_is_told() -> None:
    for width, height in ((80, 24), (120, 40)):
        text = "\n".join(lines_of(scene(), width, height))
        assert all(line in text for line in STORY)


def test_names_and_addresses_are_not_cut_off_whatever_the_pods_do() -> None:
    starting = pod(8, "Pending", False, "ContainerCreating")
    for others in ((), (pod(9, ready=False),), (starting,)):
        text = "\n".join(lines_of(scene(4, *others), 80, 24))
        assert "…" not in text
        assert text.count("hello-6f6684b759-0000") == 4 + len(others)
        assert text.count(" 127.244.0.1") == 4 + len(others)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()], ids=["dumb terminal", "pipe"])
async def test_without_a_screen_each_step_is_a_line_as_it_happens(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("TERM", "dumb")
    found = scene()
    found.said = []
    with starting():
        assert stream.getvalue() == ""
    async with shown(found):
        for number, line in enumerate(STORY, 1):
            found.say(line)
            told = "".join(f"{line}\n" for line in STORY[:number])
            await eventually(lambda told=told: stream.getvalue() == told)
