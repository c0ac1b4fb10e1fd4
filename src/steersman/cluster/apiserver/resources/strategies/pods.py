"""The strategy of pods, and their grace period of deletion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final

from steersman.cluster.apiserver.resources.strategies.app_armor import profiles_from_annotations
from steersman.cluster.apiserver.resources.strategies.disabled_fields import drop_from_pod
from steersman.cluster.apiserver.resources.strategies.pod_resources import default_pod_level_resources
from steersman.cluster.apiserver.resources.strategies.pod_warnings import pod_warnings
from steersman.cluster.apiserver.resources.strategies.strategy import (
    Strategy,
    Subresource,
    keep,
    next_generation,
    spec_of,
    status_endpoint,
)
from steersman.objects.addresses import ip_warnings
from steersman.objects.fields import Path
from steersman.objects.kinds import Object
from steersman.objects.names import is_dns1123_label
from steersman.objects.pod_lifecycle import is_terminal
from steersman.objects.pods import quality_of_service
from steersman.objects.times import format_time

__all__ = ["PODS", "grace_period_s"]

_AFFINITY_KINDS: Final = ("podAffinity", "podAntiAffinity")
#: Status lists that clients unaware of dynamic resources drop by accident.
_CLAIM_STATUSES: Final = (
    "resourceClaimStatuses",
    "extendedResourceClaimStatus",
    "nodeAllocatableResourceClaimStatuses",
)


def grace_period_s(pod: Object, requested: int | None) -> int:
    """How long a pod gets when it is deleted: what was asked, else what it says; none if it cannot run."""
    seconds = requested if requested is not None else pod["spec"].get("terminationGracePeriodSeconds") or 0
    if not pod["spec"].get("nodeName") or is_terminal(pod):
        return 0
    return 1 if seconds < 0 else int(seconds)


def _prepare_create(pod: Object) -> list[str]:
    spec, status = pod["spec"], pod["status"]
    drop_from_pod(pod)
    if spec.get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": format_time(datetime.now(UTC)),
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]
    labels = pod["metadata"].get("labels") or {}
    for term in _affinity_terms(spec):
        _apply_label_keys(term, labels)
    for constraint in spec.get("topologySpreadConstraints") or ():
        _apply_label_keys(constraint, labels)
    warnings = profiles_from_annotations(pod)
    default_pod_level_resources(spec)
    status["qosClass"] = quality_of_service(spec)
    return warnings


def _affinity_terms(spec: Object) -> Iterator[Object]:
    for kind in _AFFINITY_KINDS:
        affinity = (spec.get("affinity") or {}).get(kind) or {}
        for weighted in affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield weighted["podAffinityTerm"]
        yield from affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()


def _apply_label_keys(term: Object, labels: Object) -> None:
    """Turn the names of labels a pod must (not) share with others into requirements on their values."""
    selector = term.get("labelSelector")
    if selector is None:
        return
    for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in term.get(field) or ():
            if key in labels:
                requirement = {"key": key, "operator": operator, "values": [labels[key]]}
                selector.setdefault("matchExpressions", []).append(requirement)


def _prepare_update(new: Object, old: Object) -> None:
    # A client that does not know the field leaves it out, which must not remove it.
    if new["spec"].get("resources") is None:
        keep(new["spec"], old["spec"], "resources")
    drop_from_pod(new, old)


def _prepare_status(new: Object, old: Object) -> None:
    status, before = new["status"], old["status"]
    for key in ("qosClass", "observedGeneration", *_CLAIM_STATUSES):
        if not status.get(key) and before.get(key):
            status[key] = before[key]
    _keep_observed_generations(status.get("conditions") or [], before.get("conditions") or [])


def _keep_observed_generations(conditions: list[Object], before: list[Object]) -> None:
    """A condition sent without observedGeneration keeps the one it had; types may occur more than once."""
    earlier: dict[str, list[int]] = {}
    for condition in before:
        earlier.setdefault(condition.get("type", ""), []).append(condition.get("observedGeneration", 0))
    for condition in conditions:
        generations = earlier.get(condition.get("type", ""))
        generation = generations.pop(0) if generations else 0
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation


def _keep_but(change: Callable[[Object, Object], Object]) -> Callable[[Object, Object], None]:
    """An endpoint that takes only `change(new spec, old spec)` from a client and keeps all else."""
    keep_metadata = status_endpoint("metadata").prepare

    def prepare(new: Object, old: Object) -> None:
        spec = change(new["spec"], old["spec"])
        keep(new, old, "status")
        keep_metadata(new, old)
        new["spec"] = spec
        if spec != old["spec"]:
            next_generation(new, old)

    return prepare


def _with_ephemeral_containers(new: Object, old: Object) -> Object:
    spec = dict(old)
    keep(spec, new, "ephemeralContainers")
    return spec


def _with_resources(new: Object, old: Object) -> Object:
    """Only resources change; containers added, removed or renamed pass through for validation to refuse."""
    kinds = ("containers", "initContainers")
    names = [[[c.get("name") for c in spec.get(kind) or ()] for kind in kinds] for spec in (new, old)]
    if [len(group) for group in names[0]] != [len(group) for group in names[1]]:
        return new
    spec = dict(old)
    for position, kind in enumerate(kinds):
        if names[0][position] != names[1][position]:
            spec[kind] = new[kind]
        elif old.get(kind):
            spec[kind] = [dict(container) for container in old[kind]]
            for container, wanted in zip(spec[kind], new[kind], strict=True):
                keep(container, wanted, "resources", "resizePolicy")
    if new.get("resources") is not None:
        spec["resources"] = dict(new["resources"])
        default_pod_level_resources(spec)
    return spec


def _create_warnings(pod: Object) -> list[str]:
    problems = is_dns1123_label(pod["metadata"].get("name", ""))
    warnings = pod_warnings(pod)
    if problems:
        text = (
            "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; "
            f"a DNS label is recommended: [{' '.join(problems)}]"
        )
        warnings.insert(0, text)
    return warnings


def _status_warnings(pod: Object) -> list[str]:
    status, path = pod["status"], Path("status")
    return [
        warning
        for kind in ("podIPs", "hostIPs")
        for index, item in enumerate(status.get(kind) or ())
        for warning in ip_warnings(path.child(kind).index(index).child("ip"), item.get("ip", ""))
    ]


def _address(pod: Object) -> str:
    addresses: list[Object] = pod["status"].get("podIPs") or [{}]
    return str(addresses[0].get("ip", ""))


PODS: Final = Strategy(
    "",
    "pods",
    returns_deleted=True,
    zero_status={"phase": "Pending"},
    generation=spec_of,
    on_create=_prepare_create,
    on_update=_prepare_update,
    create_warnings=_create_warnings,
    reset_fields=("status",),
    subresources={
        "status": status_endpoint(
            "deletionTimestamp", "ownerReferences", also=_prepare_status, warnings=_status_warnings
        ),
        # Who asks these for more than they change owns that, too.
        "ephemeralcontainers": Subresource(_keep_but(_with_ephemeral_containers)),
        "resize": Subresource(_keep_but(_with_resources)),
    },
    fields={
        "spec.nodeName": lambda pod: pod["spec"].get("nodeName", ""),
        # What nodeName was called in the first clients.
        "spec.host": lambda pod: pod["spec"].get("nodeName", ""),
        "spec.restartPolicy": lambda pod: pod["spec"].get("restartPolicy", ""),
        "spec.schedulerName": lambda pod: pod["spec"].get("schedulerName", ""),
        "spec.serviceAccountName": lambda pod: pod["spec"].get("serviceAccountName", ""),
        "spec.hostNetwork": lambda pod: "true" if pod["spec"].get("hostNetwork") else "false",
        "status.phase": lambda pod: pod["status"].get("phase", ""),
        "status.podIP": _address,
        # Accepted as a name, but no pod has a value under it.
        "status.podIPs": lambda pod: "",
        "status.nominatedNodeName": lambda pod: pod["status"].get("nominatedNodeName", ""),
    },
    graceful=True,
)
