"""The pod of a workload: what people wrote as a pod template."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from steersman.highlander.config.specs import Port, ResourcesSpec, ServiceSpec, Sidecar, WorkloadSpec
from steersman.highlander.workloads.merging import patched
from steersman.highlander.workloads.ownership import Stamp, WorkloadKey, identity_labels
from steersman.objects.kinds import Object

__all__ = ["EPOCH_VARIABLE", "apart", "pod_template"]


#: How a program in a pod learns its epoch: what it writes elsewhere can carry it, and be refused when stale.
EPOCH_VARIABLE = "HIGHLANDER_EPOCH"

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
#: A label of all nodes a pod can run on, of the same value on all of them.
_EVERYWHERE = "kubernetes.io/os"


def pod_template(
    spec: WorkloadSpec, key: WorkloadKey, stamp: Stamp, *, restart_policy: str, grace_s: int | None
) -> Object:
    """metadata and spec of the pod; ours are the last words on labels, annotations and the epoch."""
    template: Object = {
        "metadata": {"labels": dict(spec.labels), "annotations": dict(spec.annotations)},
        "spec": _pod_spec(spec, key, restart_policy, grace_s),
    }
    if spec.pod_template_patch:
        template = patched(template, spec.pod_template_patch)
    metadata = template["metadata"]
    labels = {**(metadata.get("labels") or {}), **identity_labels(stamp.tenant, key), **stamp.labels}
    annotations = {**(metadata.get("annotations") or {}), **stamp.annotations}
    pod = dict(template["spec"])
    for field in ("initContainers", "containers"):
        if field in pod:
            pod[field] = [_with_epoch(container, stamp) for container in pod[field]]
    return {"metadata": {**metadata, "labels": labels, "annotations": annotations}, "spec": pod}


def apart(template: Object, stamp: Stamp, key: WorkloadKey) -> Object:
    """The template of pods of which the scheduler places none while another of the workload lives.

    A controller that makes up its pods' names starts the next one when somebody deletes or evicts the last,
    and does not wait for that to have ended. The scheduler counts a pod until it has.
    """
    term = {
        "labelSelector": {"matchLabels": identity_labels(stamp.tenant, key)},
        "topologyKey": _EVERYWHERE,
    }
    affinity = template["spec"].get("affinity") or {}
    anti = affinity.get("podAntiAffinity") or {}
    terms = [*(anti.get(_REQUIRED) or ()), term]
    pod = {**template["spec"], "affinity": {**affinity, "podAntiAffinity": {**anti, _REQUIRED: terms}}}
    return {**template, "spec": pod}


def _pod_spec(spec: WorkloadSpec, key: WorkloadKey, restart_policy: str, grace_s: int | None) -> Object:
    pod: Object = {
        "containers": [_main(spec, key), *(_sidecar(each) for each in spec.sidecars)],
        "initContainers": [_sidecar(each) for each in spec.init_containers],
        "restartPolicy": restart_policy,
        "terminationGracePeriodSeconds": grace_s,
        "volumes": [*_file_volumes(spec), *spec.volumes],
        "nodeSelector": dict(spec.node_selector),
        "affinity": spec.affinity,
        "tolerations": list(spec.tolerations),
        "serviceAccountName": spec.service_account,
        "imagePullSecrets": [{"name": name} for name in spec.image_pull_secrets],
        "securityContext": spec.security_context,
        "priorityClassName": spec.priority_class_name,
    }
    return _said(pod)


def _main(spec: WorkloadSpec, key: WorkloadKey) -> Object:
    command, args = list(spec.command), list(spec.args)
    if spec.script is not None:
        command, args = [spec.script.shell, "-c", "\n".join(("set -e", *spec.script.commands))], []
    readiness, liveness = spec.readiness_probe, spec.liveness_probe
    if isinstance(spec, ServiceSpec) and spec.health_check_path:
        probe = _health_check(spec)
        readiness, liveness = readiness or probe, liveness or {**probe, "failureThreshold": 6}
    return _said(
        {
            "name": key.name,
            "image": spec.image,
            "imagePullPolicy": spec.image_pull_policy,
            "command": command,
            "args": args,
            "env": [*_variables(spec.env), *spec.env_list],
            "envFrom": list(spec.env_from),
            "resources": _resources(spec.resources),
            "ports": _ports(spec.ports),
            "volumeMounts": [*_file_mounts(spec), *spec.volume_mounts],
            "readinessProbe": readiness,
            "livenessProbe": liveness,
            "startupProbe": spec.startup_probe,
            "securityContext": spec.container_security_context,
        }
    )


def _sidecar(sidecar: Sidecar) -> Object:
    return _said(
        {
            "name": sidecar.name,
            "image": sidecar.image,
            "command": list(sidecar.command),
            "args": list(sidecar.args),
            "env": _variables(sidecar.env),
            "resources": _resources(sidecar.resources),
            "ports": _ports(sidecar.ports),
            "volumeMounts": list(sidecar.volume_mounts),
            "securityContext": sidecar.security_context,
        }
    )


def _health_check(spec: ServiceSpec) -> Object:
    port = spec.health_check_port or (spec.ports[0].container_port if spec.ports else 80)
    return {"httpGet": {"path": spec.health_check_path, "port": port}}


def _with_epoch(container: Mapping[str, Any], stamp: Stamp) -> Object:
    ours = {
        EPOCH_VARIABLE: str(stamp.epoch),
        "HIGHLANDER_TENANT": stamp.tenant,
        "HIGHLANDER_CLUSTER_NAME": stamp.cluster_name,
    }
    kept = [each for each in container.get("env") or () if each.get("name") not in ours]
    # First, so that other variables can refer to them: $(HIGHLANDER_EPOCH).
    return {**container, "env": [*_variables(ours), *kept]}


def _variables(values: Mapping[str, str]) -> list[Object]:
    return [{"name": name, "value": value} for name, value in values.items()]


def _resources(resources: ResourcesSpec | None) -> Object:
    if resources is None:
        return {}
    requests = {"cpu": resources.cpu_request, "memory": resources.memory_request}
    limits = {"cpu": resources.cpu_limit, "memory": resources.memory_limit}
    return _said({"requests": _said(requests), "limits": _said(limits)})


def _ports(ports: Iterable[Port]) -> list[Object]:
    return [
        _said({"name": port.name, "containerPort": port.container_port, "protocol": port.protocol})
        for port in ports
    ]


def _file_volumes(spec: WorkloadSpec) -> list[Object]:
    maps = [{"name": f"config-{name}"[:63], "configMap": {"name": name}} for name in spec.config_maps]
    secrets = [{"name": f"secret-{name}"[:63], "secret": {"secretName": name}} for name in spec.secrets]
    return [*maps, *secrets]


def _file_mounts(spec: WorkloadSpec) -> list[Object]:
    maps = [{"name": f"config-{name}"[:63], "mountPath": f"/etc/config/{name}"} for name in spec.config_maps]
    secrets = [{"name": f"secret-{name}"[:63], "mountPath": f"/etc/secrets/{name}"} for name in spec.secrets]
    return [{**mount, "readOnly": True} for mount in (*maps, *secrets)]


def _said(fields: Mapping[str, Any]) -> Object:
    """What says something: the rest is the API server's default."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}
