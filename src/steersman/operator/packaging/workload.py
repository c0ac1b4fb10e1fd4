"""The pods that operators run in: a Deployment, hardened, with probes; its container is also Raft's."""

from __future__ import annotations

from typing import Final, TypeVar

from steersman.objects.builders import (
    Container,
    Deployment,
    PodDisruptionBudget,
    PodSecurityContext,
    Probe,
    Resources,
    SecurityContext,
    Service,
    StatefulSet,
    Volume,
)
from steersman.objects.kinds import Object
from steersman.operator.packaging.election import LOCK_URL, Engine
from steersman.operator.packaging.release import METRICS_PORT, WEBHOOK_PORT, Release

__all__ = ["budget", "container", "deployment", "in_pods", "metrics_service", "webhook_service"]

W = TypeVar("W", Deployment, StatefulSet)

#: More than `operator.Settings.grace_s`: reconciles end, then the lease is given up and events are sent.
_TERMINATION_S: Final = 45
_WEBHOOK_SERVICE_PORT: Final = 443


def container(release: Release) -> Container:
    made = (
        Container("operator")
        .image(release.image)
        .command(*release.command)
        .env_from_field("POD_NAME", "metadata.name")
        .env_from_field("POD_NAMESPACE", "metadata.namespace")
        # Nothing can be written beside the code.
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .port(METRICS_PORT, "metrics")
        .liveness_probe(Probe.http("/healthz", "metrics").period(10).timeout(5).failure_threshold(3))
        .readiness_probe(Probe.http("/readyz", "metrics").period(5).timeout(5))
        .resources(Resources().cpu_request("50m").memory_request("128Mi").memory_limit("512Mi"))
        .security_context(SecurityContext.restricted().read_only_root_filesystem())
        .volume_mount("tmp", "/tmp")  # noqa: S108 - a folder of the pod's own
    )
    if release.webhooks:
        made.port(WEBHOOK_PORT, "webhooks")
    if release.engine in (Engine.REDIS, Engine.POSTGRES) and release.chosen_election:
        made.env_from_secret(LOCK_URL, release.lock_secret or f"{release.name}-lock", "url")
    return made


def in_pods(workload: W, release: Release, content: Container) -> W:
    """The workload with what the pods of all kinds have in common."""
    workload.labels(release.labels).selector(release.labels).pod_labels(release.labels)
    workload.replicas(release.replicas)
    workload.container(content).volume(Volume.empty_dir("tmp"))
    workload.service_account(release.name).security_context(PodSecurityContext.restricted())
    workload.enable_service_links(False).termination_grace_period(_TERMINATION_S)
    if release.replicas > 1:
        workload.topology_spread("kubernetes.io/hostname", when_unsatisfiable="ScheduleAnyway")
    return workload


def deployment(release: Release) -> Object:
    made = in_pods(Deployment(release.name, release.namespace), release, container(release))
    if release.is_coordinated:
        made.rolling_update(max_surge=1, max_unavailable=0)
    else:
        made.recreate()  # nobody would keep the old pod and the new one from working at the same time
    return made.to_object()


def metrics_service(release: Release) -> Object:
    made = Service(f"{release.name}-metrics", release.namespace).labels(release.labels)
    return made.named_port("metrics", METRICS_PORT, "metrics").selector(release.labels).to_object()


def webhook_service(release: Release) -> Object:
    made = Service(release.webhooks, release.namespace).labels(release.labels)
    return made.named_port("webhooks", _WEBHOOK_SERVICE_PORT, "webhooks").selector(release.labels).to_object()


def budget(release: Release) -> Object:
    """Not more than one replica is taken away at a time."""
    made = PodDisruptionBudget(release.name, release.namespace).labels(release.labels)
    return made.selector(release.labels).max_unavailable(1).to_object()
