"""Fields of features that are off: dropped from what clients send, unless the object already uses them.

They are part of the published types, so decoding knows them; a cluster with their features off stores
none of them, without complaint.
"""

from __future__ import annotations

from typing import Any, Final

from steersman.objects.kinds import Object
from steersman.objects.pods import CONTAINER_FIELDS

__all__ = ["drop_from_pod", "drop_from_template"]

_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
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


def _in_containers(*paths: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    return tuple((kind, "*", *path) for kind in CONTAINER_FIELDS for path in paths)


_STOP_SIGNALS: Final = _in_containers(("lifecycle", "stopSignal"))
#: Each feature's paths in a pod spec: in use anywhere, they all stay.
_POD_SPEC: Final[tuple[tuple[tuple[str, ...], ...], ...]] = (
    (("schedulingGroup",),),
    (("evictionResponders",),),
    (("volumes", "*", "emptyDir", "mode"),),
    _OWNERS,
    _STOP_SIGNALS,
    _in_containers(("volumeMounts", "*", "bindMountOptions")),
    _in_containers(*((probe, "grpc", "mode") for probe in _PROBES)),
    _in_containers(
        *((probe, "httpGet", "protocol") for probe in _PROBES),
        *(("lifecycle", moment, "httpGet", "protocol") for moment in ("postStart", "preStop")),
    ),
)
#: How init containers were written before they had a field.
_ANNOTATIONS: Final = frozenset(
    f"pod.{stage}.kubernetes.io/{name}"
    for stage in ("alpha", "beta")
    for name in ("init-containers", "init-container-statuses")
)


_Tree = dict[str, Any]


def _tree() -> _Tree:
    root: _Tree = {}
    for feature, paths in enumerate(_POD_SPEC):
        for path in paths:
            node = root
            for step in path[:-1]:
                node = node.setdefault(step, {})
            node[path[-1]] = feature
    return root


#: The same paths as a tree whose leaves number the features, to look at a spec once for all of them.
_POD_TREE: Final = _tree()


def drop_from_pod(new: Object, old: Object | None = None) -> None:
    """From a pod, or a pod template."""
    spec: Object = new["spec"]
    features: set[int] = set()
    _find(spec, _POD_TREE, features)
    if features and old is not None:
        used: set[int] = set()
        _find(old["spec"], _POD_TREE, used)
        features -= used
    for feature in features:
        for path in _POD_SPEC[feature]:
            for holder in _holders(spec, path):
                del holder[path[-1]]
        if _POD_SPEC[feature] is _STOP_SIGNALS:
            _drop_empty_lifecycles(spec)
    annotations = new["metadata"].get("annotations")
    if annotations and not _ANNOTATIONS.isdisjoint(annotations):
        kept = {key: value for key, value in annotations.items() if key not in _ANNOTATIONS}
        new["metadata"].pop("annotations")
        new["metadata"] |= {"annotations": kept} if kept else {}


def drop_from_template(new: Object | None, old: Object | None = None) -> None:
    if new is not None:
        drop_from_pod(new, old)


def _find(value: Any, node: _Tree, features: set[int]) -> None:
    """Add every feature of which this value has a field."""
    for step, child in node.items():
        if step == "*":
            for item in value:
                _find(item, child, features)
        elif value.get(step) is not None:
            if isinstance(child, int):
                features.add(child)
            else:
                _find(value[step], child, features)


def _holders(value: Any, path: tuple[str, ...]) -> list[Object]:
    """Every struct that has the last field of this path."""
    holders: list[Any] = [value]
    for step in path[:-1]:
        if step == "*":
            holders = [item for items in holders for item in items]
        else:
            holders = [found for holder in holders if (found := holder.get(step))]
    return [holder for holder in holders if path[-1] in holder]


def _drop_empty_lifecycles(spec: Object) -> None:
    """A lifecycle that was only there for the dropped field goes with it."""
    for kind in CONTAINER_FIELDS:
        for container in spec.get(kind) or ():
            if container.get("lifecycle") == {}:
                del container["lifecycle"]
