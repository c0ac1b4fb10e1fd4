"""Updates of a pod through its subresources: ephemeral containers and resize.

The new pod must differ from the old only where the subresource writes.
"""

from __future__ import annotations

from typing import Any, Final

from steersman.cluster.schema.validation.pods.annotations import validate_annotation_update
from steersman.cluster.schema.validation.pods.internal import internal_diff, semantically_equal
from steersman.cluster.schema.validation.pods.pod import validate_whole_pod
from steersman.objects.fields import FieldError, Path, forbidden, invalid, quote
from steersman.objects.kinds import Object
from steersman.objects.pods import MIRROR_ANNOTATION, quality_of_service

__all__ = ["validate_ephemeral_containers", "validate_resize"]

_SPEC: Final = Path("spec")
_ANNOTATIONS: Final = Path("metadata").child("annotations")
_COMPUTE: Final = ("cpu", "memory")


def validate_ephemeral_containers(new: Object, old: Object) -> list[FieldError]:
    """An update through `pods/ephemeralcontainers`: containers are added, never changed."""
    if MIRROR_ANNOTATION in (old["metadata"].get("annotations") or ()):
        return [forbidden(_NOWHERE, "static pods do not support ephemeral containers")]
    errors = validate_whole_pod(new)
    errors += validate_annotation_update(new, old, _ANNOTATIONS)
    path = _SPEC.child("ephemeralContainers")
    listed = {
        container.get("name", ""): container for container in new["spec"].get("ephemeralContainers") or ()
    }
    for container in old["spec"].get("ephemeralContainers") or ():
        name = container.get("name", "")
        now = listed.get(name)
        start = f"existing ephemeral containers {quote(name)} may not be"
        if now is None:
            errors.append(forbidden(path, f"{start} removed\n"))
        elif not semantically_equal("EphemeralContainer", container, now):
            difference = internal_diff("EphemeralContainer", container, now)
            errors.append(forbidden(path, f"{start} changed\n{difference}"))
    return errors


# --- Resize

#: How a path without a name is written.
_NOWHERE: Final = Path("[]")


def validate_resize(new: Object, old: Object) -> list[FieldError]:
    """An update through `pods/resize`: only cpu and memory of containers and of the pod change."""
    spec, before = new["spec"], old["spec"]
    if MIRROR_ANNOTATION in (old["metadata"].get("annotations") or ()):
        return [forbidden(_NOWHERE, "static pods cannot be resized")]
    if (before.get("os") or {}).get("name") == "windows":
        return [forbidden(_NOWHERE, "windows pods cannot be resized")]
    errors = validate_whole_pod(new)
    status: Object = old.get("status") or {}
    if (status.get("qosClass") or quality_of_service(before)) != quality_of_service(spec):
        shown = (new.get("status") or {}).get("qosClass", "")
        errors.append(invalid(_SPEC, shown, "Pod QOS Class may not change as a result of resizing"))
    if not _node_can_resize(status):
        errors.append(forbidden(_SPEC, "Pod running on node without support for resize"))
    masked = dict(spec)
    if _has_resources(before) or _has_resources(spec):
        errors += _validate_pod_level(masked, spec, before)
    if wrong := _validate_same_containers(spec, before):
        return errors + wrong
    for kind in ("initContainers", "containers"):
        for number, container in enumerate(before.get(kind) or ()):
            path = _SPEC.child(kind).index(number).child("resources")
            errors += _validate_none_removed(
                _resources(spec[kind][number]), _resources(container), path, "resource"
            )
    for kind in ("containers", "initContainers"):
        errors += _validate_only_compute(masked, spec, before, kind)
    if not semantically_equal("[]Volume", spec.get("volumes"), before.get("volumes")):
        text = (
            "volumes are immutable on resize when InPlacePodVerticalScalingMemoryBackedVolumes "
            "feature gate is disabled"
        )
        errors.append(forbidden(_SPEC.child("volumes"), text))
    if not errors and not semantically_equal("PodSpec", masked, before):
        errors.append(forbidden(_SPEC, "only cpu and memory resources are mutable"))
    return errors


def _resources(holder: Object) -> Object:
    return holder.get("resources") or {}


def _has_resources(spec: Object) -> bool:
    return bool(_resources(spec).get("requests") or _resources(spec).get("limits"))


def _node_can_resize(status: Object) -> bool:
    """A node that resizes reports the resources of what it runs."""
    for container in status.get("containerStatuses") or ():
        if (container.get("state") or {}).get("running") is not None:
            return container.get("resources") is not None
    return True


def _validate_pod_level(masked: Object, spec: Object, before: Object) -> list[FieldError]:
    path = _SPEC.child("resources")
    new, old = spec.get("resources"), before.get("resources")
    errors: list[FieldError] = []
    if old is not None:
        if new is None:
            return [forbidden(path, "pod-level resources cannot be removed")]
        errors += _validate_none_removed(new, old, path, "pod-level resource")
    restored = _with_compute_of(new or {}, old or {})
    if old is None and not any(restored.values()):
        masked.pop("resources", None)
    else:
        masked["resources"] = restored
    if not semantically_equal("*ResourceRequirements", masked.get("resources"), old):
        errors.append(forbidden(_SPEC, "only cpu and memory resources are mutable at pod-level"))
    return errors


def _validate_none_removed(new: Object, old: Object, path: Path, what: str) -> list[FieldError]:
    return [
        forbidden(path.child(side), f"{what} {side} cannot be removed")
        for side in ("requests", "limits")
        if not set(old.get(side) or ()) <= set(new.get(side) or ())
    ]


def _validate_same_containers(spec: Object, before: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    for kind in ("containers", "initContainers"):
        new, old = spec.get(kind) or [], before.get(kind) or []
        path = _SPEC.child(kind)
        if len(new) != len(old):
            errors.append(forbidden(path, f"{kind} may not be added or removed on resize"))
            continue
        errors += (
            forbidden(path.index(number).child("name"), f"{kind} may not be renamed or reordered on resize")
            for number, (container, previous) in enumerate(zip(new, old, strict=True))
            if container.get("name") != previous.get("name")
        )
    return errors


def _validate_only_compute(masked: Object, spec: Object, before: Object, kind: str) -> list[FieldError]:
    errors: list[FieldError] = []
    containers: list[Object] = []
    for number, container in enumerate(spec.get(kind) or ()):
        previous = before[kind][number]
        restored = {**container, "resources": _with_compute_of(_resources(container), _resources(previous))}
        containers.append(restored)
        path = _SPEC if kind == "containers" else _SPEC.child(kind).index(number)
        if not semantically_equal("Container", restored, previous):
            whose = "" if kind == "containers" else " for init or sidecar containers"
            errors.append(forbidden(path, f"only cpu and memory resources{whose} are mutable"))
        if kind == "containers" or container.get("restartPolicy") == "Always":
            continue
        restarts = [
            p for p in container.get("resizePolicy") or () if p.get("restartPolicy") == "RestartContainer"
        ]
        if restarts and not semantically_equal("Container", container, previous):
            text = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
            errors += (forbidden(path, text) for _ in restarts)
    if containers:
        masked[kind] = containers
    return errors


def _with_compute_of(resources: Object, old: Object) -> Object:
    """`resources` with cpu and memory put back to what they were."""
    restored = dict(resources)
    for side in ("limits", "requests"):
        amounts: dict[str, Any] = dict(resources.get(side) or {})
        for name in _COMPUTE:
            amounts.pop(name, None)
            if name in (old.get(side) or {}):
                amounts[name] = old[side][name]
        restored.pop(side, None)
        if amounts:
            restored[side] = amounts
    return restored
