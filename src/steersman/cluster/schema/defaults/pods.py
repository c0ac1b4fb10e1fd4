"""Defaults of pods and of the pod templates inside workloads.

A template gets what every pod spec gets; a pod itself gets more (requests from limits, service links,
host ports), which templates must not, or existing workloads would appear changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from steersman.cluster.schema.defaults.filling import round_resources, unset, zero
from steersman.cluster.schema.defaults.images import default_pull_policy
from steersman.cluster.schema.defaults.volumes import default_field_refs, default_volumes
from steersman.objects.kinds import Object
from steersman.objects.pods import CONTAINER_FIELDS

__all__ = ["default_pod", "default_pod_spec", "default_template"]

_RESOURCE_LISTS: Final = ("limits", "requests")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_NUMBERS: Final = (
    ("timeoutSeconds", 1),
    ("periodSeconds", 10),
    ("successThreshold", 1),
    ("failureThreshold", 3),
)
_STATUS_LISTS: Final = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")


def default_pod(pod: Object) -> None:
    spec: Object = pod["spec"]
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0:
        spec["terminationGracePeriodSeconds"] = 1
    for kind in ("containers", "initContainers"):
        for container in spec.get(kind) or ():
            _default_requests(container)
            if spec.get("hostNetwork"):
                for port in container.get("ports") or ():
                    if port.get("containerPort"):
                        zero(port, "hostPort", port["containerPort"])
    unset(spec, "enableServiceLinks", True)
    default_pod_spec(spec)
    if status := pod.get("status"):
        _default_status(status)


def _default_requests(container: Object) -> None:
    """A limit without a request is its own request."""
    limits = container["resources"].get("limits")
    if limits:
        requests = container["resources"].setdefault("requests", {})
        for name, quantity in limits.items():
            requests.setdefault(name, quantity)


def default_template(template: Object | None) -> None:
    if template is not None:
        default_pod_spec(template["spec"])


def default_pod_spec(spec: Object) -> None:
    # serviceAccount is the old name of serviceAccountName; the new one wins.
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    zero(spec, "dnsPolicy", "ClusterFirst")
    zero(spec, "restartPolicy", "Always")
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    unset(spec, "terminationGracePeriodSeconds", 30)
    zero(spec, "schedulerName", "default-scheduler")
    default_volumes(spec.get("volumes") or ())
    for kind in CONTAINER_FIELDS:
        _default_containers(spec.get(kind) or ())
    round_resources(spec, ("overhead",))
    if resources := spec.get("resources"):
        round_resources(resources, _RESOURCE_LISTS)


def _default_containers(containers: Iterable[Object]) -> None:
    for container in containers:
        zero(container, "imagePullPolicy", default_pull_policy(container.get("image", "")))
        zero(container, "terminationMessagePath", "/dev/termination-log")
        zero(container, "terminationMessagePolicy", "File")
        for port in container.get("ports") or ():
            zero(port, "protocol", "TCP")
        for variable in container.get("env") or ():
            if source := variable.get("valueFrom"):
                default_field_refs((source,))
                if (file := source.get("fileKeyRef")) is not None:
                    unset(file, "optional", False)
        round_resources(container["resources"], _RESOURCE_LISTS)
        _default_handlers(container)


def _default_handlers(container: Object) -> None:
    for name in _PROBES:
        probe = container.get(name)
        if probe is not None:
            for key, value in _PROBE_NUMBERS:
                zero(probe, key, value)
            _default_http(probe)
            if (grpc := probe.get("grpc")) is not None:
                unset(grpc, "service", "")
    if lifecycle := container.get("lifecycle"):
        for name in ("postStart", "preStop"):
            if handler := lifecycle.get(name):
                _default_http(handler)


def _default_http(handler: Object) -> None:
    if (http := handler.get("httpGet")) is not None:
        zero(http, "path", "/")
        zero(http, "scheme", "HTTP")


def _default_status(status: Object) -> None:
    """podIP and podIPs name the same address; where they differ the single one is right."""
    address, addresses = status.get("podIP"), status.get("podIPs")
    if address and (not addresses or addresses[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif addresses and not address and addresses[0].get("ip"):
        status["podIP"] = addresses[0]["ip"]
    for holder in (status, *(item for name in _STATUS_LISTS for item in status.get(name) or ())):
        round_resources(holder, ("allocatedResources",))
        if resources := holder.get("resources"):
            round_resources(resources, _RESOURCE_LISTS)
