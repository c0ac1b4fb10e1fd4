"""The persistentVolumeClaimRetentionPolicy of a StatefulSet: the owner references of its pods' claims. Pure.

| whenScaled | whenDeleted | owner of a claim whose pod is wanted | … is not wanted any more |
|------------|-------------|--------------------------------------|--------------------------|
| Retain     | Retain      | none                                 | none                     |
| Retain     | Delete      | the set                              | the set                  |
| Delete     | Retain      | none                                 | the pod                  |
| Delete     | Delete      | the set                              | the pod                  |

The garbage collector does the rest. Claims that others control, or earlier objects of the same names, are
left alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steersman.cluster.controllers.ownership import controller_reference
from steersman.cluster.controllers.statefulset.identity import claim_name, count, ordinal_of, start
from steersman.objects.kinds.types.apps_v1 import StatefulSet
from steersman.objects.kinds.types.core_v1 import PersistentVolumeClaim, Pod
from steersman.objects.kinds.types.meta_v1 import ObjectMeta, OwnerReference
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import PODS, STATEFUL_SETS

__all__ = ["belongs_to_earlier_pod", "has_other_controller", "new_claim", "right_owners"]

References = Sequence[OwnerReference]


def new_claim(
    stateful_set: StatefulSet, template: PersistentVolumeClaim, ordinal: int
) -> PersistentVolumeClaim:
    """A pod's own claim, as the template says."""
    given = template["metadata"]
    selector = stateful_set["spec"]["selector"].get("matchLabels") or {}
    metadata: ObjectMeta = {
        "name": claim_name(stateful_set, template, ordinal),
        "namespace": stateful_set["metadata"]["namespace"],
        "labels": {**(given.get("labels") or {}), **selector},
    }
    if annotations := given.get("annotations"):
        metadata["annotations"] = annotations
    return {"metadata": metadata, "spec": template["spec"]}


def right_owners(claim: PersistentVolumeClaim, stateful_set: StatefulSet, pod: Pod) -> References | None:
    """The owner references a claim should have instead of its own; None if it has them.

    `pod` needs no more than its metadata.
    """
    references = claim["metadata"].get("ownerReferences") or []
    if belongs_to_earlier_pod(claim, pod) or _is_stale(references, stateful_set, STATEFUL_SETS):
        return None
    ours = [
        reference
        for reference in references
        if _names(reference, stateful_set, STATEFUL_SETS) or _names(reference, pod, PODS)
    ]
    others = [reference for reference in references if reference not in ours]
    wanted = [] if has_other_controller(claim, stateful_set, pod) else _wanted(stateful_set, pod)
    if [(owner["uid"], owner.get("controller")) for owner in ours] == [
        (owner["uid"], owner["controller"]) for owner in wanted
    ]:
        return None
    return [*others, *wanted]


def _wanted(stateful_set: StatefulSet, pod: Pod) -> list[OwnerReference]:
    policy = stateful_set["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
    first = start(stateful_set)
    in_range = first <= ordinal_of(pod["metadata"]["name"]) < first + count(stateful_set)
    if policy.get("whenScaled") == "Delete" and not in_range:
        return [controller_reference(pod, PODS)]
    if policy.get("whenDeleted") == "Delete":
        return [controller_reference(stateful_set, STATEFUL_SETS)]
    return []


def has_other_controller(claim: PersistentVolumeClaim, stateful_set: StatefulSet, pod: Pod) -> bool:
    """Whether somebody else controls a claim that the policy would delete."""
    policy = stateful_set["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
    if "Delete" not in policy.values():
        return False
    for reference in claim["metadata"].get("ownerReferences") or ():
        for owner, kind in ((stateful_set, STATEFUL_SETS), (pod, PODS)):
            if _names(reference, owner, kind):
                if reference["uid"] != owner["metadata"].get("uid"):
                    return True
                break
        else:
            if reference.get("controller"):
                return True
    return False


def belongs_to_earlier_pod(claim: PersistentVolumeClaim, pod: Pod) -> bool:
    """Whether the claim is about to go with a pod of the same name that is gone."""
    return _is_stale(claim["metadata"].get("ownerReferences") or (), pod, PODS)


def _is_stale(references: References, owner: Mapping[str, Any], kind: ResourceType) -> bool:
    return any(
        _names(reference, owner, kind) and reference["uid"] != owner["metadata"].get("uid")
        for reference in references
    )


def _names(reference: OwnerReference, owner: Mapping[str, Any], kind: ResourceType) -> bool:
    return (reference["apiVersion"], reference["kind"], reference["name"]) == (
        kind.api_version,
        kind.kind,
        owner["metadata"]["name"],
    )
