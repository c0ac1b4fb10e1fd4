"""The spec of a pod, alone or inside a template: all its rules in Kubernetes' order."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.pods.affinity import (
    validate_affinity,
    validate_spread_constraints,
    validate_tolerations,
)
from steersman.cluster.schema.validation.pods.containers import Surroundings, validate_containers
from steersman.cluster.schema.validation.pods.internal import internal_form
from steersman.cluster.schema.validation.pods.operating_system import (
    all_containers,
    validate_host_process,
    validate_host_users,
    validate_os,
)
from steersman.cluster.schema.validation.pods.resources import (
    validate_container_resources,
    validate_pod_resources,
)
from steersman.cluster.schema.validation.pods.security import validate_pod_security
from steersman.cluster.schema.validation.pods.volumes import validate_volumes
from steersman.cluster.schema.validation.rules import NameCheck, Object, invalids
from steersman.objects.addresses import is_legacy_ip
from steersman.objects.fields import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    quote,
    required,
    too_long,
)
from steersman.objects.metadata import validate_labels
from steersman.objects.names import (
    is_dns1123_label,
    is_dns1123_subdomain,
    is_dns1123_subdomain_with_underscore,
    is_label_key,
    name_is_dns_label,
    name_is_dns_subdomain,
    range_message,
)
from steersman.objects.pods import MIRROR_ANNOTATION

__all__ = ["validate_pod_spec"]

_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION_POLICIES: Final = ("PreemptLowerPriority", "Never")
_MAX_INT32: Final = 2**31 - 1
_NAMESERVERS: Final = 3
_SEARCH_PATHS: Final = 32
_SEARCH_CHARACTERS: Final = 2048
_HOSTNAME_LENGTH: Final = 64
_NO_METADATA: Final[Object] = {}


def validate_pod_spec(
    spec: Object, path: Path, metadata: Object | None = None, *, is_pod: bool = False
) -> list[FieldError]:
    """`metadata` is that of the pod, where there is a pod and not only a template of one."""
    errors: list[FieldError] = []
    grace_period = spec.get("terminationGracePeriodSeconds")
    if grace_period is None:
        errors.append(required(path.child("terminationGracePeriodSeconds")))
    pod = metadata or _NO_METADATA
    volumes: dict[str, Object] = {}
    if listed := spec.get("volumes"):
        volumes, wrong = validate_volumes(listed, pod.get("name", ""), path.child("volumes"))
        errors += wrong
    claims: list[Object] = spec.get("resourceClaims") or []
    claim_names = {claim["name"] for claim in claims if claim.get("name")}
    if claims:
        errors += _validate_resource_claims(claims, pod, path.child("resourceClaims"))
    around = Surroundings(
        volumes=volumes,
        claim_names=claim_names,
        grace_period=grace_period,
        restart_policy=spec.get("restartPolicy", ""),
        system=spec.get("os"),
        host_users=spec.get("hostUsers", True),
    )
    errors += validate_containers(spec, around, path)
    if spec.get("resources") is not None:
        errors += validate_pod_resources(spec, claim_names, path)
    if spec.get("hostNetwork"):
        errors += _validate_host_network_ports(spec.get("containers") or [], is_pod, path.child("containers"))
    errors += _validate_policies(spec, path)
    errors += _validate_placement(spec, path)
    errors += _validate_names(spec, path)
    return errors + _validate_runtime(spec, path)


# --- Policies and security


def _validate_policies(spec: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    errors += _choice(spec.get("restartPolicy"), _RESTART_POLICIES, path, "restartPolicy")
    errors += _choice(spec.get("dnsPolicy"), _DNS_POLICIES, path, "dnsPolicy")
    if labels := spec.get("nodeSelector"):
        errors += validate_labels(labels, path.child("nodeSelector"))
    if context := spec.get("securityContext"):
        errors += validate_pod_security(context, spec, path.child("securityContext"))
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(invalid(path.child("shareProcessNamespace"), True, text))
    return errors


def _choice(value: str | None, supported: tuple[str, ...], path: Path, field: str) -> list[FieldError]:
    if value in supported:
        return []
    here = path.child(field)
    return [not_supported(here, value, supported)] if value else [required(here)]


def _validate_resource_claims(claims: list[Object], pod: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for number, claim in enumerate(claims):
        if MIRROR_ANNOTATION in (pod.get("annotations") or ()):
            errors.append(forbidden(Path(), "static pods do not support resource claims"))
            continue
        here = path.index(number)
        name = claim.get("name", "")
        if not name:
            errors.append(required(here.child("name")))
        elif name in names:
            errors.append(duplicate(here.child("name"), name))
        else:
            errors += invalids(here.child("name"), name, is_dns1123_label(name))
            names.add(name)
        sources = [
            (field, claim[field])
            for field in ("resourceClaimName", "resourceClaimTemplateName")
            if claim.get(field) is not None
        ]
        if len(sources) != 1:
            text = (
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
                if sources
                else "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            )
            errors.append(invalid(here, internal_form("PodResourceClaim", claim), text))
        for field, value in sources:
            errors += invalids(here.child(field), value, is_dns1123_subdomain(value))
    return errors


def _validate_host_network_ports(containers: list[Object], is_pod: bool, path: Path) -> list[FieldError]:
    """On the host's network a port is the host's; templates may leave it to be defaulted later."""
    errors: list[FieldError] = []
    for number, container in enumerate(containers):
        for index, port in enumerate(container.get("ports") or ()):
            outside, inside = port.get("hostPort", 0), port.get("containerPort", 0)
            if (is_pod or outside) and outside != inside:
                here = path.index(number).child("ports").index(index).child("hostPort")
                text = "must match `containerPort` when `hostNetwork` is true"
                errors.append(invalid(here, outside, text))
    return errors


# --- Placement


def _validate_placement(spec: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if affinity := spec.get("affinity"):
        errors += validate_affinity(affinity, path.child("affinity"))
    errors += _validate_dns_config(spec, path.child("dnsConfig"))
    for number, gate in enumerate(spec.get("readinessGates") or ()):
        condition = gate.get("conditionType", "")
        here = path.child("readinessGates").index(number).child("conditionType")
        errors += invalids(here, condition, is_label_key(condition))
    if gates := spec.get("schedulingGates"):
        errors += _validate_scheduling_gates(gates, path.child("schedulingGates"))
    if constraints := spec.get("topologySpreadConstraints"):
        errors += validate_spread_constraints(constraints, path.child("topologySpreadConstraints"))
    return errors + validate_host_process(spec, path) + validate_host_users(spec, path)


def _validate_scheduling_gates(gates: list[Object], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for number, gate in enumerate(gates):
        name = gate.get("name", "")
        errors += invalids(path.index(number), name, is_label_key(name))
        if name in seen:
            errors.append(duplicate(path.index(number), name))
        seen.add(name)
    return errors


def _validate_dns_config(spec: Object, path: Path) -> list[FieldError]:
    config = spec.get("dnsConfig")
    servers: list[str] = (config or {}).get("nameservers") or []
    if spec.get("dnsPolicy") == "None":
        if config is None:
            return [required(path, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not servers:
            text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [required(path.child("nameservers"), text)]
    if not config:
        return []
    errors: list[FieldError] = []
    if len(servers) > _NAMESERVERS:
        text = f"must not have more than {_NAMESERVERS} nameservers"
        errors.append(invalid(path.child("nameservers"), servers, text))
    for number, server in enumerate(servers):
        errors += invalids(path.child("nameservers").index(number), server, is_legacy_ip(server))
    searches: list[str] = config.get("searches") or []
    here = path.child("searches")
    if len(searches) > _SEARCH_PATHS:
        errors.append(invalid(here, searches, f"must not have more than {_SEARCH_PATHS} search paths"))
    if len(" ".join(searches)) > _SEARCH_CHARACTERS:
        text = (
            f"must not have more than {_SEARCH_CHARACTERS} characters (including spaces) in the search list"
        )
        errors.append(invalid(here, searches, text))
    for number, search in enumerate(searches):
        if search != ".":
            name = search.removesuffix(".")
            errors += invalids(here.index(number), name, is_dns1123_subdomain_with_underscore(name))
    for number, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            errors.append(required(path.child("options").index(number), "must not be empty"))
    return errors


# --- Names


def _validate_names(spec: Object, path: Path) -> list[FieldError]:
    errors = _validate_hostname_override(spec, path.child("hostnameOverride"))
    account = spec.get("serviceAccountName", "")
    errors += _name(account, name_is_dns_subdomain, path, "serviceAccountName")
    deprecated = spec.get("serviceAccount", "")
    if deprecated != account:
        text = f"must be the same as serviceAccountName: {quote(account)}"
        errors.append(invalid(path.child("deprecatedServiceAccount"), deprecated, text))
    errors += _name(spec.get("nodeName"), name_is_dns_subdomain, path, "nodeName")
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _MAX_INT32:
        errors.append(invalid(path.child("activeDeadlineSeconds"), deadline, range_message(1, _MAX_INT32)))
    errors += _name(spec.get("hostname"), name_is_dns_label, path, "hostname")
    errors += _name(spec.get("subdomain"), name_is_dns_label, path, "subdomain")
    return errors


def _name(name: str | None, rule: NameCheck, path: Path, field: str) -> list[FieldError]:
    return invalids(path.child(field), name, rule(name, False)) if name else []


def _validate_hostname_override(spec: Object, path: Path) -> list[FieldError]:
    name = spec.get("hostnameOverride")
    if name is None:
        return []
    errors: list[FieldError] = []
    for field in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(field):
            errors.append(forbidden(path, f"may not be specified when {field} is true"))
    if len(name) > _HOSTNAME_LENGTH:
        errors.append(too_long(path, _HOSTNAME_LENGTH))
    return errors + invalids(path, name, is_dns1123_subdomain(name))


# --- How it runs


def _validate_runtime(spec: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if tolerations := spec.get("tolerations"):
        errors += validate_tolerations(tolerations, path.child("tolerations"))
    for number, alias in enumerate(spec.get("hostAliases") or ()):
        here = path.child("hostAliases").index(number)
        address = alias.get("ip", "")
        errors += invalids(here.child("ip"), address, is_legacy_ip(address))
        for index, name in enumerate(alias.get("hostnames") or ()):
            errors += invalids(here.child("hostnames").index(index), name, is_dns1123_subdomain(name))
    errors += _name(spec.get("priorityClassName"), name_is_dns_subdomain, path, "priorityClassName")
    if (runtime := spec.get("runtimeClassName")) is not None:
        errors += invalids(path.child("runtimeClassName"), runtime, is_dns1123_subdomain(runtime))
    if (preemption := spec.get("preemptionPolicy")) is not None:
        errors += _choice(preemption, _PREEMPTION_POLICIES, path, "preemptionPolicy")
    if overhead := spec.get("overhead"):
        errors += validate_container_resources({"limits": overhead}, (), path.child("overhead"))
    if spec.get("os") is not None:
        errors += validate_os(spec, path)
    if (group := spec.get("schedulingGroup")) is not None:
        errors += _validate_scheduling_group(group, spec, path.child("schedulingGroup"))
    return errors + _validate_file_references(spec, path)


def _validate_scheduling_group(group: Object, spec: Object, path: Path) -> list[FieldError]:
    name = group.get("podGroupName")
    here = path.child("podGroupName")
    if name is None:
        errors = [invalid(here, None, "must specify one of: `podGroupName`")]
    else:
        errors = invalids(here, name, is_dns1123_subdomain(name))
    if spec.get("evictionResponders"):
        errors.append(forbidden(path, "may not be set when evictionResponders is set"))
    return errors


def _validate_file_references(spec: Object, path: Path) -> list[FieldError]:
    """A variable read from a file needs a volume that containers write."""
    errors: list[FieldError] = []
    for container, here in all_containers(spec, path):
        for number, variable in enumerate(container.get("env") or ()):
            reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
            if reference is None:
                continue
            name = reference.get("volumeName", "")
            name_path = here.child("env").index(number).child("valueFrom", "fileKeyRef", "volumeName")
            volume = {volume.get("name"): volume for volume in spec.get("volumes") or ()}.get(name)
            if volume is None:
                errors.append(not_found(name_path, name))
            elif volume.get("emptyDir") is None:
                errors.append(invalid(name_path, name, "referenced volume must be of type emptyDir"))
    return errors
