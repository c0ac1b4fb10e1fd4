"""A list and watch within the store's commit: the objects below a key, then every write, in order.

Indexes that must never be behind (roles, bindings, what nodes may read) are fed this way: the store calls
them within the commit, so a client that sees its write answered also sees its effect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import orjson

from steersman.cluster.store import Event, Store, Subscription
from steersman.objects.kinds import Object

__all__ = ["OnChange", "follow", "follow_objects"]

#: (key without the prefix, value; None when it is gone)
OnChange = Callable[[str, bytes | None], None]


def follow(store: Store, prefix: str, on_change: OnChange) -> Subscription:
    """Call `on_change` for every key below `prefix` there is, and for every change to come."""
    cut = len(prefix)
    present = store.range(prefix)
    for record in present.records:
        on_change(record.key[cut:], record.value)

    def sink(events: Sequence[Event]) -> None:
        for event in events:
            on_change(event.key[cut:], None if event.deleted else event.value)

    return store.watch(prefix, present.revision, sink)


def follow_objects(
    store: Store, prefix: str, on_change: Callable[[str, str, Object | None], None]
) -> Subscription:
    """As `follow`, with (namespace, name, object); the namespace of what has none is empty."""

    def changed(rest: str, value: bytes | None) -> None:
        namespace, _, name = rest.rpartition("/")
        on_change(namespace, name, None if value is None else orjson.loads(value))

    return follow(store, prefix, changed)
