"""Fields without effect in this cluster: under which conditions a write is warned about them.

Only a cluster whose pods run on this machine knows all that follows its API: it has no nodes, network or
scheduler from elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from steersman.cluster.controllers.registry import CONTROLLERS, SCHEDULER, chosen
from steersman.cluster.local.config import ClusterConfig
from steersman.cluster.store import Store

__all__ = ["conditions_without_effect"]

_INGRESS_CLASSES = "/networking.k8s.io/ingressclasses/"


def conditions_without_effect(config: ClusterConfig, store: Store) -> Mapping[str, Callable[[], bool]]:
    """Conditions by their names in `fields_without_effect.txt`."""
    conditions: dict[str, Callable[[], bool]] = {}
    if config.process_nodes:
        conditions["process-nodes"] = lambda: True
        conditions["no-ingress-class"] = lambda: not store.count(_INGRESS_CLASSES)
        if config.runs(SCHEDULER):
            conditions["scheduler"] = lambda: True
        if chosen(config.controllers) >= CONTROLLERS.keys():
            conditions["controllers"] = lambda: True
    return conditions
