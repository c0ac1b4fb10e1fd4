"""What a pod is made of: its containers, what they need together, and the API objects it mentions.

For whoever has to look into pods: admission, the Node authorizer, validation, strategies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal

from steersman.objects.amounts import ZERO, Amounts, added, largest, parsed
from steersman.objects.kinds.enums import PodQOSClass
from steersman.objects.kinds.types.core_v1 import Container
from steersman.objects.pod_lifecycle import is_sidecar

__all__ = [
    "CONTAINER_FIELDS",
    "CONTAINER_STATUS_FIELDS",
    "MIRROR_ANNOTATION",
    "SECRET_REFERENCES",
    "ContainerField",
    "ContainerStatusField",
    "configmap_names",
    "container_totals",
    "containers_of",
    "environment_sources",
    "has_own_resources",
    "is_pod_level",
    "quality_of_service",
    "secret_names",
]


#: On pods that a node makes of what runs on it anyway.
MIRROR_ANNOTATION: Final = "kubernetes.io/config.mirror"

#: The fields of a pod's spec that list containers.
ContainerField = Literal["initContainers", "containers", "ephemeralContainers"]
CONTAINER_FIELDS: Final[tuple[ContainerField, ...]] = ("initContainers", "containers", "ephemeralContainers")
#: The fields of a pod's status that list what became of them.
ContainerStatusField = Literal["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"]
CONTAINER_STATUS_FIELDS: Final[tuple[ContainerStatusField, ...]] = (
    "initContainerStatuses",
    "containerStatuses",
    "ephemeralContainerStatuses",
)
#: Volume sources that refer to a secret, in pods and persistent volumes alike: by which field.
SECRET_REFERENCES: Final = {
    "cephfs": "secretRef",
    "cinder": "secretRef",
    "csi": "nodePublishSecretRef",
    "flexVolume": "secretRef",
    "iscsi": "secretRef",
    "rbd": "secretRef",
    "scaleIO": "secretRef",
    "storageos": "secretRef",
}


def containers_of(spec: Mapping[str, Any]) -> list[Container]:
    """All of a pod's containers, in the order in which they are talked about."""
    return [container for field in CONTAINER_FIELDS for container in spec.get(field) or ()]


def is_pod_level(resource: str) -> bool:
    """Whether a pod may ask for the resource as a whole."""
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")


def has_own_resources(spec: Mapping[str, Any]) -> bool:
    """Whether the pod asks for resources as a whole, so that its containers need not."""
    resources = spec.get("resources") or {}
    return any(is_pod_level(name) for part in ("requests", "limits") for name in resources.get(part) or ())


def container_totals(
    spec: Mapping[str, Any], amounts_of: Callable[[Mapping[str, Any]], Mapping[str, str] | None]
) -> Amounts:
    """What the containers need together, given what counts for each.

    Containers run side by side and add up; init containers run one after the other beside the sidecars
    started before them, so the largest moment counts.
    """
    total: Amounts = {}
    for container in spec.get("containers") or ():
        total = added(total, parsed(amounts_of(container)))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        amounts = parsed(amounts_of(container))
        if is_sidecar(container):
            total = added(total, amounts)
            sidecars = amounts = added(sidecars, amounts)
        else:
            amounts = added(amounts, sidecars)
        peak = largest(peak, amounts)
    return largest(total, peak)


def quality_of_service(spec: Mapping[str, Any]) -> PodQOSClass:
    """Guaranteed, Burstable or BestEffort, from the pod's own resources or else all of its containers'."""
    if has_own_resources(spec):
        return _quality(spec["resources"])
    classes: set[PodQOSClass] = {
        _quality(container.get("resources") or {})
        for field in ("initContainers", "containers")
        for container in spec.get(field) or ()
    }
    if len(classes) > 1:
        return "Burstable"
    return classes.pop() if classes else "BestEffort"


def _quality(resources: Mapping[str, Any]) -> PodQOSClass:
    requests, limits = parsed(resources.get("requests")), parsed(resources.get("limits"))
    amounts = [(requests.get(name, ZERO), limits.get(name, ZERO)) for name in ("cpu", "memory")]
    if any(request != limit for request, limit in amounts):
        return "Burstable"
    given = {bool(request) for request, _ in amounts}
    if len(given) > 1:
        return "Burstable"
    return "Guaranteed" if given.pop() else "BestEffort"


def environment_sources(container: Mapping[str, Any], kind: str) -> Iterator[tuple[str, str]]:
    """(variable, name) of each `secret` or `configMap` that the environment comes from; the variable is
    empty where the whole of it does."""
    for variable in container.get("env") or ():
        source = (variable.get("valueFrom") or {}).get(f"{kind}KeyRef")
        if source is not None:
            yield variable.get("name", ""), source.get("name", "")
    for source in container.get("envFrom") or ():
        whole = source.get(f"{kind}Ref")
        if whole is not None:
            yield "", whole.get("name", "")


def secret_names(spec: Mapping[str, Any]) -> Iterator[str]:
    """The secrets a pod mentions by a name that is not empty."""
    yield from filter(None, _secrets(spec))


def _secrets(spec: Mapping[str, Any]) -> Iterator[str]:
    for reference in spec.get("imagePullSecrets") or ():
        yield reference.get("name", "")
    for container in containers_of(spec):
        yield from (name for _, name in environment_sources(container, "secret"))
    for volume in spec.get("volumes") or ():
        yield _at(volume, "azureFile", "secretName")
        yield _at(volume, "secret", "secretName")
        yield from (_at(volume, source, field, "name") for source, field in SECRET_REFERENCES.items())
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield _at(source, "secret", "name")


def configmap_names(spec: Mapping[str, Any]) -> Iterator[str]:
    """The config maps a pod mentions by a name that is not empty."""
    yield from filter(None, _configmaps(spec))


def _configmaps(spec: Mapping[str, Any]) -> Iterator[str]:
    for container in containers_of(spec):
        yield from (name for _, name in environment_sources(container, "configMap"))
    for volume in spec.get("volumes") or ():
        yield _at(volume, "configMap", "name")
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield _at(source, "configMap", "name")


def _at(source: Mapping[str, Any], *path: str) -> str:
    found: object = source
    for part in path:
        if not isinstance(found, dict):
            return ""
        found = found.get(part)
    return found if isinstance(found, str) else ""
