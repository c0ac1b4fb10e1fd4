"""Namespace: `Namespace("shop").labels(team="web").pod_security("restricted")`."""

from __future__ import annotations

from typing import ClassVar, Final, Literal, Self, get_args

from steersman.objects import resources
from steersman.objects.builders.resource import ClusterResource
from steersman.objects.names import NameCheck, name_is_dns_label

__all__ = ["Namespace"]

Standard = Literal["privileged", "baseline", "restricted"]
Mode = Literal["enforce", "audit", "warn"]
_STANDARDS: Final = get_args(Standard)
_MODES: Final = get_args(Mode)


class Namespace(ClusterResource):
    """A namespace of its own."""

    __slots__ = ()

    resource_type: ClassVar = resources.NAMESPACES
    _name_rule: ClassVar[NameCheck] = staticmethod(name_is_dns_label)

    def pod_security(self, standard: Standard, mode: Mode = "enforce") -> Self:
        """The Pod Security Standard its pods must fulfil."""
        self._choice("pod_security", mode, _MODES)
        self._choice("pod_security", standard, _STANDARDS)
        return self.label(f"pod-security.kubernetes.io/{mode}", standard)
