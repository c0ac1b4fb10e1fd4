"""Fields of features that are off: dropped from what clients send, unless the object already uses them.

They are part of the published types, so decoding knows them; a cluster with their features off stores
none of them, without complaint.
"""

from __future__ import annotations

from typing import Any, Final

from steersman.cluster.apiserver.strategies.strategy import Object

__all__ = ["drop_from_pod", "drop_from_template"]

_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_CONTAINER: Final = (
    (("volumeMounts", "*", "bindMountOptions"),),
    (("lifecycle", "stopSignal"),),
    tuple((probe, "grpc", "mode") for probe in _PROBES),
    (
        *((probe, "httpGet", "protocol") for probe in _PROBES),
        *(("lifecycle", moment, "httpGet", "protocol") for moment in ("postStart", "preStop")),
    ),
)
_FILES: Final = ("secret", "configMap", "downwardAPI")
_OWNERS: Final = (
    *(("volumes", "*", kind, "defaultUser") for kind in (*_FILES, "projected")),
    *(("volumes", "*", kind, "items", "*", "user") for kind in _FILES),
    *(("volumes", "*", "projected", "sources", "*", kind, "items", "*", "user") for kind in _FILES),
    *(
        ("volumes", "*", "projected", "sources", "*", kind, "user")
        for kind in ("serviceAccountToken", "clusterTrustBundle", "podCertificate")
    ),
)
#: Each feature's paths in a pod spec: in use anywhere, they all stay.
_POD_SPEC: Final[tuple[tuple[tuple[str, ...], ...], ...]] = (
    (("schedulingGroup",),),
    (("evictionResponders",),),
    (("volumes", "*", "emptyDir", "mode"),),
    _OWNERS,
    *(
        tuple((kind, "*", *path) for kind in ("initContainers", "containers", "ephemeralContainers") for path in paths)
        for paths in _CONTAINER
    ),
)
#: How init containers were written before they had a field.
_ANNOTATIONS: Final = frozenset(
    f"pod.{stage}.kubernetes.io/{name}"
    for stage in ("alpha", "beta")
    for name in ("init-containers", "init-container-statuses")
)


def drop_from_pod(new: Object, old: Object | None = None) -> None:
    """From a pod, or a pod template."""
    spec: Object = new["spec"]
    before: Object = old["spec"] if old is not None else {}
    for paths in _POD_SPEC:
        if any(_found(spec, path) for path in paths) and not any(_found(before, path) for path in paths):
            for path in paths:
                _drop(spec, path)
    annotations = new["metadata"].get("annotations")
    if annotations and not _ANNOTATIONS.isdisjoint(annotations):
        kept = {key: value for key, value in annotations.items() if key not in _ANNOTATIONS}
        new["metadata"].pop("annotations")
        new["metadata"] |= {"annotations": kept} if kept else {}


def drop_from_template(new: Object | None, old: Object | None = None) -> None:
    if new is not None:
        drop_from_pod(new, old)


def _holders(value: Any, path: tuple[str, ...]) -> list[Object]:
    """Every struct that has the last field of this path."""
    holders: list[Any] = [value]
    for step in path[:-1]:
        if step == "*":
            holders = [item for items in holders for item in items]
        else:
            holders = [found for holder in holders if (found := holder.get(step))]
        if not holders:
            break
    return [holder for holder in holders if path[-1] in holder]


def _found(value: Any, path: tuple[str, ...]) -> bool:
    return path[0] in value and bool(_holders(value, path))


def _drop(value: Any, path: tuple[str, ...]) -> None:
    for holder in _holders(value, path):
        del holder[path[-1]]
