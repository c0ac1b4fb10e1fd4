"""The API objects that a pod mentions, for plugins that keep pods from mentioning some.

Mirror pods, which a node makes of what runs on it anyway, may mention none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from steersman.cluster.admission.chain import Object

__all__ = ["MIRROR_ANNOTATION", "configmap_names", "containers_of", "environment_sources", "secret_names"]

MIRROR_ANNOTATION: Final = "kubernetes.io/config.mirror"

_CONTAINER_FIELDS: Final = ("initContainers", "containers", "ephemeralContainers")
#: Volume sources that name a secret: by which path.
_SECRET_PATHS: Final = (
    ("azureFile", "secretName"),
    ("secret", "secretName"),
    ("cephfs", "secretRef", "name"),
    ("cinder", "secretRef", "name"),
    ("csi", "nodePublishSecretRef", "name"),
    ("flexVolume", "secretRef", "name"),
    ("iscsi", "secretRef", "name"),
    ("rbd", "secretRef", "name"),
    ("scaleIO", "secretRef", "name"),
    ("storageos", "secretRef", "name"),
)


def containers_of(spec: Object) -> list[Object]:
    """All of a pod's containers, in the order in which they are talked about."""
    return [container for field in _CONTAINER_FIELDS for container in spec.get(field) or ()]


def environment_sources(container: Object, kind: str) -> Iterator[tuple[str, str]]:
    """(variable, name) of each `secret` or `configMap` that the environment comes from; the variable is
    empty where the whole of it does."""
    for variable in container.get("env") or ():
        source = (variable.get("valueFrom") or {}).get(f"{kind}KeyRef")
        if source is not None:
            yield variable["name"], source.get("name", "")
    for source in container.get("envFrom") or ():
        whole = source.get(f"{kind}Ref")
        if whole is not None:
            yield "", whole.get("name", "")


def secret_names(spec: Object) -> Iterator[str]:
    """The secrets a pod mentions by a name that is not empty."""
    yield from filter(None, _secrets(spec))


def _secrets(spec: Object) -> Iterator[str]:
    for reference in spec.get("imagePullSecrets") or ():
        yield reference.get("name", "")
    for container in containers_of(spec):
        yield from (name for _, name in environment_sources(container, "secret"))
    for volume in spec.get("volumes") or ():
        yield from (_at(volume, *path) for path in _SECRET_PATHS)
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield _at(source, "secret", "name")


def configmap_names(spec: Object) -> Iterator[str]:
    """The config maps a pod mentions by a name that is not empty."""
    yield from filter(None, _configmaps(spec))


def _configmaps(spec: Object) -> Iterator[str]:
    for container in containers_of(spec):
        yield from (name for _, name in environment_sources(container, "configMap"))
    for volume in spec.get("volumes") or ():
        yield _at(volume, "configMap", "name")
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield _at(source, "configMap", "name")


def _at(source: Object, *path: str) -> str:
    found: object = source
    for part in path:
        if not isinstance(found, dict):
            return ""
        found = found.get(part)
    return found if isinstance(found, str) else ""
