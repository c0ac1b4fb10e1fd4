"""What only a whole pod can tell: is there a container, are names unique, is what is mounted there?

Called when a builder with pods is turned into its object. Values were checked when they were given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from steersman.objects.builders.errors import BuildError

__all__ = ["check_pod"]

_Fail = Callable[[str, str], BuildError]
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")


def check_pod(fail: _Fail, path: str, spec: dict[str, Any], more_volumes: Iterable[str]) -> None:
    """Raise what is wrong with the pod; `more_volumes` are those its workload adds."""
    containers = spec.get("containers")
    if not containers:
        raise fail(f"{path}.containers", "has no container; add one with container(Container(...))")
    initial = spec.get("initContainers") or ()
    names: set[str] = set()
    volumes: set[str] | None = None
    for container in (*initial, *containers):
        name = container.get("name", "")
        if name in names:
            raise fail(f"{path}.containers", f"two containers are called {name!r}")
        names.add(name)
        if not container.get("image"):
            raise fail(f"{path}.containers", f"container {name!r} has no image")
        mounts = [*(container.get("volumeMounts") or ()), *(container.get("volumeDevices") or ())]
        if mounts and volumes is None:
            volumes = {volume.get("name", "") for volume in spec.get("volumes") or ()}
            volumes.update(more_volumes)
        for mount in mounts:
            if mount.get("name") not in (volumes or ()):
                problem = f"container {name!r} mounts {mount.get('name')!r}, which is not among the volumes"
                raise fail(f"{path}.volumes", problem)
        _check_probe_ports(fail, path, container)


def _check_probe_ports(fail: _Fail, path: str, container: dict[str, Any]) -> None:
    """A probe that calls its port by name finds it among the ports of its own container only."""
    for field in _PROBES:
        probe = container.get(field)
        if not probe:
            continue
        port = (probe.get("httpGet") or probe.get("tcpSocket") or {}).get("port")
        if isinstance(port, str) and all(port != one.get("name") for one in container.get("ports") or ()):
            problem = f"{field} of container {container['name']!r} asks port {port!r}, which has no such name"
            raise fail(f"{path}.containers", problem)
