"""The Services that select a pod, and the pods that a Service selects.

Both directions use indexes by label, so that neither a namespace with thousands of pods nor one with
thousands of Services is searched linearly.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from steersman.cluster.controllers.endpoints.backends import PodEndpoint
from steersman.cluster.controllers.pods_on_nodes import pods_on
from steersman.objects.addresses import ip_family
from steersman.objects.kinds.views.services import ServicePort, ServiceView
from steersman.runtime import Cache, Cached, Change, Key

__all__ = ["HEADLESS_LABEL", "SelectingService", "Selections", "ServicePort"]

HEADLESS_LABEL: Final = "service.kubernetes.io/headless"
_ZONE_LABEL: Final = "topology.kubernetes.io/zone"

_PODS_BY_LABEL: Final = "label"
_SERVICES_BY_SELECTOR: Final = "selector"


class SelectingService(ServiceView, frozen=True, gc=False):
    """The fields of a Service that its endpoints are made from."""

    @classmethod
    def read(cls, cached: Cached) -> SelectingService:
        return _decode(cached.data)

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def labels(self) -> dict[str, str]:
        return self.metadata.labels

    @property
    def annotations(self) -> dict[str, str]:
        return self.metadata.annotations

    @property
    def selector(self) -> dict[str, str] | None:
        """What its pods have; None if somebody else makes its endpoints."""
        return None if self.spec.type == "ExternalName" else self.spec.selector

    @property
    def ports(self) -> Sequence[ServicePort]:
        return self.spec.ports

    @property
    def headless(self) -> bool:
        return self.spec.cluster_ip in ("", "None")

    @property
    def families(self) -> Sequence[str]:
        """The kinds of addresses it has, the first one first; of a headless one that does not say, both."""
        if self.spec.ip_families:
            return self.spec.ip_families
        return ["IPv4", "IPv6"] if self.headless else [ip_family(self.spec.cluster_ip)]

    def target_ports(self, pod: PodEndpoint) -> Iterator[tuple[ServicePort, int]]:
        """The ports that lead to a pod, and where."""
        for port in self.ports:
            number = pod.port(port.target_port or port.port, port.protocol)
            if number is not None:
                yield port, number


_decode = msgspec.json.Decoder(SelectingService).decode


class Selections:
    """An index of the selectors of Services."""

    def __init__(self, services: Cache, pods: Cache, nodes: Cache | None = None) -> None:
        self._services = services
        self._pods = pods
        self._nodes = nodes
        _index(pods, _PODS_BY_LABEL, _labels_of)
        _index(services, _SERVICES_BY_SELECTOR, _first_wanted)

    def pods_of(self, service: SelectingService) -> list[PodEndpoint]:
        """The pods that a service selects, in the order of their names."""
        wanted = service.selector
        if wanted is None:
            return []
        candidates = self._candidates(service.namespace, wanted)
        pods = [pod for pod in map(PodEndpoint.read, candidates) if wanted.items() <= pod.labels.items()]
        return sorted(pods, key=lambda pod: pod.name)

    def _candidates(self, namespace: str, wanted: Mapping[str, str]) -> list[Cached]:
        if not wanted:
            return self._pods.list(namespace)
        found = (self._pods.by_index(_PODS_BY_LABEL, _pair(namespace, *pair)) for pair in wanted.items())
        return min(found, key=len)

    def services_of(self, namespace: str, labels: Mapping[str, str]) -> set[Key]:
        """The services that select these labels."""
        keys = set()
        for value in [f"{namespace}/", *(_pair(namespace, *pair) for pair in labels.items())]:
            for cached in self._services.by_index(_SERVICES_BY_SELECTOR, value):
                wanted = SelectingService.read(cached).selector
                if wanted is not None and wanted.items() <= labels.items():
                    keys.add(cached.key)
        return keys

    def on_pod(self, change: Change) -> Iterable[Key]:
        """The services to look at when a pod has changed."""
        old = PodEndpoint.read(change.old) if change.old is not None else None
        new = PodEndpoint.read(change.new) if change.new is not None else None
        if old is not None and new is not None and old.compared() == new.compared():
            return ()
        keys: set[Key] = set()
        if new is not None:
            keys |= self.services_of(change.key.namespace, new.labels)
        if old is not None and (new is None or new.labels != old.labels):
            keys |= self.services_of(change.key.namespace, old.labels)
        return keys

    def on_node(self, change: Change) -> Iterable[Key]:
        """The services with pods on a node that appeared or has another zone."""
        if change.initial or change.new is None:
            return ()
        if change.old is not None and _zone(change.old) == _zone(change.new):
            return ()
        pods = pods_on(self._pods, change.key.name)
        return {key for pod in pods for key in self.services_of(pod.key.namespace, pod.labels())}

    def zone_of(self, node: str) -> str | None:
        """The zone of a node, empty if it has none; None if there is no such node."""
        cached = self._nodes.get(("", node)) if self._nodes is not None else None
        return None if cached is None else _zone(cached)


def _zone(node: Cached) -> str:
    return node.labels().get(_ZONE_LABEL, "")


def _pair(namespace: str, name: str, value: str) -> str:
    return f"{namespace}/{name}={value}"


def _labels_of(pod: Cached) -> list[str]:
    namespace = pod.key.namespace
    # Many pods have the same labels, so each pair is kept once.
    return [sys.intern(_pair(namespace, *pair)) for pair in pod.labels().items()]


def _first_wanted(service: Cached) -> tuple[str, ...]:
    """One label that all selected pods have: enough to find the service by."""
    wanted = SelectingService.read(service).selector
    if wanted is None:
        return ()
    namespace = service.key.namespace
    return (_pair(namespace, *min(wanted.items())),) if wanted else (f"{namespace}/",)


def _index(cache: Cache, name: str, function: Callable[[Cached], Iterable[str]]) -> None:
    """Add an index that several controllers share."""
    try:
        cache.by_index(name, "")
    except KeyError:
        cache.add_index(name, function)
