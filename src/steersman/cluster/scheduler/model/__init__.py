"""The scheduler's cache of the cluster: pods and nodes with the fields that scheduling reads.

Start reading at `nodes` (the table of nodes), then `node` and `pod`.
"""

from __future__ import annotations

from steersman.cluster.scheduler.model.affinity import AffinityTerm, PodAffinity
from steersman.cluster.scheduler.model.node import NodeInfo
from steersman.cluster.scheduler.model.nodes import NodeTable
from steersman.cluster.scheduler.model.pod import PodInfo, read_pod
from steersman.cluster.scheduler.model.requests import ResourceRequests

__all__ = ["AffinityTerm", "NodeInfo", "NodeTable", "PodAffinity", "PodInfo", "ResourceRequests", "read_pod"]
