"""What stored objects mean to those who ask at every write: worked out once, kept until they change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from steersman.cluster.store import Store, Subscription
from steersman.cluster.store_changes import follow

__all__ = ["Cached"]

T = TypeVar("T")


class Cached(Generic[T]):
    """What a set of stored objects means, worked out again only after one of them changed.

    `follow` keeps it in step with a store.
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
