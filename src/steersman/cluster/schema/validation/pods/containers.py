"""The lists of containers of a pod: regular, init (with sidecars) and ephemeral ones."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from steersman.cluster.schema.validation.compiled import compiled_check
from steersman.cluster.schema.validation.pods.environment import validate_env_from
from steersman.cluster.schema.validation.pods.mounts import (
    Volumes,
    validate_volume_devices,
    validate_volume_mounts,
)
from steersman.cluster.schema.validation.pods.probes import validate_lifecycle, validate_probes
from steersman.cluster.schema.validation.pods.resources import validate_container_resources
from steersman.objects.fields import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
    too_many,
)
from steersman.objects.kinds import Object

__all__ = [
    "PodContext",
    "validate_containers",
    "validate_devices",
    "validate_env_from",
    "validate_image_spacing",
    "validate_mounts",
    "validate_resize_policies",
    "validate_resources",
]

_validate_container = compiled_check("core.v1.Container")
_validate_restart_rule = compiled_check("core.v1.ContainerRestartRule")
_RESIZABLE: Final = ("cpu", "memory")
_RESIZE_POLICIES: Final = ("NotRequired", "RestartContainer")
_RESTART_POLICIES: Final = ("Always", "Never", "OnFailure")
_NOT_FOR_INIT: Final = "may not be set for init containers without restartPolicy=Always"
_NOT_FOR_EPHEMERAL: Final = "cannot be set for an Ephemeral Container"
#: In the order of the Go type.
_EPHEMERAL_BANS: Final = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)


@dataclass(frozen=True, slots=True)
class PodContext:
    """What a container's rules need to know of its pod."""

    volumes: Volumes
    claim_names: Collection[str]
    grace_period: int | None
    restart_policy: str
    system: Object | None
    host_users: bool


def validate_containers(spec: Object, around: PodContext, path: Path) -> list[FieldError]:
    """All containers of a pod, regular ones first."""
    regular = spec.get("containers")
    errors = _validate_regular(regular or [], around, path.child("containers"))
    init = spec.get("initContainers") or []
    names = {container.get("name", "") for container in regular or ()}
    if init:
        errors += _validate_init(init, set(names), around, path.child("initContainers"))
        names |= {container.get("name", "") for container in init}
    if ephemeral := spec.get("ephemeralContainers"):
        errors += _validate_ephemeral(ephemeral, names, around, path.child("ephemeralContainers"))
    return errors


def _validate_regular(containers: list[Object], around: PodContext, path: Path) -> list[FieldError]:
    if not containers:
        return [required(path)]
    errors: list[FieldError] = []
    names: set[str] = set()
    for number, container in enumerate(containers):
        here = path.index(number)
        errors += _validate_container(container, here, around)
        name = container.get("name", "")
        if name in names:
            errors.append(duplicate(here.child("name"), name))
        names.add(name)
        errors += _validate_hooks(container, around, here)
        errors += _validate_restart_policy(container, here)
    return errors + _validate_host_ports(containers, path)


def _validate_init(
    containers: list[Object], names: set[str], around: PodContext, path: Path
) -> list[FieldError]:
    errors: list[FieldError] = []
    for number, container in enumerate(containers):
        here = path.index(number)
        errors += _validate_container(container, here, around)
        # Without a policy the rules of an init container are not even looked at.
        errors += _validate_restart_policy(container, here)[: None if "restartPolicy" in container else 1]
        name = container.get("name", "")
        if name in names:
            errors.append(duplicate(here.child("name"), name))
        elif name:
            names.add(name)
        # Init containers run one by one, so ports only clash within one; Kubernetes counts it as the first.
        errors += _validate_host_ports([container], path)
        sidecar = container.get("restartPolicy") == "Always"
        if sidecar:
            errors += _validate_hooks(container, around, here)
            continue
        for field in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if container.get(field) is not None:
                errors.append(forbidden(here.child(field), _NOT_FOR_INIT))
        for index, policy in enumerate(container.get("resizePolicy") or ()):
            if policy.get("restartPolicy") == "RestartContainer":
                text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
                policy_path = here.child("resizePolicy").index(index).child("restartPolicy")
                errors.append(invalid(policy_path, "RestartContainer", text))
    return errors


def _validate_ephemeral(
    containers: list[Object], others: set[str], around: PodContext, path: Path
) -> list[FieldError]:
    errors: list[FieldError] = []
    names = set(others)
    for number, container in enumerate(containers):
        here = path.index(number)
        errors += _validate_container(container, here, around)
        errors += _validate_spacing(container.get("image", ""), here)
        name = container.get("name", "")
        if name in names:
            errors.append(duplicate(here.child("name"), name))
        names.add(name)
        target = container.get("targetContainerName")
        if target and target not in others:
            errors.append(not_found(here.child("targetContainerName"), target))
        errors += (
            forbidden(here.child(field), _NOT_FOR_EPHEMERAL)
            for field in _EPHEMERAL_BANS
            # All but the resources are pointers or lists, which are set even to something empty.
            if container.get(field) or (field != "resources" and container.get(field) is not None)
        )
        for index, mount in enumerate(container.get("volumeMounts") or ()):
            errors += (
                forbidden(here.child("volumeMounts").index(index).child(field), _NOT_FOR_EPHEMERAL)
                for field in ("subPath", "subPathExpr")
                if mount.get(field)
            )
    return errors


def validate_mounts(container: Object, path: Path, around: PodContext) -> list[FieldError]:
    return validate_volume_mounts(container, around.volumes, path.child("volumeMounts"))


def validate_devices(container: Object, path: Path, around: PodContext) -> list[FieldError]:
    return validate_volume_devices(container, around.volumes, path.child("volumeDevices"))


def validate_resources(resources: Object, path: Path, around: PodContext) -> list[FieldError]:
    return validate_container_resources(resources, around.claim_names, path)


def validate_image_spacing(containers: list[Object], path: Path) -> list[FieldError]:
    """Templates may hold a blank image that something fills in later; pods may not."""
    errors: list[FieldError] = []
    for number, container in enumerate(containers):
        image = container.get("image", "")
        if image != image.strip():
            errors += _validate_spacing(image, path.index(number))
    return errors


def _validate_spacing(image: str, path: Path) -> list[FieldError]:
    if image == image.strip():
        return []
    return [invalid(path.child("image"), image, "must not have leading or trailing whitespace")]


def _validate_hooks(container: Object, around: PodContext, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if (lifecycle := container.get("lifecycle")) is not None:
        here = path.child("lifecycle")
        errors += validate_lifecycle(lifecycle, around.grace_period, around.system, here)
    return errors + validate_probes(container, around.grace_period, path)


def _validate_host_ports(containers: list[Object], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    taken: set[str] = set()
    for number, container in enumerate(containers):
        for index, port in enumerate(container.get("ports") or ()):
            if outside := port.get("hostPort"):
                key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{outside}"
                if key in taken:
                    here = path.index(number).child("ports").index(index).child("hostPort")
                    errors.append(duplicate(here, key))
                taken.add(key)
    return errors


def validate_resize_policies(policies: list[Object], path: Path, around: PodContext) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for number, policy in enumerate(policies):
        resource, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if resource in seen:
            errors.append(duplicate(path.index(number), resource))
        seen.add(resource)
        for value, supported in ((resource, _RESIZABLE), (restart, _RESIZE_POLICIES)):
            if value not in supported:
                errors.append(not_supported(path, value, supported) if value else required(path))
        if around.restart_policy == "Never" and restart != "NotRequired":
            text = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            errors.append(invalid(path, restart, text))
    return errors


def _validate_restart_policy(container: Object, path: Path) -> list[FieldError]:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or []
    if policy is None and not rules:
        return []
    errors: list[FieldError] = []
    here = path.child("restartPolicy")
    if policy is None:
        errors.append(required(here, "must specify restartPolicy when restart rules are used"))
    elif policy not in _RESTART_POLICIES:
        errors.append(not_supported(here, policy, _RESTART_POLICIES))
    rules_path = path.child("restartPolicyRules")
    if len(rules) > 20:
        errors.append(too_many(rules_path, len(rules), 20))
    for number, rule in enumerate(rules):
        errors += _validate_restart_rule(rule, rules_path.index(number))
    return errors
