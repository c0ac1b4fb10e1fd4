"""Deprecation warnings of API versions and kinds. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from steersman.cluster.apiserver.resources.version_order import version_rank
from steersman.objects.kinds import Object

__all__ = ["BUILT_IN", "deprecation_of"]


#: By group and plural.
BUILT_IN: Final[Mapping[tuple[str, str], str]] = {
    ("", "componentstatuses"): "v1 ComponentStatus is deprecated in v1.19+",
    ("", "endpoints"): "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}


def deprecation_of(spec: Object, version: Object) -> str:
    """The warning for a version of a CustomResourceDefinition; empty if it is not deprecated."""
    if not version.get("deprecated"):
        return ""
    warning: str | None = version.get("deprecationWarning")
    if warning is not None:
        return warning
    group, kind = spec["group"], spec["names"]["kind"]
    better = [
        other["name"]
        for other in spec["versions"]
        if other["served"]
        and not other.get("deprecated")
        and version_rank(other["name"]) < version_rank(version["name"])
    ]
    instead = f"; use {group}/{min(better, key=version_rank)} {kind}" if better else ""
    return f"{group}/{version['name']} {kind} is deprecated{instead}"
