"""The plugins of the default profile, in the order they are called, and their score weights."""

from __future__ import annotations

from typing import Final

from steersman.cluster.scheduler.framework.handle import Handle
from steersman.cluster.scheduler.framework.plugin import Plugin
from steersman.cluster.scheduler.plugins.default_binder import DefaultBinder
from steersman.cluster.scheduler.plugins.default_preemption import DefaultPreemption
from steersman.cluster.scheduler.plugins.image_locality import ImageLocality
from steersman.cluster.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from steersman.cluster.scheduler.plugins.node_affinity import NodeAffinity
from steersman.cluster.scheduler.plugins.node_name import NodeName
from steersman.cluster.scheduler.plugins.node_ports import NodePorts
from steersman.cluster.scheduler.plugins.node_resources import (
    NodeResourcesBalancedAllocation,
    NodeResourcesFit,
)
from steersman.cluster.scheduler.plugins.node_unschedulable import NodeUnschedulable
from steersman.cluster.scheduler.plugins.node_volume_limits import NodeVolumeLimits
from steersman.cluster.scheduler.plugins.pod_topology_spread import PodTopologySpread
from steersman.cluster.scheduler.plugins.priority_sort import PrioritySort
from steersman.cluster.scheduler.plugins.scheduling_gates import SchedulingGates
from steersman.cluster.scheduler.plugins.taint_toleration import TaintToleration
from steersman.cluster.scheduler.plugins.volume_binding import VolumeBinding
from steersman.cluster.scheduler.plugins.volume_restrictions import VolumeRestrictions
from steersman.cluster.scheduler.plugins.volume_zone import VolumeZone

__all__ = ["WEIGHTS", "default_plugins"]

#: Scores not named here count once.
WEIGHTS: Final = {"TaintToleration": 3, "NodeAffinity": 2, "PodTopologySpread": 2, "InterPodAffinity": 2}


def default_plugins(handle: Handle) -> list[Plugin]:
    return [
        SchedulingGates(),
        PrioritySort(),
        NodeName(),
        NodeUnschedulable(),
        TaintToleration(),
        NodeAffinity(),
        NodePorts(),
        NodeResourcesFit(),
        VolumeRestrictions(handle),
        NodeVolumeLimits(handle),
        VolumeBinding(handle),
        VolumeZone(handle),
        PodTopologySpread(handle),
        InterPodAffinity(handle),
        DefaultPreemption(handle),
        NodeResourcesBalancedAllocation(),
        ImageLocality(handle),
        DefaultBinder(handle),
    ]
