"""The Available condition of APIServices: whether their backends can be reached."""

from __future__ import annotations

import ssl
from typing import Final, NamedTuple

from steersman.cluster.admission.chain import Reader
from steersman.cluster.admission.services import ServiceUnreachable
from steersman.cluster.apiserver.aggregation.connections import BackendClients
from steersman.cluster.apiserver.aggregation.identity import identity_headers
from steersman.cluster.apiserver.aggregation.registrations import GROUP, PLURAL, Backend
from steersman.cluster.apiserver.pipeline.call import Api
from steersman.cluster.apiserver.resources.server_managed_fields import owned
from steersman.cluster.apiserver.resources.storage_encoding import encode
from steersman.cluster.apiserver.resources.system_fields import timestamp
from steersman.cluster.auth.users import MASTERS_GROUP, User
from steersman.cluster.store import Conflict
from steersman.http.errors import ClientError
from steersman.objects.conditions import set_condition
from steersman.objects.fields import quote
from steersman.objects.kinds import Object

__all__ = ["AGGREGATOR", "Availability", "check", "record_availability"]

#: The user of requests that the server itself makes to backends.
AGGREGATOR: Final = User("system:kube-aggregator", groups=(MASTERS_GROUP,))
_TIMEOUT_S: Final = 5.0


class Availability(NamedTuple):
    status: str
    reason: str
    message: str


_PASSED: Final = Availability("True", "Passed", "all checks passed")


async def check(reader: Reader, clients: BackendClients, backend: Backend) -> Availability:
    """Look for the service and its endpoints, then ask for its discovery document."""
    service = reader.get("", "services", backend.namespace, backend.service)
    where = f"service/{backend.service} in {quote(backend.namespace)}"
    if service is None:
        return Availability("False", "ServiceNotFound", f"{where} is not present")
    if service["spec"].get("type", "ClusterIP") == "ClusterIP":
        problem = _endpoints_problem(reader, backend, service, where)
        if problem is not None:
            return problem
    try:
        transport = clients.to(backend)
        answer = await transport.request(
            "GET", backend.path, headers=list(identity_headers(AGGREGATOR)), timeout_s=_TIMEOUT_S
        )
    except (ServiceUnreachable, ClientError, OSError, ValueError, ssl.SSLError) as error:
        message = f"failing or missing response from {_url(backend)}: {error}"
        return Availability("False", "FailedDiscoveryCheck", message)
    if not 200 <= answer.status < 300:
        url = _url(backend)
        message = f"failing or missing response from {url}: bad status from {url}: {answer.status}"
        return Availability("False", "FailedDiscoveryCheck", message)
    return _PASSED


def _url(backend: Backend) -> str:
    return f"https://{backend.server_name}:{backend.port}{backend.path}"


def _endpoints_problem(reader: Reader, backend: Backend, service: Object, where: str) -> Availability | None:
    ports = {port["port"]: port.get("name", "") for port in service["spec"].get("ports") or ()}
    if backend.port not in ports:
        message = f"{where} is not listening on port {backend.port}"
        return Availability("False", "ServicePortError", message)
    name = ports[backend.port]
    slices = [
        piece
        for piece in reader.list("discovery.k8s.io", "endpointslices", backend.namespace)
        if (piece["metadata"].get("labels") or {}).get("kubernetes.io/service-name") == backend.service
    ]
    endpoints = reader.get("", "endpoints", backend.namespace, backend.service)
    if not slices and not (endpoints or {}).get("subsets"):
        return Availability("False", "EndpointsNotFound", f"cannot find endpointslices for {where}")
    ready = any(_ready(piece, name) for piece in slices) or any(
        subset.get("addresses")
        and any((port.get("name") or "") == name for port in subset.get("ports") or ())
        for subset in (endpoints or {}).get("subsets") or ()
    )
    if ready:
        return None
    message = f"endpointslices for {where} have no addresses with port name {quote(name)}"
    return Availability("False", "MissingEndpoints", message)


def _ready(piece: Object, port_name: str) -> bool:
    return any(
        (endpoint.get("conditions") or {}).get("ready") is not False
        for endpoint in piece.get("endpoints") or ()
    ) and any((port.get("name") or "") == port_name for port in piece.get("ports") or ())


async def record_availability(api: Api, name: str, found: Availability) -> None:
    """Write the condition, if it is news. Who changed the registration meanwhile causes another check."""
    resource = api.catalog.find(GROUP, "v1", PLURAL)
    assert resource is not None
    record = api.store.get(resource.key("", name))
    if record is None:
        return
    registration = resource.read(record.value)
    status = registration.get("status") or {}
    before = status.get("conditions")
    conditions = set_condition(
        before,
        "Available",
        found.status,
        reason=found.reason,
        message=found.message,
        now=timestamp(api.now()),
    )
    if conditions is before:
        return
    live = registration
    registration = {**live, "status": {**status, "conditions": list(conditions)}}
    registration = owned(api, resource, live, registration, subresource="status")
    try:
        await api.store.put(record.key, encode(registration), expected=record.revision)
    except Conflict:
        return
