"""In-place resize: the actions for a running container whose resources in the spec changed. Pure."""

from __future__ import annotations

from typing import Final, Literal

from steersman.cluster.node.cri import ContainerStatus
from steersman.objects.amounts import parsed
from steersman.objects.kinds.types.core_v1 import Container, ResourceRequirements

__all__ = ["Resizing", "resizing"]

Resizing = Literal["", "update", "restart"]

#: What can be changed while a container runs.
_RESIZABLE: Final = ("cpu", "memory")


def resizing(container: Container, status: ContainerStatus) -> Resizing:
    """How a container comes to what its spec says: not at all, as it runs, or by being started again."""
    if status.resources is None:
        return ""
    wanted, has = _amounts(container.get("resources") or {}), _amounts(status.resources)
    changed = {
        name
        for which, name in wanted.keys() | has.keys()
        if wanted.get((which, name)) != has.get((which, name))
    }
    if not changed:
        return ""
    policies = {one["resourceName"]: one.get("restartPolicy") for one in container.get("resizePolicy") or ()}
    return "restart" if any(policies.get(name) == "RestartContainer" for name in changed) else "update"


def _amounts(resources: ResourceRequirements) -> dict[tuple[str, str], int]:
    """In thousandths, by whether it is requested or a limit, and by name."""
    return {
        (which, name): amount.milli_value
        for which, given in (("requests", resources.get("requests")), ("limits", resources.get("limits")))
        for name, amount in parsed(given).items()
        if name in _RESIZABLE
    }
