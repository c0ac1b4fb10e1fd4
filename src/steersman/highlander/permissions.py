"""What the controllers must be allowed to do, and no more, in each namespace that the configuration names.

Every permission here is needed; tests/integration/highlander/test_least_privilege.py takes them away.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from steersman.highlander.config import TenantConfig
from steersman.highlander.resources import RESOURCES
from steersman.highlander.workloads.ownership import label_value

__all__ = ["rules_by_namespace"]

Rule = dict[str, Any]

_WATCHED = ["list", "watch"]
#: Applied, scaled, pruned; `get` finds out whether one of the name is somebody else's.
_APPLIED = ["get", *_WATCHED, "create", "patch", "delete"]
#: What workloads are made of: API group, resources, verbs.
_RULES: tuple[tuple[str, list[str], list[str]], ...] = (
    ("", ["pods", "services"], _APPLIED),
    ("apps", ["deployments", "statefulsets"], _APPLIED),
    ("batch", ["cronjobs"], _APPLIED),
    ("batch", ["jobs"], [*_WATCHED, "delete"]),
    ("", ["pods/log"], ["get"]),
)


def rules_by_namespace(tenants: Sequence[TenantConfig]) -> dict[str, list[Rule]]:
    """The rules for each namespace; those under an empty name hold in all of them.

    Custom resources may be anywhere, and their workloads are where they are.
    """
    rules: dict[str, list[Rule]] = {}
    if any(tenant.follows_custom_resources for tenant in tenants):
        rules[""] = [*_workload_rules(), *_custom_rules()]
    else:
        for namespace in sorted({place for tenant in tenants for place in _namespaces(tenant)}):
            rules[namespace] = _workload_rules()
    for namespace, names in _grouped((tenant.namespace, _name(tenant)) for tenant in tenants).items():
        # Who is paused.
        rule = _rule("", ["configmaps"], ["get", "create", "patch"], resourceNames=names)
        rules.setdefault(namespace, []).append(rule)
    leases = ((place, name) for tenant in tenants for place, name in _leases(tenant))
    for namespace, names in _grouped(leases).items():
        rules.setdefault(namespace, []).extend(
            (
                _rule("coordination.k8s.io", ["leases"], ["create"]),
                _rule("coordination.k8s.io", ["leases"], ["get", "update"], resourceNames=names),
            )
        )
    return rules


def _namespaces(tenant: TenantConfig) -> set[str]:
    return {tenant.namespace, *(spec.namespace or tenant.namespace for spec in tenant.workloads)}


def _name(tenant: TenantConfig) -> str:
    return f"highlander-{label_value(tenant.tenant).lower()}"


def _leases(tenant: TenantConfig) -> list[tuple[str, str]]:
    """Where the lock is, and where contenders of a higher priority show themselves."""
    if tenant.storage_type != "lease":
        return []
    name, namespace = tenant.lease.name or _name(tenant), tenant.lease.namespace or tenant.namespace
    return [(namespace, name), (namespace, f"{name}-failback")]


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for namespace, name in pairs:
        found.setdefault(namespace, []).append(name)
    return found


def _workload_rules() -> list[Rule]:
    return [_rule(group, resources, verbs) for group, resources, verbs in _RULES]


def _custom_rules() -> list[Rule]:
    plurals: dict[str, list[str]] = {}
    for kind in RESOURCES:
        plurals.setdefault(kind.resource_type.group, []).append(kind.resource_type.plural)
    return [
        _rule(group, [f"{name}{part}" for name in names], verbs)
        for group, names in plurals.items()
        for part, verbs in (("", [*_WATCHED, "patch"]), ("/status", ["patch"]))
    ]


def _rule(group: str, resources: list[str], verbs: list[str], **more: Any) -> Rule:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs), **more}
