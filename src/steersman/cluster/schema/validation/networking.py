"""Validation of the networking group but NetworkPolicies: what rules.txt cannot say about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from steersman.cluster.schema.validation.address_checks import cidr_family, validate_legacy_ip
from steersman.cluster.schema.validation.compiled import compiled_check
from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.addresses import is_cidr, is_ip, is_legacy_ip
from steersman.objects.fields import FieldError, Path, invalid, required
from steersman.objects.kinds import Object
from steersman.objects.names import (
    is_dns1123_subdomain,
    is_domain_prefixed_path,
    is_wildcard_dns1123_subdomain,
)

__all__ = [
    "ip_address_name",
    "tolerance_of",
    "validate_balancer_status",
    "validate_block_changes",
    "validate_blocks",
    "validate_class_annotation",
    "validate_controller",
    "validate_host",
    "validate_http",
    "validate_path",
    "validate_secret_name",
    "validate_tls_host",
]

_INGRESS_CLASS: Final = "kubernetes.io/ingress.class"
_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_BANNED_IN_PATHS: Final = ("//", "/./", "/../", "%2f", "%2F")
_BANNED_PATH_ENDS: Final = ("/..", "/.")
_NOT_AN_IP: Final = "must be a DNS name, not an IP address"
_IMMUTABLE: Final = "field is immutable"
_validate_paths = compiled_check("networking.v1.IngressRule http")


# --- Ingress


@dataclass(frozen=True, slots=True)
class _Tolerance:
    """What the Ingress being replaced held already and may therefore stay, wrong as it is."""

    odd_secrets: bool = False
    odd_wildcards: bool = False


def tolerance_of(new: Object, old: Object | None) -> _Tolerance:
    """Older versions let in odd names of secrets and odd rules for wildcard hosts."""
    if old is None:
        return _Tolerance()
    spec = old["spec"]
    return _Tolerance(
        any(_secret_name_messages(tls) for tls in spec.get("tls") or []),
        any(
            "*" in rule.get("host", "") and _validate_paths(rule, Path()) for rule in spec.get("rules") or []
        ),
    )


def validate_class_annotation(ingress: Object, path: Path) -> list[FieldError]:
    annotation = (ingress["metadata"].get("annotations") or {}).get(_INGRESS_CLASS)
    name = ingress["spec"].get("ingressClassName")
    if annotation is None or name is None or annotation == name:
        return []
    here = path.child("annotations", _INGRESS_CLASS)
    return [invalid(here, annotation, "must match `ingressClassName` when both are specified")]


def validate_host(host: str, path: Path) -> list[FieldError]:
    errors = [] if is_legacy_ip(host, strict=False) else [invalid(path, host, _NOT_AN_IP)]
    return errors + validate_tls_host(host, path)


def validate_tls_host(host: str, path: Path) -> list[FieldError]:
    wrong = is_wildcard_dns1123_subdomain(host) if "*" in host else is_dns1123_subdomain(host)
    return invalids(path, host, wrong)


def validate_secret_name(tls: Object, path: Path, tolerance: _Tolerance) -> list[FieldError]:
    if tolerance.odd_secrets:
        return []
    return invalids(path.child("secretName"), tls.get("secretName"), _secret_name_messages(tls))


def _secret_name_messages(tls: Object) -> list[str]:
    name = tls.get("secretName", "")
    return is_dns1123_subdomain(name) if name else []


def validate_http(rule: Object, path: Path, tolerance: _Tolerance) -> list[FieldError]:
    if "*" in rule.get("host", "") and tolerance.odd_wildcards:
        return []
    return _validate_paths(rule, path, tolerance)


def validate_path(entry: Object, path: Path) -> list[FieldError]:
    kind, text = entry.get("pathType", ""), entry.get("path", "")
    if kind not in _PATH_TYPES:
        return []
    return invalids(path.child("path"), text, _path_messages(kind, text))


def _path_messages(kind: str, text: str) -> Iterator[str]:
    free = kind == "ImplementationSpecific"
    if not text.startswith("/") and (text or not free):
        yield "must be an absolute path"
    if free:
        return
    for banned in _BANNED_IN_PATHS:
        if banned in text:
            yield f"must not contain '{banned}'"
    for banned in _BANNED_PATH_ENDS:
        if text.endswith(banned):
            yield f"cannot end with '{banned}'"


def validate_balancer_status(new: Object, path: Path, old: Object) -> list[FieldError]:
    entries, before = (_ingress_points(obj) for obj in (new, old))
    known = [entry.get("ip", "") for entry in before]
    errors = []
    for index, entry in enumerate(entries):
        here = path.child("status", "loadBalancer", "ingress").index(index)
        address, host = entry.get("ip", ""), entry.get("hostname", "")
        if address:
            errors += validate_legacy_ip(here.child("ip"), address, known)
        if host:
            errors += invalids(here.child("hostname"), host, is_dns1123_subdomain(host))
            if not is_legacy_ip(host, strict=False):
                errors.append(invalid(here.child("hostname"), host, _NOT_AN_IP))
    return errors


def _ingress_points(ingress: Object) -> list[Object]:
    balancer = (ingress.get("status") or {}).get("loadBalancer") or {}
    return balancer.get("ingress") or []


# --- IngressClass


def validate_controller(controller: str, path: Path) -> list[FieldError]:
    if not controller:
        return [required(path)]
    host, _, rest = controller.partition("/")
    if not host or not rest:
        return invalids(path, controller, is_domain_prefixed_path(controller))
    wrong_host = is_dns1123_subdomain(host)
    wrong_path = is_domain_prefixed_path(controller)[len(wrong_host) :]
    return invalids(path, host, wrong_host) + invalids(path, rest, wrong_path)


# --- IPAddress


def ip_address_name(name: str, prefix: bool = False) -> list[str]:
    """The address itself; names of addresses are never generated."""
    return is_ip(name)


# --- ServiceCIDR


def validate_blocks(blocks: list[str], path: Path) -> list[FieldError]:
    if len(blocks) > 2:
        return [invalid(path, {"CIDRs": blocks}, "may only hold up to 2 values")]
    errors = []
    for index, block in enumerate(blocks):
        errors += invalids(path.index(index), block, is_cidr(block))
    families = [cidr_family(block) for block in blocks]
    if len(blocks) == 2 and families[0] and families[0] == families[1]:
        detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        errors.append(invalid(path, blocks, detail))
    return errors


def validate_block_changes(new: Object, path: Path, old: Object) -> list[FieldError]:
    """The blocks stay, but a second may be added to a first."""
    wanted: list[str] = new["spec"].get("cidrs") or []
    had: list[str] = old["spec"].get("cidrs") or []
    path = path.child("spec", "cidrs")
    grows = len(had) == 1 and len(wanted) == 2
    if len(wanted) != len(had) and not grows:
        return [invalid(path, new["spec"].get("cidrs"), _IMMUTABLE)]
    errors = [
        invalid(path.index(index), block, _IMMUTABLE)
        for index, (block, before) in enumerate(zip(wanted, had, strict=False))
        if block != before
    ]
    return errors + validate_blocks(wanted, path) if grows else errors
