"""The `last-used` label on Secrets that hold service account tokens, updated once a day
(legacytokentracking).

`legacy-serviceaccount-token-cleaner` reads it. A ConfigMap says since when uses are tracked
(`bootstrap.essentials`).
"""

from __future__ import annotations

import time
from typing import Final

import orjson

from steersman.cluster.apiserver.pipeline.call import Api
from steersman.cluster.apiserver.resources.storage_encoding import encode
from steersman.cluster.store import Conflict, NotFound, StoreError
from steersman.objects.kinds import Object

__all__ = ["TRACKING", "note_uses", "today"]


#: The ConfigMap in kube-system that says since when.
TRACKING: Final = "kube-apiserver-legacy-service-account-token-tracking"
_LAST_USED: Final = "kubernetes.io/legacy-token-last-used"
_DAY_S: Final = 86_400


def today(now: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(now))


def note_uses(api: Api) -> None:
    """From now on, label the Secret of each such token that is used, once a day."""
    resource = api.catalog.find("", "v1", "secrets")
    assert resource is not None
    #: The day that was last noted, by key.
    noted: dict[str, str] = {}

    def used(namespace: str, name: str) -> None:
        key, now = resource.key(namespace, name), api.now()
        day = today(now)
        if noted.get(key) == day or (record := api.store.get(key)) is None:
            return
        noted[key] = day
        secret: Object = orjson.loads(record.value)
        label = (secret["metadata"].get("labels") or {}).get(_LAST_USED)
        # Another server's clock may be a little ahead.
        if label not in (day, today(now + _DAY_S)):
            api.scope.start(note(key, secret, record.revision, day), name="use of a token")

    async def note(key: str, secret: Object, revision: int, day: str) -> None:
        metadata = secret["metadata"]
        labels = {**(metadata.get("labels") or {}), _LAST_USED: day}
        new = {**secret, "metadata": {**metadata, "labels": labels}}
        try:
            await api.store.put(key, encode(new), expected=revision)
        except (Conflict, NotFound, StoreError):
            noted.pop(key, None)  # the next use is noted

    api.access.tokens.on_legacy_use = used
