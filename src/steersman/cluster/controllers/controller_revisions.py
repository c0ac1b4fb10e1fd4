"""The history of StatefulSets and DaemonSets: their templates as ControllerRevisions.

A revision's data is a patch that puts its template back, which is what `kubectl rollout undo` sends. The
pure part says what revisions are; `RevisionHistory` writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import orjson

from steersman.client import AlreadyExists, Client
from steersman.cluster.controllers.ownership import Claims, controller_reference
from steersman.objects.kinds import Object
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import CONTROLLER_REVISIONS
from steersman.objects.selectors import LabelSelector
from steersman.runtime import Informer, Key, Requeue, Writes

__all__ = ["REVISION_LABEL", "RevisionHistory", "in_order", "new_revision", "revision_data", "template_of"]


#: On pods: the revision they are of.
REVISION_LABEL: Final = "controller-revision-hash"


def revision_data(owner: Object) -> Object:
    """The patch, with its names in order: Go programs compare it with their own byte by byte."""
    data = {"spec": {"template": {**owner["spec"]["template"], "$patch": "replace"}}}
    ordered: Object = orjson.loads(orjson.dumps(data, option=orjson.OPT_SORT_KEYS))
    return ordered


def template_of(revision: Object) -> Object:
    """The template that a revision keeps."""
    template = dict(revision["data"]["spec"]["template"])
    template.pop("$patch", None)
    return template


def new_revision(owner: Object, kind: ResourceType, name: str, number: int, labels: dict[str, str]) -> Object:
    """The owner's template as a revision; `labels` are added to the template's."""
    metadata, template = owner["metadata"], owner["spec"]["template"]
    given = (template.get("metadata") or {}).get("labels") or {}
    made: Object = {
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


def in_order(revisions: Iterable[Object]) -> list[Object]:
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
    """The revisions of owners of one kind."""

    def __init__(self, client: Client, writes: Writes, kind: ResourceType, informer: Informer) -> None:
        self._client = client
        self._writes = writes
        self._claims = Claims(client, writes, kind, CONTROLLER_REVISIONS, informer.cache)

    async def list(self, owner: Object, selector: LabelSelector) -> list[Object]:
        """The owner's revisions in order; orphans that match have been adopted."""
        claimed = await self._claims.claim(owner, selector)
        return in_order(cached.object() for cached in claimed)

    async def create(self, revision: Object) -> Object | None:
        """The revision as it is now there; None if its name is taken by another template."""
        try:
            return await self._writes.create(CONTROLLER_REVISIONS, revision)
        except AlreadyExists:
            metadata = revision["metadata"]
            found = await self._client.find(CONTROLLER_REVISIONS, metadata["name"], metadata["namespace"])
            if found is None:
                raise Requeue from None
            return found if found["data"] == revision["data"] else None

    async def renumber(self, revision: Object, number: int) -> Object:
        """Make a revision the newest again."""
        return await self._writes.replace(CONTROLLER_REVISIONS, {**revision, "revision": number})

    async def truncate(self, old: Sequence[Object], live: Iterable[str], limit: int, label: str = "") -> None:
        """Delete the oldest but `limit` of the revisions whose name (or value of `label`) is not live."""
        alive = set(live)
        unused = [one for one in old if _mark(one, label) not in alive]
        excess = len(old if label else unused) - limit
        for one in unused[: max(excess, 0)]:
            await self.delete(one)

    async def delete(self, revision: Object) -> None:
        metadata = revision["metadata"]
        key = Key(metadata["namespace"], metadata["name"])
        await self._writes.delete(CONTROLLER_REVISIONS, key, metadata["uid"])


def _mark(revision: Object, label: str) -> str:
    metadata = revision["metadata"]
    mark: str = (metadata.get("labels") or {}).get(label, "") if label else metadata["name"]
    return mark
