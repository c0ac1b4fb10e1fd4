"""The volume mounts of a container, from its pod's volumes."""

from __future__ import annotations

from collections.abc import Mapping

from steersman.cluster.node.cri import Mount
from steersman.cluster.node.environment import expand
from steersman.cluster.node.volumes.errors import VolumeProblem
from steersman.cluster.node.volumes.host_paths import part_of_volume
from steersman.cluster.node.volumes.sources import ReadyVolume
from steersman.objects.fields import quote
from steersman.objects.kinds.types.core_v1 import Container, VolumeMount

__all__ = ["container_mounts"]


def container_mounts(
    container: Container, volumes: Mapping[str, ReadyVolume], variables: Mapping[str, str]
) -> tuple[Mount, ...]:
    """The container's mounts; parts of volumes that it names are made if need be. Raises `VolumeProblem`."""
    return tuple(
        _mount(container["name"], mount, volumes, variables) for mount in container.get("volumeMounts") or ()
    )


def _mount(
    container: str, mount: VolumeMount, volumes: Mapping[str, ReadyVolume], variables: Mapping[str, str]
) -> Mount:
    ready = volumes.get(mount["name"])
    if ready is None:
        raise VolumeProblem(
            f"cannot find volume {quote(mount['name'])} to mount into container {quote(container)}"
        )
    part = mount.get("subPath", "")
    if expression := mount.get("subPathExpr"):
        part = _expanded(expression, variables)
    try:
        path = part_of_volume(ready.path, part, fixed=ready.open) if part else ready.path
    except OSError as error:
        # What exactly is wrong would tell about this machine.
        raise VolumeProblem(
            f"failed to create subPath directory for volumeMount {quote(mount['name'])} "
            f"of container {quote(container)}"
        ) from error
    where = mount["mountPath"]
    return Mount(
        where if where.startswith("/") else f"/{where}",
        str(path),
        readonly=bool(mount.get("readOnly")) or ready.readonly,
    )


def _expanded(expression: str, variables: Mapping[str, str]) -> str:
    missing: set[str] = set()

    def value_of(name: str) -> str:
        value = variables.get(name, "")
        if not value:
            missing.add(name)
        return value

    text = expand(expression, value_of)
    if missing:
        raise VolumeProblem(f"missing value for {', '.join(sorted(missing))}")
    return text
