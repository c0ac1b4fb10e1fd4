"""Volumes filled from the API: secrets, config maps, downward API, and projections of several of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from steersman.cluster.schema.validation.compiled import compiled_check
from steersman.cluster.schema.validation.pods.environment import (
    VOLUME_FIELDS,
    validate_field_selector,
    validate_resource_field_selector,
)
from steersman.cluster.schema.validation.pods.internal import internal_form
from steersman.cluster.schema.validation.pods.paths import validate_unreserved_path
from steersman.cluster.schema.validation.rules import invalids
from steersman.cluster.schema.validation.signers import (
    is_kubernetes_signer,
    validate_signer_name,
    validate_trust_bundle_name,
)
from steersman.objects.fields import FieldError, Path, forbidden, invalid, not_supported, required, too_long
from steersman.objects.kinds import Object
from steersman.objects.metadata import TOTAL_ANNOTATION_SIZE_LIMIT, validate_label_selector
from steersman.objects.names import is_domain_prefixed_key, is_user_id

__all__ = [
    "validate_sources",
    "validate_unreserved_path",
    "validate_volume_field",
    "validate_volume_resource",
]

_validate_key_to_path = compiled_check("core.v1.KeyToPath")
_validate_downward_file = compiled_check("core.v1.DownwardAPIVolumeFile")
_validate_token = compiled_check("core.v1.ServiceAccountTokenProjection")
_DUPLICATE_PATH: Final = "conflicting duplicate paths"
_KEY_TYPES: Final = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_HOUR: Final = 3600
_DAY: Final = 24 * _HOUR


def validate_volume_field(selector: Object, path: Path) -> list[FieldError]:
    return validate_field_selector(selector, VOLUME_FIELDS, path)


def validate_volume_resource(selector: Object, path: Path) -> list[FieldError]:
    return validate_resource_field_selector(selector, path, in_volume=True)


def _validate_user(source: Object, field: str, path: Path) -> list[FieldError]:
    owner = source.get(field)
    return [] if owner is None else invalids(path.child(field), owner, is_user_id(owner))


def validate_sources(projection: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    taken: set[str] = set()
    for number, source in enumerate(projection.get("sources") or ()):
        here = path.child("sources").index(number)
        count = 0
        for key, check in _PROJECTIONS.items():
            if (part := source.get(key)) is not None:
                count += 1
                errors += check(part, taken, path, here.child(key))
        if count > 1:
            errors.append(forbidden(here, "may not specify more than 1 volume type per source"))
    return errors


def _claim(target: str, shown: str, taken: set[str], volume: Path) -> list[FieldError]:
    """Two sources of one projection cannot write the same file."""
    if target in taken:
        return [invalid(volume, shown, _DUPLICATE_PATH)]
    taken.add(target)
    return []


def _project_keys(part: Object, taken: set[str], volume: Path, path: Path) -> list[FieldError]:
    name = part.get("name", "")
    errors = [] if name else [required(path.child("name"))]
    for number, item in enumerate(part.get("items") or ()):
        errors += _validate_key_to_path(item, path.child("items").index(number))
        if target := item.get("path"):
            errors += _claim(target, name, taken, volume)
    return errors


def _project_downward_api(part: Object, taken: set[str], volume: Path, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for file in part.get("items") or ():
        errors += _validate_downward_file(file, path)
        if target := file.get("path"):
            errors += _claim(target, target, taken, volume)
    return errors


def _project_token(part: Object, taken: set[str], volume: Path, path: Path) -> list[FieldError]:
    errors = _validate_token(part, path)
    target = part.get("path", "")
    if target:
        errors += validate_unreserved_path(target, volume.child("path"))
    else:
        errors.append(required(volume.child("path")))
    return errors + _validate_user(part, "user", path)


def _project_trust_bundle(part: Object, taken: set[str], volume: Path, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    name, signer, selector = part.get("name"), part.get("signerName"), part.get("labelSelector")
    if name is not None and signer is not None:
        value = internal_form("ClusterTrustBundleProjection", part)
        errors.append(invalid(path, value, "only one of name and signerName may be used"))
    elif name is not None:
        if not name:
            errors.append(required(path.child("name"), "must be a valid object name"))
        texts = (f"not a valid clustertrustbundlename: {text}" for text in validate_trust_bundle_name(name))
        errors += invalids(path.child("name"), name, texts)
        if selector is not None:
            value = internal_form("LabelSelector", selector)
            text = "labelSelector must be unset if name is specified"
            errors.append(invalid(path.child("labelSelector"), value, text))
    elif signer is not None:
        if not signer:
            errors.append(required(path.child("signerName"), "must be a valid signer name"))
        errors += validate_signer_name(signer, path.child("signerName"))
        errors += validate_label_selector(selector, path.child("labelSelector"))
    else:
        errors.append(required(path, "either name or signerName must be specified"))
    target = part.get("path", "")
    if not target:
        errors.append(required(path.child("path")))
    errors += _validate_user(part, "user", path)
    errors += validate_unreserved_path(target, path.child("path"))
    return errors + _claim(target, target, taken, volume)


def _project_certificate(part: Object, taken: set[str], volume: Path, path: Path) -> list[FieldError]:
    signer = part.get("signerName", "")
    errors = validate_signer_name(signer, path.child("signerName"))
    annotations: dict[str, str] = part.get("userAnnotations") or {}
    here = path.child("userAnnotations")
    for key in annotations:
        errors += invalids(here, key.lower(), is_domain_prefixed_key(key.lower()))
    if sum(len(key) + len(value) for key, value in annotations.items()) > TOTAL_ANNOTATION_SIZE_LIMIT:
        errors.append(too_long(here, TOTAL_ANNOTATION_SIZE_LIMIT))
    errors += _validate_user(part, "user", path)
    key_type = part.get("keyType", "")
    if key_type not in _KEY_TYPES:
        errors.append(not_supported(path.child("keyType"), key_type, _KEY_TYPES))
    if (seconds := part.get("maxExpirationSeconds")) is not None:
        longest = _DAY if is_kubernetes_signer(signer) else 91 * _DAY
        here = path.child("maxExpirationSeconds")
        if seconds < _HOUR:
            errors.append(invalid(here, seconds, "if provided, maxExpirationSeconds must be >= 3600"))
        if seconds > longest:
            text = f"if provided, maxExpirationSeconds must be <= {longest}"
            errors.append(invalid(here, seconds, text))
    targets = [
        (field, part[field])
        for field in ("credentialBundlePath", "keyPath", "certificateChainPath")
        if part.get(field)
    ]
    for field, target in targets:
        errors += validate_unreserved_path(target, path.child(field))
        errors += _claim(target, target, taken, volume)
    if not targets:
        text = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"
        errors.append(required(path, text))
    return errors


_Projection = Callable[[dict[str, Any], set[str], Path, Path], list[FieldError]]

_PROJECTIONS: Final[dict[str, _Projection]] = {
    "secret": _project_keys,
    "configMap": _project_keys,
    "downwardAPI": _project_downward_api,
    "serviceAccountToken": _project_token,
    "clusterTrustBundle": _project_trust_bundle,
    "podCertificate": _project_certificate,
}
