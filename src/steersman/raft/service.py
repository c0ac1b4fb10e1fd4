"""The replicated state for programs that are no members (`steersman.raft.client`), on the node that leads.

Whoever does not lead declines and says who does. What is answered is certain: an outcome, or that there was
none and will be none, or that it is not known here either. Keys that begin with `steersman/` are the
cluster's own, and only read. Authorization is that of orders: see `steersman.raft.administration`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from steersman.raft.core import Refused
from steersman.raft.errors import NodeStopped
from steersman.raft.membership import OWN_KEYS, ClusterManager
from steersman.raft.node import RaftNode
from steersman.raft.state_machine import ClusterState, Located
from steersman.raft.transport.requests import (
    MAX_FOUND_BYTES,
    Declined,
    Forbidden,
    Found,
    Read,
    Reply,
    Unclear,
    Welcome,
    Write,
    Written,
    too_large,
)

__all__ = ["StateService"]

_READ_S = 4.0
_NOWHERE = "the node does not belong to a cluster yet"


class StateService:
    def __init__(self, cluster: ClusterManager) -> None:
        self._cluster = cluster

    def refuse(self, shown: Sequence[str] | None) -> str:
        return self._cluster.stranger(shown)

    def welcome(self) -> Welcome:
        node = self._cluster.node
        if node is None:
            return Welcome(0, leads=False)
        return Welcome(node.lease.term, node.leads, None if node.leads else self._leader(node))

    def _leader(self, node: RaftNode) -> Located | None:
        """Somebody else who leads."""
        leader = node.lease.leader
        return self._cluster.locate(leader) if leader not in (0, node.id) else None

    def write(self, requests: Sequence[Write], answer: Callable[[Reply], None]) -> None:
        node = self._cluster.node
        proposals = []
        for request in requests:
            if node is None:
                answer(Declined(request.id, _NOWHERE))
            elif why := _forbidden(request):
                answer(Forbidden(request.id, why))
            else:
                proposals.append(
                    (ClusterState.encode(request.command), _Answer(self, node, request.id, answer))
                )
        if node is not None and proposals:
            node.submit(proposals)

    def decline(self, node: RaftNode, number: int, why: str) -> Declined:
        return Declined(number, why, self._leader(node))

    async def read(self, requests: Sequence[Read]) -> Sequence[Reply]:
        """All of them as of one moment, which is not before this was called."""
        node = self._cluster.node
        if node is None:
            return [Declined(request.id, _NOWHERE) for request in requests]
        why = "this node does not lead"
        if node.leads:
            try:
                async with asyncio.timeout(_READ_S):
                    await node.read()
                return [self._found(request) for request in requests]
            except TimeoutError:
                why = f"no majority confirmed it within {_READ_S:.0f} s that this node leads"
            except NodeStopped as error:
                why = str(error)
        return [self.decline(node, request.id, why) for request in requests]

    def _found(self, request: Read) -> Reply:
        value = self._cluster.state.values.get(request.key)
        if value is not None and len(value.data) > MAX_FOUND_BYTES:
            return Forbidden(request.id, f"the value has {len(value.data)} bytes, more than are sent")
        return Found(request.id, value)


class _Answer:
    """Stands at the node's for a client that waits."""

    __slots__ = ("_answer", "_done", "_node", "_number", "_service")

    def __init__(
        self, service: StateService, node: RaftNode, number: int, answer: Callable[[Reply], None]
    ) -> None:
        self._service = service
        self._node = node
        self._number = number
        self._answer = answer
        self._done = False

    def done(self) -> bool:
        return self._done

    def set_result(self, result: bool, /) -> None:
        self._done = True
        self._answer(Written(self._number, result))

    def set_exception(self, error: Exception, /) -> None:
        self._done = True
        if isinstance(error, Refused):
            self._answer(self._service.decline(self._node, self._number, str(error)))
        else:
            self._answer(Unclear(self._number, str(error)))


def _forbidden(request: Write) -> str:
    """Empty, or why this is not for clients to write."""
    command = request.command
    if command.key.startswith(OWN_KEYS):
        return f"keys that begin with {OWN_KEYS} are the cluster's own"
    return too_large(command)
