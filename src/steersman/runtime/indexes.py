"""Other ways to find objects of a cache than by name, kept up to date change by change.

An index maps values that a function reads from an object to the keys of the objects that have them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from steersman.runtime.cached import Cached
from steersman.runtime.keys import Key

__all__ = ["Index", "IndexFunction"]

_log = logging.getLogger(__name__)

IndexFunction = Callable[[Cached], Iterable[str]]


class Index:
    """Keys by value. Objects without a value cost nothing."""

    __slots__ = ("_function", "_keys", "_values")

    def __init__(self, function: IndexFunction) -> None:
        self._function = function
        # The keys of a value, in the order they came. `_values` remembers what an object is filed
        # under, so that taking it out does not depend on the function giving the same answer again.
        self._keys: dict[str, dict[Key, None]] = {}
        self._values: dict[Key, tuple[str, ...]] = {}

    def put(self, cached: Cached) -> None:
        """File an object under its values, and no longer under those it had."""
        key = cached.key
        values = self._read(cached)
        if values == self._values.get(key, ()):
            return
        self.take_out(key)
        if values:
            self._values[key] = values
            for value in values:
                self._keys.setdefault(value, {})[key] = None

    def _read(self, cached: Cached) -> tuple[str, ...]:
        try:
            return tuple(self._function(cached))
        except Exception:  # noqa: BLE001 - an object it does not understand must not stop the cache
            _log.exception("an index function failed for %s, which is left out of the index", cached.key)
            return ()

    def take_out(self, key: Key) -> None:
        for value in self._values.pop(key, ()):
            keys = self._keys.get(value)
            if keys is not None:
                keys.pop(key, None)
                if not keys:
                    del self._keys[value]

    def keys(self, value: str) -> tuple[Key, ...]:
        return tuple(self._keys.get(value, ()))
