"""The VolumeZone plugin: a bound volume with zone or region labels can be used only by nodes with the same
labels.
"""

from __future__ import annotations

from typing import Final, cast

from steersman.cluster.scheduler.framework.cycle_state import CycleState
from steersman.cluster.scheduler.framework.events import EventKind, Hints
from steersman.cluster.scheduler.framework.handle import Handle
from steersman.cluster.scheduler.framework.plugin import Resources
from steersman.cluster.scheduler.framework.verdicts import SKIP, Refusal, Skip
from steersman.cluster.scheduler.model.node import NodeInfo
from steersman.cluster.scheduler.model.pod import PodInfo
from steersman.cluster.scheduler.plugins.storage import is_claimed
from steersman.objects.kinds.types.core_v1 import PersistentVolume, PersistentVolumeClaim
from steersman.objects.kinds.types.storage_v1 import StorageClass
from steersman.objects.labels import labels_of
from steersman.objects.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES
from steersman.objects.volume_claims import class_of

__all__ = ["VolumeZone"]

_NAME: Final = "VolumeZone"
_ELSEWHERE: Final = Refusal(_NAME, ("node(s) had no available volume zone",), resolvable=False)
#: Labels, old ones with what they are called now.
_LABELS: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}
_Places = list[tuple[str, frozenset[str]]]


class VolumeZone:
    name = _NAME

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self.resources: Resources = {
            PERSISTENT_VOLUME_CLAIMS: None,
            PERSISTENT_VOLUMES: None,
            STORAGE_CLASSES: None,
        }

    def pre_filter(self, cycle: CycleState, pod: PodInfo) -> Refusal | Skip | None:
        places: _Places = []
        for claim in pod.volumes.claims:
            if claim.ephemeral:
                continue
            found = self._places(pod.namespace, claim.name)
            if isinstance(found, Refusal):
                return found
            places += found
        if not places:
            return SKIP
        cycle.write(self.name, places)
        return None

    def _places(self, namespace: str, name: str) -> _Places | Refusal:
        """Where the claim's volume is; nowhere in particular if it has none yet and may wait."""
        if not name:
            return _refusal("PersistentVolumeClaim had no name")
        claim = cast(
            "PersistentVolumeClaim | None", self._handle.find(PERSISTENT_VOLUME_CLAIMS, name, namespace)
        )
        if claim is None:
            return _refusal(f'persistentvolumeclaim "{name}" not found')
        volume_name = claim["spec"].get("volumeName")
        if not volume_name:
            return self._unbound(claim)
        volume = cast("PersistentVolume | None", self._handle.find(PERSISTENT_VOLUMES, volume_name))
        if volume is None:
            return _refusal(f'persistentvolume "{volume_name}" not found')
        labels = labels_of(volume)
        return [(key, frozenset(labels[key].split("__"))) for key in _LABELS if key in labels]

    def _unbound(self, claim: PersistentVolumeClaim) -> _Places | Refusal:
        name = class_of(claim)
        if not name:
            return _refusal("PersistentVolumeClaim had no pv name and storageClass name")
        storage_class = cast("StorageClass | None", self._handle.find(STORAGE_CLASSES, name))
        if storage_class is None:
            return _refusal(f'storageclass.storage.k8s.io "{name}" not found')
        if storage_class.get("volumeBindingMode") == "WaitForFirstConsumer":
            return []
        return _refusal("PersistentVolume had no name")

    def filter(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> Refusal | None:
        labels = node.labels
        if not any(key in labels for key in _LABELS):
            return None
        places: _Places = cycle.read(self.name, list)
        for key, values in places:
            if labels.get(key, labels.get(_LABELS[key])) not in values:
                return _ELSEWHERE
        return None

    @property
    def hints(self) -> Hints:
        return {
            EventKind.STORAGE_CLASS: None,
            EventKind.NODE_ADDED: None,
            EventKind.NODE_LABELS: None,
            EventKind.CLAIM: is_claimed,
            EventKind.VOLUME: None,
        }


def _refusal(text: str) -> Refusal:
    return Refusal(_NAME, (text,), resolvable=False)
