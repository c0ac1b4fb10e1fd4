"""Validation of Endpoints: what rules.txt cannot say about them."""

from __future__ import annotations

from steersman.cluster.schema.validation.address_checks import validate_endpoint_ip
from steersman.cluster.schema.validation.compiled import compiled_check
from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.fields import FieldError, Path, required
from steersman.objects.kinds import Object
from steersman.objects.names import is_dns1123_label

__all__ = ["validate_endpoint_ip", "validate_ports"]

_validate_port = compiled_check("core.v1.EndpointPort")


def validate_ports(ports: list[Object], path: Path) -> list[FieldError]:
    """Where there are several, each needs a name."""
    errors: list[FieldError] = []
    for index, port in enumerate(ports):
        here = path.index(index)
        name = port.get("name", "")
        if name:
            errors += invalids(here.child("name"), name, is_dns1123_label(name))
        elif len(ports) > 1:
            errors.append(required(here.child("name")))
        errors += _validate_port(port, here)
    return errors
