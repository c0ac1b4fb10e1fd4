"""Defaults of API priority and fairness objects."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.defaults.filling import unset, zero
from steersman.objects.kinds import Object

__all__ = ["default_flow_schema", "default_priority_level"]

_QUEUING: Final = (("handSize", 8), ("queues", 64), ("queueLengthLimit", 50))


def default_flow_schema(flow_schema: Object) -> None:
    zero(flow_schema["spec"], "matchingPrecedence", 1000)


def default_priority_level(level: Object) -> None:
    spec: Object = level["spec"]
    if (limited := spec.get("limited")) is not None:
        unset(limited, "nominalConcurrencyShares", 30)
        unset(limited, "lendablePercent", 0)
        if (queuing := limited["limitResponse"].get("queuing")) is not None:
            for key, value in _QUEUING:
                zero(queuing, key, value)
    if (exempt := spec.get("exempt")) is not None:
        unset(exempt, "nominalConcurrencyShares", 0)
        unset(exempt, "lendablePercent", 0)
