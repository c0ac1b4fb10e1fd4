"""Validation of the networking group: Ingress, IngressClass, NetworkPolicy, IPAddress and ServiceCIDR.

The package's `__init__` finds `RULES` here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from steersman.cluster.schema.validation import network_policies
from steersman.cluster.schema.validation.address_checks import cidr_family, validate_legacy_ip
from steersman.cluster.schema.validation.rules import Object, Revalidation, Rules, invalids
from steersman.objects.addresses import is_cidr, is_ip, is_legacy_ip
from steersman.objects.fields import (
    FieldError,
    Path,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from steersman.objects.metadata import validate_immutable
from steersman.objects.names import (
    is_dns1123_label,
    is_dns1123_subdomain,
    is_domain_prefixed_path,
    is_path_segment_name,
    is_port_name,
    is_port_number,
    is_wildcard_dns1123_subdomain,
)

__all__ = ["RULES"]

_SPEC: Final = Path("spec")
_INGRESS_CLASS: Final = "kubernetes.io/ingress.class"
_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_BANNED_IN_PATHS: Final = ("//", "/./", "/../", "%2f", "%2F")
_BANNED_PATH_ENDS: Final = ("/..", "/.")
_SCOPES: Final = ("Cluster", "Namespace")
_MAX_CONTROLLER_LENGTH: Final = 250
_NOT_AN_IP: Final = "must be a DNS name, not an IP address"
_IMMUTABLE: Final = "field is immutable"


# --- Ingress


def _create_ingress(ingress: Object) -> list[FieldError]:
    errors = _ingress_errors(ingress["spec"])
    annotation = (ingress["metadata"].get("annotations") or {}).get(_INGRESS_CLASS)
    name = ingress["spec"].get("ingressClassName")
    if annotation is not None and name is not None and annotation != name:
        path = Path("annotations").child(_INGRESS_CLASS)
        errors.append(invalid(path, annotation, "must match `ingressClassName` when both are specified"))
    return errors


def _update_ingress(new: Object, old: Object) -> list[FieldError]:
    # What older versions let in may stay: odd names of secrets, odd rules for wildcard hosts.
    spec = old["spec"]
    odd_secrets = any(_secret_name_messages(tls) for tls in spec.get("tls") or [])
    odd_wildcards = any(
        "*" in rule.get("host", "") and _http_errors(rule, Path()) for rule in spec.get("rules") or []
    )
    return _ingress_errors(new["spec"], odd_secrets, odd_wildcards)


def _ingress_errors(spec: Object, odd_secrets: bool = False, odd_wildcards: bool = False) -> list[FieldError]:
    errors = []
    backend, rules = spec.get("defaultBackend"), spec.get("rules")
    if not rules and backend is None:
        errors.append(invalid(_SPEC, rules, "either `defaultBackend` or `rules` must be specified"))
    if backend is not None:
        errors += _backend_errors(backend, _SPEC.child("defaultBackend"))
    for index, rule in enumerate(rules or []):
        path = _SPEC.child("rules").index(index)
        host = rule.get("host", "")
        if host:
            errors += _host_errors(host, path.child("host"))
        if not ("*" in host and odd_wildcards):
            errors += _http_errors(rule, path)
    for index, tls in enumerate(spec.get("tls") or []):
        path = _SPEC.child("tls").index(index)
        for number, host in enumerate(tls.get("hosts") or []):
            errors += invalids(path.child("hosts").index(number), host, _host_messages(host))
        if not odd_secrets:
            errors += invalids(path.child("secretName"), tls.get("secretName"), _secret_name_messages(tls))
    name = spec.get("ingressClassName")
    if name is not None:
        errors += invalids(_SPEC.child("ingressClassName"), name, is_dns1123_subdomain(name))
    return errors


def _host_messages(host: str) -> list[str]:
    return is_wildcard_dns1123_subdomain(host) if "*" in host else is_dns1123_subdomain(host)


def _host_errors(host: str, path: Path) -> list[FieldError]:
    errors = [] if is_legacy_ip(host, strict=False) else [invalid(path, host, _NOT_AN_IP)]
    return errors + invalids(path, host, _host_messages(host))


def _secret_name_messages(tls: Object) -> list[str]:
    name = tls.get("secretName", "")
    return is_dns1123_subdomain(name) if name else []


def _http_errors(rule: Object, path: Path) -> list[FieldError]:
    http = rule.get("http")
    if http is None:
        return []
    path = path.child("http", "paths")
    entries = http.get("paths")
    if not entries:
        return [required(path)]
    return [error for index, entry in enumerate(entries) for error in _path_errors(entry, path.index(index))]


def _path_errors(entry: Object, path: Path) -> list[FieldError]:
    kind = entry.get("pathType")
    if kind is None:
        return [required(path.child("pathType"), "pathType must be specified")]
    text = entry.get("path", "")
    errors = []
    if kind not in _PATH_TYPES:
        errors.append(not_supported(path.child("pathType"), kind, _PATH_TYPES))
    else:
        errors += invalids(path.child("path"), text, _path_messages(kind, text))
    return errors + _backend_errors(entry.get("backend") or {}, path.child("backend"))


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


def _backend_errors(backend: Object, path: Path) -> list[FieldError]:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        return [invalid(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        path = path.child("resource")
        return _group_errors(resource, path) + _segment_errors(resource, ("kind", "name"), path)
    if service is None:
        return [invalid(path, "", "resource or service backend is required")]
    name_path = path.child("service", "name")
    name = service.get("name", "")
    errors = invalids(name_path, name, is_dns1123_label(name)) if name else [required(name_path)]
    return errors + _backend_port_errors(service.get("port") or {}, path)


def _backend_port_errors(port: Object, path: Path) -> list[FieldError]:
    name, number = port.get("name", ""), port.get("number", 0)
    if name and number:
        return [invalid(path, "", "cannot set both port name & port number")]
    if name:
        return invalids(path.child("service", "port", "name"), name, is_port_name(name))
    if number:
        return invalids(path.child("service", "port", "number"), number, is_port_number(number))
    return [required(path, "port name or number is required")]


def _group_errors(reference: Object, path: Path, field: str = "apiGroup") -> list[FieldError]:
    group = reference.get(field)
    return [] if group is None else invalids(path.child(field), group, is_dns1123_subdomain(group))


def _segment_errors(
    reference: Object, fields: tuple[str, ...], path: Path, *, needed: bool = True
) -> list[FieldError]:
    """Fields that must be fit for a URL; empty ones are reported only if `needed`."""
    errors = []
    for field in fields:
        value = reference.get(field, "")
        if value:
            errors += invalids(path.child(field), value, is_path_segment_name(value))
        elif needed:
            errors.append(required(path.child(field)))
    return errors


def _ingress_status(new: Object, old: Object) -> list[FieldError]:
    entries, before = (_ingress_points(obj) for obj in (new, old))
    known = [entry.get("ip", "") for entry in before]
    errors = []
    for index, entry in enumerate(entries):
        path = Path("status").child("loadBalancer", "ingress").index(index)
        address, host = entry.get("ip", ""), entry.get("hostname", "")
        if address:
            errors += validate_legacy_ip(path.child("ip"), address, known)
        if host:
            errors += invalids(path.child("hostname"), host, is_dns1123_subdomain(host))
            if not is_legacy_ip(host, strict=False):
                errors.append(invalid(path.child("hostname"), host, _NOT_AN_IP))
    return errors


def _ingress_points(ingress: Object) -> list[Object]:
    balancer = (ingress.get("status") or {}).get("loadBalancer") or {}
    return balancer.get("ingress") or []


# --- IngressClass


def _create_ingress_class(ingress_class: Object) -> list[FieldError]:
    spec: Object = ingress_class["spec"]
    controller = spec.get("controller", "")
    path = _SPEC.child("controller")
    errors = []
    if len(controller) > _MAX_CONTROLLER_LENGTH:
        errors.append(too_long(path, _MAX_CONTROLLER_LENGTH))
    errors += _controller_errors(controller, path)
    parameters = spec.get("parameters")
    return errors if parameters is None else errors + _parameters_errors(parameters)


def _controller_errors(controller: str, path: Path) -> list[FieldError]:
    if not controller:
        return [required(path)]
    host, _, rest = controller.partition("/")
    if not host or not rest:
        return invalids(path, controller, is_domain_prefixed_path(controller))
    wrong_host = is_dns1123_subdomain(host)
    wrong_path = is_domain_prefixed_path(controller)[len(wrong_host) :]
    return invalids(path, host, wrong_host) + invalids(path, rest, wrong_path)


def _parameters_errors(parameters: Object) -> list[FieldError]:
    path = _SPEC.child("parameters")
    errors = _group_errors(parameters, path)
    errors += _segment_errors(parameters, ("kind", "name"), path, needed=False)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope is None:
        errors.append(required(path.child("scope")))
    elif scope not in _SCOPES:
        errors.append(not_supported(path.child("scope"), scope, _SCOPES))
    elif scope == "Cluster" and namespace is not None:
        errors.append(forbidden(path.child("namespace"), "`parameters.scope` is set to 'Cluster'"))
    elif scope == "Namespace" and namespace is None:
        errors.append(required(path.child("namespace"), "`parameters.scope` is set to 'Namespace'"))
    elif namespace is not None:
        errors += invalids(path.child("namespace"), namespace, is_dns1123_label(namespace))
    return errors


def _update_ingress_class(new: Object, old: Object) -> list[FieldError]:
    wanted, had = (obj["spec"].get("controller", "") for obj in (new, old))
    return validate_immutable(wanted, had, _SPEC.child("controller"))


def _late_ingress_class(new: Object, old: Object | None) -> list[FieldError]:
    parameters = new["spec"].get("parameters")
    if parameters is None:
        return []
    path = _SPEC.child("parameters")
    return [required(path.child(field)) for field in ("kind", "name") if not parameters.get(field)]


# --- IPAddress


def _ip_address_name(name: str, prefix: bool = False) -> list[str]:
    """The address itself; names of addresses are never generated."""
    return is_ip(name)


def _create_ip_address(address: Object) -> list[FieldError]:
    return _parent_errors(address["spec"].get("parentRef"), needed=False)


def _update_ip_address(new: Object, old: Object) -> list[FieldError]:
    return _parent_errors(new["spec"].get("parentRef"), needed=True)


def _parent_errors(parent: Object | None, *, needed: bool) -> list[FieldError]:
    if parent is None:
        return []
    path = _SPEC.child("parentRef")
    errors = _group_errors(parent, path, "group")
    errors += _segment_errors(parent, ("resource", "name"), path, needed=needed)
    return errors + _segment_errors(parent, ("namespace",), path, needed=False)


def _late_ip_address(new: Object, old: Object | None) -> list[FieldError]:
    parent = new["spec"].get("parentRef")
    path = _SPEC.child("parentRef")
    if old is not None:
        if parent == old["spec"].get("parentRef"):
            return []
        return ([required(path)] if parent is None else []) + [invalid(path, None, _IMMUTABLE)]
    if parent is None:
        return [required(path)]
    return [required(path.child(field)) for field in ("resource", "name") if not parent.get(field)]


# --- ServiceCIDR


def _create_service_cidr(service_cidr: Object) -> list[FieldError]:
    return _service_cidr_errors(service_cidr["spec"].get("cidrs") or [])


def _service_cidr_errors(blocks: list[str]) -> list[FieldError]:
    path = _SPEC.child("cidrs")
    if not blocks:
        return [required(path, "at least one CIDR required")]
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


def _update_service_cidr(new: Object, old: Object) -> list[FieldError]:
    """The blocks stay, but a second may be added to a first."""
    wanted: list[str] = new["spec"].get("cidrs") or []
    had: list[str] = old["spec"].get("cidrs") or []
    path = _SPEC.child("cidrs")
    grows = len(had) == 1 and len(wanted) == 2
    if len(wanted) != len(had) and not grows:
        return [invalid(path, new["spec"].get("cidrs"), _IMMUTABLE)]
    errors = [
        invalid(path.index(index), block, _IMMUTABLE)
        for index, (block, before) in enumerate(zip(wanted, had, strict=False))
        if block != before
    ]
    return errors + _service_cidr_errors(wanted) if grows else errors


_GROUP: Final = "networking.k8s.io"

RULES: Final = {
    (_GROUP, "Ingress"): Rules(create=_create_ingress, update=_update_ingress, status=_ingress_status),
    (_GROUP, "IngressClass"): Rules(
        create=_create_ingress_class,
        update=_update_ingress_class,
        late=_late_ingress_class,
        revalidation=Revalidation.AFTER,
    ),
    (_GROUP, "NetworkPolicy"): network_policies.NETWORK_POLICY,
    (_GROUP, "IPAddress"): Rules(
        name=_ip_address_name, create=_create_ip_address, update=_update_ip_address, late=_late_ip_address
    ),
    (_GROUP, "ServiceCIDR"): Rules(create=_create_service_cidr, update=_update_service_cidr),
}
