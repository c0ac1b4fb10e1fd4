"""Annotations of pods that Kubernetes gives a meaning: mirror pods, seccomp, AppArmor, deletion cost."""

from __future__ import annotations

import re
from typing import Any, Final

from steersman.cluster.schema.validation.go_json import decoded
from steersman.cluster.schema.validation.pods.affinity import validate_tolerations
from steersman.cluster.schema.validation.pods.operating_system import all_containers
from steersman.cluster.schema.validation.pods.paths import validate_descending_path
from steersman.objects.fields import FieldError, Path, forbidden, invalid, quote
from steersman.objects.kinds import Object
from steersman.objects.pods import MIRROR_ANNOTATION

__all__ = [
    "validate_annotation_update",
    "validate_pod_annotations",
    "validate_profiles_match",
]

_TOLERATIONS: Final = "scheduler.alpha.kubernetes.io/tolerations"
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_LOCALHOST: Final = "localhost/"
_SECCOMP_PROFILES: Final = ("runtime/default", "docker/default", "unconfined")
_is_integer = re.compile("-[0-9]+|0|[1-9][0-9]*").fullmatch


def validate_pod_annotations(annotations: dict[str, str], spec: Object, path: Path) -> list[FieldError]:
    """`annotations` of a pod or of a template, together with the spec beside them."""
    if not annotations:
        return []
    errors: list[FieldError] = []
    if MIRROR_ANNOTATION in annotations and not spec.get("nodeName"):
        text = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(invalid(path.key(MIRROR_ANNOTATION), annotations[MIRROR_ANNOTATION], text))
    if annotations.get(_TOLERATIONS):
        errors += _validate_tolerations(annotations[_TOLERATIONS], path)
    cost = annotations.get(_DELETION_COST)
    if cost is not None and not (_is_integer(cost) and -(2**31) <= int(cost) < 2**31):
        errors.append(invalid(path.key(_DELETION_COST), cost, "must be a 32bit integer"))
    if _SECCOMP_POD in annotations:
        errors += _validate_seccomp(annotations[_SECCOMP_POD], path.child(_SECCOMP_POD))
    for key, profile in annotations.items():
        if key.startswith(_SECCOMP_CONTAINER):
            errors += _validate_seccomp(profile, path.child(key))
    for key, profile in annotations.items():
        if key.startswith(_APP_ARMOR):
            errors += _validate_app_armor(key, profile, spec, path)
    return errors


def _validate_tolerations(text: str, path: Path) -> list[FieldError]:
    tolerations, problem = decoded(text, _are_tolerations)
    if problem:
        return [invalid(path, _TOLERATIONS, problem)]
    return validate_tolerations(tolerations or [], path.child(_TOLERATIONS))


def _are_tolerations(value: Any) -> bool:
    fields = ("key", "operator", "value", "effect")
    return isinstance(value, list) and all(
        isinstance(each, dict) and all(isinstance(each.get(field, ""), str) for field in fields)
        for each in value
    )


def _validate_seccomp(profile: str, path: Path) -> list[FieldError]:
    if profile in _SECCOMP_PROFILES:
        return []
    if profile.startswith(_LOCALHOST):
        return validate_descending_path(profile.removeprefix(_LOCALHOST), path)
    return [invalid(path, profile, "must be a valid seccomp profile")]


def _validate_app_armor(key: str, profile: str, spec: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    name = key.removeprefix(_APP_ARMOR)
    if all(container.get("name", "") != name for container, _ in all_containers(spec, path)):
        errors.append(invalid(path.key(key), name, "container not found"))
    if profile not in ("", "runtime/default", "unconfined") and not profile.startswith(_LOCALHOST):
        errors.append(invalid(path.key(key), profile, f"invalid AppArmor profile name: {quote(profile)}"))
    return errors


def validate_annotation_update(new: Object, old: Object, path: Path) -> list[FieldError]:
    """Annotations of a pod that is replaced; some can never change."""
    changed = new["metadata"].get("annotations") or {}
    before = old["metadata"].get("annotations") or {}
    errors: list[FieldError] = []
    if changed != before:
        for key, value in before.items():
            if changed.get(key) != value:
                errors += _forbid_change(key, "remove or update", path)
        for key in changed:
            if key not in before:
                errors += _forbid_change(key, "add", path)
    return errors + validate_pod_annotations(changed, new["spec"], path)


def _forbid_change(key: str, verb: str, path: Path) -> list[FieldError]:
    if key.startswith(_APP_ARMOR):
        return [forbidden(path.key(key), f"may not {verb} AppArmor annotations")]
    if key == MIRROR_ANNOTATION:
        return [forbidden(path.key(key), f"may not {verb} mirror pod annotation")]
    return []


def validate_profiles_match(annotations: dict[str, str], spec: Object, path: Path) -> list[FieldError]:
    """Where a profile is given by annotation and by field, both say the same."""
    if not annotations:
        return []
    errors: list[FieldError] = []
    context: Object = spec.get("securityContext") or {}
    pod_seccomp = context.get("seccompProfile")
    if pod_seccomp is not None and _SECCOMP_POD in annotations:
        here = path.child("securityContext", "seccompProfile")
        errors += _match(annotations[_SECCOMP_POD], pod_seccomp, "seccomp", here)
    containers = list(all_containers(spec, path))
    for container, here in containers:
        profile = (container.get("securityContext") or {}).get("seccompProfile")
        value = annotations.get(_SECCOMP_CONTAINER + container.get("name", ""))
        if profile is not None and value is not None:
            errors += _match(value, profile, "seccomp", here.child("securityContext", "seccompProfile"))
    if (spec.get("os") or {}).get("name") == "windows":
        return errors
    for container, here in containers:
        own = (container.get("securityContext") or {}).get("appArmorProfile")
        profile = own if own is not None else context.get("appArmorProfile")
        value = annotations.get(_APP_ARMOR + container.get("name", ""))
        if profile is not None and value is not None:
            errors += _match(value, profile, "apparmor", here.child("securityContext", "appArmorProfile"))
    return errors


def _match(annotation: str, profile: Object, system: str, path: Path) -> list[FieldError]:
    kind = profile.get("type")
    default = ("runtime/default", "docker/default") if system == "seccomp" else ("runtime/default",)
    accepted = {"Unconfined": ("unconfined",), "RuntimeDefault": default}.get(kind or "")
    different = forbidden(path.child("type"), f"{system} type in annotation and field must match")
    if accepted is not None:
        return [] if annotation in accepted else [different]
    if kind != "Localhost":
        return []
    if not annotation.startswith(_LOCALHOST):
        return [different]
    if annotation.removeprefix(_LOCALHOST) != profile.get("localhostProfile"):
        text = f"{system} profile in annotation and field must match"
        return [forbidden(path.child("localhostProfile"), text)]
    return []
