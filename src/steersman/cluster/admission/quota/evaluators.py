"""Quota evaluators: the usage of an object, in terms of the resources that a ResourceQuota limits.

Pods, services and claims have their own usage; every other object counts as one `count/PLURAL.GROUP`.
Evaluators read one object at a time and are stateless.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from typing import Final, Protocol, cast

from steersman.cluster.admission.chain import Attributes
from steersman.cluster.admission.claims import storage_class_of
from steersman.cluster.admission.pod_totals import charged_totals
from steersman.cluster.admission.quota.scopes import ScopeSelector, claim_matches, pod_matches
from steersman.objects.amounts import ONE, Amounts, added, parsed
from steersman.objects.kinds import Object
from steersman.objects.kinds.types.core_v1 import PersistentVolumeClaim
from steersman.objects.names import is_qualified_name
from steersman.objects.pod_lifecycle import is_terminal
from steersman.objects.pods import has_own_resources
from steersman.objects.quantities import Quantity
from steersman.objects.times import parse_time

__all__ = ["Evaluator", "count_name", "evaluator_for", "measured"]

_HUGE_PAGES: Final = "hugepages-"
_REQUESTS: Final = "requests."
_NATIVE_DOMAIN: Final = "kubernetes.io/"
_DEVICE_CLASS: Final = "deviceclass.resource.kubernetes.io/"
_STORAGE_CLASS: Final = ".storageclass.storage.k8s.io/"
_CLAIM_DEVICES: Final = ".deviceclass.resource.k8s.io/devices"
#: The most devices one request can be given: what `All` is charged.
_MOST_DEVICES: Final = 32


class Evaluator(Protocol):
    """The usage of the objects of one resource."""

    #: Whether updates can cost something, too.
    updates: bool

    def concerns(self, attributes: Attributes) -> bool:
        """Whether this write, of a kind that may, can change what is used."""

    def matching(self, names: Iterable[str]) -> list[str]:
        """Those of a quota's amounts that objects of this kind use."""

    def matches_scope(self, selector: ScopeSelector, obj: Object) -> bool: ...

    def missing(self, required: Collection[str], obj: Object) -> str:
        """What the object would have to say and does not; empty when nothing."""

    def usage(self, obj: Object) -> Amounts: ...


def count_name(group: str, plural: str) -> str:
    return f"count/{plural}.{group}" if group else f"count/{plural}"


class Counted:
    """The evaluator of resources without their own: each object counts as one."""

    updates = False

    def __init__(self, group: str, plural: str, *aliases: str) -> None:
        self._names = (count_name(group, plural), *aliases)

    def concerns(self, attributes: Attributes) -> bool:
        return True

    def matching(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if name in self._names]

    def matches_scope(self, selector: ScopeSelector, obj: Object) -> bool:
        return False

    def missing(self, required: Collection[str], obj: Object) -> str:
        return ""

    def usage(self, obj: Object) -> Amounts:
        return dict.fromkeys(self._names, ONE)


class Services(Counted):
    """The evaluator of Services: their number, node ports and load balancers."""

    updates = True

    def __init__(self) -> None:
        super().__init__("", "services", "services", "services.nodeports", "services.loadbalancers")

    def usage(self, obj: Object) -> Amounts:
        spec = obj["spec"]
        kind, ports = spec.get("type"), spec.get("ports") or []
        if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
            ports = [port for port in ports if port.get("nodePort")]
        node_ports = len(ports) if kind in ("NodePort", "LoadBalancer") else 0
        return {
            "count/services": ONE,
            "services": ONE,
            "services.nodeports": Quantity(node_ports),
            "services.loadbalancers": Quantity(int(kind == "LoadBalancer")),
        }


class VolumeClaims(Counted):
    """The evaluator of PersistentVolumeClaims: number and requested storage, in total and by StorageClass."""

    updates = True
    _MEASURED = ("persistentvolumeclaims", "requests.storage")

    def __init__(self) -> None:
        super().__init__("", "persistentvolumeclaims", *self._MEASURED)

    def matching(self, names: Iterable[str]) -> list[str]:
        endings = tuple(_STORAGE_CLASS + name for name in self._MEASURED)
        return [name for name in names if name in self._names or name.endswith(endings)]

    def matches_scope(self, selector: ScopeSelector, obj: Object) -> bool:
        return claim_matches(selector, obj)

    def usage(self, obj: Object) -> Amounts:
        used = {"count/persistentvolumeclaims": ONE, "persistentvolumeclaims": ONE}
        storage = _storage(obj)
        if storage is not None:
            used["requests.storage"] = storage
        if storage_class := storage_class_of(cast("PersistentVolumeClaim", obj)):
            for name in self._MEASURED:
                if name in used:
                    used[f"{storage_class}{_STORAGE_CLASS}{name}"] = used[name]
        return used


def _storage(claim: Object) -> Quantity | None:
    """In whole bytes; a claim that could not grow as asked for keeps what it was given meanwhile."""
    requests = parsed(claim["spec"].get("resources", {}).get("requests"))
    if "storage" not in requests:
        return None
    allocated = parsed((claim.get("status") or {}).get("allocatedResources"))
    return max(requests["storage"], allocated.get("storage", requests["storage"])).rounded_up(0)


class DeviceClaims(Counted):
    """The evaluator of ResourceClaims: number and devices by DeviceClass."""

    updates = True

    def __init__(self) -> None:
        super().__init__("resource.k8s.io", "resourceclaims")

    def matching(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if name in self._names or name.endswith(_CLAIM_DEVICES)]

    def usage(self, obj: Object) -> Amounts:
        used = super().usage(obj)
        for request in (obj["spec"].get("devices") or {}).get("requests") or ():
            exactly = request.get("exactly")
            choices = request.get("firstAvailable") or ([exactly] if exactly is not None else [])
            worst: Amounts = {}
            for choice in choices:
                name = choice.get("deviceClassName", "") + _CLAIM_DEVICES
                worst[name] = max(worst.get(name, Quantity(0)), _devices(choice))
            used = added(used, worst)
        return used


def _devices(request: Object) -> Quantity:
    mode = request.get("allocationMode")
    if mode == "ExactCount":
        return Quantity(request.get("count", 0))
    return Quantity(_MOST_DEVICES if mode == "All" else 0)


class Pods:
    """The evaluator of pods: number, requests and limits, until they are terminated."""

    updates = True
    _COMPUTE = ("cpu", "memory", "ephemeral-storage")
    _NAMES = frozenset(
        {"count/pods", "pods", *_COMPUTE}
        | {f"{part}.{name}" for part in ("requests", "limits") for name in ("cpu", "memory")}
        | {"requests.ephemeral-storage", "limits.ephemeral-storage"}
    )
    #: A quota on these makes every container say how much it wants.
    _DEMANDED = frozenset({"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"})

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now

    def concerns(self, attributes: Attributes) -> bool:
        if attributes.operation == "CREATE" or attributes.subresource == "resize":
            return True
        assert attributes.object is not None
        assert attributes.old is not None
        terminating = [
            pod_matches(ScopeSelector("Terminating"), pod) for pod in (attributes.object, attributes.old)
        ]
        return terminating[0] != terminating[1]

    def matching(self, names: Iterable[str]) -> list[str]:
        return [
            name
            for name in names
            if name in self._NAMES
            or name.startswith((_HUGE_PAGES, _REQUESTS + _HUGE_PAGES, _REQUESTS + _DEVICE_CLASS))
            or (name.startswith(_REQUESTS) and not _is_native(name))
        ]

    def matches_scope(self, selector: ScopeSelector, obj: Object) -> bool:
        return pod_matches(selector, obj)

    def missing(self, required: Collection[str], obj: Object) -> str:
        spec = obj["spec"]
        demanded = self._DEMANDED.intersection(required)
        if not demanded or has_own_resources(spec):
            return ""
        silent: dict[str, set[str]] = {}
        for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
            resources = container["resources"]
            given = self._compute(parsed(resources.get("requests")), parsed(resources.get("limits")))
            for name in demanded - given.keys():
                silent.setdefault(name, set()).add(container["name"])
        texts = [f"{name} for: {','.join(sorted(silent[name]))}" for name in sorted(silent)]
        return f"must specify {'; '.join(texts)}" if texts else ""

    def usage(self, obj: Object) -> Amounts:
        used = {"count/pods": ONE}
        if self._ended(obj):
            return used
        used["pods"] = ONE
        return used | self._compute(charged_totals(obj, "requests"), charged_totals(obj, "limits"))

    def _compute(self, requests: Amounts, limits: Amounts) -> Amounts:
        used: Amounts = {}
        for name in self._COMPUTE:
            if name in requests:
                used[name] = used[_REQUESTS + name] = requests[name]
            if name in limits:
                used[f"limits.{name}"] = limits[name]
        for name, amount in requests.items():
            if name.startswith(_HUGE_PAGES):
                used[name] = used[_REQUESTS + name] = amount
            elif _is_extended(name):
                used[_REQUESTS + name] = amount
        return used

    def _ended(self, pod: Object) -> bool:
        """Over, or stuck in its end for longer than it was given."""
        if is_terminal(pod):
            return True
        metadata = pod["metadata"]
        grace_s = metadata.get("deletionGracePeriodSeconds")
        if "deletionTimestamp" not in metadata or grace_s is None:
            return False
        return self._now() > parse_time(metadata["deletionTimestamp"]).timestamp() + float(grace_s)


def _is_native(name: str) -> bool:
    return "/" not in name or _NATIVE_DOMAIN in name


def _is_extended(name: str) -> bool:
    if name.startswith(_DEVICE_CLASS):
        return True
    return not _is_native(name) and not name.startswith(_REQUESTS) and not is_qualified_name(_REQUESTS + name)


_MEASURED: Final[dict[tuple[str, str], Evaluator]] = {
    ("", "pods"): Pods(),
    ("", "services"): Services(),
    ("", "persistentvolumeclaims"): VolumeClaims(),
    ("resource.k8s.io", "resourceclaims"): DeviceClaims(),
    # These had names in quotas before there was count/….
    ("", "configmaps"): Counted("", "configmaps", "configmaps"),
    ("", "resourcequotas"): Counted("", "resourcequotas", "resourcequotas"),
    ("", "replicationcontrollers"): Counted("", "replicationcontrollers", "replicationcontrollers"),
    ("", "secrets"): Counted("", "secrets", "secrets"),
}


@lru_cache(maxsize=1024)
def evaluator_for(group: str, plural: str) -> Evaluator:
    return _MEASURED.get((group, plural)) or Counted(group, plural)


def measured() -> Iterable[tuple[tuple[str, str], Evaluator]]:
    """The resources that quotas name in other ways than count/…."""
    return _MEASURED.items()
