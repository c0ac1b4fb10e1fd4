"""The command `steer demo`: puts the parts together, and takes them down again."""

from __future__ import annotations

import asyncio
import logging
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from steersman.aio.signals import stopping_on_signals
from steersman.cli.failure import CommandFailed
from steersman.cli.process import require_cluster_packages, run_loop

if TYPE_CHECKING:
    from steersman.cli.demo.scene import Scene
    from steersman.client import Client

__all__ = ["demo"]

_EXAMPLES = """Run a live demo: a cluster, an operator and a web app.

You see the app being created, scaled and healed. Everything runs as processes on this machine and is
removed at the end. On a terminal the app keeps running until you press Ctrl-C, so that you can open it in
a browser.

Examples:

\b
  steer demo
  steer demo --for 0      stop after the last step
  steer demo --pause 5    pause longer after each step
"""

_SITE: Final = Path(__file__).parent / "site"


def demo(
    stay: Annotated[
        float | None,
        typer.Option(
            "--for", metavar="SECONDS", help="How long to keep everything running after the last step.",
            show_default="until Ctrl-C on a terminal, else 0", min=0,
        ),
    ] = None,
    pause: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long to pause after each step.", min=0)
    ] = 2.0,
) -> None:  # fmt: skip
    require_cluster_packages()
    # What a normal user's machine does not allow is said where it matters, not across the picture.
    logging.basicConfig(level=logging.ERROR)
    if stay is None and not sys.stdout.isatty():
        stay = 0.0
    from steersman.cli.demo.story import NotThere

    try:
        run_loop(_play(stay, pause))
    except NotThere as error:
        raise CommandFailed(f"the demo failed: {error}") from None


demo.__doc__ = _EXAMPLES


async def _play(stay_s: float | None, pause_s: float) -> None:
    """Until the story is over or a signal comes, which is the ordinary end once there is something to see."""
    from steersman.cli.demo.screen import starting

    async with AsyncExitStack() as stack:
        with starting():
            client, scene = await _set_up(stack)
        stopped = asyncio.Event()
        with stopping_on_signals(stopped.set):
            try:
                await _show(client, scene, stopped, stay_s, pause_s)
            finally:
                await stack.aclose()


async def _set_up(stack: AsyncExitStack) -> tuple[Client, Scene]:
    """A cluster with the operator in it, until the stack is closed."""
    from steersman.aio import Scope
    from steersman.cli.demo.scene import Scene
    from steersman.cli.demo.webapp import IMAGE, WebApp, operator
    from steersman.cli.installing import install
    from steersman.cluster.local import ClusterConfig, LocalCluster
    from steersman.cluster.node.process.image_index import ImageIndex
    from steersman.objects.resources import PODS
    from steersman.operator import Settings, assemble

    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="steersman-demo-"))
    images = Path(folder) / "images.json"
    ImageIndex(images).add(IMAGE, _SITE)
    config = ClusterConfig(controllers=("all",), process_nodes=1, images=images)
    cluster = await stack.enter_async_context(LocalCluster(config))
    client = await stack.enter_async_context(cluster.client())
    await install(client, [WebApp.crd()])
    manager = assemble([operator], client, settings=Settings(address=None))
    scene = Scene(manager.informers.get(PODS, namespace="default").cache, cluster.kubeconfig)
    scene.say(f"A cluster is up at {cluster.url}.")
    scope = await stack.enter_async_context(Scope())
    scope.start(manager.run(), name="operator")
    return client, scene


async def _show(
    client: Client, scene: Scene, stopped: asyncio.Event, stay_s: float | None, pause_s: float
) -> None:
    from steersman.aio import Scope
    from steersman.cli.demo.screen import shown

    async with shown(scene), Scope() as scope:
        asking = scope.start(scene.ask_forever(), name="asking")
        told = scope.start(_tell_and_stay(client, scene, pause_s, stay_s), name="story")
        over = scope.start(stopped.wait())
        await asyncio.wait((told, over), return_when=asyncio.FIRST_COMPLETED)
        asking.cancel()
        scene.say(f"{sum(scene.answers.values())} requests were answered, {scene.failures} failed.")


async def _tell_and_stay(client: Client, scene: Scene, pause_s: float, stay_s: float | None) -> None:
    from steersman.cli.demo.story import tell

    await tell(client, scene, pause_s=pause_s)
    scene.say(
        "The demo is over." if stay_s == 0 else f"Open {scene.url} in a browser. Ctrl-C stops everything."
    )
    if stay_s is None:
        await asyncio.Event().wait()
    else:
        await asyncio.sleep(stay_s)
