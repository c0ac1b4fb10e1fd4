"""The ReplicaSet controller: `replicas` for ReplicaSets."""

from __future__ import annotations

from steersman.cluster.controllers.replicas import ReplicaKind, add_replica_controller
from steersman.cluster.controllers.setup import Setup
from steersman.objects.resources import REPLICA_SETS

__all__ = ["add"]


def add(setup: Setup) -> None:
    kind = ReplicaKind("replicaset", "replicaset-controller", REPLICA_SETS, counts_terminating=True)
    add_replica_controller(setup, kind)
