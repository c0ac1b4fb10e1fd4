"""The order of ports in EndpointSlices: Kubernetes sorts them by a hash of Go's printed form. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steersman.cluster.controllers.templates import fnv128a

__all__ = ["endpoints_port_order", "slice_port_order"]


def endpoints_port_order(port: Mapping[str, Any]) -> int:
    """A key to sort the ports of Endpoints by."""
    return fnv128a(
        f"(v1.EndpointPort){{Name:(string){port.get('name') or ''} Port:(int32){port.get('port') or 0} "
        f"Protocol:(v1.Protocol){port.get('protocol') or ''} "
        f"AppProtocol:(*string){_pointed(port, 'appProtocol')}}}".encode()
    )


def slice_port_order(port: Mapping[str, Any]) -> int:
    """A key to sort the ports of EndpointSlices by."""
    return fnv128a(
        f"(v1.EndpointPort){{Name:(*string){_pointed(port, 'name')} "
        f"Protocol:(*v1.Protocol){_pointed(port, 'protocol')} Port:(*int32){_pointed(port, 'port')} "
        f"AppProtocol:(*string){_pointed(port, 'appProtocol')}}}".encode()
    )


def _pointed(port: Mapping[str, Any], field: str) -> str:
    value = port.get(field)
    return "<nil>" if value is None else str(value)
