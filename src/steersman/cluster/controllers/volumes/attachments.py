"""The CSI volumes that should be attached to a node, and their VolumeAttachments. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from steersman.objects.kinds.types.core_v1 import AttachedVolume, PersistentVolume
from steersman.objects.kinds.types.storage_v1 import VolumeAttachment

__all__ = [
    "Attachable",
    "AttachmentPlan",
    "attached_volumes",
    "is_ours",
    "new_attachment",
    "plan_attachments",
    "volume_of",
]


_our_name = re.compile(r"csi-[0-9a-f]{64}").fullmatch
#: Volumes that several nodes may have at once.
_SHARED = frozenset({"ReadOnlyMany", "ReadWriteMany"})


class Attachable(NamedTuple):
    """A volume that must be attached to the node before a pod can use it."""

    volume: str
    driver: str
    handle: str
    shared: bool

    @classmethod
    def of(cls, volume: PersistentVolume) -> Attachable | None:
        """None for volumes of other kinds: those need nothing done to nodes."""
        csi = volume["spec"].get("csi")
        if csi is None:
            return None
        shared = not _SHARED.isdisjoint(volume["spec"].get("accessModes") or ())
        return cls(volume["metadata"]["name"], csi["driver"], csi["volumeHandle"], shared)

    @property
    def unique_name(self) -> str:
        """As nodes name it in their status."""
        return f"kubernetes.io/csi/{self.driver}^{self.handle}"


def volume_of(attachment: VolumeAttachment) -> str:
    """The name of the volume; empty if it has none of its own."""
    name: str = attachment["spec"]["source"].get("persistentVolumeName") or ""
    return name


def is_ours(attachment: VolumeAttachment) -> bool:
    """Whether it was made here; what others make is theirs to delete."""
    return _our_name(attachment["metadata"]["name"]) is not None and bool(volume_of(attachment))


class AttachmentPlan(NamedTuple):
    """The VolumeAttachments to create and to delete."""

    attach: list[Attachable]
    detach: list[VolumeAttachment]
    #: Volumes that another node has and that only one may have.
    refused: list[Attachable]


def plan_attachments(
    node: str,
    wanted: Iterable[Attachable],
    attachments: Iterable[VolumeAttachment],
    in_use: Collection[str],
    of_volume: Mapping[str, Collection[str]],
) -> AttachmentPlan:
    """What to change on a node, given its attachments.

    `in_use` are the volumes (by name) that the node still uses, `of_volume` the nodes that have each volume.
    """
    present = {volume_of(one): one for one in attachments}
    attach: list[Attachable] = []
    refused: list[Attachable] = []
    names = set()
    for volume in wanted:
        names.add(volume.volume)
        if volume.volume in present:
            continue
        elsewhere = set(of_volume.get(volume.volume, ())) - {node}
        (refused if elsewhere and not volume.shared else attach).append(volume)
    detach = [one for name, one in present.items() if name not in names and name not in in_use]
    return AttachmentPlan(attach, detach, refused)


def new_attachment(volume: Attachable, node: str) -> VolumeAttachment:
    digest = hashlib.sha256(f"{volume.handle}{volume.driver}{node}".encode()).hexdigest()
    return {
        "metadata": {"name": f"csi-{digest}"},
        "spec": {
            "attacher": volume.driver,
            "nodeName": node,
            "source": {"persistentVolumeName": volume.volume},
        },
    }


def attached_volumes(
    attachments: Iterable[VolumeAttachment], volumes: Mapping[str, Attachable]
) -> list[AttachedVolume]:
    """What a node's status says is attached, in order."""
    names = [
        volumes[name].unique_name
        for one in attachments
        if (one.get("status") or {}).get("attached") and (name := volume_of(one)) in volumes
    ]
    return [{"name": name, "devicePath": ""} for name in sorted(names)]
