"""The environment variables for Services: `FOO_SERVICE_HOST`, and Docker links (enableServiceLinks). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from steersman.objects.kinds.types.core_v1 import Service

__all__ = ["API_SERVICE", "service_variables"]


#: The service every pod is told of, whatever its namespace.
API_SERVICE: Final = ("default", "kubernetes")


def service_variables(services: Iterable[Service], namespace: str, *, links: bool) -> dict[str, str]:
    """What a pod of a namespace is told; without `links` only where the API is."""
    chosen: dict[str, Service] = {}
    for service in services:
        metadata = service["metadata"]
        if service["spec"].get("clusterIP") in (None, "", "None") or not service["spec"].get("ports"):
            continue
        name = metadata["name"]
        if (metadata["namespace"], name) == API_SERVICE:
            chosen.setdefault(name, service)
        elif metadata["namespace"] == namespace and links:
            chosen[name] = service
    return dict(pair for service in chosen.values() for pair in _variables(service))


def _variables(service: Service) -> Iterator[tuple[str, str]]:
    prefix, spec = _spelled(service["metadata"]["name"]), service["spec"]
    address, ports = spec["clusterIP"], spec["ports"]
    yield f"{prefix}_SERVICE_HOST", address
    yield f"{prefix}_SERVICE_PORT", str(ports[0]["port"])
    for port in ports:
        if port.get("name"):
            yield f"{prefix}_SERVICE_PORT_{_spelled(port['name'])}", str(port["port"])
    for number, port in enumerate(ports):
        protocol = port.get("protocol") or "TCP"
        host = f"[{address}]" if ":" in address else address
        url = f"{protocol.lower()}://{host}:{port['port']}"
        if number == 0:
            yield f"{prefix}_PORT", url
        link = f"{prefix}_PORT_{port['port']}_{protocol.upper()}"
        yield link, url
        yield f"{link}_PROTO", protocol.lower()
        yield f"{link}_PORT", str(port["port"])
        yield f"{link}_ADDR", address


def _spelled(name: str) -> str:
    return name.replace("-", "_").upper()
