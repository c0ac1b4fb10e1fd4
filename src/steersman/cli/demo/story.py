"""What happens in the demo, one thing after the other; each step waits until it has come to its end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Final

from steersman.cli.demo.scene import PodLine, Scene
from steersman.cli.demo.webapp import PORT, WebApp
from steersman.client import Client
from steersman.http import Client as Http
from steersman.http.errors import ClientError
from steersman.objects.resources import PODS, SERVICES
from steersman.objects.stand_ins import answering_port

__all__ = ["NotThere", "tell"]

_NAME: Final = "hello"
_FIRST, _MORE = 3, 5
#: How long a step may take, and how often it is looked at.
_DEADLINE_S: Final = 60.0
_LOOK_S: Final = 0.05


class NotThere(Exception):
    """A step of the demo did not come to its end."""


async def tell(client: Client, scene: Scene, *, pause_s: float) -> None:
    """The whole story. Raises `NotThere`."""
    scene.say(f"A WebApp is created with {_FIRST} replicas. The operator creates its pods.")
    scene.wanted = _FIRST
    app = {"metadata": {"name": _NAME}, "spec": {"greeting": "Ahoy!", "replicas": _FIRST}}
    await client.create(WebApp.from_object(app))
    await _settled(scene)
    await _until("an address", lambda: _find_address(client, scene))
    scene.say(f"The app answers at {scene.url}.")
    await asyncio.sleep(pause_s)

    scene.say(f"The app is scaled to {_MORE} replicas by a change of its spec.")
    scene.wanted = _MORE
    await client.patch(WebApp, _NAME, {"spec": {"replicas": _MORE}})
    await _settled(scene)
    await asyncio.sleep(pause_s)

    victim = scene.pod_lines()[0]
    scene.say(f"The process of {victim.name} crashes; its node restarts it.")
    await _crash(victim)
    await _until("a restart", lambda: _restarted(scene, victim))
    await _settled(scene)
    await asyncio.sleep(pause_s)

    victim = scene.pod_lines()[-1]
    scene.say(f"The pod {victim.name} is deleted; a new pod replaces it.")
    await client.delete(PODS, victim.name)
    await _until("a replacement", lambda: _replaced(scene, victim))
    await _settled(scene)
    await asyncio.sleep(pause_s)
    failed = f"{scene.failures} requests failed" if scene.failures else "no request failed"
    scene.say(f"All {_MORE} pods are ready, and {failed}.")


async def _crash(victim: PodLine) -> None:
    with contextlib.suppress(ClientError):
        async with Http(f"http://{victim.address}:{PORT}") as http:
            await http.request("GET", "/crash")


async def _find_address(client: Client, scene: Scene) -> bool:
    service = await client.find(SERVICES, _NAME)
    if service is None:
        return False
    ingress = (service.get("status") or {}).get("loadBalancer", {}).get("ingress") or ()
    if not ingress:
        return False
    port = answering_port(service, 80)
    url = f"http://{ingress[0]['ip']}" + (f":{port}" if port != 80 else "")
    # The address is known a moment before somebody listens there.
    with contextlib.suppress(ClientError):
        async with Http(url) as http:
            await http.request("GET", "/who")
        scene.url = url
    return bool(scene.url)


async def _restarted(scene: Scene, victim: PodLine) -> bool:
    return any(line.name == victim.name and line.restarts > victim.restarts for line in scene.pod_lines())


async def _replaced(scene: Scene, victim: PodLine) -> bool:
    return all(line.name != victim.name for line in scene.pod_lines())


async def _settled(scene: Scene) -> None:
    async def settled() -> bool:
        return scene.settled

    await _until(f"{scene.wanted} ready pods", settled)


async def _until(what: str, holds: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(int(_DEADLINE_S / _LOOK_S)):
        if await holds():
            return
        await asyncio.sleep(_LOOK_S)
    raise NotThere(f"timed out after {_DEADLINE_S:.0f} s waiting for {what}")
