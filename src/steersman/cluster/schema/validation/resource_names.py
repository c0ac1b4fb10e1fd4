"""Names of compute resources beyond those of containers: what quotas can count, what may be overcommitted.

Called by the validation of quotas, limit ranges, nodes, claims and autoscalers. The rules for containers
come from `pods.resources` and are offered here too, so that kinds other than pods need not look there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from steersman.cluster.schema.validation.pods.resources import (
    validate_amount,
    validate_container_resource_name,
    validate_resource_name,
)
from steersman.objects.fields import FieldError, Path, invalid

__all__ = [
    "is_native",
    "is_overcommit_allowed",
    "is_quota_resource",
    "validate_amount",
    "validate_container_resource_name",
    "validate_quota_amounts",
    "validate_resource_name",
]

_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_QUOTA: Final = frozenset(
    {
        *_COMPUTE,
        *(f"{side}.{name}" for side in ("requests", "limits") for name in _COMPUTE),
        "requests.storage",
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_HUGE_PAGES: Final = "hugepages-"


def validate_quota_amounts(amounts: Mapping[str, str] | None, path: Path) -> list[FieldError]:
    """A map of resources that a quota can count, with their amounts."""
    errors = []
    for name, amount in sorted((amounts or {}).items()):
        here = path.key(name)
        errors += validate_resource_name(name, here)
        if "/" not in name and not is_quota_resource(name):
            errors.append(invalid(here, name, "must be a standard resource for quota"))
        errors += validate_amount(name, amount, here)
    return errors


def is_quota_resource(name: str) -> bool:
    return name in _QUOTA or name.startswith((_HUGE_PAGES, f"requests.{_HUGE_PAGES}"))


def is_native(name: str) -> bool:
    """Whether Kubernetes itself defines the resource: no domain, or its own."""
    return "/" not in name or "kubernetes.io/" in name


def is_overcommit_allowed(name: str) -> bool:
    return is_native(name) and not name.startswith(_HUGE_PAGES)
