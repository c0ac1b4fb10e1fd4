"""Pod volumes on a node with real containers (kubelet's volume manager).

Start reading at `pod_volumes` (the lifecycle), then `sources` (each kind of volume) and `atomic` (atomic
updates of files).
"""

from __future__ import annotations

from steersman.cluster.node.volumes.certificates import PodCertificates
from steersman.cluster.node.volumes.mounts import container_mounts
from steersman.cluster.node.volumes.pod_volumes import PodVolumes
from steersman.cluster.node.volumes.projections import Projections
from steersman.cluster.node.volumes.references import ObjectReference, References
from steersman.cluster.node.volumes.sources import ImageFolder, ReadyVolume, VolumeSources
from steersman.cluster.node.volumes.tokens import Tokens

__all__ = [
    "ImageFolder",
    "ObjectReference",
    "PodCertificates",
    "PodVolumes",
    "Projections",
    "ReadyVolume",
    "References",
    "Tokens",
    "VolumeSources",
    "container_mounts",
]
