"""Registers the metrics API at the cluster's API server (APIService), and removes it again."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator
from typing import Final

from steersman.client import Client, ClientError
from steersman.cluster.metrics_api.documents import GROUP, VERSION
from steersman.objects.conditions import condition_is
from steersman.objects.kinds import Object
from steersman.objects.resource_type import ResourceType

__all__ = ["API_SERVICES", "NAME", "NAMESPACE", "SERVER_NAME", "register", "unregister"]


NAMESPACE: Final = "kube-system"
_SERVICE: Final = "steersman-metrics"
#: By this name the API server knows the certificate.
SERVER_NAME: Final = f"{_SERVICE}.{NAMESPACE}.svc"
NAME: Final = f"{VERSION}.{GROUP}"
API_SERVICES: Final = ResourceType(
    "apiregistration.k8s.io", "v1", "APIService", "apiservices", namespaced=False
)
_MANAGER: Final = "steersman-metrics"


async def register(client: Client, address: str, port: int, ca: bytes) -> bool:
    """Say where the API is served, with a certificate of `ca` (PEM). Raises ClientError.

    False if another has it: a metrics server that was installed, or a process like this one that is alive.
    """
    found = await client.find(API_SERVICES, NAME)
    if found is not None:
        service = found["spec"].get("service") or {}
        if (service.get("name"), service.get("port")) == (_SERVICE, port):
            return True
        conditions = (found.get("status") or {}).get("conditions")
        if service.get("name") != _SERVICE or condition_is(conditions, "Available"):
            return False
    for each in _objects(address, port, ca):
        await client.apply(each, field_manager=_MANAGER, namespace=each["metadata"].get("namespace"))
    return True


async def unregister(client: Client, port: int) -> None:
    """Take it back, unless somebody else serves it meanwhile."""
    with contextlib.suppress(ClientError):
        found = await client.find(API_SERVICES, NAME)
        service = {} if found is None else found["spec"].get("service") or {}
        if found is not None and (service.get("name"), service.get("port")) == (_SERVICE, port):
            version = found["metadata"]["resourceVersion"]
            await client.delete(API_SERVICES, NAME, resource_version=version)


def _objects(address: str, port: int, ca: bytes) -> Iterator[Object]:
    yield {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {
            "name": "system:aggregated-metrics-reader",
            "labels": {
                f"rbac.authorization.k8s.io/aggregate-to-{role}": "true" for role in ("admin", "edit", "view")
            },
        },
        "rules": [{"apiGroups": [GROUP], "resources": ["pods", "nodes"], "verbs": ["get", "list", "watch"]}],
    }
    # An external name may be an address; so it needs no endpoints, which must not be on the loopback.
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": _SERVICE, "namespace": NAMESPACE},
        "spec": {"type": "ExternalName", "externalName": address},
    }
    yield {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": NAME},
        "spec": {
            "group": GROUP,
            "version": VERSION,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "service": {"namespace": NAMESPACE, "name": _SERVICE, "port": port},
            "caBundle": base64.b64encode(ca).decode(),
        },
    }
