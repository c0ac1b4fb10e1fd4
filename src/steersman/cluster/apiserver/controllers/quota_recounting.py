"""`status.used` of ResourceQuotas, counted again when a quota changes and after deletions (resourcequota).

Creates and updates are charged by the ResourceQuota plugin as they happen; what time or a deletion frees is
found by counting again. It is a loop of the server, not of `steersman.runtime`: it counts in the ledger of
that plugin, in order with its charges. Nothing is followed while there is no quota.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import orjson

from steersman.cluster.admission import ResourceQuota
from steersman.cluster.store import Event, Store, StoreError, Subscription

__all__ = ["QuotaRecounting"]

_log = logging.getLogger(__name__)
_QUOTAS = "/core/resourcequotas/"
#: Deletions come in crowds; one count is enough for those of a moment.
_GATHER_S = 0.05
_RETRY_S = 1.0


class QuotaRecounting:
    def __init__(self, store: Store, plugin: ResourceQuota) -> None:
        self._store = store
        self._plugin = plugin
        self._namespaces: set[str] = set()
        self._wake = asyncio.Event()
        self._deletions: Subscription | None = None

    async def run(self) -> None:
        """Until cancelled."""
        quotas = self._store.watch(_QUOTAS, self._store.revision, self._on_quotas)
        for record in self._store.range(_QUOTAS).records:
            self._note(record.key)
        try:
            while True:
                await self._wake.wait()
                await asyncio.sleep(_GATHER_S)
                self._wake.clear()
                namespaces, self._namespaces = self._namespaces, set()
                self._follow_deletions()
                for namespace in namespaces:
                    await self._recount(namespace)
        finally:
            quotas.cancel()
            if self._deletions is not None:
                self._deletions.cancel()

    async def _recount(self, namespace: str) -> None:
        try:
            await self._plugin.recount(namespace)
        except StoreError as error:
            _log.warning("quotas of %s could not be counted: %s", namespace, error)
            self._namespaces.add(namespace)
            asyncio.get_running_loop().call_later(_RETRY_S, self._wake.set)

    def _on_quotas(self, events: Sequence[Event]) -> None:
        for event in events:
            if not event.deleted and _is_news(event):
                self._note(event.key)

    def _on_events(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.deleted:
                self._note(event.key)

    def _note(self, key: str) -> None:
        parts = key.split("/")
        # /group/resource/namespace/name; a resource without a namespace has no quota.
        if len(parts) == 5 and self._store.count(f"{_QUOTAS}{parts[3]}/"):
            self._namespaces.add(parts[3])
            self._wake.set()

    def _follow_deletions(self) -> None:
        """Look at everything that goes, as long as there is a quota at all."""
        needed = self._store.count(_QUOTAS) > 0
        if needed and self._deletions is None:
            self._deletions = self._store.watch("/", self._store.revision, self._on_events)
        elif not needed and self._deletions is not None:
            self._deletions.cancel()
            self._deletions = None


def _is_news(event: Event) -> bool:
    """Whether a quota is new or asks for something else; its status changes with every charge."""
    if event.previous is None:
        return True
    return bool(orjson.loads(event.value).get("spec") != orjson.loads(event.previous.value).get("spec"))
