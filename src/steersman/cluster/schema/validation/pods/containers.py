"""The lists of containers of a pod: regular, init (with sidecars) and ephemeral ones."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from steersman.cluster.schema.validation.pods.environment import validate_env, validate_env_from
from steersman.cluster.schema.validation.pods.mounts import Volumes, validate_devices, validate_mounts
from steersman.cluster.schema.validation.pods.probes import validate_lifecycle, validate_probes
from steersman.cluster.schema.validation.pods.resources import validate_container_resources
from steersman.cluster.schema.validation.pods.security import validate_security_context
from steersman.cluster.schema.validation.pods.volumes import PULL_POLICIES, validate_pull_policy
from steersman.cluster.schema.validation.rules import Object, invalids
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
from steersman.objects.names import is_dns1123_label, is_port_name, is_port_number

__all__ = ["Surroundings", "validate_containers", "validate_image_spacing"]

_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
_RESIZABLE: Final = ("cpu", "memory")
_RESIZE_POLICIES: Final = ("NotRequired", "RestartContainer")
_RESTART_POLICIES: Final = ("Always", "Never", "OnFailure")
_RESTART_ACTIONS: Final = ("Restart", "RestartAllContainers")
_EXIT_OPERATORS: Final = ("In", "NotIn")
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
class Surroundings:
    """What a container's rules need to know of its pod."""

    volumes: Volumes
    claim_names: Collection[str]
    grace_period: int | None
    restart_policy: str
    system: Object | None
    host_users: bool


def validate_containers(spec: Object, around: Surroundings, path: Path) -> list[FieldError]:
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


def _validate_regular(containers: list[Object], around: Surroundings, path: Path) -> list[FieldError]:
    if not containers:
        return [required(path)]
    errors: list[FieldError] = []
    names: set[str] = set()
    for number, container in enumerate(containers):
        here = path.index(number)
        errors += _validate_common(container, around, here)
        name = container.get("name", "")
        if name in names:
            errors.append(duplicate(here.child("name"), name))
        names.add(name)
        errors += _validate_hooks(container, around, here)
        errors += _validate_restart_policy(container, here)
    return errors + _validate_host_ports(containers, path)


def _validate_init(
    containers: list[Object], names: set[str], around: Surroundings, path: Path
) -> list[FieldError]:
    errors: list[FieldError] = []
    for number, container in enumerate(containers):
        here = path.index(number)
        errors += _validate_common(container, around, here)
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
    containers: list[Object], others: set[str], around: Surroundings, path: Path
) -> list[FieldError]:
    errors: list[FieldError] = []
    names = set(others)
    for number, container in enumerate(containers):
        here = path.index(number)
        errors += _validate_common(container, around, here)
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


def _validate_common(container: Object, around: Surroundings, path: Path) -> list[FieldError]:
    """What holds for containers of every list."""
    errors: list[FieldError] = []
    name = container.get("name")
    if not name:
        errors.append(required(path.child("name")))
    elif wrong := is_dns1123_label(name):
        errors += invalids(path.child("name"), name, wrong)
    if not container.get("image"):
        errors.append(required(path.child("image")))
    policy = container.get("terminationMessagePolicy")
    if policy not in _MESSAGE_POLICIES:
        here = path.child("terminationMessagePolicy")
        errors.append(not_supported(here, policy, _MESSAGE_POLICIES) if policy else required(here))
    if ports := container.get("ports"):
        errors += _validate_ports(ports, path.child("ports"))
    if variables := container.get("env"):
        errors += validate_env(variables, path.child("env"))
    if sources := container.get("envFrom"):
        errors += validate_env_from(sources, path.child("envFrom"))
    if container.get("volumeMounts"):
        errors += validate_mounts(container, around.volumes, path.child("volumeMounts"))
    if container.get("volumeDevices"):
        errors += validate_devices(container, around.volumes, path.child("volumeDevices"))
    pull = container.get("imagePullPolicy")
    if pull not in PULL_POLICIES:
        errors += validate_pull_policy(pull, path.child("imagePullPolicy"))
    if resources := container.get("resources"):
        errors += validate_container_resources(resources, around.claim_names, path.child("resources"))
    if policies := container.get("resizePolicy"):
        errors += _validate_resize_policies(policies, around.restart_policy, path.child("resizePolicy"))
    if context := container.get("securityContext"):
        here = path.child("securityContext")
        errors += validate_security_context(context, here, host_users=around.host_users)
    return errors


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


def _validate_hooks(container: Object, around: Surroundings, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if (lifecycle := container.get("lifecycle")) is not None:
        here = path.child("lifecycle")
        errors += validate_lifecycle(lifecycle, around.grace_period, around.system, here)
    return errors + validate_probes(container, around.grace_period, path)


def _validate_ports(ports: list[Object], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for number, port in enumerate(ports):
        here = path.index(number)
        if name := port.get("name"):
            if wrong := is_port_name(name):
                errors += invalids(here.child("name"), name, wrong)
            elif name in names:
                errors.append(duplicate(here.child("name"), name))
            else:
                names.add(name)
        if not (inside := port.get("containerPort")):
            errors.append(required(here.child("containerPort")))
        else:
            errors += invalids(here.child("containerPort"), inside, is_port_number(inside))
        if outside := port.get("hostPort"):
            errors += invalids(here.child("hostPort"), outside, is_port_number(outside))
        protocol = port.get("protocol")
        if protocol not in _PROTOCOLS:
            where = here.child("protocol")
            errors.append(not_supported(where, protocol, _PROTOCOLS) if protocol else required(where))
    return errors


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


def _validate_resize_policies(policies: list[Object], restart_policy: str, path: Path) -> list[FieldError]:
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
        if restart_policy == "Never" and restart != "NotRequired":
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


def _validate_restart_rule(rule: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    action, codes = rule.get("action", ""), rule.get("exitCodes")
    if action not in _RESTART_ACTIONS:
        errors.append(not_supported(path.child("action"), action, _RESTART_ACTIONS))
    if codes is None:
        errors.append(required(path.child("exitCodes"), "must be specified"))
        return errors
    here = path.child("exitCodes")
    operator, values = codes.get("operator", ""), codes.get("values") or []
    if operator not in _EXIT_OPERATORS:
        errors.append(not_supported(here.child("operator"), operator, _EXIT_OPERATORS))
    if len(values) > 255:
        errors.append(too_many(here.child("values"), len(values), 255))
    return errors
