"""The objects an operator makes: read from the caches, written only when that changes something.

Every write goes through here, so a converged object costs no request at all. The order of questions before
an apply, cheapest first:

    same configuration, same live revision as when we last looked        nothing to do
    the live object has exactly these fields and values (`is_applied`)   nothing to do
    same configuration as last time, and what it became is unchanged     nothing to do
    else                                                                 server-side apply

A write carries the leader's term (`terms`); none of these questions is about it.

Resources the operator does not own or watch have no cache: they are applied every time, and the server finds
out that nothing changed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, NamedTuple

import orjson

from steersman.client import Client
from steersman.objects.kinds import Object
from steersman.objects.lifetime import is_deleting
from steersman.objects.patches.apply import applied_values, is_applied
from steersman.objects.resource_type import ResourceType
from steersman.objects.selectors import LabelSelector
from steersman.operator.terms import with_term, with_term_of, without_term
from steersman.runtime import Cache, Key, Writes
from steersman.runtime.cached import number

__all__ = ["Children"]

_log = logging.getLogger(__name__)

Objects = list[Object]

#: Remembered outcomes; beyond that they are forgotten, which costs requests, not correctness.
_MEMORY = 200_000


class _Outcome(NamedTuple):
    """How the last apply of an object ended."""

    config: bytes
    resource_version: int
    #: What the configuration became, where the server spells it differently; else empty.
    became: bytes


class Children:
    """One operator's hands. `cache_of` gives the cache of a resource that is watched, `term` that of the
    present leadership (0: there is none)."""

    def __init__(
        self,
        client: Client,
        manager: str,
        cache_of: Callable[[ResourceType], Cache | None],
        writes: Writes,
        term: Callable[[], int] = lambda: 0,
    ) -> None:
        self._client = client
        self._manager = manager
        self._cache_of = cache_of
        self._writes = writes
        self._term = term
        self._outcomes: dict[tuple[ResourceType, Key], _Outcome] = {}
        self._told: set[ResourceType] = set()

    async def get(self, resource: ResourceType, name: str, namespace: str) -> Object | None:
        cache = self._cache_of(resource)
        if cache is None:
            return await self._client.find(resource, name, namespace or None)
        cached = cache.get(Key(namespace if resource.namespaced else "", name))
        return None if cached is None else cached.object()

    async def list(self, resource: ResourceType, namespace: str | None, selector: str) -> Objects:
        cache = self._cache_of(resource)
        if cache is None:
            return list(await self._client.list(resource, namespace, labels=selector))
        chosen = LabelSelector.parse(selector) if selector else None
        return [cached.object() for cached in cache.list(namespace, chosen)]

    def owned_by(self, resource: ResourceType, uid: str) -> Objects | None:
        """What has an owner reference to `uid`; None when the resource is not watched."""
        cache = self._cache_of(resource)
        return None if cache is None else [cached.object() for cached in cache.by_index("owner", uid)]

    async def apply(self, resource: ResourceType, config: Object) -> Object:
        """Bring an object to what `config` says. The live object."""
        metadata = config["metadata"]
        key = Key(metadata.get("namespace", "") if resource.namespaced else "", metadata["name"])
        digest = _digest(config)
        cache = self._cache_of(resource)
        if cache is None:
            self._tell_once(resource)
        elif (live := self._unchanged(cache, resource, key, config, digest)) is not None:
            return live
        sent = with_term(config, self._term())
        answer = await self._writes.apply(resource, sent, field_manager=self._manager)
        if cache is not None:
            self._remember(resource, key, config, digest, answer)
        return answer

    async def delete(self, resource: ResourceType, name: str, namespace: str) -> None:
        """Have an object deleted; one that is not there is fine."""
        cache = self._cache_of(resource)
        key = Key(namespace if resource.namespaced else "", name)
        uid = None
        if cache is not None:
            self._outcomes.pop((resource, key), None)
            cached = cache.get(key)
            if cached is None or "deletionTimestamp" in cached.metadata():
                return
            uid = cached.uid
        await self._writes.delete(resource, key, uid)

    def _unchanged(
        self, cache: Cache, resource: ResourceType, key: Key, config: Object, digest: bytes
    ) -> Object | None:
        """The live object if it already is as wanted."""
        cached = cache.get(key)
        if cached is None:
            return None
        outcome = self._outcomes.get((resource, key))
        known = outcome is not None and outcome.config == digest
        live = cached.object()
        if known and outcome is not None and outcome.resource_version == cached.resource_version:
            return live
        if is_deleting(live):
            # Nothing brings it back; its end will be a change that brings the owner back.
            return live
        if self._is_applied(live, config):
            became = b""
        elif known and outcome is not None and outcome.became and outcome.became == self._became(live):
            became = outcome.became
        else:
            return None
        self._outcomes[resource, key] = _Outcome(digest, cached.resource_version, became)
        return live

    def _remember(
        self, resource: ResourceType, key: Key, config: Object, digest: bytes, answer: Object
    ) -> None:
        if len(self._outcomes) >= _MEMORY:
            self._outcomes.clear()
        version = answer["metadata"]["resourceVersion"]
        taken = _is_verbatim(answer, config) or self._is_applied(answer, config)
        became = b"" if taken else self._became(answer)
        self._outcomes[resource, key] = _Outcome(digest, number(version), became)

    def _is_applied(self, live: Object, config: Object) -> bool:
        return is_applied(live, with_term_of(live, config, self._manager), self._manager)

    def _became(self, live: Object) -> bytes:
        return _digest(applied_values(without_term(live), self._manager))

    def _tell_once(self, resource: ResourceType) -> None:
        if resource not in self._told:
            self._told.add(resource)
            _log.info(
                "%s are applied but not owned: changes by others will not be seen. Add .owns(%s)",
                resource.plural,
                resource.kind,
            )


def _is_verbatim(answer: Object, config: Object) -> bool:
    """Whether an apply was answered with the very values sent, as most are that the server fills nothing
    into: then there is no need to ask which fields are whose."""
    metadata = answer["metadata"]
    rest = {**config, "metadata": metadata}
    return rest.items() <= answer.items() and config["metadata"].items() <= metadata.items()


def _digest(value: Any) -> bytes:
    return blake2b(orjson.dumps(value, option=orjson.OPT_SORT_KEYS), digest_size=12).digest()
