"""The store of the API server: bytes by key, with revisions and watches.

`interface` defines a store, `errors` its errors; `open_store` chooses the engine by URL.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from os import PathLike, fspath
from types import MappingProxyType
from typing import Protocol

from steersman.cluster.store.encryption import ValueCipher
from steersman.cluster.store.errors import (
    Closed,
    Compacted,
    Conflict,
    Corrupt,
    DiskFull,
    FutureRevision,
    Locked,
    NotFound,
    StoreError,
    SyncFailed,
    Unavailable,
    Unusable,
)
from steersman.cluster.store.indexed import HISTORY_BYTES, HISTORY_S
from steersman.cluster.store.interface import (
    Event,
    Range,
    Record,
    Sink,
    Stamp,
    Store,
    Subscription,
    unstamped,
)
from steersman.cluster.store.memory import MemoryStore
from steersman.cluster.store.sqlite import SqliteStore

__all__ = [
    "Closed",
    "Compacted",
    "Conflict",
    "Corrupt",
    "DiskFull",
    "Event",
    "FutureRevision",
    "Locked",
    "MemoryStore",
    "NotFound",
    "Range",
    "Record",
    "Sink",
    "SqliteStore",
    "Stamp",
    "Store",
    "StoreError",
    "Subscription",
    "SyncFailed",
    "Unavailable",
    "Unusable",
    "ValueCipher",
    "open_store",
    "unstamped",
]


class _Open(Protocol):
    """Opens the store that a URL of its scheme names."""

    def __call__(
        self, place: str, /, *, stamp: Stamp, history_s: float, history_bytes: int, sealer: ValueCipher | None
    ) -> Awaitable[Store]: ...


async def _open_memory(
    place: str, *, stamp: Stamp, history_s: float, history_bytes: int, sealer: ValueCipher | None
) -> Store:
    return MemoryStore(stamp=stamp, history_s=history_s, history_bytes=history_bytes)


#: Engines by URL scheme.
_ENGINES: Mapping[str, _Open] = MappingProxyType({"memory": _open_memory, "sqlite": SqliteStore.open})


async def open_store(
    location: str | PathLike[str],
    *,
    stamp: Stamp = unstamped,
    history_s: float = HISTORY_S,
    history_bytes: int = HISTORY_BYTES,
    sealer: ValueCipher | None = None,
) -> Store:
    """Open the store at `location`: a folder (made if not there), ":memory:", or an engine's URL.

    `history_s` and `history_bytes` bound how far back one may list and watch; `sealer` encrypts what
    reaches the disk. Raises Locked, Corrupt or Unusable."""
    scheme, separator, place = fspath(location).partition("://")
    if not separator:
        scheme, place = ("memory", "") if scheme == ":memory:" else ("sqlite", scheme)
    if scheme not in _ENGINES:
        raise Unusable(fspath(location), f"there is no engine {scheme}, only {', '.join(_ENGINES)}")
    return await _ENGINES[scheme](
        place, stamp=stamp, history_s=history_s, history_bytes=history_bytes, sealer=sealer
    )
