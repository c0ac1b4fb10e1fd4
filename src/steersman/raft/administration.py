"""Orders from people to a running node: how are you, hand over, take a snapshot (`steer raft`).

They come over the port that members use. With certificates they must come with a member's: a certificate that
the CA gave to something else gives no orders. Without, they are taken from the node's own machine only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from steersman.raft.core import NotLeader, Refused
from steersman.raft.discovery import node_of
from steersman.raft.errors import NodeError, NodeStopped, SettingsError
from steersman.raft.membership import ClusterManager
from steersman.raft.node import RaftNode
from steersman.raft.transport import MemberReport, NodeReport, Order, OrderReply

__all__ = ["Administration", "hand_over"]

_PATIENCE_S = 4.0
_LOOK_S = 0.02


def hand_over(node: RaftNode, to_node: int | None) -> None:
    """Ask a node to lead, or the one best prepared. Raises NotLeader elsewhere than on the leader."""
    status = node.status()
    if not node.leads:
        raise NotLeader(status.leader)
    if to_node is None:
        if status.configuration.voters <= {status.id}:
            raise SettingsError("there is no other node that votes")
        node.hand_over()
        return
    to = next((voter for voter in status.configuration.voters if node_of(voter) == to_node), None)
    if to is None:
        raise SettingsError(f"node {to_node} does not vote")
    if to == status.id:
        raise SettingsError(f"node {to_node} leads already")
    node.hand_over(to)


class Administration:
    def __init__(self, cluster: ClusterManager) -> None:
        self._cluster = cluster
        self._actions: Mapping[str, Callable[[RaftNode, Order], Awaitable[None]]] = {
            "status": self._nothing,
            "transfer": self._transfer,
            "snapshot": self._snapshot,
        }

    async def obey(self, order: Order, shown: Sequence[str] | None) -> OrderReply:
        """`shown` are the names of the certificate that the order came with; None: it needs none."""
        cluster = self._cluster
        if refusal := cluster.stranger(shown):
            return OrderReply(refusal)
        action = self._actions.get(order.action)
        if action is None:
            return OrderReply(f"there is no order {order.action!r}")
        try:
            if cluster.node is not None:
                async with asyncio.timeout(_PATIENCE_S):
                    await action(cluster.node, order)
            elif order.action != "status":
                raise NodeStopped("the node does not belong to a cluster yet")
        except NotLeader as error:
            leader = cluster.name(error.leader)
            return OrderReply(f"this node does not lead; the leader is {leader or 'unknown'}")
        except TimeoutError:
            return OrderReply(f"not done within {_PATIENCE_S:.0f} s")
        except (Refused, NodeError) as error:
            return OrderReply(str(error))
        return OrderReply(report=self._report())

    async def _nothing(self, node: RaftNode, order: Order) -> None:
        """The report is all."""

    async def _transfer(self, node: RaftNode, order: Order) -> None:
        """Until somebody else leads."""
        hand_over(node, order.to_node)
        await _until(lambda: node.lease.leader not in (0, node.id))

    async def _snapshot(self, node: RaftNode, order: Order) -> None:
        """Until it is on disk."""
        index = node.take_snapshot()
        await _until(lambda: self._cluster.snapshot_index >= index)

    def _report(self) -> NodeReport:
        cluster = self._cluster
        identity, node = cluster.identity, cluster.node
        outside = NodeReport(
            identity.cluster, identity.cluster_id, node_of(identity.member), cluster.located.name
        )
        if node is None:
            return outside
        status = node.status()
        leader = node.lease.leader
        leader_at = cluster.locate(leader) if leader else None
        return NodeReport(
            outside.cluster,
            outside.cluster_id,
            outside.node,
            outside.name,
            role=status.role.value,
            term=status.term,
            leader=cluster.name(leader),
            leader_at=leader_at.address if leader_at is not None else "",
            commit_index=status.commit_index,
            applied_index=status.applied_index,
            first_index=status.first_index,
            last_index=status.last_index,
            snapshot_index=cluster.snapshot_index,
            tick_late_max_s=node.metrics.tick_late_max_s,
            members=self._members(node),
        )

    def _members(self, node: RaftNode) -> tuple[MemberReport, ...]:
        status = node.status()
        known = {id_: peer.match for id_, peer in status.peers.items()}
        if node.leads:
            known[node.id] = status.stable_index
        reports = []
        for member in sorted(status.configuration.members, key=node_of):
            located = self._cluster.locate(member)
            role = "leader" if member == node.lease.leader else (
                "learner" if member in status.configuration.learners else "voter"
            )  # fmt: skip
            reports.append(
                MemberReport(
                    node_of(member),
                    located.name if located is not None else "",
                    located.address if located is not None else "",
                    role,
                    known.get(member),
                )
            )
        return tuple(reports)


async def _until(done: Callable[[], bool]) -> None:
    while True:
        if done():
            return
        await asyncio.sleep(_LOOK_S)
