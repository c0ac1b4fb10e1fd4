"""Writes that change an object only in the state in which it was seen.

A request of a former leader may arrive at any time later: the network held it back, or its process slept
right after it had looked at the clock. It names the version that the former leader knew, so what the next one
has written since stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from steersman.client import Client
from steersman.objects.kinds import Object
from steersman.objects.resource_type import ResourceType
from steersman.runtime import Cache, Key, Writes

__all__ = ["PinnedWrites"]


class PinnedWrites(Writes):
    """An apply to what the caches show is refused (`Conflict`) if it has changed; one that makes an object is
    not, since there is no version to name."""

    def __init__(
        self,
        client: Client,
        writer: str,
        cache_of: Callable[[ResourceType], Cache | None],
        check: Callable[[], None],
    ) -> None:
        super().__init__(client, writer, cache_of, check)
        self._shown = cache_of

    async def apply(self, resource: ResourceType, config: Mapping[str, Any], *, field_manager: str) -> Object:
        cache = self._shown(resource)
        seen = None if cache is None else cache.get(Key.of(config))
        if seen is not None:
            config = {**config, "metadata": {**config["metadata"], "resourceVersion": seen.version}}
        return await super().apply(resource, config, field_manager=field_manager)
