"""Where a container mounts volumes and attaches block devices."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.pods.paths import climbs, validate_descending_path
from steersman.objects.fields import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from steersman.objects.kinds import Object

__all__ = ["Volumes", "validate_volume_devices", "validate_volume_mounts"]

#: The valid volumes of a pod by name.
Volumes = dict[str, Object]

_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE_READ_ONLY: Final = ("Disabled", "Enabled", "IfPossible")
_BIND_OPTIONS: Final = ("nodev", "noexec", "nosuid")


def validate_volume_mounts(container: Object, volumes: Volumes, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    devices = {
        device.get("name", ""): device.get("devicePath", "")
        for device in container.get("volumeDevices") or ()
    }
    targets: set[str] = set()
    for number, mount in enumerate(container["volumeMounts"]):
        name, target = mount.get("name", ""), mount.get("mountPath", "")
        here = path.index(number)
        if not name:
            errors.append(required(here.child("name")))
        if name not in volumes:
            errors.append(not_found(here.child("name"), name))
        if not target:
            errors.append(required(here.child("mountPath")))
        if target in targets:
            errors.append(invalid(here.child("mountPath"), target, "must be unique"))
        targets.add(target)
        if devices:
            if name in devices:
                errors.append(invalid(here.child("name"), name, "must not already exist in volumeDevices"))
            if target in devices.values():
                text = "must not already exist as a path in volumeDevices"
                errors.append(invalid(here.child("mountPath"), target, text))
        # All below are rare; the four fields above are the whole of most mounts.
        if len(mount) > 2:
            errors += _validate_mount_options(mount, container, path, here)
            if mount.get("bindMountOptions") and "image" in volumes.get(name, ()):
                text = "bindMountOptions may not be used with image volumes"
                errors.append(invalid(here.child("bindMountOptions"), mount["bindMountOptions"], text))
    return errors


def _validate_mount_options(mount: Object, container: Object, path: Path, here: Path) -> list[FieldError]:
    """Kubernetes names the list, not the mount, for most of these."""
    errors: list[FieldError] = []
    if sub_path := mount.get("subPath"):
        errors += validate_descending_path(sub_path, path.child("subPath"))
    if expression := mount.get("subPathExpr"):
        if sub_path:
            text = "subPathExpr and subPath are mutually exclusive"
            errors.append(invalid(here.child("subPathExpr"), expression, text))
        errors += validate_descending_path(expression, path.child("subPathExpr"))
    if (propagation := mount.get("mountPropagation")) is not None:
        errors += _validate_propagation(propagation, container, path.child("mountPropagation"))
    if (recursive := mount.get("recursiveReadOnly")) is not None:
        errors += _validate_recursive_read_only(recursive, mount, path.child("recursiveReadOnly"))
    seen: set[str] = set()
    for number, option in enumerate(mount.get("bindMountOptions") or ()):
        option_path = here.child("bindMountOptions").index(number)
        if option not in _BIND_OPTIONS:
            errors.append(not_supported(option_path, option, _BIND_OPTIONS))
        if option in seen:
            errors.append(duplicate(option_path, option))
        seen.add(option)
    return errors


def _validate_propagation(propagation: str, container: Object, path: Path) -> list[FieldError]:
    if propagation not in _PROPAGATIONS:
        return [not_supported(path, propagation, _PROPAGATIONS)]
    privileged = (container.get("securityContext") or {}).get("privileged")
    if propagation == "Bidirectional" and not privileged:
        text = "Bidirectional mount propagation is available only to privileged containers"
        return [forbidden(path, text)]
    return []


def _validate_recursive_read_only(mode: str, mount: Object, path: Path) -> list[FieldError]:
    if mode not in _RECURSIVE_READ_ONLY:
        return [not_supported(path, mode, _RECURSIVE_READ_ONLY)]
    errors: list[FieldError] = []
    if mode != "Disabled":
        if not mount.get("readOnly"):
            errors.append(forbidden(path, "may only be specified when readOnly is true"))
        if mount.get("mountPropagation", "None") != "None":
            text = "may only be specified when mountPropagation is None or not specified"
            errors.append(forbidden(path, text))
    return errors


def validate_volume_devices(container: Object, volumes: Volumes, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    mounts = {
        mount.get("name", ""): mount.get("mountPath", "") for mount in container.get("volumeMounts") or ()
    }
    names: set[str] = set()
    targets: set[str] = set()
    for number, device in enumerate(container["volumeDevices"]):
        name, target = device.get("name", ""), device.get("devicePath", "")
        name_path, target_path = path.index(number).child("name"), path.index(number).child("devicePath")
        volume = volumes.get(name)
        if not name:
            errors.append(required(name_path))
        if name in names:
            errors.append(invalid(name_path, name, "must be unique"))
        if volume is None:
            errors.append(not_found(name_path, name))
        elif "persistentVolumeClaim" not in volume and "ephemeral" not in volume:
            text = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            errors.append(invalid(name_path, name, text))
        if not target:
            errors.append(required(target_path))
        if target in targets:
            errors.append(invalid(target_path, target, "must be unique"))
        if climbs(target):
            errors.append(invalid(target_path, target, "can not contain backsteps ('..')"))
        else:
            targets.add(target)
        if name in mounts:
            errors.append(invalid(name_path, name, "must not already exist in volumeMounts"))
        if target in mounts.values():
            errors.append(invalid(target_path, target, "must not already exist as a path in volumeMounts"))
        if name:
            names.add(name)
    return errors
