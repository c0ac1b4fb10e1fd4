"""APIService objects as the aggregator reads them, and those of the groups that this server serves itself.

A registration with a service is a *backend*: another server that has the group version. One without is local;
these exist so that `kubectl get apiservices` shows everything, and are kept in step with the catalog.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from steersman.cluster.apiserver.pipeline.call import Api
from steersman.cluster.apiserver.resources.resource import Resource
from steersman.cluster.apiserver.resources.server_managed_fields import owned
from steersman.cluster.apiserver.resources.storage_encoding import encode
from steersman.cluster.apiserver.resources.system_fields import new_uid, timestamp
from steersman.cluster.schema.resources import group_versions
from steersman.cluster.store import Conflict, NotFound
from steersman.objects.conditions import condition_is
from steersman.objects.kinds import Object

__all__ = ["GROUP", "PLURAL", "Backend", "local_registrations", "priority_of", "register_local"]


GROUP: Final = "apiregistration.k8s.io"
PLURAL: Final = "apiservices"
_MANAGED: Final = "kube-aggregator.kubernetes.io/automanaged"
#: Custom resources come after everything built in.
_CUSTOM_PRIORITY: Final = (1000, 100)
#: Group → its priority and those of its versions, as kube-apiserver has them; the order of discovery.
_PRIORITIES: Final[Mapping[str, tuple[int, Mapping[str, int]]]] = {
    "": (18000, {"v1": 1}),
    "apps": (17800, {"v1": 15}),
    "events.k8s.io": (17750, {"v1": 15}),
    "authentication.k8s.io": (17700, {"v1": 15}),
    "authorization.k8s.io": (17600, {"v1": 15}),
    "autoscaling": (17500, {"v2": 30, "v1": 15}),
    "batch": (17400, {"v1": 15}),
    "certificates.k8s.io": (17300, {"v1": 15}),
    "networking.k8s.io": (17200, {"v1": 15}),
    "policy": (17100, {"v1": 15}),
    "rbac.authorization.k8s.io": (17000, {"v1": 15}),
    "storage.k8s.io": (16800, {"v1": 15}),
    "admissionregistration.k8s.io": (16700, {"v1": 15}),
    "apiextensions.k8s.io": (16700, {"v1": 15}),
    "scheduling.k8s.io": (16600, {"v1": 15}),
    "coordination.k8s.io": (16500, {"v1": 15}),
    "node.k8s.io": (16300, {"v1": 15}),
    "discovery.k8s.io": (16200, {"v1": 15}),
    "resource.k8s.io": (16200, {"v1": 21}),
    "flowcontrol.apiserver.k8s.io": (16100, {"v1": 21}),
    "storagemigration.k8s.io": (15800, {"v1": 15}),
}


def priority_of(group: str, version: str) -> tuple[int, int]:
    """(group's, version's) priority of something served here."""
    if group == GROUP:
        # The aggregator's own group comes first of all and has no registration.
        return (20000, 15)
    known = _PRIORITIES.get(group)
    if known is None:
        return _CUSTOM_PRIORITY
    return (known[0], known[1].get(version, 9))


@dataclass(frozen=True, slots=True)
class Backend:
    """A group version that another server has."""

    name: str
    group: str
    version: str
    namespace: str
    service: str
    port: int
    #: PEM of the authority of its certificate; empty trusts the system's.
    ca: bytes
    insecure: bool
    #: (group's, version's)
    priority: tuple[int, int]
    available: bool

    @property
    def server_name(self) -> str:
        return f"{self.service}.{self.namespace}.svc"

    @property
    def path(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @classmethod
    def parse(cls, registration: Mapping[str, Any]) -> Backend | None:
        """None for a local registration."""
        spec = registration["spec"]
        service = spec.get("service")
        if service is None:
            return None
        try:
            ca = base64.b64decode(spec.get("caBundle") or "", validate=True)
        except binascii.Error:
            ca = b""
        return cls(
            registration["metadata"]["name"],
            spec.get("group", ""),
            spec.get("version", ""),
            service.get("namespace", ""),
            service.get("name", ""),
            service.get("port") or 443,
            ca,
            bool(spec.get("insecureSkipTLSVerify")),
            (spec.get("groupPriorityMinimum", 0), spec.get("versionPriority", 0)),
            condition_is((registration.get("status") or {}).get("conditions"), "Available"),
        )


def local_registrations(served: Iterable[tuple[str, str]]) -> dict[str, Object]:
    """The registrations of these group versions, by name."""
    built_in = frozenset(group_versions())
    made: dict[str, Object] = {}
    for group, version in served:
        if group == GROUP:
            continue
        group_priority, version_priority = priority_of(group, version)
        name = f"{version}.{group}"
        made[name] = {
            "metadata": {
                "name": name,
                "labels": {_MANAGED: "onstart" if (group, version) in built_in else "true"},
            },
            "spec": {
                **({"group": group} if group else {}),
                "version": version,
                "groupPriorityMinimum": group_priority,
                "versionPriority": version_priority,
            },
            "status": {},
        }
    return made


async def register_local(api: Api) -> None:
    """Make the registrations of what is served here exist, and those of what is no longer served go."""
    resource = api.catalog.find(GROUP, "v1", PLURAL)
    assert resource is not None
    wanted = local_registrations(dict.fromkeys((r.group, r.type.version) for r in api.catalog))
    for record in api.store.range(resource.prefix).records:
        registration = resource.read(record.value)
        name = registration["metadata"]["name"]
        if wanted.pop(name, None) is not None:
            continue
        labels = registration["metadata"].get("labels") or {}
        if labels.get(_MANAGED) == "true" and Backend.parse(registration) is None:
            try:
                await api.store.delete(record.key, expected=record.revision)
            except (Conflict, NotFound):
                continue
    for registration in wanted.values():
        await _create(api, resource, registration)


async def _create(api: Api, resource: Resource, registration: Object) -> None:
    registration = owned(api, resource, None, registration)
    resource.strategy.prepare_create(registration)
    metadata = registration["metadata"]
    metadata["uid"] = new_uid()
    metadata["creationTimestamp"] = timestamp(api.now())
    try:
        await api.store.put(resource.key("", metadata["name"]), encode(registration), expected=0)
    except Conflict:
        # A registration of the same name by another client stands.
        return
