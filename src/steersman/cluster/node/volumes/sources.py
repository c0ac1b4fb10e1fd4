"""Sets up a pod's volumes, one plugin per kind of volume.

    <folder>/<pod's uid>/volumes/<plugin>/<volume>

A volume that is ready stays as it is when it is asked for again, also by a later process; only the files of
projected ones are brought up to date.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from steersman.aio import Clock
from steersman.client import Client
from steersman.cluster.node.folder_removal import remove_tree
from steersman.cluster.node.volumes.atomic import write_files
from steersman.cluster.node.volumes.claims import claimed_folder
from steersman.cluster.node.volumes.errors import VolumeProblem
from steersman.cluster.node.volumes.host_paths import check_host_path
from steersman.cluster.node.volumes.memory import memory_size, mount_memory, unmount_all
from steersman.cluster.node.volumes.nested_mounts import nested_folders
from steersman.cluster.node.volumes.ownership import fs_group_of, give_to_group
from steersman.cluster.node.volumes.projections import PROJECTED, Projections
from steersman.objects.kinds.types.core_v1 import EmptyDirVolumeSource, Pod, Volume
from steersman.objects.quantities import Quantity

__all__ = ["ImageFolder", "ReadyVolume", "VolumeSources"]

#: The folder that is an image; None: there is no such one.
ImageFolder = Callable[[str], Path | None]

_EMPTY_DIR: Final = "kubernetes.io~empty-dir"
_SCRATCH_MODE: Final = 0o777
_FOLDER_MODE: Final = 0o750


class ReadyVolume(NamedTuple):
    """A volume that can be mounted into containers."""

    path: Path
    #: Whatever a container asks for.
    readonly: bool = False
    #: Whether a pod may put links into it.
    open: bool = True
    #: When something in it has to be renewed (wall clock).
    renew_at: float | None = None


class VolumeSources:
    """Sets up and tears down volumes."""

    def __init__(
        self,
        folder: Path,
        client: Client,
        clock: Clock,
        projections: Projections,
        memory: Quantity,
        image_folder: ImageFolder = lambda _: None,
    ) -> None:
        """`folder` has a folder for each pod, `memory` is all that pods may use."""
        self._folder = folder
        self._client = client
        self._clock = clock
        self._projections = projections
        self._memory = memory
        self._image_folder = image_folder

    def pod_folder(self, uid: str) -> Path:
        return self._folder / uid

    def scratch(self, uid: str, volume: str) -> Path:
        """Where an emptyDir is."""
        return self._volume(uid, _EMPTY_DIR, volume)

    def make_pod_folder(self, uid: str) -> Path:
        folder = self.pod_folder(uid)
        folder.mkdir(_FOLDER_MODE, parents=True, exist_ok=True)
        return folder

    async def ready(self, pod: Pod, volume: Volume) -> ReadyVolume:
        """Have a volume ready. Raises `VolumeProblem`, `NotRead` or OSError."""
        for kind, plugin in PROJECTED.items():
            if (source := volume.get(kind)) is not None:
                return await self._projected(pod, volume["name"], kind, plugin, source)
        if (scratch := volume.get("emptyDir")) is not None:
            return self._scratch(pod, volume["name"], scratch)
        if (host_path := volume.get("hostPath")) is not None:
            check_host_path(host_path["path"], host_path.get("type") or "")
            return ReadyVolume(Path(host_path["path"]))
        if "persistentVolumeClaim" in volume or "ephemeral" in volume:
            return await self._claimed(pod, volume)
        if (image := volume.get("image")) is not None:
            return self._image(image.get("reference", ""))
        unknown = next((field for field in volume if field != "name"), "unknown")
        raise VolumeProblem(f"this node has no volumes of type {unknown}")

    def forget(self, uid: str) -> None:
        """What was asked for in the name of a pod is of no use any more."""
        self._projections.forget(uid)

    def known(self) -> list[str]:
        """The pods for which something was made."""
        try:
            return os.listdir(self._folder)
        except FileNotFoundError:
            return []

    def remove(self, uid: str) -> None:
        """Take away everything that was made for a pod. Blocks."""
        folder = self.pod_folder(uid)
        remove_tree(folder / "volumes")
        if (folder / "volumes").exists():
            # What is mounted is empty by now, and in the way.
            unmount_all(folder / "volumes" / _EMPTY_DIR)
            remove_tree(folder / "volumes")
        for name in ("etc-hosts", "resolv.conf"):
            (folder / name).unlink(missing_ok=True)
        try:
            folder.rmdir()
        except OSError:
            # Others keep things there too.
            return

    def unmount(self) -> None:
        """Nothing of any pod runs any more: leave nothing mounted."""
        for uid in self.known():
            unmount_all(self.pod_folder(uid) / "volumes" / _EMPTY_DIR)

    def _volume(self, uid: str, plugin: str, name: str) -> Path:
        return self.pod_folder(uid) / "volumes" / plugin / name

    def _made(self, path: Path, mode: int) -> None:
        """Have a volume's folder."""
        if not path.is_dir():
            path.parent.mkdir(_FOLDER_MODE, parents=True, exist_ok=True)
            path.mkdir()
            path.chmod(mode)

    async def _projected(
        self, pod: Pod, name: str, kind: str, plugin: str, source: Mapping[str, Any]
    ) -> ReadyVolume:
        self.make_pod_folder(pod["metadata"]["uid"])
        path = self._volume(pod["metadata"]["uid"], plugin, name)

        def known(file: str) -> bytes:
            try:
                return (path / file).read_bytes()
            except OSError:
                return b""

        made = await self._projections.project(pod, name, kind, source, known)
        self._made(path, _SCRATCH_MODE)
        for folder in nested_folders(pod, name):
            (path / folder).mkdir(0o755, parents=True, exist_ok=True)
        group = fs_group_of(pod)

        def publish(_: Path) -> None:
            if group is not None:
                give_to_group(path, group, readonly=True)

        write_files(path, made.files, now=self._clock.wall(), publish=publish)
        return ReadyVolume(path, readonly=True, open=False, renew_at=made.renew_at)

    def _scratch(self, pod: Pod, name: str, source: EmptyDirVolumeSource) -> ReadyVolume:
        medium = source.get("medium", "")
        if medium not in ("", "Memory"):
            raise VolumeProblem(f"this node has no emptyDir volumes of medium {medium}")
        uid = pod["metadata"]["uid"]
        self.make_pod_folder(uid)
        path = self.scratch(uid, name)
        self._made(path, _SCRATCH_MODE)
        if medium:
            mount_memory(path, memory_size(pod, source.get("sizeLimit"), self._memory), _SCRATCH_MODE)
        if (group := fs_group_of(pod)) is not None:
            # Once: what the pod has in it later is as the pod has it.
            give_to_group(path, group, readonly=False, lazily=True)
        return ReadyVolume(path)

    async def _claimed(self, pod: Pod, volume: Volume) -> ReadyVolume:
        name = volume["name"]
        devices = (
            device["name"]
            for container in pod["spec"]["containers"]
            for device in container.get("volumeDevices") or ()
        )
        claimed = await claimed_folder(self._client, pod, volume, wants_device=name in devices)
        path, group = Path(claimed.path), fs_group_of(pod)
        if claimed.owned and not claimed.readonly and group is not None:
            policy = pod["spec"]["securityContext"].get("fsGroupChangePolicy")
            await asyncio.to_thread(
                give_to_group, path, group, readonly=False, lazily=policy == "OnRootMismatch"
            )
        return ReadyVolume(path, readonly=claimed.readonly)

    def _image(self, reference: str) -> ReadyVolume:
        folder = self._image_folder(reference)
        if folder is None:
            raise VolumeProblem(f"this node has no image {reference} that is a folder")
        return ReadyVolume(folder, readonly=True)
