"""Validation of ConfigMaps, Secrets and Namespaces: what rules.txt cannot say about them.

Secrets arrive with `stringData` already merged into `data`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from steersman.cluster.schema.validation.go_json import json_object_error
from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.fields import FieldError, Path, forbidden, invalid, required, too_long
from steersman.objects.kinds import Object
from steersman.objects.names import is_config_map_key, is_label_key

__all__ = [
    "validate_config_map",
    "validate_finalizer",
    "validate_frozen_config_map",
    "validate_frozen_secret",
    "validate_phase",
    "validate_secret",
]

_MAX_DATA_SIZE: Final = 1024 * 1024
_FROZEN: Final = "field is immutable when `immutable` is set"
_DATA: Final = Path("data")
_BINARY_DATA: Final = Path("binaryData")
#: How Kubernetes prints the path of the object as a whole.
_WHOLE_OBJECT: Final = Path().key("")


def _text_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _decoded_size(base64: str | None) -> int:
    """Of a value of `data`; a null stands for no bytes."""
    return len(base64) * 3 // 4 - base64[-2:].count("=") if base64 else 0


# --- ConfigMap


def validate_config_map(config: Object, path: Path) -> list[FieldError]:
    text: Mapping[str, str] = config.get("data") or {}
    binary: Mapping[str, str | None] = config.get("binaryData") or {}
    errors = []
    for key in sorted(text):
        if problems := is_config_map_key(key):
            errors += invalids(_DATA.key(key), key, problems)
        if key in binary:
            errors.append(invalid(_DATA.key(key), key, "duplicate of key present in binaryData"))
    for key in sorted(binary):
        if problems := is_config_map_key(key):
            errors += invalids(_BINARY_DATA.key(key), key, problems)
    size = sum(map(_text_size, text.values())) + sum(map(_decoded_size, binary.values()))
    if size > _MAX_DATA_SIZE:
        errors.append(too_long(_WHOLE_OBJECT, _MAX_DATA_SIZE))
    return errors


def validate_frozen_config_map(new: Object, path: Path, old: Object) -> list[FieldError]:
    return _frozen_errors(new, old, ("data", "binaryData"))


def _frozen_errors(new: Object, old: Object, fields: tuple[str, ...]) -> list[FieldError]:
    """Once `immutable` is true it stays so, and so do these fields."""
    if not old.get("immutable"):
        return []
    errors = [] if new.get("immutable") else [forbidden(Path("immutable"), _FROZEN)]
    changed = (field for field in fields if (new.get(field) or None) != (old.get(field) or None))
    return errors + [forbidden(Path(field), _FROZEN) for field in changed]


# --- Secret


def validate_secret(secret: Object, path: Path) -> list[FieldError]:
    data: Mapping[str, str | None] = secret.get("data") or {}
    errors = []
    if sum(map(_decoded_size, data.values())) > _MAX_DATA_SIZE:
        errors.append(too_long(_DATA, _MAX_DATA_SIZE))
    return errors + _secret_type_errors(secret, data)


def _secret_type_errors(secret: Object, data: Mapping[str, str | None]) -> list[FieldError]:
    """What the well-known types demand."""
    kind = secret.get("type", "")
    if kind == "kubernetes.io/service-account-token":
        key = "kubernetes.io/service-account.name"
        annotations = secret["metadata"].get("annotations") or {}
        return [] if annotations.get(key) else [required(Path("metadata").child("annotations").key(key))]
    if kind in _DOCKER_KEYS:
        key = _DOCKER_KEYS[kind]
        if key not in data:
            return [required(_DATA.key(key))]
        error = json_object_error(data[key] or "")
        return [invalid(_DATA.key(key), "<secret contents redacted>", error)] if error else []
    if kind == "kubernetes.io/basic-auth":
        keys = ("username", "password")
        return [] if any(key in data for key in keys) else [required(_DATA.key(key)) for key in keys]
    if kind == "kubernetes.io/ssh-auth":
        key = "ssh-privatekey"
        return [] if data.get(key) else [required(_DATA.key(key))]
    if kind == "kubernetes.io/tls":
        return [required(_DATA.key(key)) for key in ("tls.crt", "tls.key") if key not in data]
    return []


_DOCKER_KEYS: Final = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}


def validate_frozen_secret(new: Object, path: Path, old: Object) -> list[FieldError]:
    return _frozen_errors(new, old, ("data",))


# --- Namespace


def validate_finalizer(name: str, path: Path) -> list[FieldError]:
    errors = invalids(path, name, is_label_key(name))
    if "/" not in name and name not in ("kubernetes", "orphan", "foregroundDeletion"):
        detail = "name is neither a standard finalizer name nor is it fully qualified"
        errors.append(invalid(path, name, detail))
    return errors


def validate_phase(namespace: Object, path: Path) -> list[FieldError]:
    phase = (namespace.get("status") or {}).get("phase", "")
    deleted = bool(namespace["metadata"].get("deletionTimestamp"))
    expected = "Terminating" if deleted else "Active"
    if phase == expected:
        return []
    detail = f"may only be '{expected}' if `deletionTimestamp` is {'not ' if deleted else ''}empty"
    return [invalid(path.child("status", "Phase"), phase, detail)]
