"""The metrics API (metrics.k8s.io, metrics-server): resource usage of nodes and pods, for `kubectl top` and
autoscalers.

An aggregated API server, as metrics-server is: it registers its APIService (`registration`) and answers
(`server`) with samples taken from nodes on request (`sampling`).
"""

from __future__ import annotations

from steersman.cluster.metrics_api.registration import API_SERVICES, NAME
from steersman.cluster.metrics_api.sampling import LocalUsage, Sampler
from steersman.cluster.metrics_api.server import MetricsApi
from steersman.objects.resources import NODES, PODS
from steersman.runtime import Manager

__all__ = ["MetricsApi", "add_metrics_api"]


def add_metrics_api(manager: Manager, local: LocalUsage | None = None) -> MetricsApi:
    """Have a manager serve it, if it leads. `local` knows the nodes of this process; others are asked."""
    nodes, pods = manager.informers.get(NODES).cache, manager.informers.get(PODS).cache
    sampler = Sampler(manager.client, nodes, local, manager.clock)
    registrations = manager.informers.get(API_SERVICES, fields=f"metadata.name={NAME}")
    api = MetricsApi(manager.client, nodes, pods, sampler, registrations, clock=manager.clock)
    manager.add_service("metrics API", api.run, leader_only=True)
    return api
