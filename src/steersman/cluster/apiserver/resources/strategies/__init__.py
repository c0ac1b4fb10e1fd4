"""Strategies: what the API server does to each resource around create, update and delete.

`strategy_for` answers for every built-in resource; what it does not know gets a plain strategy without
status, generations or special fields. Start reading in `strategy.py`, then `workloads.py`.
"""

from __future__ import annotations

from typing import Final

from steersman.cluster.apiserver.resources.strategies.certificates import CERTIFICATES
from steersman.cluster.apiserver.resources.strategies.core import CORE
from steersman.cluster.apiserver.resources.strategies.devices import DEVICES
from steersman.cluster.apiserver.resources.strategies.extensions import EXTENSIONS
from steersman.cluster.apiserver.resources.strategies.networking import NETWORKING
from steersman.cluster.apiserver.resources.strategies.pods import PODS, grace_period_s
from steersman.cluster.apiserver.resources.strategies.policy import POLICY
from steersman.cluster.apiserver.resources.strategies.scale import SCALABLE, apply_scale, scale_of
from steersman.cluster.apiserver.resources.strategies.services import SERVICES
from steersman.cluster.apiserver.resources.strategies.storage import STORAGE
from steersman.cluster.apiserver.resources.strategies.strategy import Strategy, Subresource
from steersman.cluster.apiserver.resources.strategies.workloads import WORKLOADS

__all__ = [
    "SCALABLE",
    "Strategy",
    "Subresource",
    "apply_scale",
    "grace_period_s",
    "scale_of",
    "strategy_for",
]

_STRATEGIES: Final = {
    (strategy.group, strategy.plural): strategy
    for strategy in (
        PODS,
        SERVICES,
        *CORE,
        *STORAGE,
        *WORKLOADS,
        *NETWORKING,
        *POLICY,
        *CERTIFICATES,
        *DEVICES,
        *EXTENSIONS,
    )
}


def strategy_for(group: str, plural: str) -> Strategy:
    """The strategy of a resource."""
    return _STRATEGIES.get((group, plural)) or Strategy(group, plural, allow_unconditional_update=False)
