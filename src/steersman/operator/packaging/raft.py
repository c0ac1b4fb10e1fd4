"""Replicas that are a Raft cluster: a StatefulSet with disks, its headless Service, who may talk to it."""

from __future__ import annotations

from typing import Final

from steersman.election import RaftConfig
from steersman.objects.builders import (
    NetworkPolicy,
    NetworkPolicyIngress,
    PersistentVolumeClaim,
    PodSecurityContext,
    Probe,
    Service,
    StatefulSet,
    Volume,
)
from steersman.objects.kinds import Object
from steersman.operator.packaging.release import METRICS_PORT, WEBHOOK_PORT, Release
from steersman.operator.packaging.workload import container, in_pods
from steersman.raft.config import DEFAULT_PORT

__all__ = ["headless_service", "network_policy", "stateful_set", "tls_secret"]


_DISK: Final = "data"
_TLS: Final = "raft-tls"
_GROUP: Final = 65532
#: How many times a pod may be asked in vain whether its webhooks are served, before it is started anew.
_LONGEST_START: Final = 150


def tls_secret(release: Release) -> str:
    """The Secret with ca.crt, tls.crt and tls.key, as cert-manager makes them."""
    return f"{release.name}-raft-tls"


def stateful_set(release: Release, raft: RaftConfig) -> Object:
    settings = raft.settings
    content = container(release).port(DEFAULT_PORT, "raft")
    made = StatefulSet(release.name, release.namespace).service_name(settings.service)
    # The nodes find each other before they are ready.
    made.pod_management("Parallel")
    if settings.http:
        content.port(_port(settings.http), "raft-http")
        content.readiness_probe(Probe.http("/ready", "raft-http").period(5).timeout(5))
        if release.webhooks:
            # A member of the Raft cluster is not asked by the API before it answers.
            starting = Probe.http("/readyz", "metrics").period(2).timeout(5)
            content.startup_probe(starting.failure_threshold(_LONGEST_START))
    if settings.folder is not None:
        content.volume_mount(_DISK, str(settings.folder.parent))
        claim = PersistentVolumeClaim(_DISK).storage("1Gi").access_mode("ReadWriteOnce")
        made.volume_claim_template(claim)
    if settings.tls is not None:
        content.volume_mount(_TLS, str(settings.tls.ca.parent), read_only=True)
        made.volume(Volume.secret(_TLS, tls_secret(release)))
    in_pods(made, release, content)
    # The disk belongs to whoever the image's user is, by this group.
    return made.security_context(PodSecurityContext.restricted().fs_group(_GROUP)).to_object()


def headless_service(release: Release, raft: RaftConfig) -> Object:
    """Names of the nodes, also of those that are not ready: they need the others to become it."""
    made = Service(raft.settings.service, release.namespace).labels(release.labels).headless()
    made.publish_not_ready_addresses().named_port("raft", DEFAULT_PORT, "raft")
    return made.selector(release.labels).to_object()


def network_policy(release: Release, raft: RaftConfig) -> Object:
    """Only nodes talk Raft with nodes; whoever watches over them asks for health and metrics."""
    asked = NetworkPolicyIngress().tcp_port(METRICS_PORT)
    if raft.settings.http:
        asked.tcp_port(_port(raft.settings.http))
    if release.webhooks:
        asked.tcp_port(WEBHOOK_PORT)
    among = NetworkPolicyIngress().from_pod_selector(release.labels).tcp_port(DEFAULT_PORT)
    made = NetworkPolicy(release.name, release.namespace).labels(release.labels)
    return made.pod_selector(release.labels).allow_ingress(among).allow_ingress(asked).to_object()


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])
