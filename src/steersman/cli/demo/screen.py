"""How the demo is shown: a live screen on a terminal, lines of text anywhere else."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from steersman.aio import Scope
from steersman.cli.demo.scene import PodLine, Scene

__all__ = ["shown", "starting"]

_FRAME_S: Final = 0.1
_STORY_LINES: Final = 8
_COLOURS: Final = {"Running": "green", "Terminating": "yellow", "Pending": "cyan"}


@contextmanager
def starting() -> Iterator[None]:
    """Say that there is something to wait for, to whoever sits at a terminal."""
    console = Console()
    if console.is_terminal:
        with console.status("Starting a cluster"):
            yield
    else:
        yield


@asynccontextmanager
async def shown(scene: Scene) -> AsyncIterator[None]:
    """Show the scene until the end of the block."""
    console = Console()
    async with AsyncExitStack() as stack:
        if console.is_terminal:
            live = stack.enter_context(Live(_screen(scene), console=console, auto_refresh=False))
            show = partial(_draw, scene, live)
        else:
            show = partial(_print, scene)
        scope = await stack.enter_async_context(Scope())
        frames = scope.start(_forever(show))
        try:
            yield
        finally:
            frames.cancel()
            show()


async def _forever(show: Callable[[], None]) -> None:
    while True:
        show()
        await asyncio.sleep(_FRAME_S)


def _print(scene: Scene) -> None:
    """What was said since the last time."""
    while scene.said:
        sys.stdout.write(scene.said.pop(0) + "\n")
    sys.stdout.flush()


def _draw(scene: Scene, live: Live) -> None:
    live.update(_screen(scene), refresh=True)


def _screen(scene: Scene) -> Group:
    *before, now = scene.said[-_STORY_LINES:]
    story = Text("\n").join([*(Text(f"▸ {line}", style="dim") for line in before), Text(f"▶ {now}", "bold")])
    return Group(Panel(story, title="what happens", border_style="blue"), _pods(scene), _notes(scene))


def _pods(scene: Scene) -> Table:
    table = Table(expand=True, box=SIMPLE_HEAD, border_style="blue", header_style="bold")
    for column in ("POD", "STATE", "ADDRESS", "RESTARTS", "ANSWERS"):
        table.add_column(column, justify="right" if column in ("RESTARTS", "ANSWERS") else "left")
    for line in scene.pod_lines():
        state = Text(_state(line), style=_COLOURS.get(line.state, "white"))
        table.add_row(line.name, state, line.address, str(line.restarts), str(scene.answers[line.name]))
    return table


def _state(line: PodLine) -> str:
    return (
        f"{line.state}, {'ready' if line.ready else 'not ready'}" if line.state == "Running" else line.state
    )


def _notes(scene: Scene) -> Table:
    notes = Table.grid(padding=(0, 2))
    notes.add_row(" browser", Text(scene.url, "bold underline") if scene.url else Text("…", "dim"))
    notes.add_row(" kubectl", Text(f"export KUBECONFIG={scene.kubeconfig}"))
    failed = Text(f"{scene.failures} failed", "red" if scene.failures else "green")
    asked = f"{sum(scene.answers.values())} answered, "
    ready = f"   pods {scene.ready} of {scene.wanted} ready"
    notes.add_row(" requests", Text.assemble(asked, failed, ready))
    return notes
