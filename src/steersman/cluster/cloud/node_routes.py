"""The route controller: keeps a cloud route to each node's pod CIDR, and the node condition
NetworkUnavailable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from ipaddress import ip_network
from typing import Final, NamedTuple, cast

from steersman.cluster.cloud.provider import Route, Routes
from steersman.cluster.cloud.setup import CloudSetup
from steersman.objects.conditions import find_condition, set_condition
from steersman.objects.kinds.types.core_v1 import Node
from steersman.objects.resources import NODES
from steersman.runtime import Change, Key, Request, Requeue, Result

__all__ = ["RoutePlan", "add", "plan_routes"]


_ALL: Final = Key("", "all-routes")
#: How often routes that somebody else has changed are put right.
_PERIOD_S: Final = 300.0


def add(setup: CloudSetup) -> None:
    routes = setup.provider.routes
    if routes is None:
        return
    keeper = _NodeRoutes(setup, routes)
    setup.controller("node-route", keeper.reconcile).watches(keeper.nodes, _wake)


def _wake(change: Change) -> Iterable[Key]:
    seen = [
        cast("Node", cached.object()) if cached is not None else None for cached in (change.old, change.new)
    ]
    return () if _cidrs(seen[0]) == _cidrs(seen[1]) and not change.initial else (_ALL,)


def _cidrs(node: Node | None) -> list[str]:
    return [] if node is None else node["spec"].get("podCIDRs") or []


class RoutePlan(NamedTuple):
    """The routes to create and to delete."""

    create: list[Route]
    delete: list[Route]


def plan_routes(nodes: Iterable[Node], routes: Sequence[Route], pod_cidrs: Collection[str]) -> RoutePlan:
    """What to change so that there is one route to every range of every node. Others' routes stay."""
    wanted = {(node["metadata"]["name"], cidr) for node in nodes for cidr in _cidrs(node)}
    networks = [ip_network(cidr) for cidr in pod_cidrs]
    there = set()
    delete = []
    for route in routes:
        if (route.node, route.cidr) in wanted and not route.blackhole:
            there.add((route.node, route.cidr))
        elif any(ip_network(route.cidr).overlaps(network) for network in networks):
            delete.append(route)
    return RoutePlan([Route(node, cidr) for node, cidr in sorted(wanted - there)], delete)


class _NodeRoutes:
    """Reconciles routes."""

    def __init__(self, setup: CloudSetup, routes: Routes) -> None:
        self.nodes = setup.informer(NODES)
        self._routes = routes
        self._pod_cidrs = setup.pod_cidrs
        self._now = setup.now
        self._writes = setup.writes("node-route", self.nodes)
        self._recorder = setup.recorder("route_controller")

    async def reconcile(self, request: Request) -> Result:
        nodes = [cast("Node", cached.object()) for cached in self.nodes.cache]
        plan = plan_routes(nodes, await self._routes.list(), self._pod_cidrs)
        for route in plan.delete:
            await self._routes.delete(route)
        results = await asyncio.gather(*map(self._create, plan.create), return_exceptions=True)
        missing: set[str] = set()
        for route, error in zip(plan.create, results, strict=True):
            if isinstance(error, BaseException):
                missing.add(route.node)
                node = next(one for one in nodes if one["metadata"]["name"] == route.node)
                note = f"Could not create route {route.name} {route.cidr} for node {route.node}: {error}"
                self._recorder.event(node, "Warning", "FailedToCreateRoute", note)
        for node in nodes:
            if _cidrs(node):
                await self._set_condition(node, reachable=node["metadata"]["name"] not in missing)
        if missing:
            raise Requeue
        return Result.requeue(_PERIOD_S)

    async def _create(self, route: Route) -> None:
        await self._routes.create(route)

    async def _set_condition(self, node: Node, *, reachable: bool) -> None:
        status, reason, message = "False", "RouteCreated", "RouteController created a route"
        if not reachable:
            status, reason = "True", "NoRouteCreated"
            message = "RouteController failed to create a route"
        old = (node.get("status") or {}).get("conditions") or []
        found = find_condition(old, "NetworkUnavailable")
        if found is not None and (found.get("status"), found.get("reason")) == (status, reason):
            return
        conditions = set_condition(
            old, "NetworkUnavailable", status, reason=reason, message=message, now=self._now()
        )
        whole = {**(node.get("status") or {}), "conditions": conditions}
        await self._writes.replace(NODES, {**node, "status": whole}, subresource="status")
