"""What a pod may ask for on each operating system, and in the host's namespaces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from steersman.objects.fields import FieldError, Path, forbidden, invalid, not_supported, required
from steersman.objects.kinds import Object
from steersman.objects.pods import CONTAINER_FIELDS

__all__ = ["all_containers", "validate_host_process", "validate_host_users", "validate_os"]

_SYSTEMS: Final = ("linux", "windows")
_NOT_ON_WINDOWS: Final = "cannot be set for a windows pod"
_POD_CONTEXT_LINUX: Final = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
)
_POD_LINUX: Final = ("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace")
_CONTEXT_LINUX: Final = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def all_containers(spec: Object, path: Path) -> Iterator[tuple[Object, Path]]:
    """Every container with where it stands."""
    for kind in CONTAINER_FIELDS:
        if containers := spec.get(kind):
            here = path.child(kind)
            for number, container in enumerate(containers):
                yield container, here.index(number)


def validate_os(spec: Object, path: Path) -> list[FieldError]:
    name = spec["os"].get("name")
    if not name:
        return [required(path.child("os", "name"))]
    if name not in _SYSTEMS:
        return [not_supported(path.child("os"), name, _SYSTEMS)]
    return _validate_linux(spec, path) if name == "linux" else _validate_windows(spec, path)


def _validate_linux(spec: Object, path: Path) -> list[FieldError]:
    contexts = [(spec, path), *all_containers(spec, path)]
    return [
        forbidden(
            here.child("securityContext", "windowsOptions"), "windows options cannot be set for a linux pod"
        )
        for holder, here in contexts
        if (holder.get("securityContext") or {}).get("windowsOptions") is not None
    ]


def _validate_windows(spec: Object, path: Path) -> list[FieldError]:
    errors = _forbid(spec.get("securityContext"), _POD_CONTEXT_LINUX, path.child("securityContext"))
    errors += _forbid(spec, _POD_LINUX, path)
    for container, here in all_containers(spec, path):
        errors += _forbid(container.get("securityContext"), _CONTEXT_LINUX, here.child("securityContext"))
    return errors


def _forbid(holder: Object | None, fields: tuple[str, ...], path: Path) -> list[FieldError]:
    if not holder:
        return []
    return [
        forbidden(path.child(field), _NOT_ON_WINDOWS) for field in fields if holder.get(field) is not None
    ]


def validate_host_process(spec: Object, path: Path) -> list[FieldError]:
    """On Windows either all containers are host processes or none."""
    pod_wide = _host_process(spec)
    errors: list[FieldError] = []
    states: list[bool] = []
    for container, here in all_containers(spec, path):
        own = _host_process(container)
        if pod_wide is not None and own is not None and pod_wide != own:
            shown = "true" if pod_wide else "false"
            text = f"pod hostProcess value must be identical if both are specified, was {shown}"
            errors.append(invalid(here.child("securityContext", "windowsOptions", "hostProcess"), own, text))
        states.append(bool(pod_wide if own is None else own))
    if not any(states):
        return errors
    if not all(states):
        text = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        errors.append(invalid(path, "", text))
    if not spec.get("hostNetwork"):
        text = "hostNetwork must be true if pod contains any hostProcess containers"
        errors.append(invalid(path.child("hostNetwork"), False, text))
    return errors


def _host_process(holder: Object) -> bool | None:
    context = holder.get("securityContext")
    options = context.get("windowsOptions") if context else None
    return options.get("hostProcess") if options else None


def validate_host_users(spec: Object, path: Path) -> list[FieldError]:
    """A pod with users of its own shares no other namespace with the host."""
    if spec.get("hostUsers", True):
        return []
    text = "when `hostUsers` is false"
    shared = (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC"))
    errors = [forbidden(path.child(shown), text) for field, shown in shared if spec.get(field)]
    for container, here in all_containers(spec, path):
        if container.get("volumeDevices"):
            errors.append(forbidden(here.child("volumeDevices"), text))
    return errors
