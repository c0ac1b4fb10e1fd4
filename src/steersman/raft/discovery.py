"""Where the other nodes are: listed, or found by the headless Service of a StatefulSet.

A *node* is a place (ordinal N, pod `name-N`); a *member* is one life of a node in the cluster: who loses what
it had stored comes back as another member of the same node. A member's number has both in it.

Absence from DNS says nothing about the membership: who is not found now may be a voter that restarts.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from steersman.raft.errors import SettingsError
from steersman.raft.state_machine import Located

__all__ = [
    "Discovery",
    "HeadlessService",
    "StaticPeers",
    "new_member",
    "node_id_from_hostname",
    "node_of",
    "split_hostname",
]

_NODE_BITS = 16
_HOSTNAME = re.compile(r"(?P<set>.+)-(?P<ordinal>\d+)")
#: Ordinals looked up beyond those that DNS has already shown to exist: restarting pods leave gaps.
_GAP = 3

Resolve = Callable[[str], Awaitable[Sequence[str]]]


def new_member(node_id: int, wall_s: float) -> int:
    """A number for the life of a node that begins now. Later ones are greater."""
    return int(wall_s * 1000) << _NODE_BITS | (node_id + 1)


def node_of(member: int) -> int:
    return (member & ((1 << _NODE_BITS) - 1)) - 1


def split_hostname(hostname: str) -> tuple[str, int]:
    """Name and ordinal of a StatefulSet's pod."""
    match = _HOSTNAME.fullmatch(hostname.partition(".")[0])
    if match is None:
        raise SettingsError(f"the host name {hostname!r} does not end in an ordinal, as a StatefulSet's does")
    return match["set"], int(match["ordinal"])


def node_id_from_hostname(hostname: str | None = None) -> int:
    """The pod's ordinal, from `name-N`; by default of this pod."""
    return split_hostname(hostname or os.environ.get("POD_NAME") or socket.gethostname())[1]


class Discovery(Protocol):
    def locate(self, node_id: int) -> Located | None:
        """Where that node would be, if it is known without asking."""
        ...

    async def peers(self) -> Mapping[int, Located]:
        """The nodes that exist as far as can be known now; this one may be among them."""
        ...


class StaticPeers:
    """Nodes that the settings list."""

    def __init__(self, peers: Mapping[int, Located]) -> None:
        self._peers = dict(peers)

    def locate(self, node_id: int) -> Located | None:
        return self._peers.get(node_id)

    async def peers(self) -> Mapping[int, Located]:
        return self._peers


class HeadlessService:
    """The pods of a StatefulSet. Its Service needs `publishNotReadyAddresses: true`: a pod that is not ready
    because it has no leader must be found by those that could elect one."""

    def __init__(
        self, stateful_set: str, service: str, namespace: str, port: int, *, domain: str = "cluster.local",
        resolve: Resolve | None = None,
    ) -> None:  # fmt: skip
        self._stateful_set = stateful_set
        self._host = f"{service}.{namespace}.svc.{domain}"
        self._port = port
        self._resolve = resolve or resolve_host

    def locate(self, node_id: int) -> Located:
        host = f"{self._stateful_set}-{node_id}.{self._host}"
        return Located(name=host, address=f"{host}:{self._port}")

    async def peers(self) -> Mapping[int, Located]:
        """The Service's name yields as many addresses as there are pods; their names tell which."""
        missing = set(await self._resolve(self._host))
        found: dict[int, Located] = {}
        node_id, gap = 0, 0
        while missing and gap < _GAP + len(missing):
            located = self.locate(node_id)
            addresses = await self._resolve(located.name)
            if addresses:
                found[node_id] = located
                missing -= set(addresses)
                gap = 0
            else:
                gap += 1
            node_id += 1
        return found


async def resolve_host(host: str) -> Sequence[str]:
    """Its addresses; none if there is no such name."""
    try:
        answers = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except socket.gaierror:
        return ()
    return [str(address[0]) for *_, address in answers]
