"""pods/proxy, services/proxy and nodes/proxy: requests forwarded to a pod, an endpoint or a node.

The object's name may carry a scheme and a port: `https:web:8443`, `web:http`, `node:10250`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from steersman.cluster.apiserver.forwarding.node_connections import ForwardTarget, unreachable
from steersman.cluster.apiserver.forwarding.relay import ForwardedRequest, forwarded_headers, relay, splice
from steersman.cluster.apiserver.pipeline.call import Api, Call, StoreReader
from steersman.cluster.apiserver.reading.get import find
from steersman.cluster.apiserver.subresources.pod_streams import connections
from steersman.cluster.apiserver.subresources.proxied_links import ProxiedLinks
from steersman.http import Response
from steersman.http.errors import ClientError
from steersman.objects.kinds import Object
from steersman.objects.status import StatusError, bad_request

__all__ = ["proxy"]

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class _Asked(NamedTuple):
    scheme: str
    name: str
    port: str


async def proxy(api: Api, call: Call) -> Response | None:
    place = _PLACES[call.resource.plural](api, call)
    request = call.request
    prefix, path = _split(call)
    query = f"?{request.query_string}" if request.query_string else ""
    if not path and request.method in ("GET", "HEAD") and not request.upgradable:
        # Relative links of the page must stay below it.
        return Response(301, b"", ((b"Location", f"{prefix}/{query}".encode()),))
    own_host = request.headers.get("host") or place.authority
    headers = [*forwarded_headers(request), (b"Host", own_host.encode("latin-1"))]
    if not request.upgradable:
        headers.append((b"X-Forwarded-Uri", f"{prefix}{path}".encode()))
    forwarded = ForwardedRequest(connections(api).to(place), f"{path or '/'}{query}", headers, request.method)
    try:
        if request.upgradable:
            return await splice(forwarded, request, lambda: call.started(101))
        links = ProxiedLinks(prefix, place.authority, own_host)
        return await relay(forwarded, request, links, lambda: call.started(200))
    except ClientError as error:
        if request.upgradable:
            raise StatusError(500, "", f"error dialing backend: {error}") from error
        raise unreachable(f"error trying to reach service: {error}") from error


def _split(call: Call) -> tuple[str, str]:
    """The path up to the proxy's end, and what comes behind it, both as they were sent."""
    parts = call.request.raw_path.split("/")
    end = 8 if call.path.namespace else 6
    prefix, rest = "/".join(parts[:end]), parts[end:]
    return prefix, "/" + "/".join(rest) if rest else ""


def _asked(call: Call, kind: str) -> _Asked:
    parts = call.path.name.split(":")
    scheme, name, port = {1: ["", *parts, ""], 2: ["", *parts], 3: parts}.get(len(parts), ["", "", ""])
    if not name or scheme not in ("", "http", "https"):
        raise bad_request(f'invalid {kind} request "{call.path.name}"')
    return _Asked(scheme or "http", name, port)


def _number(text: str, asked: _Asked) -> int:
    if not text:
        return _DEFAULT_PORTS[asked.scheme]
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 1 << 16):
        raise unreachable(f'error trying to reach service: "{text}" is no port')
    return int(text)


def _pod_place(api: Api, call: Call) -> ForwardTarget:
    asked = _asked(call, "pod")
    pod = call.resource.read(find(api, call.resource, call.path.namespace, asked.name).value)
    port = asked.port or next(
        (
            str(container["ports"][0]["containerPort"])
            for container in pod["spec"].get("containers") or ()
            if container.get("ports")
        ),
        "",
    )
    addresses = (pod.get("status") or {}).get("podIPs") or ()
    host = addresses[0]["ip"] if addresses else ""
    connections(api).check(host)
    return ForwardTarget(asked.scheme, host, _number(port, asked))


def _node_place(api: Api, call: Call) -> ForwardTarget:
    asked = _asked(call, "node")
    node = call.resource.read(find(api, call.resource, "", asked.name).value)
    place = connections(api).node(node)
    if _is_address(place.host):
        connections(api).check(place.host)
    if asked.port in ("", str(place.port)):
        return place
    return ForwardTarget(asked.scheme, place.host, _number(asked.port, asked))


def _is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdigit()


def _service_place(api: Api, call: Call) -> ForwardTarget:
    asked = _asked(call, "service")
    port = asked.port
    if port.isascii() and port.isdigit():
        service = call.resource.read(find(api, call.resource, call.path.namespace, asked.name).value)
        declared = service["spec"].get("ports") or ()
        names = [entry.get("name", "") for entry in declared if entry["port"] == int(port)]
        if not names:
            raise unreachable(f'no service port {int(port)} found for service "{asked.name}"')
        port = names[0]
    places = list(_endpoints(api, call.path.namespace, asked, port))
    if not places:
        raise unreachable(f'no endpoints available for service "{asked.name}"')
    return random.choice(places)


def _endpoints(api: Api, namespace: str, asked: _Asked, port_name: str) -> Iterator[ForwardTarget]:
    """The service's ready endpoints, as far as they are pods."""
    reader = StoreReader(api.store, api.catalog)
    for piece in reader.list("discovery.k8s.io", "endpointslices", namespace):
        labels = piece["metadata"].get("labels") or {}
        if labels.get("kubernetes.io/service-name") != asked.name:
            continue
        for port in piece.get("ports") or ():
            if (port.get("name") or "") != port_name or not port.get("port"):
                continue
            for endpoint in piece.get("endpoints") or ():
                ready = (endpoint.get("conditions") or {}).get("ready") is not False
                if ready and _is_pod(reader, namespace, endpoint):
                    yield ForwardTarget(asked.scheme, endpoint["addresses"][0], port["port"])


def _is_pod(reader: StoreReader, namespace: str, endpoint: dict[str, Any]) -> bool:
    """A user who may write endpoints must not lead the API server anywhere else."""
    target = endpoint.get("targetRef") or {}
    if target.get("namespace") != namespace:
        return False
    pod: Object | None = reader.get("", "pods", namespace, target.get("name", ""))
    addresses = ((pod or {}).get("status") or {}).get("podIPs") or ()
    return endpoint["addresses"][0] in [entry["ip"] for entry in addresses]


_PLACES: Final = {"pods": _pod_place, "services": _service_place, "nodes": _node_place}
