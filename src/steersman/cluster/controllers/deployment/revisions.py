"""The new and the old ReplicaSets of a Deployment, and their revision numbers and names. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from steersman.cluster.controllers.ownership import controller_reference
from steersman.cluster.controllers.templates import POD_TEMPLATE_HASH, same_template, template_hash
from steersman.objects.kinds.types.apps_v1 import Deployment, ReplicaSet
from steersman.objects.labels import annotations_of
from steersman.objects.lifetime import is_deleting
from steersman.objects.resources import DEPLOYMENTS

__all__ = [
    "DESIRED_REPLICAS",
    "MAX_REPLICAS",
    "REVISION",
    "ROLLBACK_TO",
    "age",
    "annotated",
    "find_new",
    "highest",
    "history_to_delete",
    "last_but_one",
    "new_replica_set",
    "number_in",
    "revision_of",
    "uncopied",
    "with_replica_annotations",
]


REVISION: Final = "deployment.kubernetes.io/revision"
REVISION_HISTORY: Final = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS: Final = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS: Final = "deployment.kubernetes.io/max-replicas"
ROLLBACK_TO: Final = "deprecated.deployment.rollback.to"
#: Annotations of a Deployment that its ReplicaSets do not get.
_OWN: Final = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        REVISION_HISTORY,
        DESIRED_REPLICAS,
        MAX_REPLICAS,
        ROLLBACK_TO,
    }
)
_HISTORY_LENGTH: Final = 2000
_NAME_LENGTH: Final = 253
_MOST: Final = 2**31 - 1
_is_revision = re.compile(r"[-+]?[0-9]{1,19}").fullmatch
_is_number = re.compile(r"[0-9]{1,10}").fullmatch


def age(replica_set: ReplicaSet) -> tuple[str, str]:
    """Sorts older ones first."""
    metadata = replica_set["metadata"]
    return metadata.get("creationTimestamp") or "", metadata["name"]


def find_new(deployment: Deployment, sets: Iterable[ReplicaSet]) -> ReplicaSet | None:
    """The oldest of the sets that are made from the Deployment's template."""
    template = deployment["spec"]["template"]
    for one in sorted(sets, key=age):
        if same_template(one["spec"]["template"], template):
            return one
    return None


def revision_of(replica_set: ReplicaSet) -> int | None:
    """Its revision; 0 if it has none, None if nobody can read it."""
    text = annotations_of(replica_set).get(REVISION)
    if text is None:
        return 0
    return int(text) if _is_revision(text) else None


def highest(sets: Iterable[ReplicaSet]) -> int:
    return max((revision_of(one) or 0 for one in sets), default=0)


def last_but_one(sets: Iterable[ReplicaSet]) -> int:
    """The second highest revision; 0 if there is none."""
    revisions = sorted(revision for one in sets if (revision := revision_of(one)) is not None)
    return revisions[-2] if len(revisions) > 1 else 0


def number_in(replica_set: ReplicaSet, annotation: str) -> int | None:
    text = annotations_of(replica_set).get(annotation, "")
    return int(text) if _is_number(text) and int(text) <= _MOST else None


def uncopied(annotations: dict[str, str], *, own: bool) -> dict[str, str]:
    """The annotations that are a Deployment's own, or those that its ReplicaSets share."""
    return {name: value for name, value in annotations.items() if (name in _OWN) is own}


def annotated(replica_set: ReplicaSet, deployment: Deployment, revision: int) -> dict[str, str]:
    """The annotations of the newest set: the Deployment's, and the revision if it is a newer one.

    A set that becomes the newest again remembers the revisions it had.
    """
    annotations = {**annotations_of(replica_set), **uncopied(annotations_of(deployment), own=False)}
    old = annotations.get(REVISION)
    if old and not _is_revision(old):
        return annotations
    if int(old or 0) < revision:
        annotations[REVISION] = str(revision)
        if old is not None:
            annotations[REVISION_HISTORY] = _history(annotations.get(REVISION_HISTORY, ""), old)
    return annotations


def _history(history: str, revision: str) -> str:
    """The history with one more revision; the oldest are dropped if it gets too long."""
    revisions = [*filter(None, history.split(",")), revision]
    while len(revisions) > 1 and len(",".join(revisions)) > _HISTORY_LENGTH:
        del revisions[0]
    return ",".join(revisions)


def with_replica_annotations(annotations: dict[str, str], desired: int, most: int) -> dict[str, str]:
    return {**annotations, DESIRED_REPLICAS: str(desired), MAX_REPLICAS: str(most)}


def new_replica_set(deployment: Deployment) -> ReplicaSet:
    """The set for the Deployment's template, without its size and annotations."""
    spec, metadata = deployment["spec"], deployment["metadata"]
    template = spec["template"]
    hashed = template_hash(template, (deployment.get("status") or {}).get("collisionCount"))
    given = template.get("metadata") or {}
    labels = {**(given.get("labels") or {}), POD_TEMPLATE_HASH: hashed}
    selector = spec["selector"]
    name = metadata["name"][: _NAME_LENGTH - 1 - len(hashed)]
    made: ReplicaSet = {
        "metadata": {
            "name": f"{name}-{hashed}",
            "namespace": metadata["namespace"],
            "labels": labels,
            "ownerReferences": [controller_reference(deployment, DEPLOYMENTS)],
        },
        "spec": {
            "selector": {
                **selector,
                "matchLabels": {**(selector.get("matchLabels") or {}), POD_TEMPLATE_HASH: hashed},
            },
            "template": {**template, "metadata": {**given, "labels": labels}},
        },
    }
    if min_ready_s := spec.get("minReadySeconds"):
        made["spec"]["minReadySeconds"] = min_ready_s
    return made


def history_to_delete(deployment: Deployment, old: Iterable[ReplicaSet]) -> list[ReplicaSet]:
    """The old sets that the history has no room for, the oldest revisions first; none that has pods."""
    limit = deployment["spec"].get("revisionHistoryLimit")
    if limit is None or limit == _MOST:
        return []
    alive = [one for one in old if not is_deleting(one)]
    alive.sort(key=lambda one: (revision_of(one) or 0, *age(one)))
    return [one for one in alive[: max(len(alive) - limit, 0)] if _is_done(one)]


def _is_done(replica_set: ReplicaSet) -> bool:
    status = replica_set.get("status") or {}
    seen = status.get("observedGeneration") or 0
    return (
        not replica_set["spec"].get("replicas")
        and not status.get("replicas")
        and replica_set["metadata"].get("generation", 0) <= seen
    )
