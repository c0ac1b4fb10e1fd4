"""Validation of coordination.k8s.io: what rules.txt cannot say about leases."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.fields import FieldError, Path, not_supported
from steersman.objects.names import is_qualified_name

__all__ = ["validate_strategy"]

_STRATEGIES: Final = ("OldestEmulationVersion",)


def validate_strategy(strategy: str, path: Path) -> list[FieldError]:
    """A strategy of Kubernetes' own, or the qualified name of another."""
    if "/" in strategy:
        return invalids(path, strategy, is_qualified_name(strategy))
    return [] if strategy in _STRATEGIES else [not_supported(path, strategy, _STRATEGIES)]
