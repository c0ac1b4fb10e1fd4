"""What is written to a cluster while a test looks on.

Two witnesses: requests of the kit's clients and operators as they reach the server, and changes of the store,
which also show what others did (kubectl, an operator in a process of its own, the cluster itself).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from steersman.cluster.store import Event, Store, Subscription
from steersman.testing.errors import WritesMade
from steersman.testing.requests import ApiRequest

__all__ = ["Requests", "Seen", "check_no_writes", "follow"]

#: Namespaces, and cluster-wide things, that the cluster keeps up to date for itself.
_OWN = ("", "kube-system", "kube-public", "kube-node-lease")
#: How many writes an error names.
_LISTED = 20


@dataclass(slots=True)
class Seen:
    """What happened while it was looked at."""

    requests: list[ApiRequest] = field(default_factory=list)
    changes: list[Event] = field(default_factory=list)

    @property
    def writes(self) -> list[ApiRequest]:
        """Requests that were meant to change something."""
        return [request for request in self.requests if request.writes]


class Requests:
    """Tells those who look what reaches the server."""

    def __init__(self) -> None:
        # Replaced, never changed: the test may look from another thread.
        self._lookers: tuple[Seen, ...] = ()

    def record(self, request: ApiRequest) -> None:
        for seen in self._lookers:
            seen.requests.append(request)

    @contextmanager
    def looking(self) -> Iterator[Seen]:
        seen = Seen()
        self._lookers = (*self._lookers, seen)
        try:
            yield seen
        finally:
            self._lookers = tuple(each for each in self._lookers if each is not seen)


def follow(store: Store, seen: Seen) -> Subscription:
    """Have `seen` see the store's changes, until cancelled."""

    def take(events: Sequence[Event]) -> None:
        seen.changes.extend(events)

    return store.watch("/", store.revision, take)


def check_no_writes(seen: Seen, ignore: Collection[str], *, by_anyone: bool) -> None:
    """Raise `WritesMade` if there were writes of other resources than those to ignore."""
    found = [str(request) for request in seen.writes if request.resource not in ignore]
    if by_anyone:
        found += [
            f"{'deletion' if event.deleted else 'write'} of {event.key} by another writer"
            for event in seen.changes
            if _by_others(event, seen.writes, ignore)
        ]
    if not found:
        return
    listed = [f"  {line}" for line in found[:_LISTED]]
    if len(found) > _LISTED:
        listed.append(f"  … and {len(found) - _LISTED} more")
    raise WritesMade("\n".join([f"{len(found)} writes were made:", *listed]))


def _by_others(event: Event, writes: Collection[ApiRequest], ignore: Collection[str]) -> bool:
    """Whether no request of the kit's clients explains a change."""
    resource, *where = event.key.strip("/").split("/")[1:]
    namespace, name = where if len(where) == 2 else ("", *where)
    if resource in ignore or namespace in _OWN:
        return False
    return not any(
        request.resource == resource and request.namespace in ("", namespace) and request.name in ("", name)
        for request in writes
    )
