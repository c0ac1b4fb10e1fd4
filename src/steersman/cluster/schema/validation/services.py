"""Validation of Services: what rules.txt cannot say about addresses, families and what may change when.

The allocator of service addresses also calls
`validate_cluster_ips`, since wrong addresses must be refused before any is taken from a range. Nothing here
allocates or fills in fields: objects arrive defaulted and, on create, with addresses and ports allocated.
"""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.address_checks import (
    validate_endpoint_ip,
    validate_legacy_cidr,
    validate_legacy_ip,
)
from steersman.cluster.schema.validation.compiled import compiled_check
from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.addresses import ip_family, is_legacy_ip
from steersman.objects.fields import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_labels
from steersman.objects.names import (
    is_dns1123_label,
    is_dns1123_subdomain,
    is_port_name,
    is_port_number,
)

__all__ = [
    "validate_cluster_ips",
    "validate_external_traffic",
    "validate_known_address",
    "validate_new_service",
    "validate_no_address",
    "validate_service_status",
    "validate_service_update",
    "validate_target_port",
]

_SPEC: Final = Path("spec")
_ANNOTATIONS: Final = Path("metadata").child("annotations")
_FAMILIES: Final = ("IPv4", "IPv6")
_TRAFFIC_POLICIES: Final = ("Cluster", "Local")
_validate_affinity = compiled_check("core.v1.ServiceSpec affinity")
_validate_balancer_class = compiled_check("core.v1.ServiceSpec balancer")
_validate_entry = compiled_check("core.v1.LoadBalancerIngress")
_validate_external = compiled_check("core.v1.ServiceSpec external")
_validate_families = compiled_check("core.v1.ServiceSpec families")
_validate_port = compiled_check("core.v1.ServicePort")
_validate_traffic = compiled_check("core.v1.ServiceSpec traffic")
_validate_type = compiled_check("core.v1.ServiceSpec type")
_TOPOLOGY_MODE: Final = "service.kubernetes.io/topology-mode"
_TOPOLOGY_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
_SOURCE_RANGES: Final = "service.beta.kubernetes.io/load-balancer-source-ranges"
_ONLY_LOAD_BALANCER: Final = "may only be used when `type` is 'LoadBalancer'"
_UNCHANGEABLE: Final = "may not change once set"


def validate_new_service(service: Object, path: Path) -> list[FieldError]:
    return _service_errors(service, None)


def validate_service_update(new: Object, path: Path, old: Object) -> list[FieldError]:
    before, after = old["spec"], new["spec"]
    errors = _cluster_ip_change_errors(after, before)
    errors += _family_change_errors(after, before)
    if before.get("type") == after.get("type") == "LoadBalancer" and before.get(
        "loadBalancerClass"
    ) != after.get("loadBalancerClass"):
        here = _SPEC.child("loadBalancerClass")
        errors.append(invalid(here, after.get("loadBalancerClass"), _UNCHANGEABLE))
    errors += _validate_balancer_class(after, _SPEC)
    health_port = "healthCheckNodePort"
    if (
        _needs_health_check(before)
        and _needs_health_check(after)
        and before.get(health_port) != after.get(health_port)
    ):
        errors.append(forbidden(_SPEC.child(health_port), "field is immutable"))
    return errors + _service_errors(new, old)


def validate_service_status(new: Object, path: Path, old: Object) -> list[FieldError]:
    entries, before = (_ingress_points(service) for service in (new, old))
    path = path.child("status", "loadBalancer", "ingress")
    if entries and new["spec"].get("type") != "LoadBalancer":
        return [forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")]
    known = [entry.get("ip", "") for entry in before]
    errors = []
    for index, entry in enumerate(entries):
        errors += _validate_entry(entry, path.index(index), known)
    return errors


def _ingress_points(service: Object) -> list[Object]:
    balancer = (service.get("status") or {}).get("loadBalancer") or {}
    return balancer.get("ingress") or []


def _service_errors(service: Object, old: Object | None) -> list[FieldError]:
    spec: Object = service["spec"]
    annotations = service["metadata"].get("annotations") or {}
    errors = _topology_errors(annotations)
    errors += _type_errors(spec)
    ports = spec.get("ports") or []
    names: set[str] = set()
    for index, port in enumerate(ports):
        errors += _port_errors(port, len(ports) > 1, names, _SPEC.child("ports").index(index))
    errors += validate_labels(spec.get("selector") or {}, _SPEC.child("selector"))
    errors += _validate_affinity(spec, _SPEC)
    errors += validate_cluster_ips(service, old)
    old_external = (old["spec"].get("externalIPs") or []) if old is not None else []
    for index, address in enumerate(spec.get("externalIPs") or []):
        path = _SPEC.child("externalIPs").index(index)
        errors += validate_legacy_ip(path, address, old_external) or validate_endpoint_ip(address, path)
    kind = spec.get("type", "")
    errors += _validate_type(spec, _SPEC)
    errors += _port_set_errors(ports, kind)
    errors += _source_range_errors(spec, annotations, old)
    allocates = spec.get("allocateLoadBalancerNodePorts")
    if allocates is not None and kind != "LoadBalancer":
        errors.append(forbidden(_SPEC.child("allocateLoadBalancerNodePorts"), _ONLY_LOAD_BALANCER))
    if allocates is None and kind == "LoadBalancer":
        errors.append(required(Path("allocateLoadBalancerNodePorts")))
    errors += _validate_balancer_class(spec, _SPEC)
    return errors + _validate_traffic(spec, _SPEC)


def _topology_errors(annotations: dict[str, str]) -> list[FieldError]:
    mode, hints = annotations.get(_TOPOLOGY_MODE), annotations.get(_TOPOLOGY_HINTS)
    if mode is None or hints is None or mode == hints:
        return []
    detail = f"must match annotations[{_TOPOLOGY_HINTS}] when both are specified"
    return [invalid(_ANNOTATIONS.key(_TOPOLOGY_MODE), mode, detail)]


def _type_errors(spec: Object) -> list[FieldError]:
    """What the type demands of ports, addresses and the external name."""
    kind = spec.get("type", "")
    errors = []
    if not spec.get("ports") and not _is_headless(spec) and kind != "ExternalName":
        errors.append(required(_SPEC.child("ports")))
    if kind in ("LoadBalancer", "NodePort") and _is_headless(spec):
        detail = f"may not be set to 'None' for {kind} services"
        errors.append(invalid(_SPEC.child("clusterIPs").index(0), spec["clusterIPs"][0], detail))
    if kind != "ExternalName":
        return errors
    errors += _validate_external(spec, _SPEC)
    # A trailing dot marks the name as fully qualified.
    target = spec.get("externalName", "").removesuffix(".")
    path = _SPEC.child("externalName")
    if not target:
        return [*errors, required(path)]
    return errors + invalids(path, target, is_dns1123_subdomain(target))


def _port_errors(port: Object, name_needed: bool, names: set[str], path: Path) -> list[FieldError]:
    """`names` holds those of the ports before this one; this one's is added."""
    errors = []
    name = port.get("name", "")
    if name:
        errors += invalids(path.child("name"), name, is_dns1123_label(name))
        if name in names:
            errors.append(duplicate(path.child("name"), name))
        names.add(name)
    elif name_needed:
        errors.append(required(path.child("name")))
    return errors + _validate_port(port, path)


def validate_target_port(port: int | str, path: Path) -> list[FieldError]:
    return invalids(path, port, is_port_name(port) if isinstance(port, str) else is_port_number(port))


def validate_cluster_ips(service: Object, old: Object | None) -> list[FieldError]:
    """What is wrong with clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy taken together."""
    spec: Object = service["spec"]
    if spec.get("type") == "ExternalName":
        return []
    addresses: list[str] = spec.get("clusterIPs") or []
    path = _SPEC.child("clusterIPs")
    errors = []
    first = spec.get("clusterIP", "")
    if first and not addresses:
        errors.append(required(path))
    elif first and addresses[0] != first:
        errors.append(invalid(path, addresses, "first value must match `clusterIP`"))
    elif not first and addresses:
        errors.append(invalid(path, addresses, "must be empty when `clusterIP` is not specified"))
    families: list[str] = spec.get("ipFamilies") or []
    errors += _validate_families(spec, _SPEC)
    known = (old["spec"].get("clusterIPs") or []) if old is not None else []
    wrong = _address_list_errors(addresses, known)
    errors += wrong
    if len(addresses) > 2:
        errors.append(invalid(path, addresses, "may only hold up to 2 values"))
    # A misplaced 'None' or a wrong address would make the messages about families misleading.
    if wrong:
        return errors
    present = {ip_family(address) for address in addresses}
    if len(addresses) > 1 and len(present) < 2:
        errors.append(invalid(path, addresses, "may specify no more than one IP for each IP family"))
    if not _is_headless(spec):
        for index, (address, family) in enumerate(zip(addresses, families, strict=False)):
            if family in _FAMILIES and ip_family(address) != family:
                detail = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
                errors.append(invalid(path.index(index), address, detail))
    return errors


def _address_list_errors(addresses: list[str], known: list[str]) -> list[FieldError]:
    path = _SPEC.child("clusterIPs")
    errors = []
    for index, address in enumerate(addresses):
        if index == 0 and address == "None":
            if len(addresses) > 1:
                errors.append(invalid(path, addresses, "'None' must be the first and only value"))
            continue
        errors += validate_legacy_ip(path.index(index), address, known)
    return errors


def _port_set_errors(ports: list[Object], kind: str) -> list[FieldError]:
    """What is wrong with the ports taken together: node ports that may not be, and repetitions."""
    path = _SPEC.child("ports")
    errors = []
    if kind == "ClusterIP":
        errors += [
            forbidden(path.index(index).child("nodePort"), "may not be used when `type` is 'ClusterIP'")
            for index, port in enumerate(ports)
            if port.get("nodePort", 0)
        ]
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        number = port.get("nodePort", 0)
        pair = (port.get("protocol", ""), number)
        if number and pair in seen:
            errors.append(duplicate(path.index(index).child("nodePort"), number))
        seen.add(pair)
    seen.clear()
    for index, port in enumerate(ports):
        pair = (port.get("protocol", ""), port.get("port", 0))
        if pair in seen:
            errors.append(duplicate(path.index(index), _protocol_and_port(*pair)))
        seen.add(pair)
    return errors


def _protocol_and_port(protocol: str, number: int) -> Object:
    """A port of the internal type that has nothing else, which is what the message shows."""
    return {
        "Name": "",
        "Protocol": protocol,
        "AppProtocol": None,
        "Port": number,
        "TargetPort": 0,
        "NodePort": 0,
    }


def _source_range_errors(spec: Object, annotations: dict[str, str], old: Object | None) -> list[FieldError]:
    """The ranges stand in the field or, from older times, in an annotation; spaces around are allowed."""
    balances = spec.get("type") == "LoadBalancer"
    ranges = spec.get("loadBalancerSourceRanges")
    if ranges:
        # Kubernetes spells this field with a capital in its errors.
        path = _SPEC.child("LoadBalancerSourceRanges")
        errors = [] if balances else [forbidden(path, _ONLY_LOAD_BALANCER)]
        known = (old["spec"].get("loadBalancerSourceRanges") or []) if old is not None else []
        known = [text.strip() for text in known]
        for index, text in enumerate(ranges):
            errors += validate_legacy_cidr(path.index(index), text.strip(), known)
        return errors
    value = annotations.get(_SOURCE_RANGES)
    if value is None:
        return []
    path = _ANNOTATIONS.key(_SOURCE_RANGES)
    errors = [] if balances else [forbidden(path, _ONLY_LOAD_BALANCER)]
    before = (old["metadata"].get("annotations") or {}).get(_SOURCE_RANGES, "") if old is not None else None
    if value != before and value.strip():
        for text in value.strip().split(","):
            errors += validate_legacy_cidr(path, text.strip())
    return errors


def validate_external_traffic(spec: Object, path: Path) -> list[FieldError]:
    policy, path = spec.get("externalTrafficPolicy", ""), path.child("externalTrafficPolicy")
    if not _is_externally_accessible(spec):
        return [invalid(path, policy, "may only be set for externally-accessible services")] if policy else []
    if not policy:
        return [required(path)]
    return [] if policy in _TRAFFIC_POLICIES else [not_supported(path, policy, _TRAFFIC_POLICIES)]


def _cluster_ip_change_errors(after: Object, before: Object) -> list[FieldError]:
    """Addresses stay, but a second may be added or released; to and from ExternalName all is free."""
    if "ExternalName" in (after.get("type"), before.get("type")):
        return []
    if _is_headless(after) and _is_headless(before):
        return []
    new: list[str] = after.get("clusterIPs") or []
    old: list[str] = before.get("clusterIPs") or []
    path = _SPEC.child("clusterIPs")
    if len(new) == len(old):
        return [
            invalid(path.index(index), new, _UNCHANGEABLE)
            for index, (wanted, had) in enumerate(zip(new, old, strict=True))
            if wanted != had
        ]
    errors = []
    if not new:
        errors.append(invalid(path.index(0), None, "primary clusterIP can not be unset"))
    if new and old and new[0] != old[0]:
        errors.append(invalid(path.index(0), new, _UNCHANGEABLE))
    if len(new) == 1 and len(old) > 1 and after.get("ipFamilyPolicy") != "SingleStack":
        errors.append(_release_error(after, "clusterIP"))
    return errors


def _family_change_errors(after: Object, before: Object) -> list[FieldError]:
    if "ExternalName" in (after.get("type"), before.get("type")):
        return []
    if _is_headless(after) or _is_headless(before):
        return []
    new: list[str] = after.get("ipFamilies") or []
    old: list[str] = before.get("ipFamilies") or []
    first = _SPEC.child("ipFamilies").index(0)
    if len(new) == len(old):
        changes = sum(wanted != had for wanted, had in zip(new, old, strict=True))
        return [invalid(first, new, _UNCHANGEABLE)] * changes
    errors = []
    if len(new) < len(old) and not after.get("clusterIPs"):
        errors.append(invalid(first, after.get("ipFamilies"), "primary ipFamily can not be unset"))
    if new and old and new[0] != old[0]:
        # The addresses are what Kubernetes shows here, not the families.
        errors.append(invalid(first, after.get("clusterIPs"), _UNCHANGEABLE))
    if len(new) == 1 and len(old) > 1 and after.get("ipFamilyPolicy") != "SingleStack":
        errors.append(_release_error(after, "ipFamily"))
    return errors


def _release_error(spec: Object, released: str) -> FieldError:
    detail = f"must be set to 'SingleStack' when releasing the secondary {released}"
    return invalid(_SPEC.child("ipFamilyPolicy"), spec.get("ipFamilyPolicy"), detail)


def validate_known_address(address: str, path: Path, known: list[str]) -> list[FieldError]:
    return validate_legacy_ip(path, address, known)


def validate_no_address(host: str, path: Path) -> list[FieldError]:
    if is_legacy_ip(host, strict=False):
        return []
    return [invalid(path, host, "must be a DNS name, not an IP address")]


def _is_headless(spec: Object) -> bool:
    return bool(spec.get("clusterIPs") == ["None"])


def _is_externally_accessible(spec: Object) -> bool:
    kind = spec.get("type")
    return kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def _needs_health_check(spec: Object) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"
