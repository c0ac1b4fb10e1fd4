"""The plugins DefaultStorageClass, DefaultIngressClass and StorageObjectInUseProtection."""

from __future__ import annotations

from collections.abc import Iterable

from steersman.cluster.admission.chain import Attributes, Reader
from steersman.objects.kinds import Object

__all__ = ["DefaultIngressClass", "DefaultStorageClass", "StorageObjectInUseProtection"]


def _newest_default(classes: Iterable[Object], *marks: str) -> str | None:
    """The name of the class annotated as default; of several the newest, then the first by name."""
    defaults = [
        c for c in classes if any(c["metadata"].get("annotations", {}).get(mark) == "true" for mark in marks)
    ]
    defaults.sort(key=lambda c: str(c["metadata"]["name"]))
    defaults.sort(key=lambda c: str(c["metadata"]["creationTimestamp"]), reverse=True)
    return defaults[0]["metadata"]["name"] if defaults else None


class DefaultStorageClass:
    """Sets the default StorageClass of a claim that names none."""

    name = "DefaultStorageClass"

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        return operation == "CREATE" and not group and plural == "persistentvolumeclaims" and not subresource

    def admit(self, attributes: Attributes) -> None:
        assert attributes.object is not None
        annotations = attributes.object["metadata"].get("annotations", {})
        spec = attributes.object["spec"]
        if "storageClassName" in spec or "volume.beta.kubernetes.io/storage-class" in annotations:
            return
        name = _newest_default(
            self._reader.list("storage.k8s.io", "storageclasses"),
            "storageclass.kubernetes.io/is-default-class",
            "storageclass.beta.kubernetes.io/is-default-class",
        )
        if name:
            spec["storageClassName"] = name

    def validate(self, attributes: Attributes) -> None:
        return None


class DefaultIngressClass:
    """Sets the default IngressClass of an Ingress that names none, by field or by the deprecated
    annotation.
    """

    name = "DefaultIngressClass"

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        return (
            operation == "CREATE"
            and group == "networking.k8s.io"
            and plural == "ingresses"
            and not subresource
        )

    def admit(self, attributes: Attributes) -> None:
        assert attributes.object is not None
        annotations = attributes.object["metadata"].get("annotations", {})
        spec = attributes.object["spec"]
        if "ingressClassName" in spec or "kubernetes.io/ingress.class" in annotations:
            return
        classes = self._reader.list("networking.k8s.io", "ingressclasses")
        name = _newest_default(classes, "ingressclass.kubernetes.io/is-default-class")
        if name:
            spec["ingressClassName"] = name

    def validate(self, attributes: Attributes) -> None:
        return None


class StorageObjectInUseProtection:
    """Adds the protection finalizers to volumes, claims and VolumeAttributesClasses."""

    name = "StorageObjectInUseProtection"
    _FINALIZERS = {  # noqa: RUF012 - a constant table
        ("", "persistentvolumeclaims"): "kubernetes.io/pvc-protection",
        ("", "persistentvolumes"): "kubernetes.io/pv-protection",
        ("storage.k8s.io", "volumeattributesclasses"): "kubernetes.io/vac-protection",
    }

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        return operation == "CREATE" and (group, plural) in self._FINALIZERS and not subresource

    def admit(self, attributes: Attributes) -> None:
        assert attributes.object is not None
        metadata = attributes.object["metadata"]
        finalizer = self._FINALIZERS[attributes.group, attributes.plural]
        finalizers = metadata.get("finalizers") or []
        if finalizer not in finalizers:
            metadata["finalizers"] = [*finalizers, finalizer]

    def validate(self, attributes: Attributes) -> None:
        return None
