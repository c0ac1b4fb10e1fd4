"""The ReplicationController controller: `replicas` for ReplicationControllers."""

from __future__ import annotations

from steersman.cluster.controllers.replicas import ReplicaKind, add_replica_controller
from steersman.cluster.controllers.setup import Setup
from steersman.objects.resources import REPLICATION_CONTROLLERS

__all__ = ["add"]


def add(setup: Setup) -> None:
    kind = ReplicaKind(
        "replicationcontroller", "replication-controller", REPLICATION_CONTROLLERS, counts_terminating=False
    )
    add_replica_controller(setup, kind)
