"""Updates of a pod's status, as kubelet and controllers send them."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.pods.annotations import validate_annotation_update
from steersman.cluster.schema.validation.pods.internal import internal_form
from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.addresses import ip_family, is_legacy_ip
from steersman.objects.fields import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
    too_long,
)
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_immutable
from steersman.objects.names import (
    is_condition_reason,
    is_dns1123_label,
    is_dns1123_subdomain,
    is_group_id,
    is_label_key,
)
from steersman.objects.quantities import Quantity

__all__ = ["validate_pod_status"]

_STATUS: Final = Path("status")
_ANNOTATIONS: Final = Path("metadata").child("annotations")
_SYSTEM_CONDITIONS: Final = frozenset({"PodScheduled", "Ready", "Initialized"})
_HEALTH: Final = ("Healthy", "Unhealthy", "Unknown")
_HEALTH_MESSAGE_LENGTH: Final = 1024
_MAX_UID: Final = 2**32 - 1
_STATUS_LISTS: Final = {
    "containerStatuses": "containers",
    "initContainerStatuses": "initContainers",
    "ephemeralContainerStatuses": "",
}


def validate_pod_status(new: Object, path: Path, old: Object) -> list[FieldError]:
    errors = validate_annotation_update(new, old, _ANNOTATIONS)
    status, before = new.get("status") or {}, old.get("status") or {}
    spec, old_spec = new["spec"], old["spec"]
    errors += _validate_conditions(status.get("conditions") or [])
    if spec.get("nodeName") != old_spec.get("nodeName"):
        errors.append(forbidden(_STATUS.child("nodeName"), "may not be changed directly"))
    errors += _validate_nomination(status, before, old_spec)
    if status.get("observedGeneration", 0) < 0:
        here = _STATUS.child("observedGeneration")
        errors.append(invalid(here, status["observedGeneration"], "must be a non-negative integer"))
    errors += validate_immutable(
        status.get("qosClass", ""), before.get("qosClass", ""), _STATUS.child("qosClass")
    )
    for field, kind in _STATUS_LISTS.items():
        errors += _validate_transitions(
            status.get(field) or [], before.get(field) or [], old_spec, kind, _STATUS.child(field)
        )
    errors += _validate_claim_statuses(status, spec)
    if (extended := status.get("extendedResourceClaimStatus")) is not None:
        errors += _validate_extended_claim(extended, spec, _STATUS.child("extendedResourceClaimStatus"))
    errors += _validate_volume_health(status.get("volumeHealth") or [], spec)
    errors += _validate_pod_ips(status, before)
    errors += _validate_host_ips(status, before)
    system = (spec.get("os") or {}).get("name", "linux")
    for field in _STATUS_LISTS:
        errors += _validate_users(status.get(field) or [], system, _STATUS.child(field))
    for field, kind in _STATUS_LISTS.items():
        for number, container in enumerate(status.get(field) or ()):
            if container.get("allocatedResourcesStatus"):
                here = _STATUS.child(field).index(number).child("allocatedResourcesStatus")
                errors += _validate_allocated(container, spec, kind, status, here)
    return errors


def _validate_conditions(conditions: list[Object]) -> list[FieldError]:
    errors: list[FieldError] = []
    for number, condition in enumerate(conditions):
        here = _STATUS.child("conditions").index(number)
        generation = condition.get("observedGeneration", 0)
        if generation < 0:
            errors.append(
                invalid(here.child("observedGeneration"), generation, "must be a non-negative integer")
            )
        kind = condition.get("type", "")
        if kind not in _SYSTEM_CONDITIONS:
            errors += invalids(here.child("Type"), kind, is_label_key(kind))
    return errors


def _validate_nomination(status: Object, before: Object, old_spec: Object) -> list[FieldError]:
    name = status.get("nominatedNodeName", "")
    if not name or name == before.get("nominatedNodeName", ""):
        return []
    here = _STATUS.child("nominatedNodeName")
    errors = invalids(here, name, is_dns1123_subdomain(name))
    if old_spec.get("nodeName"):
        errors.append(forbidden(here, "may not be set on pods that are already bound to a node"))
    return errors


# --- Containers


def _validate_transitions(
    new: list[Object], old: list[Object], spec: Object, kind: str, path: Path
) -> list[FieldError]:
    """A container that ended runs again only if its policy says so. `kind` is empty for ephemeral ones."""
    if kind and _all_could_restart(spec):
        return []
    errors: list[FieldError] = []
    for number, before in enumerate(old):
        ended = (before.get("state") or {}).get("terminated")
        if ended is None:
            continue
        name = before.get("name", "")
        alive = [
            status
            for status in new
            if status.get("name", "") == name and (status.get("state") or {}).get("terminated") is None
        ]
        for _ in alive[: 1 if kind else None]:
            if not kind or not _may_restart(name, spec, kind, ended.get("exitCode", 0)):
                text = "may not be transitioned to non-terminated state"
                errors.append(forbidden(path.index(number).child("state"), text))
    return errors


def _all_could_restart(spec: Object) -> bool:
    return any(
        rule.get("action") == "RestartAllContainers"
        for kind in ("initContainers", "containers")
        for container in spec.get(kind) or ()
        for rule in container.get("restartPolicyRules") or ()
    )


def _may_restart(name: str, spec: Object, kind: str, code: int) -> bool:
    container = next((c for c in spec.get(kind) or () if c.get("name", "") == name), None)
    if container is None:
        return False
    policy = container.get("restartPolicy")
    if policy is not None and _has_matching_rule(container, code):
        return True
    if policy not in ("Always", "OnFailure", "Never"):
        policy = spec.get("restartPolicy")
    return {"OnFailure": code != 0, "Never": False}.get(policy or "", True)


def _has_matching_rule(container: Object, code: int) -> bool:
    for rule in container.get("restartPolicyRules") or ():
        codes = rule.get("exitCodes") or {}
        listed = code in (codes.get("values") or ())
        if {"In": listed, "NotIn": not listed}.get(codes.get("operator", ""), False):
            return True
    return False


def _validate_users(statuses: list[Object], system: str, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for number, status in enumerate(statuses):
        user = (status.get("user") or {}).get("linux")
        if user is None:
            continue
        here = path.index(number).child("user", "linux")
        if system == "windows":
            errors.append(forbidden(here, "cannot be set for a windows pod"))
        elif system == "linux":
            uid, gid = user.get("uid", 0), user.get("gid", 0)
            if not 0 <= uid <= _MAX_UID:
                errors.append(invalid(here.child("uid"), uid, f"must be between 0 and {_MAX_UID}, inclusive"))
            errors += invalids(here.child("gid"), gid, is_group_id(gid))
            for index, group in enumerate(user.get("supplementalGroups") or ()):
                errors += invalids(here.child("supplementalGroups").index(index), group, is_group_id(group))
    return errors


def _validate_allocated(
    status: Object, spec: Object, kind: str, pod_status: Object, path: Path
) -> list[FieldError]:
    if not kind:
        return [forbidden(path, "must not be specified in container status")]
    errors: list[FieldError] = []
    container = next((c for c in spec.get(kind) or () if c.get("name", "") == status.get("name", "")), None)
    for number, resource in enumerate(status["allocatedResourcesStatus"]):
        here = path.index(number)
        name = resource.get("name", "")
        if container is not None and (text := _unknown_resource(name, container, pod_status)):
            errors.append(invalid(here.child("name"), name, text))
        errors += _validate_health(resource.get("resources") or [], here.child("resources"))
    return errors


def _unknown_resource(name: str, container: Object, pod_status: Object) -> str:
    resources: Object = container.get("resources") or {}
    if not name.startswith("claim:"):
        known = name in (resources.get("requests") or {})
        return "" if known else "must match one of the container's resource requests"
    for claim in resources.get("claims") or ():
        request = claim.get("request")
        if name == f"claim:{claim.get('name', '')}" + (f"/{request}" if request else ""):
            return ""
    if _is_extended_claim(name.removeprefix("claim:"), container, pod_status):
        return ""
    return (
        "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' "
        "when container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty"
    )


def _is_extended_claim(reference: str, container: Object, pod_status: Object) -> bool:
    extended = pod_status.get("extendedResourceClaimStatus")
    claim, _, request = reference.partition("/")
    if extended is None or not request or claim != extended.get("resourceClaimName"):
        return False
    requests = (container.get("resources") or {}).get("requests") or {}
    return any(
        mapping.get("containerName") == container.get("name")
        and mapping.get("requestName") == request
        and Quantity.parse(requests.get(mapping.get("resourceName", ""), "0")).sign != 0
        for mapping in extended.get("requestMappings") or ()
    )


def _validate_health(resources: list[Object], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for number, resource in enumerate(resources):
        here = path.index(number)
        health, message = resource.get("health", ""), resource.get("message")
        if health not in _HEALTH:
            errors.append(not_supported(here.child("health"), health, _HEALTH))
        if message is not None:
            if not message:
                errors.append(required(here.child("message"), "must be non-empty if specified"))
            elif len(message) > _HEALTH_MESSAGE_LENGTH:
                errors.append(too_long(here.child("message"), _HEALTH_MESSAGE_LENGTH))
        identity = resource.get("resourceID", "")
        if identity in seen:
            errors.append(duplicate(here.child("resourceID"), identity))
        seen.add(identity)
    return errors


# --- Claims, volumes and addresses


def _validate_claim_statuses(status: Object, spec: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    known = {claim.get("name", "") for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for number, claim in enumerate(status.get("resourceClaimStatuses") or ()):
        here = _STATUS.child("resourceClaimStatuses").index(number)
        name, made = claim.get("name", ""), claim.get("resourceClaimName")
        if name not in known:
            text = "must match the name of an entry in `spec.resourceClaims`"
            errors.append(invalid(here.child("name"), name, text))
        if name in seen:
            errors.append(duplicate(here.child("name"), name))
        seen.add(name)
        if made is not None:
            errors += invalids(here.child("resourceClaimName"), made, is_dns1123_subdomain(made))
    return errors


def _validate_extended_claim(extended: Object, spec: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    containers = {
        container.get("name", ""): container
        for kind in ("initContainers", "containers")
        for container in spec.get(kind) or ()
    }
    mappings = extended.get("requestMappings") or []
    if not mappings:
        errors.append(required(path.child("requestMappings"), "at least one request mapping is required"))
    seen: set[tuple[str, ...]] = set()
    for number, mapping in enumerate(mappings):
        here = path.child("requestMappings").index(number)
        key = tuple(mapping.get(field, "") for field in ("containerName", "resourceName", "requestName"))
        name, resource, request = key
        container = containers.get(name)
        if container is None:
            text = "must match the name of an entry in spec.initContainers.name or spec.containers.name"
            errors.append(invalid(here.child("containerName"), name, text))
        elif resource not in ((container.get("resources") or {}).get("requests") or {}):
            text = (
                "must match the extended resource name of an entry in spec.initContainers.resources.requests "
                "or spec.containers.resources.requests"
            )
            errors.append(invalid(here.child("resourceName"), resource, text))
        errors += invalids(path.child("requestName"), request, is_dns1123_label(request))
        if key in seen:
            fields = ("containerName", "resourceName", "requestName")
            errors += (duplicate(here.child(field), value) for field, value in zip(fields, key, strict=True))
        seen.add(key)
    claim = extended.get("resourceClaimName", "")
    if not claim:
        return [*errors, required(path.child("resourceClaimName"))]
    return errors + invalids(path.child("resourceClaimName"), claim, is_dns1123_subdomain(claim))


def _validate_volume_health(entries: list[Object], spec: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    known = {volume.get("name", "") for volume in spec.get("volumes") or ()}
    for number, entry in enumerate(entries):
        here = _STATUS.child("volumeHealth").index(number)
        name = entry.get("name", "")
        if name and name not in known:
            errors.append(not_found(here.child("name"), name))
        for index, condition in enumerate(entry.get("healthConditions") or ()):
            if reason := condition.get("reason"):
                reason_path = here.child("healthConditions").index(index).child("reason")
                errors += invalids(reason_path, reason, is_condition_reason(reason))
    return errors


def _validate_pod_ips(status: Object, before: Object) -> list[FieldError]:
    path = _STATUS.child("podIPs")
    listed = status.get("podIPs") or []
    errors = _validate_addresses(listed, before.get("podIPs") or [], path, "PodIP")
    first = status.get("podIP", "")
    if bool(first) != bool(listed):
        shown = internal_form("[]PodIP", listed or None)
        errors.append(invalid(path, shown, "podIP and podIPs must either both be set or both be unset"))
    elif listed and first != listed[0].get("ip", ""):
        errors.append(invalid(path.index(0).child("ip"), listed[0].get("ip", ""), "must be equal to `podIP`"))
    return errors


def _validate_host_ips(status: Object, before: Object) -> list[FieldError]:
    listed = status.get("hostIPs") or []
    if not listed:
        return []
    path = _STATUS.child("hostIPs")
    errors: list[FieldError] = []
    first = listed[0].get("ip", "")
    if status.get("hostIP", "") != first:
        errors.append(invalid(path.index(0).child("ip"), first, "must be equal to `hostIP`"))
    return errors + _validate_addresses(listed, before.get("hostIPs") or [], path, "HostIP")


def _validate_addresses(
    listed: list[Object], before: list[Object], path: Path, kind: str
) -> list[FieldError]:
    """At most one address of each family; those that were there already are not judged again."""
    errors: list[FieldError] = []
    known = {entry.get("ip", "") for entry in before}
    addresses = [entry.get("ip", "") for entry in listed]
    for number, address in enumerate(addresses):
        if address not in known:
            errors += invalids(path.index(number), address, is_legacy_ip(address))
    if len(addresses) > 1 and (len(addresses) > 2 or {ip_family(a) for a in addresses} != {"IPv4", "IPv6"}):
        text = "may specify no more than one IP for each IP family"
        errors.append(invalid(path, internal_form(f"[]{kind}", listed), text))
    return errors
