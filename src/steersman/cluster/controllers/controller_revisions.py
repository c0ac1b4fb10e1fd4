"""ControllerRevisions: the history of the pod templates of StatefulSets and DaemonSets.

The data of a revision is a patch that restores its template, which is what `kubectl rollout undo` sends. The
pure part compares and numbers revisions; `RevisionHistory` writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

import orjson

from steersman.client import AlreadyExists, Client
from steersman.cluster.controllers.ownership import Claims, controller_reference
from steersman.objects.kinds.types.apps_v1 import ControllerRevision
from steersman.objects.kinds.types.core_v1 import PodTemplateSpec
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import CONTROLLER_REVISIONS
from steersman.objects.selectors import LabelSelector
from steersman.runtime import Informer, Key, Requeue, Writes

__all__ = ["REVISION_LABEL", "RevisionHistory", "in_order", "new_revision", "revision_data", "template_of"]


#: On pods: the revision they are of.
REVISION_LABEL: Final = "controller-revision-hash"


def revision_data(owner: Mapping[str, Any]) -> dict[str, Any]:
    """The patch, with its names in order: Go programs compare it with their own byte by byte."""
    data = {"spec": {"template": {**owner["spec"]["template"], "$patch": "replace"}}}
    ordered: dict[str, Any] = orjson.loads(orjson.dumps(data, option=orjson.OPT_SORT_KEYS))
    return ordered


def template_of(revision: ControllerRevision) -> PodTemplateSpec:
    """The template that a revision keeps."""
    template = dict(revision["data"]["spec"]["template"])
    template.pop("$patch", None)
    return cast("PodTemplateSpec", template)


def new_revision(
    owner: Mapping[str, Any], kind: ResourceType, name: str, number: int, labels: dict[str, str]
) -> ControllerRevision:
    """The owner's template as a revision; `labels` are added to the template's."""
    metadata, template = owner["metadata"], owner["spec"]["template"]
    given = (template.get("metadata") or {}).get("labels") or {}
    made: ControllerRevision = {
        "metadata": {
            "name": name,
            "namespace": metadata["namespace"],
            "labels": {**given, **labels},
            "ownerReferences": [controller_reference(owner, kind)],
        },
        "data": revision_data(owner),
        "revision": number,
    }
    if annotations := metadata.get("annotations"):
        made["metadata"]["annotations"] = dict(annotations)
    return made


def in_order(revisions: Iterable[ControllerRevision]) -> list[ControllerRevision]:
    """The oldest first."""
    return sorted(
        revisions,
        key=lambda one: (
            one["revision"],
            one["metadata"].get("creationTimestamp") or "",
            one["metadata"]["name"],
        ),
    )


class RevisionHistory:
    """The ControllerRevisions of StatefulSets or of DaemonSets."""

    def __init__(self, client: Client, writes: Writes, kind: ResourceType, informer: Informer) -> None:
        self._client = client
        self._writes = writes
        self._claims = Claims(client, writes, kind, CONTROLLER_REVISIONS, informer.cache)

    async def list(self, owner: Mapping[str, Any], selector: LabelSelector) -> list[ControllerRevision]:
        """The owner's revisions in order; orphans that match have been adopted."""
        claimed = await self._claims.claim(owner, selector)
        return in_order(cast("ControllerRevision", cached.object()) for cached in claimed)

    async def create(self, revision: ControllerRevision) -> ControllerRevision | None:
        """The revision as it is now there; None if its name is taken by another template."""
        try:
            return await self._writes.create(CONTROLLER_REVISIONS, revision)
        except AlreadyExists:
            metadata = revision["metadata"]
            found = await self._client.find(CONTROLLER_REVISIONS, metadata["name"], metadata["namespace"])
            if found is None:
                raise Requeue from None
            return cast("ControllerRevision", found) if found["data"] == revision["data"] else None

    async def renumber(self, revision: ControllerRevision, number: int) -> ControllerRevision:
        """Make a revision the newest again."""
        return await self._writes.replace(CONTROLLER_REVISIONS, {**revision, "revision": number})

    async def truncate(
        self, old: Sequence[ControllerRevision], live: Iterable[str], limit: int, label: str = ""
    ) -> None:
        """Delete the oldest but `limit` of the revisions whose name (or value of `label`) is not live."""
        alive = set(live)
        unused = [one for one in old if _mark(one, label) not in alive]
        excess = len(old if label else unused) - limit
        for one in unused[: max(excess, 0)]:
            await self.delete(one)

    async def delete(self, revision: ControllerRevision) -> None:
        metadata = revision["metadata"]
        key = Key(metadata["namespace"], metadata["name"])
        await self._writes.delete(CONTROLLER_REVISIONS, key, metadata["uid"])


def _mark(revision: ControllerRevision, label: str) -> str:
    metadata = revision["metadata"]
    mark: str = (metadata.get("labels") or {}).get(label, "") if label else metadata["name"]
    return mark
