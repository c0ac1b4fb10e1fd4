"""The service controller: keeps the load balancers of Services of type LoadBalancer.

A finalizer keeps a Service until its load balancer is deleted. The provider is called when something relevant
has changed: the Service's spec, or the nodes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, cast

from steersman.client import Conflict, NotFound
from steersman.cluster.cloud.provider import LoadBalancers
from steersman.cluster.cloud.setup import CloudSetup
from steersman.objects.kinds import Object
from steersman.objects.kinds.types.core_v1 import LoadBalancerIngress, Node, Service
from steersman.objects.lifetime import is_deleting
from steersman.objects.resources import NODES, SERVICES
from steersman.runtime import Cached, Change, Key, Request, add_finalizer, remove_finalizer

__all__ = ["FINALIZER", "add", "demand", "takes_traffic"]


FINALIZER: Final = "service.kubernetes.io/load-balancer-cleanup"
_EXCLUDED_LABEL: Final = "node.kubernetes.io/exclude-from-external-load-balancers"
_LEAVING_TAINT: Final = "ToBeDeletedByClusterAutoscaler"
_DEMANDING: Final = (
    "externalIPs",
    "externalTrafficPolicy",
    "healthCheckNodePort",
    "ipFamilies",
    "loadBalancerIP",
    "loadBalancerSourceRanges",
    "ports",
    "sessionAffinity",
    "sessionAffinityConfig",
)


def add(setup: CloudSetup) -> None:
    balancers = setup.provider.load_balancers
    if balancers is None:
        return
    services = _BalancedServices(setup, balancers)
    controller = setup.controller("service-lb", services.reconcile)
    controller.primary(services.services, _concerns).watches(services.nodes, services.on_node)


def demand(service: Service) -> Object:
    """What of a service a load balancer depends on."""
    spec, metadata = service["spec"], service["metadata"]
    wanted = {name: spec.get(name) for name in _DEMANDING}
    return {**wanted, "uid": metadata["uid"], "annotations": metadata.get("annotations")}


def takes_traffic(node: Node) -> bool:
    """Whether load balancers may lead to a node."""
    metadata = node["metadata"]
    if "deletionTimestamp" in metadata or _EXCLUDED_LABEL in (metadata.get("labels") or {}):
        return False
    return all(taint["key"] != _LEAVING_TAINT for taint in node["spec"].get("taints") or ())


def _wants_load_balancer(service: Service) -> bool:
    """Of another class, others take care."""
    spec = service["spec"]
    return spec.get("type") == "LoadBalancer" and spec.get("loadBalancerClass") is None


def _is_kept(service: Service) -> bool:
    return FINALIZER in (service["metadata"].get("finalizers") or ())


def _concerns(change: Change) -> bool:
    seen = [cast("Service", cached.object()) for cached in (change.old, change.new) if cached is not None]
    return any(_wants_load_balancer(service) or _is_kept(service) for service in seen)


@dataclass(frozen=True, slots=True)
class _Ensured:
    """The last call to the provider for a Service."""

    demand: Object
    nodes: dict[str, str]


class _BalancedServices:
    """Reconciles the load balancers of Services."""

    def __init__(self, setup: CloudSetup, balancers: LoadBalancers) -> None:
        self.services = setup.informer(SERVICES)
        self.nodes = setup.informer(NODES)
        self._balancers = balancers
        self._writes = setup.writes("service-lb", self.services)
        self._recorder = setup.recorder("service-controller")
        self._ensured: dict[Key, _Ensured] = {}

    def on_node(self, change: Change) -> Iterable[Key]:
        """All load balancers, when there is another set of nodes to lead to."""
        if change.initial or _place(change.old) == _place(change.new):
            return ()
        return list(self._ensured)

    async def reconcile(self, request: Request) -> None:
        cached = self.services.cache.get(request.key)
        if cached is None:
            self._ensured.pop(request.key, None)
            return
        service = cast("Service", cached.object())
        deleting = is_deleting(service)
        try:
            if _wants_load_balancer(service) and not deleting:
                await self._keep(request.key, service)
            elif _is_kept(service):
                await self._remove(request.key, service)
        except Conflict:
            raise
        except Exception as error:
            note = f"Error syncing load balancer: {error}"
            self._recorder.event(service, "Warning", "SyncLoadBalancerFailed", note)
            raise

    async def _keep(self, key: Key, service: Service) -> None:
        every = (cast("Node", cached.object()) for cached in self.nodes.cache)
        nodes = [node for node in every if takes_traffic(node)]
        wanted = _Ensured(demand(service), {node["metadata"]["name"]: _provider_id(node) for node in nodes})
        known = self._ensured.get(key)
        if known is None or known.demand != wanted.demand or not _ingress(service):
            await self._ensure(service, nodes)
        elif known.nodes != wanted.nodes:
            await self._balancers.update(service, nodes)
            if nodes:
                note = "Updated load balancer with new hosts"
                self._recorder.event(service, "Normal", "UpdatedLoadBalancer", note)
            else:
                self._warn_no_nodes(service)
        self._ensured[key] = wanted

    async def _ensure(self, service: Service, nodes: list[Node]) -> None:
        self._recorder.event(service, "Normal", "EnsuringLoadBalancer", "Ensuring load balancer")
        kept = await add_finalizer(self._writes, SERVICES, service, FINALIZER)
        if kept is None:
            return
        if not nodes:
            self._warn_no_nodes(service)
        ingress = await self._balancers.ensure(kept, nodes)
        self._recorder.event(service, "Normal", "EnsuredLoadBalancer", "Ensured load balancer")
        await self._set_ingress(kept, ingress)

    def _warn_no_nodes(self, service: Service) -> None:
        note = "There are no available nodes for LoadBalancer"
        self._recorder.event(service, "Warning", "UnAvailableLoadBalancer", note)

    async def _remove(self, key: Key, service: Service) -> None:
        if await self._balancers.exists(service):
            self._recorder.event(service, "Normal", "DeletingLoadBalancer", "Deleting load balancer")
            await self._balancers.delete(service)
        self._ensured.pop(key, None)
        left = await remove_finalizer(self._writes, SERVICES, service, FINALIZER)
        self._recorder.event(service, "Normal", "DeletedLoadBalancer", "Deleted load balancer")
        if left is not None:
            await self._set_ingress(left, [])

    async def _set_ingress(self, service: Service, ingress: list[LoadBalancerIngress]) -> None:
        if _ingress(service) == [_completed(one) for one in ingress]:
            return
        key = Key.of(service)
        patch = {"status": {"loadBalancer": {"ingress": ingress or None}}}
        try:
            await self._writes.patch(SERVICES, key, patch, subresource="status")
        except NotFound:
            return


def _ingress(service: Service) -> list[LoadBalancerIngress]:
    balancer = (service.get("status") or {}).get("loadBalancer") or {}
    return [_completed(one) for one in balancer.get("ingress") or ()]


def _completed(ingress: LoadBalancerIngress) -> LoadBalancerIngress:
    """As the API shows it."""
    return {"ipMode": "VIP", **ingress} if ingress.get("ip") else ingress


def _provider_id(node: Node) -> str:
    return node["spec"].get("providerID") or ""


def _place(cached: Cached | None) -> tuple[bool, str]:
    if cached is None:
        return False, ""
    node = cast("Node", cached.object())
    return takes_traffic(node), _provider_id(node)
