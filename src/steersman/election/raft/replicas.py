"""Keeps the Raft cluster as large as its StatefulSet is meant to be.

The leader looks at `spec.replicas` and says it to the cluster, which then removes the nodes beyond. Who is
missing at the moment (a pod that restarts, a name that DNS lacks) is never removed for that. This needs the
right to get the StatefulSet; without it the cluster keeps its members.
"""

from __future__ import annotations

import logging

from steersman.aio import Clock
from steersman.client import Client
from steersman.client.errors import ClientError
from steersman.objects.resource_type import ResourceType
from steersman.raft.core import Refused
from steersman.raft.errors import NodeError
from steersman.raft.manager import RaftNodeManager

__all__ = ["ReplicaFollower"]

_log = logging.getLogger(__name__)

_STATEFUL_SETS = ResourceType("apps", "v1", "StatefulSet", "statefulsets", namespaced=True)
_LOOK_S = 5.0


class ReplicaFollower:
    def __init__(self, client: Client, stateful_set: str, namespace: str, clock: Clock) -> None:
        self._client = client
        self._stateful_set = stateful_set
        self._namespace = namespace
        self._clock = clock
        self._complaint = ""

    async def run(self, manager: RaftNodeManager) -> None:
        """While this node leads."""
        while True:
            try:
                await self.follow(manager)
                self._complaint = ""
            except (ClientError, Refused, NodeError) as error:
                if str(error) != self._complaint:
                    self._complaint = str(error)
                    _log.warning("raft: the StatefulSet %s is not followed: %s", self._stateful_set, error)
            await self._clock.sleep(_LOOK_S)

    async def follow(self, manager: RaftNodeManager) -> None:
        """Once. A StatefulSet that is not there, or scaled to nothing, says nothing."""
        found = await self._client.find(_STATEFUL_SETS, self._stateful_set, self._namespace)
        replicas = found.get("spec", {}).get("replicas", 1) if found is not None else 0
        if replicas > 0 and replicas != manager.size:
            await manager.scale(replicas)
