"""Validation of coordination.k8s.io: leases."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.rules import Object, Rules, invalids
from steersman.objects.fields import FieldError, Path, forbidden, invalid, not_supported
from steersman.objects.names import is_qualified_name

__all__ = ["RULES"]

_SPEC: Final = Path("spec")
_STRATEGIES: Final = ("OldestEmulationVersion",)


def _lease(obj: Object) -> list[FieldError]:
    spec = obj.get("spec") or {}
    errors = []
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    strategy = spec.get("strategy")
    if duration is not None and duration <= 0:
        errors.append(invalid(_SPEC.child("leaseDurationSeconds"), duration, "must be greater than 0"))
    if transitions is not None and transitions < 0:
        text = "must be greater than or equal to 0"
        errors.append(invalid(_SPEC.child("leaseTransitions"), transitions, text))
    if strategy is not None:
        # Kubernetes names the field twice in this path.
        errors += _strategy(strategy, _SPEC.child("strategy", "strategy"))
    if spec.get("preferredHolder") and not strategy:
        text = "may only be specified if `strategy` is defined"
        errors.append(forbidden(_SPEC.child("preferredHolder"), text))
    return errors


def _strategy(strategy: str, path: Path) -> list[FieldError]:
    """One of Kubernetes' own strategies, or a qualified name of somebody else's."""
    if "/" in strategy:
        return invalids(path, strategy, is_qualified_name(strategy))
    return [] if strategy in _STRATEGIES else [not_supported(path, strategy, _STRATEGIES)]


def _lease_update(obj: Object, old: Object) -> list[FieldError]:
    return _lease(obj)


RULES: Final = {
    ("coordination.k8s.io", "Lease"): Rules(create=_lease, update=_lease_update, standard_finalizers=False),
}
