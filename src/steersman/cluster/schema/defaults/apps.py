"""Defaults of the workloads of the apps group."""

from __future__ import annotations

from steersman.cluster.schema.defaults.filling import unset, zero
from steersman.cluster.schema.defaults.pods import default_template
from steersman.cluster.schema.defaults.storage import default_claim
from steersman.objects.kinds import Object

__all__ = ["default_daemon_set", "default_deployment", "default_replica_set", "default_stateful_set"]


def _default_rolling(strategy: Object, **values: object) -> None:
    """A strategy without type rolls; one that rolls has every number filled in."""
    zero(strategy, "type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        unset(strategy, "rollingUpdate", {})
        for key, value in values.items():
            unset(strategy["rollingUpdate"], key, value)


def default_deployment(deployment: Object) -> None:
    spec: Object = deployment["spec"]
    unset(spec, "replicas", 1)
    _default_rolling(spec["strategy"], maxUnavailable="25%", maxSurge="25%")
    unset(spec, "revisionHistoryLimit", 10)
    unset(spec, "progressDeadlineSeconds", 600)
    default_template(spec["template"])


def default_replica_set(replica_set: Object) -> None:
    unset(replica_set["spec"], "replicas", 1)
    default_template(replica_set["spec"]["template"])


def default_daemon_set(daemon_set: Object) -> None:
    spec: Object = daemon_set["spec"]
    _default_rolling(spec["updateStrategy"], maxUnavailable=1, maxSurge=0)
    # Numbers, not pointers, in the internal type: what is not said is 0, where it means nothing, too.
    for key in (
        ("maxUnavailable", "maxSurge") if spec["updateStrategy"].get("rollingUpdate") is not None else ()
    ):
        unset(spec["updateStrategy"]["rollingUpdate"], key, 0)
    unset(spec, "revisionHistoryLimit", 10)
    default_template(spec["template"])
    # A field of the internal type that has become an annotation of the published one, always written.
    annotations: Object = daemon_set["metadata"].setdefault("annotations", {})
    unset(annotations, "deprecated.daemonset.template.generation", "0")


def default_stateful_set(stateful_set: Object) -> None:
    spec: Object = stateful_set["spec"]
    zero(spec, "podManagementPolicy", "OrderedReady")
    strategy: Object = spec["updateStrategy"]
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        unset(strategy, "rollingUpdate", {})
    # Unlike the others, an explicit RollingUpdate without numbers stays without.
    if strategy["type"] == "RollingUpdate" and (rolling := strategy.get("rollingUpdate")) is not None:
        unset(rolling, "partition", 0)
        unset(rolling, "maxUnavailable", 1)
    unset(spec, "persistentVolumeClaimRetentionPolicy", {})
    for moment in ("whenDeleted", "whenScaled"):
        zero(spec["persistentVolumeClaimRetentionPolicy"], moment, "Retain")
    unset(spec, "replicas", 1)
    unset(spec, "revisionHistoryLimit", 10)
    default_template(spec["template"])
    for claim in spec.get("volumeClaimTemplates") or ():
        claim.update(apiVersion="v1", kind="PersistentVolumeClaim")
        default_claim(claim)
