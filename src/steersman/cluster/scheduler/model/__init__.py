"""What the scheduler knows of the cluster: pods and nodes reduced to what placing needs.

Start reading at `nodes` (all of them, in rows), then `node` and `pod`.
"""

from __future__ import annotations

from steersman.cluster.scheduler.model.affinity import AffinityTerm, PodAffinity
from steersman.cluster.scheduler.model.node import Node
from steersman.cluster.scheduler.model.nodes import Nodes
from steersman.cluster.scheduler.model.pod import Pod, read_pod
from steersman.cluster.scheduler.model.requests import Requests

__all__ = ["AffinityTerm", "Node", "Nodes", "Pod", "PodAffinity", "Requests", "read_pod"]
