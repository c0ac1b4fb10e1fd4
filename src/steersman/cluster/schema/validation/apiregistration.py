"""Validation of apiregistration.k8s.io: what rules.txt cannot say about API services."""

from __future__ import annotations

from base64 import b64decode

from steersman.objects.fields import FieldError, Path, invalid, quote
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_object_meta
from steersman.objects.names import is_port_number, name_is_path_segment

__all__ = [
    "validate_local_service",
    "validate_name",
    "validate_service_port",
]


def validate_name(obj: Object, path: Path) -> list[FieldError]:
    """The name says which version of which group is served."""
    spec = obj.get("spec") or {}
    wanted = f"{spec.get('version', '')}.{spec.get('group', '')}"

    def name_check(name: str, is_prefix: bool) -> list[str]:
        if name == wanted:
            return []
        problems = name_is_path_segment(name, False)
        return problems or [f'must be `spec.version+"."+spec.group`: {quote(wanted)}']

    return validate_object_meta(obj["metadata"], namespaced=False, name_check=name_check)


def validate_local_service(spec: Object, path: Path) -> list[FieldError]:
    """What an API that this server serves itself must not have."""
    if spec.get("service") is not None:
        return []
    errors = []
    if bundle := spec.get("caBundle"):
        shown = f"{len(b64decode(bundle))} bytes"
        errors.append(invalid(path.child("caBundle"), shown, "local APIServices may not have a caBundle"))
    if spec.get("insecureSkipTLSVerify"):
        text = "local APIServices may not have insecureSkipTLSVerify"
        errors.append(invalid(path.child("insecureSkipTLSVerify"), True, text))
    return errors


def validate_service_port(spec: Object, path: Path) -> list[FieldError]:
    service = spec.get("service")
    if service is None:
        return []
    port, errors = service.get("port", 0), []
    if wrong := is_port_number(port):
        errors.append(invalid(path.child("service", "port"), port, f"port is not valid: {', '.join(wrong)}"))
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        text = "may not be true if caBundle is present"
        errors.append(invalid(path.child("insecureSkipTLSVerify"), True, text))
    return errors
