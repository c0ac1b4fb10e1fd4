"""The AppArmor annotation that the `appArmorProfile` field replaced."""

from __future__ import annotations

from typing import Final

from steersman.objects.fields import Path
from steersman.objects.kinds import Object
from steersman.objects.pods import CONTAINER_FIELDS

__all__ = ["ANNOTATION", "deprecation", "profile_from_annotation", "profiles_from_annotations"]

ANNOTATION: Final = "container.apparmor.security.beta.kubernetes.io/"
_LOCALHOST: Final = "localhost/"
_MAX_PROFILE: Final = 4095


def deprecation(annotations: Path, key: str) -> str:
    return f'{annotations.key(key)}: deprecated since v1.30; use the "appArmorProfile" field instead'


def profile_from_annotation(value: str) -> Object | None:
    """The field that says the same, None where the annotation means nothing."""
    if value == "unconfined":
        return {"type": "Unconfined"}
    if value == "runtime/default":
        return {"type": "RuntimeDefault"}
    if value.startswith(_LOCALHOST) and value != _LOCALHOST:
        return {"type": "Localhost", "localhostProfile": value.removeprefix(_LOCALHOST)}
    return None


def _usable(profile: Object | None) -> bool:
    name = (profile or {}).get("localhostProfile", "x")
    return profile is not None and name == name.strip() != "" and len(name) <= _MAX_PROFILE


def profiles_from_annotations(pod: Object) -> list[str]:
    """Write annotated profiles into the containers' fields; returns a warning for each that needed it."""
    spec: Object = pod["spec"]
    annotations = pod["metadata"].get("annotations") or {}
    if (spec.get("os") or {}).get("name") == "windows" or not annotations:
        return []
    pod_profile = (spec.get("securityContext") or {}).get("appArmorProfile")
    warnings: list[str] = []
    for kind in CONTAINER_FIELDS:
        for container in spec.get(kind) or ():
            key = ANNOTATION + container.get("name", "")
            context = container.get("securityContext") or {}
            if key not in annotations or context.get("appArmorProfile") is not None:
                continue
            profile = profile_from_annotation(annotations[key])
            if profile is not None and _usable(profile):
                if profile == pod_profile:
                    continue
                container["securityContext"] = context | {"appArmorProfile": profile}
            warnings.append(deprecation(Path("metadata").child("annotations"), key))
    return warnings
