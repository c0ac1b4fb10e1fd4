"""Stored-version migration: after another version is stored, all objects are written once more in it.

    storedVersions [v1, v2], v2 is stored  ─▶  every object rewritten  ─▶  storedVersions [v2]

Only then may a definition stop to know v1. It may be interrupted anywhere: nothing is removed from
`status.storedVersions` before all objects were rewritten, and one more round does no harm.
"""

from __future__ import annotations

import logging
from typing import Final

import orjson

from steersman.client import ApiError, Client, Conflict, NotFound
from steersman.objects.kinds import Object
from steersman.objects.resource_type import ResourceType
from steersman.webhooks.errors import NotMigrated
from steersman.webhooks.registration import CRDS

__all__ = ["migrate_stored_versions"]

_log = logging.getLogger(__name__)


_PAGE: Final = 200
_MOST_ROUNDS: Final = 5


async def migrate_stored_versions(client: Client, definition: str) -> int:
    """Rewrite all objects of a definition (`webapps.example.com`) that may be stored in an old version, and
    prune `status.storedVersions`; how many were rewritten. Conversions must be served already.

    Raises ClientError; NotMigrated if objects cannot be rewritten (a webhook refuses them, for instance): the
    others are, and nothing is pruned.
    """
    rewritten = 0
    for _ in range(_MOST_ROUNDS):
        live = await client.get(CRDS, definition)
        stored = next(each["name"] for each in live["spec"]["versions"] if each["storage"])
        if (live.get("status") or {}).get("storedVersions") == [stored]:
            return rewritten
        resource = _resource(live, stored)
        done, refused = await _rewrite_all(client, resource)
        rewritten += done
        if refused:
            raise NotMigrated(
                f"{len(refused)} objects of {definition} cannot be rewritten; the first: {refused[0]}"
            )
        # With the revision from before: nobody has changed what is stored in the meantime.
        pruned = {**_unchanged(live["metadata"]), "status": {"storedVersions": [stored]}}
        try:
            await client.patch(CRDS, definition, pruned, subresource="status")
        except Conflict:
            continue
        _log.info("%s: %d objects rewritten, all are stored as %s", definition, rewritten, stored)
        return rewritten
    raise NotMigrated(f"the definition {definition} does not stay the same for long enough")


def _resource(definition: Object, stored: str) -> ResourceType:
    """The resource in the stored version, or in one that is served: what is written is stored either way."""
    spec = definition["spec"]
    served = [each["name"] for each in spec["versions"] if each["served"]]
    version = stored if stored in served else served[0]
    names = spec["names"]
    namespaced = spec["scope"] == "Namespaced"
    return ResourceType(spec["group"], version, names["kind"], names["plural"], namespaced)


def _unchanged(metadata: Object) -> Object:
    """A patch for this revision only."""
    return {"metadata": {"resourceVersion": metadata["resourceVersion"]}}


async def _rewrite_all(client: Client, resource: ResourceType) -> tuple[int, list[str]]:
    """How many were rewritten, and why others were refused."""
    done, refused = 0, []
    token = ""
    while True:
        page = await client.list_page(resource, limit=_PAGE, continue_token=token, metadata_only=True)
        for item in page.items:
            metadata = orjson.loads(item)["metadata"]
            try:
                # A patch that changes nothing: the object is stored as it is, in the version for that.
                await client.patch(
                    resource, metadata["name"], _unchanged(metadata), metadata.get("namespace")
                )
                done += 1
            except (Conflict, NotFound):
                # Somebody else has written it, and so in the new version, or deleted it.
                continue
            except ApiError as error:
                refused.append(str(error))
        token = page.continue_token
        if not token:
            return done, refused
