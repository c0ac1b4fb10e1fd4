"""The spec of a pod, alone or inside a template: all its rules in Kubernetes' order."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.compiled import compiled_check
from steersman.cluster.schema.validation.pods.affinity import validate_spread_constraints
from steersman.cluster.schema.validation.pods.containers import PodContext, validate_containers
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
from steersman.cluster.schema.validation.pods.volumes import validate_volumes
from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.addresses import is_legacy_ip
from steersman.objects.fields import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    not_found,
    quote,
    required,
)
from steersman.objects.kinds import Object
from steersman.objects.names import (
    is_dns1123_label,
    is_dns1123_subdomain,
    is_dns1123_subdomain_with_underscore,
)
from steersman.objects.pods import MIRROR_ANNOTATION

__all__ = [
    "validate_deprecated_account",
    "validate_dns_config",
    "validate_file_references",
    "validate_host_process",
    "validate_host_users",
    "validate_os",
    "validate_overhead",
    "validate_pod_spec",
    "validate_security",
    "validate_spread_constraints",
]

_validate_rest = compiled_check("core.v1.PodSpec")
_validate_pod_security = compiled_check("core.v1.PodSecurityContext")
_NAMESERVERS: Final = 3
_SEARCH_PATHS: Final = 32
_SEARCH_CHARACTERS: Final = 2048
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
    around = PodContext(
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
    return errors + _validate_rest(spec, path)


def validate_security(spec: Object, path: Path) -> list[FieldError]:
    return _validate_pod_security(spec["securityContext"], path.child("securityContext"), spec)


# --- Claims and ports


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


# --- Name resolution


def validate_dns_config(spec: Object, path: Path) -> list[FieldError]:
    path = path.child("dnsConfig")
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


# --- Names and how it runs


def validate_deprecated_account(spec: Object, path: Path) -> list[FieldError]:
    account, deprecated = spec.get("serviceAccountName", ""), spec.get("serviceAccount", "")
    if deprecated == account:
        return []
    text = f"must be the same as serviceAccountName: {quote(account)}"
    return [invalid(path.child("deprecatedServiceAccount"), deprecated, text)]


def validate_overhead(overhead: Object, path: Path) -> list[FieldError]:
    return validate_container_resources({"limits": overhead}, (), path)


def validate_file_references(spec: Object, path: Path) -> list[FieldError]:
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
