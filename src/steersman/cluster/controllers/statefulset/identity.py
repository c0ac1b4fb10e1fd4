"""The identity of a StatefulSet's pod: ordinal, name, labels, hostname and claims. Pure."""

from __future__ import annotations

import re
from typing import Final

from steersman.cluster.controllers.controller_revisions import REVISION_LABEL
from steersman.cluster.controllers.pod_states import PodState
from steersman.cluster.controllers.templates import pod_from_template
from steersman.objects.kinds.types.apps_v1 import StatefulSet
from steersman.objects.kinds.types.core_v1 import PersistentVolumeClaim, Pod, PodTemplateSpec, Volume
from steersman.objects.resources import STATEFUL_SETS

__all__ = [
    "claim_name",
    "count",
    "fits",
    "identified",
    "is_member",
    "is_parallel",
    "new_pod",
    "ordinal_of",
    "partition",
    "pod_name",
    "revision_of",
    "start",
]


_NAME_LABEL: Final = "statefulset.kubernetes.io/pod-name"
_INDEX_LABEL: Final = "apps.kubernetes.io/pod-index"
_numbered = re.compile(r"(.*)-([0-9]+)").fullmatch
_MOST: Final = 2**31 - 1


def start(stateful_set: StatefulSet) -> int:
    return (stateful_set["spec"].get("ordinals") or {}).get("start") or 0


def count(stateful_set: StatefulSet) -> int:
    return stateful_set["spec"].get("replicas") or 0


def is_parallel(stateful_set: StatefulSet) -> bool:
    policy: str = stateful_set["spec"].get("podManagementPolicy", "")
    return policy == "Parallel"


def partition(stateful_set: StatefulSet) -> int | None:
    """How many pods a rolling update leaves as they are; None if none was asked for."""
    rolling = (stateful_set["spec"].get("updateStrategy") or {}).get("rollingUpdate")
    return None if rolling is None else rolling.get("partition") or 0


def pod_name(stateful_set: StatefulSet, ordinal: int) -> str:
    return f"{stateful_set['metadata']['name']}-{ordinal}"


def claim_name(stateful_set: StatefulSet, template: PersistentVolumeClaim, ordinal: int) -> str:
    return f"{template['metadata']['name']}-{pod_name(stateful_set, ordinal)}"


def ordinal_of(name: str) -> int:
    """The number at the end of a pod's name; -1 if there is none."""
    matched = _numbered(name)
    return int(matched[2]) if matched and int(matched[2]) <= _MOST else -1


def is_member(stateful_set: StatefulSet, name: str) -> bool:
    """Whether a pod's name is one of the set's."""
    matched = _numbered(name)
    return matched is not None and matched[1] == stateful_set["metadata"]["name"]


def revision_of(pod: PodState) -> str:
    return pod.labels.get(REVISION_LABEL, "")


def fits(stateful_set: StatefulSet, pod: PodState) -> bool:
    """Whether the pod has its name's label and storage."""
    ordinal = ordinal_of(pod.name)
    if pod.name != pod_name(stateful_set, ordinal) or pod.labels.get(_NAME_LABEL) != pod.name:
        return False
    mounted = {
        volume.name: volume.persistent_volume_claim.claim_name
        for volume in pod.spec.volumes or ()
        if volume.persistent_volume_claim is not None
    }
    return all(
        mounted.get(template["metadata"]["name"]) == claim_name(stateful_set, template, ordinal)
        for template in stateful_set["spec"].get("volumeClaimTemplates") or ()
    )


def identified(stateful_set: StatefulSet, pod: Pod) -> Pod:
    """The pod with the labels and storage of its number."""
    metadata = pod["metadata"]
    ordinal = ordinal_of(metadata["name"])
    labels = {
        **(metadata.get("labels") or {}),
        _NAME_LABEL: metadata["name"],
        _INDEX_LABEL: str(ordinal),
    }
    templates = stateful_set["spec"].get("volumeClaimTemplates") or ()
    names = {template["metadata"]["name"] for template in templates}
    volumes: list[Volume] = [
        {
            "name": template["metadata"]["name"],
            "persistentVolumeClaim": {"claimName": claim_name(stateful_set, template, ordinal)},
        }
        for template in templates
    ]
    volumes += [volume for volume in pod["spec"].get("volumes") or () if volume["name"] not in names]
    spec = pod["spec"]
    if volumes:
        spec = {**spec, "volumes": volumes}
    return {**pod, "metadata": {**metadata, "labels": labels}, "spec": spec}


def new_pod(stateful_set: StatefulSet, template: PodTemplateSpec, revision: str, ordinal: int) -> Pod:
    """The pod of a number, made from a revision's template."""
    pod = pod_from_template(template, stateful_set, STATEFUL_SETS)
    name = pod_name(stateful_set, ordinal)
    pod["metadata"]["name"] = name
    pod["metadata"]["labels"][REVISION_LABEL] = revision
    pod["spec"]["hostname"] = name
    if service := stateful_set["spec"].get("serviceName"):
        pod["spec"]["subdomain"] = service
    return identified(stateful_set, pod)
