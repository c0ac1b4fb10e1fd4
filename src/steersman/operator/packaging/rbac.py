"""Permissions as roles and bindings for one service account.

What is needed everywhere goes into a ClusterRole, what is needed in one namespace into a Role there.
"""

from __future__ import annotations

from collections.abc import Iterable

from steersman.objects.builders import (
    ClusterRole,
    ClusterRoleBinding,
    PolicyRule,
    Role,
    RoleBinding,
    ServiceAccount,
)
from steersman.objects.kinds import Object
from steersman.operator.packaging.permissions import EVERYWHERE, Permission

__all__ = ["rbac"]


#: In the order people write them.
_VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")


def rbac(granted: Iterable[Permission], *, name: str, namespace: str) -> list[Object]:
    """The ServiceAccount `name` of `namespace`, and exactly these rights for it."""
    made: list[Object] = [ServiceAccount(name, namespace).to_object()]
    places: dict[str, list[Permission]] = {}
    for permission in granted:
        places.setdefault(permission.namespace, []).append(permission)
    for place, there in sorted(places.items()):
        rules = _rules(there)
        if place == EVERYWHERE:
            cluster_role = ClusterRole(name)
            for rule in rules:
                cluster_role.rule(rule)
            binding = ClusterRoleBinding(name).cluster_role(name).service_account(name, namespace)
            made += [cluster_role.to_object(), binding.to_object()]
        else:
            role = Role(name, place)
            for rule in rules:
                role.rule(rule)
            bound = RoleBinding(name, place).role(name).service_account(name, namespace)
            made += [role.to_object(), bound.to_object()]
    return made


def _rules(permissions: Iterable[Permission]) -> list[PolicyRule]:
    """As few as say the same: resources of a group with the same verbs share one."""
    verbs: dict[tuple[str, str, str], set[str]] = {}
    for each in permissions:
        verbs.setdefault((each.group, each.name, each.resource), set()).add(each.verb)
    resources: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (group, name, resource), allowed in sorted(verbs.items()):
        resources.setdefault((group, name, _in_order(allowed)), []).append(resource)
    rules = []
    for (group, name, allowed_verbs), plurals in resources.items():
        rule = PolicyRule().api_groups(group).resources(plurals).verbs(allowed_verbs)
        rules.append(rule.resource_names(name) if name else rule)
    return rules


def _in_order(verbs: set[str]) -> tuple[str, ...]:
    known = [verb for verb in _VERBS if verb in verbs]
    return (*known, *sorted(verbs.difference(_VERBS)))
