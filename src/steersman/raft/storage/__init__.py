"""Where a member keeps its log: in memory, or in a RocksDB folder. Start reading at `interface`.

`rocks` needs `steersman[raft]`; it is imported by whoever asks for it.
"""

from __future__ import annotations

from steersman.raft.storage.interface import Identity, Storage, Write, join
from steersman.raft.storage.memory import MemoryStorage

__all__ = ["Identity", "MemoryStorage", "Storage", "Write", "join"]
