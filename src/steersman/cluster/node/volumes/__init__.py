"""The volumes of pods on a node that really runs them.

Start reading at `pod_volumes` (what happens when), then `sources` (what each kind of volume is) and `atomic`
(how files change under a running program).
"""

from __future__ import annotations

from steersman.cluster.node.volumes.certificates import PodCertificates
from steersman.cluster.node.volumes.mounts import container_mounts
from steersman.cluster.node.volumes.pod_volumes import PodVolumes
from steersman.cluster.node.volumes.projections import Projections
from steersman.cluster.node.volumes.references import Reference, References
from steersman.cluster.node.volumes.sources import ImageFolder, Ready, VolumeSources
from steersman.cluster.node.volumes.tokens import Tokens

__all__ = [
    "ImageFolder",
    "PodCertificates",
    "PodVolumes",
    "Projections",
    "Ready",
    "Reference",
    "References",
    "Tokens",
    "VolumeSources",
    "container_mounts",
]
