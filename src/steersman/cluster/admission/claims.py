"""The PersistentVolumeClaimResize plugin: a claim is expanded only if it is bound and its StorageClass allows
it.
"""

from __future__ import annotations

from typing import cast

from steersman.cluster.admission.chain import Attributes, Reader
from steersman.objects.kinds.types.core_v1 import PersistentVolumeClaim
from steersman.objects.quantities import Quantity

__all__ = ["PersistentVolumeClaimResize", "storage_class_of"]


def storage_class_of(claim: PersistentVolumeClaim) -> str:
    """The class a claim names, by the old annotation or by its field."""
    annotations = claim["metadata"].get("annotations", {})
    by_annotation: str | None = annotations.get("volume.beta.kubernetes.io/storage-class")
    return by_annotation if by_annotation is not None else claim["spec"].get("storageClassName") or ""


class PersistentVolumeClaimResize:
    name = "PersistentVolumeClaimResize"

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        return operation == "UPDATE" and not group and plural == "persistentvolumeclaims" and not subresource

    def admit(self, attributes: Attributes) -> None:
        return None

    def validate(self, attributes: Attributes) -> None:
        assert attributes.object is not None
        assert attributes.old is not None
        new = cast("PersistentVolumeClaim", attributes.object)
        old = cast("PersistentVolumeClaim", attributes.old)
        if _size(new) <= _size(old):
            return
        if old["status"].get("phase") != "Bound":
            raise attributes.refusal("Only bound persistent volume claims can be expanded")
        name = storage_class_of(new)
        if not name or name != storage_class_of(old) or not self._may_grow(name):
            raise attributes.refusal(
                "only dynamically provisioned pvc can be resized and the storageclass that provisions "
                "the pvc must support resize"
            )

    def _may_grow(self, storage_class: str) -> bool:
        found = self._reader.get("storage.k8s.io", "storageclasses", "", storage_class)
        return found is not None and found.get("allowVolumeExpansion") is True


def _size(claim: PersistentVolumeClaim) -> Quantity:
    requests = claim["spec"].get("resources", {}).get("requests") or {}
    return Quantity.parse(requests.get("storage", "0"))
