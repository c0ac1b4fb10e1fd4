"""Validation of apiregistration.k8s.io: API services."""

from __future__ import annotations

from base64 import b64decode
from typing import Final

from steersman.cluster.schema.validation.rules import Object, Revalidation, Rules, invalids
from steersman.objects.fields import FieldError, Path, invalid, not_supported, quote, required
from steersman.objects.metadata import validate_object_meta
from steersman.objects.names import (
    is_dns1035_label,
    is_dns1123_subdomain,
    is_port_number,
    name_is_path_segment,
)

__all__ = ["RULES"]

_SPEC: Final = Path("spec")
_STATUSES: Final = ("True", "False", "Unknown")


def _api_service(obj: Object) -> list[FieldError]:
    spec = obj.get("spec") or {}
    group, version = spec.get("group", ""), spec.get("version", "")
    errors = _metadata_errors(obj, f"{version}.{group}")
    if not group and version != "v1":
        text = "only v1 may have an empty group and it better be legacy kube"
        errors.append(required(_SPEC.child("group"), text))
    if group:
        errors += invalids(_SPEC.child("group"), group, is_dns1123_subdomain(group))
    errors += invalids(_SPEC.child("version"), version, is_dns1035_label(version))
    for field, limit in (("groupPriorityMinimum", 20000), ("versionPriority", 1000)):
        priority = spec.get(field, 0)
        if not 0 < priority <= limit:
            errors.append(invalid(_SPEC.child(field), priority, f"must be positive and less than {limit}"))
    return errors + _backend(spec)


def _metadata_errors(obj: Object, wanted: str) -> list[FieldError]:
    """The name says which version of which group is served."""

    def name_check(name: str, is_prefix: bool) -> list[str]:
        if name == wanted:
            return []
        problems = name_is_path_segment(name, False)
        return problems or [f'must be `spec.version+"."+spec.group`: {quote(wanted)}']

    return validate_object_meta(obj["metadata"], namespaced=False, name_check=name_check)


def _backend(spec: Object) -> list[FieldError]:
    service, bundle = spec.get("service"), spec.get("caBundle")
    insecure = bool(spec.get("insecureSkipTLSVerify"))
    errors = []
    if service is None:
        if bundle:
            shown = f"{len(b64decode(bundle))} bytes"
            text = "local APIServices may not have a caBundle"
            errors.append(invalid(_SPEC.child("caBundle"), shown, text))
        if insecure:
            text = "local APIServices may not have insecureSkipTLSVerify"
            errors.append(invalid(_SPEC.child("insecureSkipTLSVerify"), insecure, text))
        return errors
    errors += [
        required(_SPEC.child("service", field)) for field in ("namespace", "name") if not service.get(field)
    ]
    port = service.get("port", 0)
    if wrong := is_port_number(port):
        errors.append(invalid(_SPEC.child("service", "port"), port, f"port is not valid: {', '.join(wrong)}"))
    if insecure and bundle:
        text = "may not be true if caBundle is present"
        errors.append(invalid(_SPEC.child("insecureSkipTLSVerify"), insecure, text))
    return errors


def _api_service_status(obj: Object, old: Object) -> list[FieldError]:
    path = Path("status").child("conditions")
    return [
        not_supported(path.index(number).child("status"), condition.get("status", ""), _STATUSES)
        for number, condition in enumerate((obj.get("status") or {}).get("conditions") or ())
        if condition.get("status") not in _STATUSES
    ]


RULES: Final = {
    ("apiregistration.k8s.io", "APIService"): Rules(
        create=_api_service,
        status=_api_service_status,
        revalidation=Revalidation.AFTER,
        standard_finalizers=False,
        own_metadata=True,
    ),
}
