"""How the demo is shown: a live screen on a terminal, lines of text anywhere else."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from steersman.aio import Scope
from steersman.cli.demo.scene import PodLine, Scene

__all__ = ["shown"]

_FRAME_S: Final = 0.1
_STORY_LINES: Final = 8
_COLOURS: Final = {"Running": "green", "Terminating": "yellow", "Pending": "cyan"}


@asynccontextmanager
async def shown(scene: Scene) -> AsyncIterator[None]:
    """Show the scene until the end of the block."""
    console = Console()
    if console.is_terminal:
        async with Scope() as scope:
            with Live(_screen(scene), console=console, auto_refresh=False) as live:
                frames = scope.start(_draw(scene, live))
                try:
                    yield
                finally:
                    frames.cancel()
                    live.update(_screen(scene), refresh=True)
        return
    async with Scope() as scope:
        lines = scope.start(_print(scene))
        try:
            yield
        finally:
            lines.cancel()
            _Printer.rest(scene)


async def _draw(scene: Scene, live: Live) -> None:
    while True:
        live.update(_screen(scene), refresh=True)
        await asyncio.sleep(_FRAME_S)


def _screen(scene: Scene) -> Group:
    story = Text("\n").join(
        Text(f"{'▸' if number else '▶'} {line}", style="dim" if number else "bold")
        for number, line in enumerate(reversed(scene.said[-_STORY_LINES:]))
    )
    address = Text.assemble("open in a browser: ", (scene.url, "bold underline")) if scene.url else Text("…")
    asked = sum(scene.answers.values())
    counts = Text.assemble(
        f"{asked} answers, ",
        (f"{scene.failures} failures", "red" if scene.failures else "green"),
        f"   {scene.ready} of {scene.wanted} pods ready",
    )
    return Group(
        Panel(story, title="what happens", border_style="blue"), _pods(scene), Text(), address, counts
    )


def _pods(scene: Scene) -> Table:
    table = Table(expand=True, border_style="blue")
    for column in ("pod", "state", "address", "restarts", "answers"):
        table.add_column(column, justify="right" if column in ("restarts", "answers") else "left")
    for line in scene.pod_lines():
        state = Text(_state(line), style=_COLOURS.get(line.state, "white"))
        table.add_row(line.name, state, line.address, str(line.restarts), str(scene.answers[line.name]))
    return table


def _state(line: PodLine) -> str:
    return (
        f"{line.state}, {'ready' if line.ready else 'not ready'}" if line.state == "Running" else line.state
    )


async def _print(scene: Scene) -> None:
    while True:
        _Printer.rest(scene)
        await asyncio.sleep(_FRAME_S)


class _Printer:
    """Prints what was said since it last did."""

    @staticmethod
    def rest(scene: Scene) -> None:
        while scene.said:
            sys.stdout.write(scene.said.pop(0) + "\n")
        sys.stdout.flush()
