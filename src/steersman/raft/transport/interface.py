"""The seam between a node and its network: what is carried, who sends it, who takes it.

Raft's messages are sent and forgotten: they may get lost, the core repeats what matters. Two questions have
answers: `probe` (who are you, who leads?) and `join` (let me in).
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Protocol

import msgspec

from steersman.raft.core import Message
from steersman.raft.state_machine import Located

__all__ = ["Hello", "JoinReply", "JoinRequest", "Network", "ProbeReply", "ProbeRequest", "Receiver"]


class Hello(msgspec.Struct, frozen=True):
    """Opens a stream of messages: who sends, to whom, of which cluster."""

    cluster_id: str
    sender: int
    to: int
    located: Located


class ProbeRequest(msgspec.Struct, frozen=True):
    """Anybody may ask this."""

    cluster: str


class ProbeReply(msgspec.Struct, frozen=True):
    cluster: str
    #: Empty as long as this node belongs to none.
    cluster_id: str
    member: int
    node_id: int
    #: The leader as far as known there; 0 nobody.
    leader: int = 0
    leader_at: Located | None = None
    #: Voters and learners as known there.
    members: frozenset[int] = frozenset()


class JoinRequest(msgspec.Struct, frozen=True):
    """To the leader: take me as a learner."""

    cluster_id: str
    member: int
    located: Located


class JoinReply(msgspec.Struct, frozen=True):
    """Empty `refused`: this member is in. Else why not, and it may be tried again."""

    refused: str = ""


class Receiver(Protocol):
    """The node's side: called on the network's loop."""

    def admit(self, hello: Hello) -> str:
        """Empty, or why this stream is refused."""
        ...

    def receive(self, messages: Sequence[Message]) -> None: ...

    def probed(self, request: ProbeRequest) -> ProbeReply: ...

    async def joining(self, request: JoinRequest) -> JoinReply: ...


class Network(Protocol):
    async def start(self, receiver: Receiver) -> None: ...

    async def stop(self) -> None: ...

    def send(self, messages: Sequence[Message]) -> None:
        """Never waits; what cannot be sent soon is dropped."""
        ...

    def keep(self, members: Set[int]) -> None:
        """These are the other members: be ready to send to them."""
        ...

    async def probe(self, at: Located, request: ProbeRequest) -> ProbeReply:
        """Raises PeerUnavailable."""
        ...

    async def join(self, at: Located, request: JoinRequest) -> JoinReply:
        """Raises PeerUnavailable."""
        ...
