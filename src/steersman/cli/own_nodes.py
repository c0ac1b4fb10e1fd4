"""Nodes of this machine for `steer component nodes`: their addresses, and certificates from the API."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from steersman.aio import Clock
    from steersman.client import Client
    from steersman.cluster.machine_nodes import MachineNodes

__all__ = ["OwnNodes", "own_nodes"]

_HTTPS = 443


@dataclass(frozen=True, slots=True)
class OwnNodes:
    """Which nodes the command line asks for."""

    count: int
    first: int
    heartbeat_s: float
    folder: Path | None
    service_cidr: str


@asynccontextmanager
async def own_nodes(
    client: Client, clock: Clock, authority: str, asked: OwnNodes
) -> AsyncIterator[MachineNodes]:
    """Hold the machine's addresses for these nodes. Their pods live on when the process ends."""
    from steersman.cluster.machine import Ranges, open_machine
    from steersman.cluster.machine.folders import state_folder
    from steersman.cluster.machine_nodes import MachineNodes
    from steersman.cluster.node.serving_certificate import CertificateFiles, serving_certificate

    folder = (asked.folder or state_folder() / "nodes").absolute()
    os.makedirs(folder, mode=0o700, exist_ok=True)

    async def certify(user: str, names: Sequence[str]) -> CertificateFiles:
        own = folder / names[0]
        os.makedirs(own, mode=0o700, exist_ok=True)
        return await serving_certificate(client, clock, own, user, names)

    server = urlsplit(f"//{client.host}")
    machine = await open_machine(folder, ranges=Ranges.with_services(asked.service_cidr))
    try:
        yield MachineNodes(
            asked.count,
            machine,
            folder,
            authority.encode(),
            certify,
            first=asked.first,
            heartbeat_s=asked.heartbeat_s,
            stop_pods=False,
            api=(server.hostname or "", server.port or _HTTPS),
        )
    finally:
        await machine.close(leave_owned=True)
