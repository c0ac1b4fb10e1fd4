"""Who belongs to the cluster: how a node finds, founds or joins one, how the leader lets members in and out.

| this node                  | does                                                                       |
|----------------------------|----------------------------------------------------------------------------|
| has no cluster, peers have | takes the id of theirs and asks the leader to join                         |
| has no cluster, none has   | node 0 founds one, if every peer said so; others wait                      |
| is no member (any more)    | asks the leader to join, again and again                                   |
| leads                      | one change at a time: makes learners voters, removes nodes beyond the size |

A cluster's id is drawn when it is founded. Streams and joins of another id are refused, so that two clusters
never mix. The wanted size is part of the replicated state; it is said by whoever knows the StatefulSet's
replicas (`RaftNodeManager.scale`), never concluded from who is missing.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress

from steersman.aio import Clock, SystemClock
from steersman.raft.config import NodeConfig
from steersman.raft.core import (
    Change,
    ChangeKind,
    Configuration,
    HardState,
    Message,
    Refused,
    Snapshot,
    SnapshotMeta,
    founding,
)
from steersman.raft.discovery import Discovery, new_member, node_of
from steersman.raft.errors import NodeError, PeerUnavailable, StorageError
from steersman.raft.node import RaftNode
from steersman.raft.state_machine import ClusterState, Command, Forget, Introduce, Located
from steersman.raft.storage import Identity, Storage, Write
from steersman.raft.transport import Hello, JoinReply, JoinRequest, Network, ProbeReply, ProbeRequest
from steersman.raft.transport.tls import names_match

__all__ = ["OWN_KEYS", "SIZE_KEY", "ClusterManager"]

_log = logging.getLogger(__name__)

#: In the replicated state: what keys of the cluster's own begin with, and how many nodes it shall have.
OWN_KEYS = "steersman/"
SIZE_KEY = f"{OWN_KEYS}size"

#: How often to look whether something is to be done: while there is, and while all is as it should be.
_LOOK_S = 0.2
_REST_S = 1.0
#: Without a leader for so long, a node asks whether it is still a member.
_LOST_S = 2.0
_CHANGE_TIMEOUT_S = 5.0


class ClusterManager:
    """One node's view of the cluster. Also the network's `Receiver`."""

    def __init__(
        self, config: NodeConfig, storage: Storage, machine: ClusterState, clock: Clock | None = None
    ) -> None:
        self._config = config
        self._clock = clock or SystemClock()
        self._storage = storage
        self._machine = machine
        self._discovery: Discovery = config.discovery()
        self.network: Network
        self.node: RaftNode | None = None
        self.located = config.located
        self.identity = self._identify(storage)
        #: Where members said they are, when they opened a stream.
        self._heard: dict[int, Located] = {}
        self._lost_since: float | None = None
        self._changing = asyncio.Lock()
        self._stirred = asyncio.Event()

    def _identify(self, storage: Storage) -> Identity:
        identity = storage.identity()
        cluster = self._config.settings.cluster
        if identity is None:
            identity = Identity(cluster, "", new_member(self._config.node, self._clock.wall()))
            storage.identify(identity)
        if identity.cluster != cluster:
            raise StorageError(
                f"the folder belongs to the Raft cluster {identity.cluster!r}, not {cluster!r}"
            )
        if node_of(identity.member) != self._config.node:
            raise StorageError(
                f"the folder belongs to node {node_of(identity.member)}, not to node {self._config.node}"
            )
        return identity

    # Where members are

    def hello(self, to: int) -> Hello:
        return Hello(self.identity.cluster_id, self.identity.member, to, self.located)

    def locate(self, member: int) -> Located | None:
        heard = self._heard.get(member) or self._machine.members.get(member)
        return heard or self._discovery.locate(node_of(member))

    def name(self, member: int) -> str:
        located = self.locate(member) if member else None
        return located.name if located is not None else ""

    @property
    def names(self) -> frozenset[str]:
        """Of all members, this one included."""
        return frozenset({self.located.name, *(member.name for member in self._machine.members.values())})

    def stranger(self, shown: Sequence[str] | None) -> str:
        """Empty, or that a certificate with these names is not a member's. None: it needs none."""
        if shown is None or any(names_match(shown, name) for name in self.names):
            return ""
        return f"the certificate of {', '.join(shown) or 'no name'} is not a member's"

    @property
    def state(self) -> ClusterState:
        """What this node knows of what the members agree on."""
        return self._machine

    @property
    def snapshot_index(self) -> int:
        """Up to where the log on disk is replaced by a snapshot."""
        return self._storage.snapshot().meta.index

    # Receiver

    def admit(self, hello: Hello) -> str:
        identity = self.identity
        if not identity.cluster_id or hello.cluster_id != identity.cluster_id:
            return f"another cluster: {hello.cluster_id}, this is {identity.cluster_id or 'none yet'}"
        if hello.to != identity.member:
            return f"member {hello.to} is not here: this is member {identity.member}"
        refusal = self._misnamed(hello.sender, hello.located)
        if not refusal:
            self._heard[hello.sender] = hello.located
        return refusal

    def _misnamed(self, member: int, located: Located) -> str:
        """Empty, or that a member goes by a name that is not its own."""
        known = self._machine.members.get(member) or self._discovery.locate(node_of(member))
        if known is None or known.name == located.name:
            return ""
        return f"member {member} is called {known.name}, not {located.name}"

    def receive(self, messages: Sequence[Message]) -> None:
        if self.node is not None:
            self.node.receive(messages)

    def probed(self, request: ProbeRequest) -> ProbeReply:
        identity = self.identity
        reply = ProbeReply(identity.cluster, identity.cluster_id, identity.member, self._config.node)
        if self.node is None:
            return reply
        leader = self.node.lease.leader
        return ProbeReply(
            identity.cluster,
            identity.cluster_id,
            identity.member,
            self._config.node,
            leader,
            (self.located if leader == identity.member else self.locate(leader)) if leader else None,
            self.node.status().configuration.members,
        )

    async def joining(self, request: JoinRequest) -> JoinReply:
        """The leader's side of a join."""
        if request.cluster_id != self.identity.cluster_id:
            return JoinReply(f"another cluster: this is {self.identity.cluster_id}")
        if self.node is None or not self.node.leads:
            return JoinReply("not the leader")
        try:
            async with asyncio.timeout(_CHANGE_TIMEOUT_S), self._changing:
                return JoinReply(await self._take_in(self.node, request))
        except (Refused, NodeError, TimeoutError) as error:
            return JoinReply(str(error) or "it took too long")

    async def _take_in(self, node: RaftNode, request: JoinRequest) -> str:
        """Empty, or why not."""
        member, node_id = request.member, node_of(request.member)
        members = node.status().configuration.members
        lives = [other for other in members if node_of(other) == node_id]
        if refusal := self._misnamed(member, request.located):
            return refusal
        if any(other > member for other in lives):
            return f"node {node_id} has a newer life in this cluster"
        size = self.size()
        if size is not None and node_id >= size:
            return f"the cluster's size is {size}"
        if self._machine.members.get(member) != request.located:
            await self._propose(node, Introduce(member, request.located))
        if member in lives:
            return ""
        for other in lives:
            # What it had promised is lost with its memory; until it is removed it still counts.
            await node.change([Change(ChangeKind.REMOVE, other)])
            await self._propose(node, Forget(other))
        await node.change([Change(ChangeKind.ADD_LEARNER, member)])
        self.stir()
        _log.info("raft: node %d joined as member %d", node_id, member)
        return ""

    def size(self) -> int | None:
        value = self._machine.values.get(SIZE_KEY)
        return int(value.data) if value is not None else None

    async def _propose(self, node: RaftNode, command: Command) -> None:
        await node.propose(self._machine.encode(command))

    # Finding a cluster

    async def settle(self) -> None:
        """Return when this node belongs to a cluster: an old one of its own, one found, or one founded."""
        while not self.identity.cluster_id:
            replies, silent = await self._survey()
            for reply in replies.values():
                if reply.cluster == self.identity.cluster and reply.cluster_id:
                    # A crash may have left the beginning of a cluster that nobody has heard of.
                    self._storage.write(Write(snapshot=Snapshot(SnapshotMeta(), b""), hard_state=HardState()))
                    self._adopt(reply.cluster_id)
                    return
            if self._config.node == 0 and (not silent or self._config.settings.bootstrap):
                self._found()
                return
            if silent and self._config.node == 0:
                _log.info("raft: no cluster yet; waiting for %s", ", ".join(silent))
            await asyncio.sleep(_LOOK_S)

    async def _survey(self) -> tuple[Mapping[int, ProbeReply], Sequence[str]]:
        """What the peers say, and the names of those that say nothing."""
        peers = {
            node_id: located
            for node_id, located in (await self._discovery.peers()).items()
            if node_id != self._config.node
        }
        request = ProbeRequest(self.identity.cluster)
        answers = await asyncio.gather(
            *(self.network.probe(located, request) for located in peers.values()), return_exceptions=True
        )
        replies: dict[int, ProbeReply] = {}
        silent: list[str] = []
        for (node_id, located), answer in zip(peers.items(), answers, strict=True):
            if isinstance(answer, ProbeReply):
                replies[node_id] = answer
            elif isinstance(answer, PeerUnavailable):
                silent.append(located.name)
            else:
                raise answer
        return replies, silent

    def _adopt(self, cluster_id: str) -> None:
        self.identity = Identity(self.identity.cluster, cluster_id, self.identity.member)
        self._storage.identify(self.identity)

    def _found(self) -> None:
        hard_state, meta = founding([self.identity.member])
        self._storage.write(Write(snapshot=Snapshot(meta, b""), hard_state=hard_state))
        self._adopt(uuid.uuid4().hex)
        _log.info("raft: founded the cluster %s (%s)", self.identity.cluster, self.identity.cluster_id)

    # Keeping it in order

    async def run(self) -> None:
        """As long as the node runs."""
        node = self.node
        assert node is not None
        while True:
            self._stirred.clear()
            in_order = False
            try:
                in_order = await self._look(node)
            except (Refused, NodeError, TimeoutError) as error:
                _log.debug("raft membership: %s", error)
            with suppress(TimeoutError):
                async with asyncio.timeout(_REST_S if in_order else _LOOK_S):
                    await self._stirred.wait()

    def stir(self) -> None:
        """Something has changed that `run` should look at."""
        self._stirred.set()

    async def _look(self, node: RaftNode) -> bool:
        """Do what is to be done next; whether all is in order."""
        self.network.keep(node.status().configuration.members - {self.identity.member})
        if node.leads:
            async with asyncio.timeout(_CHANGE_TIMEOUT_S), self._changing:
                return await self._tend(node)
        if self._should_ask(node):
            await self._ask_to_join()
            return False
        return node.lease.leader != 0

    def _should_ask(self, node: RaftNode) -> bool:
        """Whether this node is no member, its record is wrong, or it has heard nothing for long."""
        now = self._clock.monotonic()
        if node.lease.leader:
            self._lost_since = None
        elif self._lost_since is None:
            self._lost_since = now
        lost = self._lost_since is not None and now - self._lost_since >= _LOST_S
        member = self.identity.member
        stranger = member not in node.status().configuration.members
        moved = node.lease.leader != 0 and self._machine.members.get(member) != self.located
        return stranger or moved or lost

    async def _ask_to_join(self) -> None:
        replies, _ = await self._survey()
        leaders = [
            reply
            for reply in replies.values()
            if reply.cluster_id == self.identity.cluster_id and reply.leader_at is not None
        ]
        for reply in leaders:
            assert reply.leader_at is not None
            located = self._machine.members.get(self.identity.member)
            if self.identity.member in reply.members and located in (None, self.located):
                continue  # in already; the log will tell
            request = JoinRequest(self.identity.cluster_id, self.identity.member, self.located)
            answer = await self.network.join(reply.leader_at, request)
            if not answer.refused:
                return
            _log.info("raft: not accepted as a member: %s", answer.refused)

    async def _tend(self, node: RaftNode) -> bool:
        """One step of the leader's housekeeping; whether it was the last."""
        member = self.identity.member
        if self._machine.members.get(member) != self.located:
            await self._propose(node, Introduce(member, self.located))
        configuration = node.status().configuration
        surplus = self._surplus(configuration)
        if surplus:
            await self._dismiss(node, surplus[0])
            return False
        for gone in sorted(self._machine.members.keys() - configuration.members):
            await self._propose(node, Forget(gone))
        for learner in sorted(configuration.learners):
            with suppress(Refused):  # one that does not catch up keeps nobody else out
                await node.change([Change(ChangeKind.ADD_VOTER, learner)])
                _log.info("raft: member %d votes", learner)
        return not configuration.learners

    def _surplus(self, configuration: Configuration) -> Sequence[int]:
        """Members beyond the wanted size, in the order in which they go: learners first, then the highest."""
        size = self.size()
        if size is None:
            return ()
        beyond = [member for member in configuration.members if node_of(member) >= size]
        return sorted(
            beyond, key=lambda member: (member not in configuration.learners, -node_of(member), member)
        )

    async def _dismiss(self, node: RaftNode, member: int) -> None:
        if member == self.identity.member:
            # Somebody who stays takes over and removes this one.
            staying = [voter for voter in node.status().configuration.voters if voter != member]
            node.hand_over(min(staying, key=node_of) if staying else 0)
            return
        await node.change([Change(ChangeKind.REMOVE, member)])
        await self._propose(node, Forget(member))
        _log.info("raft: node %d was removed", node_of(member))
