"""The objects that a workload is made of.

| kind       | objects                                            | never two copies, because             |
|------------|----------------------------------------------------|---------------------------------------|
| process    | Pod NAME-pod                                       | a name is there once                  |
| cronjob    | CronJob NAME                                       | concurrencyPolicy Forbid, `apart`     |
| service    | Deployment NAME, Service NAME if it has ports      | strategy Recreate, `apart`            |
| persistent | StatefulSet NAME, headless Service                 | each pod has a name of its own        |

Stopping: a process' pod is deleted, a cron job suspended, the others scaled to none.

What makes an object may arrive late, when its sender does not lead any more, and must start nothing then: a
process' pod is made behind a `GATE`, the others at rest. Whoever has seen it made has it run, by a request
that names that very object.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import orjson

from steersman.highlander.config.specs import (
    CronJobSpec,
    PersistentSpec,
    ProcessSpec,
    ServiceSpec,
    Span,
    WorkloadSpec,
)
from steersman.highlander.workloads.ownership import HASH, Stamp, WorkloadKey, identity_labels
from steersman.highlander.workloads.pods import apart, pod_template
from steersman.objects.kinds import Object
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import CRON_JOBS, DEPLOYMENTS, PODS, SERVICES, STATEFUL_SETS
from steersman.operator.terms import TERM

__all__ = [
    "GATE",
    "Part",
    "at_rest",
    "has_gate",
    "is_at_rest",
    "parts",
    "pod_name",
    "service_name",
    "without_gate",
]

#: No scheduler looks at a pod that has it.
GATE = "highlander.steersman.dev/leader"
#: With this in its spec, nothing runs of an object.
_AT_REST: dict[ResourceType, Object] = {
    DEPLOYMENTS: {"replicas": 0},
    STATEFUL_SETS: {"replicas": 0},
    CRON_JOBS: {"suspend": True},
}
#: Labels that change with the leader, and with it alone.
_LEADERS = ("is-leader", "controller-id", "cluster-name")


@dataclass(frozen=True, slots=True)
class Part:
    """One object of a workload."""

    resource: ResourceType
    object: Object

    @property
    def name(self) -> str:
        name: str = self.object["metadata"]["name"]
        return name


def pod_name(name: str) -> str:
    return f"{name}-pod"


def service_name(spec: PersistentSpec, key: WorkloadKey) -> str:
    return spec.service_name or key.name


def parts(
    spec: WorkloadSpec, key: WorkloadKey, stamp: Stamp, *, default_grace_s: int | None = None
) -> list[Part]:
    """The objects of a workload that runs, in the order in which they are to be made."""
    grace_s = spec.grace_s if spec.grace_s is not None else default_grace_s
    match spec:
        case ProcessSpec():
            return [_process(spec, key, stamp, grace_s)]
        case CronJobSpec():
            return [_cron_job(spec, key, stamp, grace_s)]
        case PersistentSpec():
            return [_headless(spec, key, stamp), _stateful_set(spec, key, stamp, grace_s)]
        case ServiceSpec():
            deployment = _deployment(spec, key, stamp, grace_s)
            return [deployment, _service(spec, key, stamp)] if spec.ports else [deployment]
    raise TypeError(f"no workload: {spec!r}")


def at_rest(part: Part) -> Part:
    """The same object, but so that nothing runs of it."""
    rest = _AT_REST.get(part.resource, {})
    return Part(part.resource, {**part.object, "spec": {**part.object["spec"], **rest}})


def is_at_rest(resource: ResourceType, obj: Object) -> bool:
    """Whether an object is so that nothing runs of it, or nothing will before long."""
    rest = _AT_REST.get(resource)
    return rest is not None and all(obj["spec"].get(field) == value for field, value in rest.items())


def has_gate(pod: Object) -> bool:
    return any(gate["name"] == GATE for gate in pod["spec"].get("schedulingGates") or ())


def without_gate(pod: Object) -> Object:
    """The strategic patch that lets a pod run, if it is as it was seen."""
    return {
        "metadata": {"resourceVersion": pod["metadata"]["resourceVersion"]},
        "spec": {"schedulingGates": [{"$patch": "delete", "name": GATE}]},
    }


def _process(spec: ProcessSpec, key: WorkloadKey, stamp: Stamp, grace_s: int | None) -> Part:
    policy = spec.restart_policy or "Never"
    template = pod_template(spec, key, stamp, restart_policy=policy, grace_s=grace_s)
    metadata = template["metadata"]
    annotations = {**metadata["annotations"], HASH: _hash(template)}
    pod = _object(PODS, pod_name(key.name), key, spec, stamp, template["spec"])
    pod["metadata"]["labels"] |= metadata["labels"]
    pod["metadata"]["annotations"] |= annotations
    if "nodeName" not in pod["spec"]:
        pod["spec"] = {
            **pod["spec"],
            "schedulingGates": [*pod["spec"].get("schedulingGates", ()), {"name": GATE}],
        }
    return Part(PODS, pod)


def _cron_job(spec: CronJobSpec, key: WorkloadKey, stamp: Stamp, grace_s: int | None) -> Part:
    policy = "Never" if spec.restart_policy == "Never" else "OnFailure"
    template = apart(pod_template(spec, key, stamp, restart_policy=policy, grace_s=grace_s), stamp, key)
    job: Object = {
        # A pod that is still ending counts as one that runs.
        "podReplacementPolicy": "Failed",
        "backoffLimit": spec.backoff_limit,
        "activeDeadlineSeconds": _seconds(spec.active_deadline),
        "template": template,
    }
    metadata = {
        "labels": {**identity_labels(stamp.tenant, key), **stamp.labels},
        "annotations": stamp.annotations,
    }
    wanted: Object = {
        "schedule": spec.schedule,
        "timeZone": spec.time_zone or None,
        "concurrencyPolicy": "Forbid",
        "suspend": False,
        "startingDeadlineSeconds": _seconds(spec.starting_deadline),
        "successfulJobsHistoryLimit": spec.successful_jobs_history_limit,
        "failedJobsHistoryLimit": spec.failed_jobs_history_limit,
        "jobTemplate": {"metadata": metadata, "spec": _given(job)},
    }
    return Part(CRON_JOBS, _object(CRON_JOBS, key.name, key, spec, stamp, _given(wanted)))


def _deployment(spec: ServiceSpec, key: WorkloadKey, stamp: Stamp, grace_s: int | None) -> Part:
    template = pod_template(spec, key, stamp, restart_policy="Always", grace_s=grace_s)
    wanted = {
        "replicas": spec.replicas,
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": identity_labels(stamp.tenant, key)},
        "template": template if spec.replicas > 1 else apart(template, stamp, key),
    }
    return Part(DEPLOYMENTS, _object(DEPLOYMENTS, key.name, key, spec, stamp, wanted))


def _stateful_set(spec: PersistentSpec, key: WorkloadKey, stamp: Stamp, grace_s: int | None) -> Part:
    template = pod_template(spec, key, stamp, restart_policy="Always", grace_s=grace_s)
    mounts = [{"name": volume.name, "mountPath": volume.mount_path} for volume in spec.persistent_volumes]
    if mounts:
        main = template["spec"]["containers"][0]
        main["volumeMounts"] = [*main.get("volumeMounts", ()), *mounts]
    wanted: Object = {
        "replicas": spec.replicas,
        "serviceName": service_name(spec, key),
        "selector": {"matchLabels": identity_labels(stamp.tenant, key)},
        "template": template,
        "volumeClaimTemplates": [
            {
                "metadata": {"name": volume.name},
                "spec": _given(
                    {
                        "accessModes": list(volume.access_modes),
                        "storageClassName": volume.storage_class_name or None,
                        "resources": {"requests": {"storage": volume.size}},
                    }
                ),
            }
            for volume in spec.persistent_volumes
        ]
        or None,
    }
    return Part(STATEFUL_SETS, _object(STATEFUL_SETS, key.name, key, spec, stamp, _given(wanted)))


def _service(spec: ServiceSpec, key: WorkloadKey, stamp: Stamp) -> Part:
    wanted = {"type": spec.service_type, **_selected(spec, key, stamp)}
    return Part(SERVICES, _object(SERVICES, key.name, key, spec, stamp, wanted))


def _headless(spec: PersistentSpec, key: WorkloadKey, stamp: Stamp) -> Part:
    wanted = {"clusterIP": "None", **_selected(spec, key, stamp)}
    return Part(SERVICES, _object(SERVICES, service_name(spec, key), key, spec, stamp, wanted))


def _selected(spec: ServiceSpec, key: WorkloadKey, stamp: Stamp) -> Object:
    ports = [
        {
            "name": port.name or f"port-{port.container_port}",
            "port": port.service_port or port.container_port,
            "targetPort": port.container_port,
            "protocol": port.protocol,
        }
        for port in spec.ports
    ]
    return _given({"selector": identity_labels(stamp.tenant, key), "ports": ports or None})


def _object(
    resource: ResourceType, name: str, key: WorkloadKey, spec: WorkloadSpec, stamp: Stamp, wanted: Object
) -> Object:
    labels = {**spec.labels, **identity_labels(stamp.tenant, key), **stamp.labels}
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": name,
            "namespace": key.namespace,
            "labels": labels,
            "annotations": {**spec.annotations, **stamp.annotations},
        },
        "spec": wanted,
    }


def _hash(template: Object) -> str:
    """Of a pod template, whoever leads and in whichever epoch."""
    metadata = template["metadata"]
    told = {
        "labels": {name: value for name, value in metadata["labels"].items() if name not in _LEADERS},
        "annotations": {name: value for name, value in metadata["annotations"].items() if name != TERM},
        "spec": {
            **template["spec"],
            "containers": [_timeless(each) for each in template["spec"]["containers"]],
            "initContainers": [_timeless(each) for each in template["spec"].get("initContainers", ())],
        },
    }
    return blake2b(orjson.dumps(told, option=orjson.OPT_SORT_KEYS), digest_size=8).hexdigest()


def _timeless(container: Object) -> Object:
    variables = [each for each in container["env"] if not each["name"].startswith("HIGHLANDER_")]
    return {**container, "env": variables}


def _seconds(span: Span | None) -> int | None:
    return None if span is None else round(span.total_seconds())


def _given(fields: Object) -> Object:
    return {name: value for name, value in fields.items() if value is not None}
