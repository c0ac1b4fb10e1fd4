"""How the demo is shown: a live screen on a terminal that can, lines of text anywhere else."""

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
from steersman.cli.colours import can_redraw
from steersman.cli.demo.scene import PodLine, Scene

__all__ = ["shown", "starting"]

_FRAME_S: Final = 0.1
#: How many lines of the story are there in any case, and at most.
_FEWEST: Final = 2
_MOST: Final = 10
_COLOURS: Final = {"Running": "green", "Terminating": "yellow", "Pending": "cyan"}


@contextmanager
def starting() -> Iterator[None]:
    """Say that there is something to wait for, to whoever sits at a terminal."""
    if can_redraw(sys.stdout):
        with Console().status("Starting a cluster"):
            yield
    else:
        yield


@asynccontextmanager
async def shown(scene: Scene) -> AsyncIterator[None]:
    """Show the scene until the end of the block."""
    async with AsyncExitStack() as stack:
        if can_redraw(sys.stdout):
            live = stack.enter_context(Live(console=Console(), auto_refresh=False))
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
    live.update(_fitting(scene, live.console), refresh=True)


def _fitting(scene: Scene, console: Console) -> Group:
    """What happened long ago makes room for what is. The last line is for the shell, afterwards."""
    for lines in range(_MOST, _FEWEST, -1):
        screen = _screen(scene, lines)
        if len(console.render_lines(screen)) < console.height:
            return screen
    return _screen(scene, _FEWEST)


def _screen(scene: Scene, lines: int) -> Group:
    *before, now = scene.said[-lines:]
    story = Text("\n").join([*(Text(f"▸ {line}", style="dim") for line in before), Text(f"▶ {now}", "bold")])
    return Group(Panel(story, title="what happens", border_style="blue"), _pods(scene), _notes(scene))


def _pods(scene: Scene) -> Table:
    table = Table(expand=True, pad_edge=False, box=SIMPLE_HEAD, border_style="blue", header_style="bold")
    for column in ("POD", "STATE", "ADDRESS", "RESTARTS", "ANSWERS"):
        table.add_column(column, justify="right" if column in ("RESTARTS", "ANSWERS") else "left")
    for line in scene.pod_lines():
        state = Text(_state(line), style=_COLOURS.get(line.state, "white"))
        table.add_row(line.name, state, line.address, str(line.restarts), str(scene.answers[line.name]))
    return table


def _state(line: PodLine) -> str:
    """In so few words that names and addresses have their room in 80 columns."""
    if line.state != "Running":
        return line.state
    return "Running, ready" if line.ready else "not ready"


def _notes(scene: Scene) -> Table:
    notes = Table.grid(padding=(0, 2))
    notes.add_row(" browser", Text(scene.url, "bold underline") if scene.url else Text("…", "dim"))
    notes.add_row(" kubectl", Text(f"export KUBECONFIG={scene.kubeconfig}"))
    failed = Text(f"{scene.failures} failed", "red" if scene.failures else "green")
    asked = f"{sum(scene.answers.values())} answered, "
    ready = f"   pods {scene.ready} of {scene.wanted} ready"
    notes.add_row(" requests", Text.assemble(asked, failed, ready))
    return notes
