"""Endpoints and EndpointSlices with loopback addresses, for clusters whose pods have such addresses.

Kubernetes refuses 127.0.0.0/8 in Endpoints and EndpointSlices since it means another machine's own. Where a
machine lends its pods nothing else, `LocalCluster` asks for this one check to be left out; all others stay.
"""

from __future__ import annotations

from typing import Final

from steersman.cluster.apiserver.resources.kinds import BuiltInKind, Errors
from steersman.cluster.apiserver.resources.resource import Catalog
from steersman.cluster.schema.validation.address_checks import ON_LOOPBACK
from steersman.objects.fields import FieldError
from steersman.objects.kinds import Object

__all__ = ["allow_loopback_endpoints"]

_CONCERNED: Final = {("", "endpoints"), ("discovery.k8s.io", "endpointslices")}


def allow_loopback_endpoints(catalog: Catalog) -> None:
    """Have a cluster's endpoints be anywhere in 127.0.0.0/8."""
    for resource in catalog:
        if (resource.group, resource.plural) in _CONCERNED:
            resource.kind = _LenientKind(resource.type)


class _LenientKind(BuiltInKind):
    def check_new(self, obj: Object) -> Errors:
        found = super().check_new(obj)
        return _others(found) if isinstance(found, list) else found

    def _check_update(self, new: Object, old: Object, subresource: str) -> list[FieldError]:
        return _others(super()._check_update(new, old, subresource))


def _others(found: list[FieldError]) -> list[FieldError]:
    return [error for error in found if error.detail != ON_LOOPBACK]
