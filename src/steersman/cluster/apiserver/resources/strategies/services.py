"""The strategy of Services, and the pure part of giving them addresses and ports.

Allocation itself needs the cluster's ranges and lives with the handlers; what a service needs, which
allocations an update carries over and which address families it gets is decided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, get_args

from steersman.cluster.apiserver.resources.strategies.strategy import Strategy, status_endpoint
from steersman.objects.addresses import cidr_warnings, ip_family, ip_warnings
from steersman.objects.fields import FieldError, Path, invalid
from steersman.objects.kinds import Object
from steersman.objects.kinds.enums import ServiceInternalTrafficPolicy

__all__ = [
    "SERVICES",
    "assign_ip_families",
    "carry_over_allocations",
    "infer_ip_family_policy",
    "needs_cluster_ip",
    "needs_health_check_node_port",
    "needs_node_port",
    "sync_cluster_ips",
    "wants_node_ports",
]

_HEADLESS: Final = "None"
_SPEC: Final = Path("spec")
_POLICY: Final = _SPEC.child("ipFamilyPolicy")
_OTHER_FAMILY: Final = {"IPv4": "IPv6", "IPv6": "IPv4"}


# --- What a service needs


def needs_cluster_ip(service: Object) -> bool:
    return bool(service["spec"].get("type") != "ExternalName")


def needs_node_port(service: Object) -> bool:
    return service["spec"].get("type") in ("NodePort", "LoadBalancer")


def wants_node_ports(service: Object) -> bool:
    """Whether missing node ports are to be allocated: a load balancer may do without."""
    spec = service["spec"]
    return spec.get("type") == "NodePort" or (
        spec.get("type") == "LoadBalancer" and bool(spec.get("allocateLoadBalancerNodePorts"))
    )


def needs_health_check_node_port(service: Object) -> bool:
    spec = service["spec"]
    return (spec.get("type"), spec.get("externalTrafficPolicy")) == ("LoadBalancer", "Local")


def _externally_accessible(service: Object) -> bool:
    spec = service["spec"]
    return needs_node_port(service) or (spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs")))


def _is_headless(service: Object) -> bool:
    return bool(service["spec"].get("clusterIP") == _HEADLESS)


# --- What an update carries over


def carry_over_allocations(new: Object, old: Object) -> None:
    """Give an update that leaves out allocated values those the service has."""
    spec, before = new["spec"], old["spec"]
    if needs_cluster_ip(old) and needs_cluster_ip(new):
        for key in ("clusterIP", "clusterIPs"):
            if not spec.get(key) and before.get(key):
                spec[key] = before[key]
    if wants_node_ports(old) and wants_node_ports(new):
        _carry_over_node_ports(spec, before)
    both_checked = needs_health_check_node_port(old) and needs_health_check_node_port(new)
    if both_checked and not spec.get("healthCheckNodePort") and before.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = before["healthCheckNodePort"]
    sync_cluster_ips(new, old)


def _node_ports(spec: Object) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}


def _carry_over_node_ports(spec: Object, before: Object) -> None:
    """Ports are recognised by name; a number the update uses elsewhere is not given twice."""
    used = _node_ports(before) & _node_ports(spec)
    by_name = {port.get("name", ""): port.get("nodePort", 0) for port in before.get("ports") or ()}
    for port in spec.get("ports") or ():
        number = by_name.get(port.get("name", ""), 0)
        if number and not port.get("nodePort") and number not in used:
            port["nodePort"] = number


def sync_cluster_ips(new: Object, old: Object | None) -> None:
    """Keep clusterIP and clusterIPs equal, for clients that know only the first."""
    spec = new["spec"]
    if old is None:
        if spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        return
    before = old["spec"]
    same = spec.get("clusterIP", "") == before.get("clusterIP", "")
    if same and before.get("clusterIPs") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = before["clusterIPs"]
    elif not same and _same_list(spec, before, "clusterIPs"):
        if before.get("clusterIP") and not spec.get("clusterIP"):
            spec.pop("clusterIPs", None)
        else:
            spec["clusterIPs"] = [spec["clusterIP"]]


def _same_list(spec: Object, before: Object, key: str) -> bool:
    return bool((spec.get(key) or []) == (before.get(key) or []))


def _drop_type_dependent_fields(new: Object, old: Object) -> None:
    """A change of type takes what only the old type has with it, unless the client changed that, too."""
    spec, before = new["spec"], old["spec"]

    def drop(*keys: str) -> None:
        for key in keys:
            spec.pop(key, None)

    if needs_cluster_ip(old) and not needs_cluster_ip(new):
        if spec.get("clusterIP") == before.get("clusterIP") and _same_list(spec, before, "clusterIPs"):
            drop("clusterIP", "clusterIPs")
        if _same_list(spec, before, "ipFamilies"):
            drop("ipFamilies")
        if spec.get("ipFamilyPolicy") == before.get("ipFamilyPolicy"):
            drop("ipFamilyPolicy")
    if needs_node_port(old) and not needs_node_port(new) and _node_ports(before) >= _node_ports(spec):
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    lost = (
        (needs_health_check_node_port, "healthCheckNodePort"),
        (lambda service: service["spec"].get("type") == "LoadBalancer", "allocateLoadBalancerNodePorts"),
        (lambda service: service["spec"].get("type") == "LoadBalancer", "loadBalancerClass"),
        (_externally_accessible, "externalTrafficPolicy"),
    )
    for has, key in lost:
        if has(old) and not has(new) and spec.get(key) == before.get(key):
            drop(key)
    if spec.get("type") != "LoadBalancer":
        new["status"] = new["status"] | {"loadBalancer": {}}
    _drop_internal_traffic_policy(new)


_INTERNAL_TRAFFIC_POLICIES: Final = get_args(ServiceInternalTrafficPolicy)


def _drop_internal_traffic_policy(service: Object) -> None:
    """A name elsewhere has no traffic inside; a wrong value stays for validation to refuse."""
    spec = service["spec"]
    if not needs_cluster_ip(service) and spec.get("internalTrafficPolicy") in _INTERNAL_TRAFFIC_POLICIES:
        del spec["internalTrafficPolicy"]


# --- Address families


def infer_ip_family_policy(new: Object, old: Object | None) -> bool:
    """Settle `ipFamilyPolicy`. False means that nothing about families is to be decided for this service.

    Cluster IPs are validated between this and `assign_ip_families`.
    """
    spec = new["spec"]
    if not needs_cluster_ip(new) or (old is not None and _stays_prefer_dual_stack(spec, old["spec"])):
        return False
    if spec.get("ipFamilyPolicy") is None:
        if old is not None and old["spec"].get("ipFamilyPolicy") is not None:
            spec["ipFamilyPolicy"] = old["spec"]["ipFamilyPolicy"]
        else:
            anything = _is_headless(new) and not spec.get("selector")
            spec["ipFamilyPolicy"] = "RequireDualStack" if anything else "SingleStack"
    return True


def _stays_prefer_dual_stack(spec: Object, before: Object) -> bool:
    """Such a service keeps what it has, whatever families the cluster gained or lost since."""
    return (
        spec.get("type") == before.get("type")
        and spec.get("ipFamilyPolicy") == "PreferDualStack"
        and before.get("ipFamilyPolicy") in (None, "PreferDualStack")
        and _same_list(spec, before, "clusterIPs")
        and _same_list(spec, before, "ipFamilies")
    )


def assign_ip_families(
    new: Object, old: Object | None, configured: Sequence[str] = ("IPv4",)
) -> list[FieldError]:
    """Settle `ipFamilies` of a service with a policy; `configured` are the cluster's, its default first."""
    spec = new["spec"]
    errors = _trim_families(spec, old["spec"]) if old is not None else []
    errors += _single_stack_errors(spec)
    errors += _families_from_addresses(spec, configured)
    if errors:
        return errors
    dual = spec["ipFamilyPolicy"] != "SingleStack"
    if _is_headless(new) and not spec.get("selector"):
        # Endpoints that are managed by hand may be of any family.
        families = list(spec.get("ipFamilies") or configured[:1])
        if dual and len(families) == 1:
            families.append(_OTHER_FAMILY[families[0]])
        spec["ipFamilies"] = families
        return []
    if spec["ipFamilyPolicy"] == "RequireDualStack" and len(configured) < 2:
        text = "this cluster is not configured for dual-stack services"
        errors.append(invalid(_POLICY, spec["ipFamilyPolicy"], text))
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        if family not in configured:
            place = _SPEC.child("ipFamilies").index(index)
            errors.append(invalid(place, family, "not configured on this cluster"))
    if not errors:
        families = list(spec.get("ipFamilies") or configured[:1])
        if dual and len(families) == 1 and len(configured) == 2:
            families.append(_OTHER_FAMILY[families[0]])
        spec["ipFamilies"] = families
    return errors


def _trim_families(spec: Object, before: Object) -> list[FieldError]:
    """Going single-stack releases the secondary address; anything else must not lose it."""
    errors = []
    for key, what in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
        values, earlier = spec.get(key) or [], before.get(key) or []
        if spec["ipFamilyPolicy"] == "SingleStack":
            if values == earlier and len(values) > 1:
                spec[key] = values[:1]
        elif values and len(values) < len(earlier):
            text = f"must be 'SingleStack' to release the secondary {what}"
            errors.append(invalid(_POLICY, spec["ipFamilyPolicy"], text))
    return errors


def _single_stack_errors(spec: Object) -> list[FieldError]:
    if spec["ipFamilyPolicy"] != "SingleStack":
        return []
    return [
        invalid(
            _POLICY,
            "SingleStack",
            f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified",
        )
        for key, what in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families"))
        if len(spec.get(key) or ()) == 2
    ]


def _families_from_addresses(spec: Object, configured: Sequence[str]) -> list[FieldError]:
    errors = []
    families = list(spec.get("ipFamilies") or ())
    addresses = spec.get("clusterIPs") or []
    for index, address in enumerate(addresses):
        if address == _HEADLESS:
            break
        if index >= len(families):
            family = ip_family(address) or "unknown"
            if family in configured:
                families.append(family)
            else:
                place = _SPEC.child("clusterIPs").index(index)
                errors.append(invalid(place, addresses, f"{family} is not configured on this cluster"))
    if families:
        spec["ipFamilies"] = families
    return errors


# --- Warnings


def _warnings(service: Object) -> list[str]:
    spec = service["spec"]
    external = spec.get("externalIPs") or []
    kind = spec.get("type")
    headless = kind == "ClusterIP" and _is_headless(service)
    warnings: list[str] = []
    if "service.kubernetes.io/topology-aware-hints" in (service["metadata"].get("annotations") or ()):
        warnings.append(
            "annotation service.kubernetes.io/topology-aware-hints is deprecated, "
            "please use service.kubernetes.io/topology-mode instead"
        )
    if spec.get("clusterIP") and not _is_headless(service):
        warnings += _address_warnings("clusterIPs", spec.get("clusterIPs") or [])
    if headless:
        given = (
            (spec.get("loadBalancerIP"), "loadBalancerIP"),
            (external, "externalIPs"),
            (spec.get("sessionAffinity") != "None", "SessionAffinity"),
        )
        warnings += [f"spec.{name} is ignored for headless services" for is_set, name in given if is_set]
    warnings += _address_warnings("externalIPs", external)
    if external and not headless and kind != "ExternalName":
        warnings.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    if spec.get("loadBalancerIP"):
        warnings += ip_warnings(_SPEC.child("loadBalancerIP"), spec["loadBalancerIP"])
    for index, cidr in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        warnings += cidr_warnings(_SPEC.child("loadBalancerSourceRanges").index(index), cidr)
    if kind == "ExternalName" and external:
        warnings.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if kind != "ExternalName" and spec.get("externalName"):
        warnings.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        warnings.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return warnings


def _address_warnings(key: str, addresses: list[str]) -> list[str]:
    place = _SPEC.child(key)
    return [w for index, address in enumerate(addresses) for w in ip_warnings(place.index(index), address)]


def load_balancer_warnings(obj: Object) -> list[str]:
    """Of a service's or ingress's status."""
    place = Path("status").child("loadBalancer", "ingress")
    return [
        warning
        for index, ingress in enumerate(obj["status"]["loadBalancer"].get("ingress") or ())
        if ingress.get("ip")
        for warning in ip_warnings(place.index(index), ingress["ip"])
    ]


SERVICES: Final = Strategy(
    "",
    "services",
    returns_deleted=True,
    zero_status={"loadBalancer": {}},
    on_create=_drop_internal_traffic_policy,
    on_update=_drop_type_dependent_fields,
    create_warnings=_warnings,
    update_warnings=lambda new, old: _warnings(new),
    reset_fields=("status",),
    subresources={"status": status_endpoint(warnings=load_balancer_warnings)},
    allow_create_on_update=True,
    fields={
        "spec.clusterIP": lambda service: service["spec"].get("clusterIP", ""),
        "spec.type": lambda service: service["spec"].get("type", ""),
    },
)
