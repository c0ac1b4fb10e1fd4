"""ClusterRole aggregation: the rules of a role with an `aggregationRule` are those of the roles it selects.

Every change of a ClusterRole is followed by passes over the aggregating roles until nothing changes any more
(edit is aggregated into admin); `settled` waits for that. It is a loop of the server, not of
`steersman.runtime` (see this package's docstring): `admin` and `edit` are complete without a controller
manager.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from steersman.cluster.apiserver.controllers.following import replace_unchanged
from steersman.cluster.apiserver.pipeline.call import Api
from steersman.cluster.apiserver.resources.resource import Resource
from steersman.cluster.apiserver.resources.server_managed_fields import applied
from steersman.cluster.auth.rbac import GROUP
from steersman.cluster.store_changes import follow_objects
from steersman.objects.errors import SelectorError
from steersman.objects.kinds import Object
from steersman.objects.selectors import LabelSelector

__all__ = ["RoleAggregation", "aggregated_rules"]


_MANAGER = "clusterrole-aggregation-controller"


def aggregated_rules(role: Object, roles: Sequence[Object]) -> list[Object]:
    """What a aggregating role's rules must be. `roles` are all cluster roles, sorted by name."""
    rules: list[Object] = []
    for selector in (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ():
        try:
            matches = LabelSelector.from_object(selector).matches
        except SelectorError:
            continue
        for other in roles:
            metadata = other["metadata"]
            if metadata["name"] != role["metadata"]["name"] and matches(metadata.get("labels") or {}):
                rules += (rule for rule in other.get("rules") or () if rule not in rules)
    return rules


class RoleAggregation:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._roles: dict[str, Object] = {}
        self._changed = asyncio.Event()
        self._settled = asyncio.Event()
        resource = api.catalog.find(GROUP, "v1", "clusterroles")
        assert resource is not None
        self._resource: Resource = resource

    async def run(self) -> None:
        """Follow the store until cancelled."""
        subscription = follow_objects(self._api.store, self._resource.prefix, self._change)
        try:
            while True:
                self._changed.clear()
                await self._aggregate()
                if not self._changed.is_set():
                    self._settled.set()
                await self._changed.wait()
        finally:
            subscription.cancel()

    async def settled(self) -> None:
        """Return when the rules of every aggregating role are those of the roles it selects."""
        await self._settled.wait()

    def _change(self, namespace: str, name: str, role: Object | None) -> None:
        if role is None:
            self._roles.pop(name, None)
        else:
            self._roles[name] = role
        self._settled.clear()
        self._changed.set()

    async def _aggregate(self) -> None:
        roles = [self._roles[name] for name in sorted(self._roles)]
        for role in roles:
            if role.get("aggregationRule") is None:
                continue
            rules = aggregated_rules(role, roles)
            if rules != (role.get("rules") or []):
                await self._write(role, rules)

    async def _write(self, role: Object, rules: list[Object]) -> None:
        new = applied(self._api, self._resource, {**role, "rules": rules}, {"f:rules": {}}, manager=_MANAGER)
        await replace_unchanged(self._api, self._resource, new)
