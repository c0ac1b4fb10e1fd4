"""Objects by namespace and name: what a cache holds, and what a follower collects before it is one.

A table in a table, since a key for each of many thousand objects would cost more than the tables do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from steersman.runtime.cached import Cached

__all__ = ["Contents"]


class Contents:
    """Objects of one resource, each name once in its namespace."""

    __slots__ = ("_spaces",)

    def __init__(self, objects: Iterable[Cached] = ()) -> None:
        self._spaces: dict[str, dict[str, Cached]] = {}
        for cached in objects:
            self.put(cached)

    def get(self, key: tuple[str, str]) -> Cached | None:
        """The object of a pair of namespace and name."""
        space = self._spaces.get(key[0])
        return None if space is None else space.get(key[1])

    def put(self, cached: Cached) -> None:
        """Have it in the place of what has its name."""
        space = self._spaces.get(cached.namespace)
        if space is None:
            space = self._spaces[cached.namespace] = {}
        space[cached.name] = cached

    def take_out(self, key: tuple[str, str]) -> None:
        """It may be gone."""
        namespace, name = key
        space = self._spaces.get(namespace)
        if space is None:
            return
        space.pop(name, None)
        if not space:
            del self._spaces[namespace]

    def within(self, namespace: str | None) -> list[Cached]:
        """Those of a namespace, or of all."""
        return list(self) if namespace is None else list(self._spaces.get(namespace, {}).values())

    def __contains__(self, key: tuple[str, str]) -> bool:
        return self.get(key) is not None

    def __iter__(self) -> Iterator[Cached]:
        """All; what is put in or taken out meanwhile does no harm."""
        for space in list(self._spaces.values()):
            yield from list(space.values())

    def __len__(self) -> int:
        return sum(map(len, self._spaces.values()))
