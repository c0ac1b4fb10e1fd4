"""The seam between a node and its network: what is carried, who sends it, who takes it.

Raft's messages are sent and forgotten: they may get lost, the core repeats what matters. Two questions of
nodes have answers: `probe` (who are you, who leads?) and `join` (let me in); people give an `Order`. What
programs that are no members ask is in `requests`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence, Set
from typing import Protocol

import msgspec

from steersman.raft.core import Message
from steersman.raft.state_machine import Located

__all__ = [
    "Administer",
    "Hello",
    "JoinReply",
    "JoinRequest",
    "MemberReport",
    "Network",
    "NodeReport",
    "Order",
    "OrderReply",
    "ProbeReply",
    "ProbeRequest",
    "Receiver",
]


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


class Order(msgspec.Struct, frozen=True):
    """What an administrator wants: see `steersman.raft.administration`."""

    action: str
    #: Whom to hand leadership to; nobody in particular if None.
    to_node: int | None = None


class MemberReport(msgspec.Struct, frozen=True):
    node: int
    name: str
    address: str
    #: leader, voter or learner.
    role: str
    #: The end of its log as the leader knows it; None elsewhere.
    match: int | None = None


class NodeReport(msgspec.Struct, frozen=True):
    """How a node sees itself and its cluster."""

    cluster: str
    #: Empty: it belongs to none yet.
    cluster_id: str
    node: int
    name: str
    #: follower, pre-candidate, candidate or leader; empty if it belongs to no cluster.
    role: str = ""
    term: int = 0
    #: Empty: not known.
    leader: str = ""
    leader_at: str = ""
    commit_index: int = 0
    applied_index: int = 0
    first_index: int = 0
    last_index: int = 0
    snapshot_index: int = 0
    tick_late_max_s: float = 0.0
    members: tuple[MemberReport, ...] = ()


class OrderReply(msgspec.Struct, frozen=True):
    """How the node is when the order is done; or why it is not."""

    refused: str = ""
    report: NodeReport | None = None


#: Takes an order and the names of the certificate it came with; None if it came from this machine without.
Administer = Callable[[Order, Sequence[str] | None], Awaitable[OrderReply]]


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
