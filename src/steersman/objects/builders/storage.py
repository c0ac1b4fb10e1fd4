"""PersistentVolumeClaim: storage that outlives pods, alone or as a template of a StatefulSet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, Self, get_args

from steersman.objects import resources
from steersman.objects.builders.labels import Selector, label_selector
from steersman.objects.builders.resource import Resource
from steersman.objects.kinds.enums import PersistentVolumeAccessMode, PersistentVolumeMode

__all__ = ["PersistentVolumeClaim"]

_ACCESS_MODES: Final = get_args(PersistentVolumeAccessMode)
_VOLUME_MODES: Final = get_args(PersistentVolumeMode)


class PersistentVolumeClaim(Resource):
    """`PersistentVolumeClaim("data").storage("10Gi")`; the access mode is ReadWriteOnce unless said."""

    __slots__ = ()

    resource_type: ClassVar = resources.PERSISTENT_VOLUME_CLAIMS

    def storage(self, amount: str | int | float) -> Self:
        field = "spec.resources.requests.storage"
        spelled = self._quantity(field, amount)
        if spelled == "0":
            raise self._error(field, "must be more than zero")
        self._edit_spec().setdefault("resources", {}).setdefault("requests", {})["storage"] = spelled
        return self

    def access_mode(self, mode: PersistentVolumeAccessMode) -> Self:
        """Call again for more modes."""
        modes = self._edit_spec().setdefault("accessModes", [])
        if self._choice("spec.accessModes", mode, _ACCESS_MODES) not in modes:
            modes.append(mode)
        return self

    def access_modes(self, *modes: PersistentVolumeAccessMode | Iterable[PersistentVolumeAccessMode]) -> Self:
        for given in modes:
            for mode in (given,) if isinstance(given, str) else given:
                self.access_mode(mode)
        return self

    def storage_class(self, name: str) -> Self:
        """An empty name asks for a volume without class; saying nothing asks for the default class."""
        field = "spec.storageClassName"
        return self._put_spec("storageClassName", self._name(field, name) if name else "")

    def volume_mode(self, mode: PersistentVolumeMode) -> Self:
        return self._put_spec("volumeMode", self._choice("spec.volumeMode", mode, _VOLUME_MODES))

    def volume_name(self, name: str) -> Self:
        """Bind to this PersistentVolume."""
        return self._put_spec("volumeName", self._name("spec.volumeName", name))

    def selector(self, selector: Selector | Mapping[str, str] | None = None, /, **labels: str) -> Self:
        """Bind to a volume with these labels."""
        return self._put_spec("selector", label_selector(self._error, "spec.selector", selector, labels))

    def clone_of(self, claim: str) -> Self:
        """Begin with a copy of another claim."""
        source = {"kind": "PersistentVolumeClaim", "name": self._name("spec.dataSource", claim)}
        return self._put_spec("dataSource", source)

    def from_snapshot(self, snapshot: str) -> Self:
        """Begin with what a VolumeSnapshot holds."""
        name = self._name("spec.dataSource", snapshot)
        source = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": name}
        return self._put_spec("dataSource", source)

    def _complete(self, obj: dict[str, Any]) -> None:
        spec = obj.setdefault("spec", {})
        if not (spec.get("resources") or {}).get("requests", {}).get("storage"):
            raise self._error("spec.resources.requests.storage", "how much? Call storage('1Gi')")
        spec.setdefault("accessModes", ["ReadWriteOnce"])
