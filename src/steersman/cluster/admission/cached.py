"""Values computed from stored objects, cached until one of these objects changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from steersman.cluster.store import Store, Subscription
from steersman.cluster.store_changes import follow

__all__ = ["CachedObjects"]

T = TypeVar("T")


class CachedObjects(Generic[T]):
    """A value computed from all objects of some resources, computed again only after one of them changed.

    `follow` subscribes it to a store.
    """

    __slots__ = ("_made", "_make", "prefixes")

    def __init__(self, make: Callable[[], T], *resources: tuple[str, str]) -> None:
        self._make = make
        self._made: T | None = None
        self.prefixes = tuple(f"/{group or 'core'}/{plural}/" for group, plural in resources)

    def follow(self, store: Store) -> list[Subscription]:
        """Notice every change, within the commit that makes it."""
        return [follow(store, prefix, self.invalidate) for prefix in self.prefixes]

    def invalidate(self, *_: object) -> None:
        self._made = None

    def get(self) -> T:
        made = self._made
        if made is None:
            made = self._made = self._make()
        return made
