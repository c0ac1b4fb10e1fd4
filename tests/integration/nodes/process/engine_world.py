"""A process engine in a folder, with its keeper; nothing of it is left afterwards.

async with engine_in(tmp_path) as engine: …
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from steersman.aio import Scope, SystemClock
from steersman.cluster.node.cri import (
    ContainerConfig,
    ContainerEvent,
    ContainerState,
    ContainerStatus,
    Mount,
    PodSandboxConfig,
)
from steersman.cluster.node.process.engine import EngineConfig, Isolation, ProcessRuntime
from steersman.cluster.node.process.image_index import ImageIndex
from steersman.cluster.node.process.image_store import ProcessImages
from steersman.testing import eventually

PATIENCE_S = 30.0


class LoopbackAddresses:
    """Addresses that need nobody's leave."""

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self._last = 1

    async def take(self, owner: str) -> str:
        self._last += 1
        address = f"127.77.{self._last // 250}.{self._last % 250}"
        self.taken.add(address)
        return address

    async def keep(self, address: str, owner: str = "") -> None:
        self.taken.add(address)

    async def free(self, address: str) -> None:
        self.taken.discard(address)


class World(ProcessRuntime):
    """The engine, and shorter words for what tests do with it."""

    addresses: LoopbackAddresses
    index: ImageIndex
    conflicts: list[tuple[str, str, int]]
    told: list[ContainerEvent]

    async def sandbox(self, uid: str = "pod-1", **config: Any) -> str:
        return await self.run_pod_sandbox(PodSandboxConfig(uid, "default", f"name-of-{uid}", **config))

    async def create(
        self,
        sandbox: str,
        *command: str,
        name: str = "main",
        attempt: int = 0,
        image: str = "host/sh",
        args: tuple[str, ...] = (),
        env: dict[str, str] | None = None,
        mounts: tuple[Mount, ...] = (),
        working_dir: str = "",
        **container: Any,
    ) -> str:
        spec = {"name": name, "image": image, **container}
        config = ContainerConfig(
            name, attempt, image, image, spec, False, command, args, env or {}, working_dir, mounts
        )
        return await self.create_container(sandbox, config)

    async def start(self, sandbox: str, *command: str, **config: Any) -> str:
        container = await self.create(sandbox, *command, **config)
        await self.start_container(container)
        return container

    async def shell(self, script: str, uid: str = "pod-1", **config: Any) -> str:
        """A container of a new pod that runs a shell script."""
        return await self.start(await self.sandbox(uid), "sh", "-c", script, **config)

    async def status(self, container: str) -> ContainerStatus:
        kept = self._container(container)
        return next(one for one in await self.list_containers(kept.uid) if one.id == container)

    async def ended(self, container: str) -> ContainerStatus:
        await asyncio.wait_for(asyncio.shield(self._container(container).ended()), PATIENCE_S)
        status = await self.status(container)
        assert status.state is ContainerState.EXITED
        return status

    async def says(self, container: str, text: str) -> None:
        """Wait until it has said so."""
        await eventually(lambda: text in self.said(container), PATIENCE_S, what=text)

    def said(self, container: str) -> str:
        """What is in its log, without times."""
        path = self.log_path(container)
        lines = path.read_text().splitlines() if path.exists() else []
        return "\n".join(line.split(" ", 3)[3] for line in lines)


@asynccontextmanager
async def engine_in(
    folder: Path,
    *,
    isolation: Isolation = "best",
    stop_pods: bool = True,
    alone_s: float = 60.0,
    stand_ins: Path | None = None,
) -> AsyncIterator[World]:
    index = ImageIndex(folder / "images.json")
    addresses = LoopbackAddresses()
    conflicts: list[tuple[str, str, int]] = []
    config = EngineConfig(folder / "node", alone_s=alone_s, isolation=isolation, stand_ins=stand_ins)
    config.folder.mkdir(exist_ok=True)
    world = World(
        config,
        ProcessImages(index),
        addresses,
        SystemClock(),
        on_port_conflict=lambda *found: conflicts.append(found),
    )
    world.addresses, world.index, world.conflicts, world.told = addresses, index, conflicts, []
    world.subscribe(world.told.append)
    async with Scope() as scope:
        running = scope.start(world.run(stop_pods=lambda: stop_pods))
        await asyncio.wait_for(world.wait_ready(), PATIENCE_S)
        try:
            yield world
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


def run_engine(test: Callable[[World], Any], folder: Path, **options: Any) -> None:
    """Run a test with an engine of its own."""

    async def run() -> None:
        async with engine_in(folder, **options) as engine:
            await test(engine)

    asyncio.run(run())


def lives(pid: int) -> bool:
    """Whether there is such a process; one that only waits to be reaped is none."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False
