"""Header fields as they came, looked up by name without regard to case.

Shared by requests and responses. Names are stored in lower case by the parsers; values are the raw
bytes, decoded (latin-1, as RFC 9110 has it) only when asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

__all__ = ["Headers", "RawHeaders"]

RawHeaders = Sequence[tuple[bytes, bytes]]
"""Header fields on their way out: names in any case, values without line breaks."""


@lru_cache(maxsize=256)
def _key(name: str) -> bytes:
    return name.lower().encode("latin-1")


class Headers:
    """A view over `raw`, a list of (lower-case name, value); repeated fields are all kept.

    Requests of one connection may share it, so it is not to be changed.
    """

    __slots__ = ("_firsts", "raw")

    def __init__(self, raw: list[tuple[bytes, bytes]]) -> None:
        self.raw = raw
        #: First values by the name they were asked for, which happens again and again.
        self._firsts: dict[str, str | None] = {}

    def get(self, name: str, default: str | None = None) -> str | None:
        """The first value of `name`."""
        if name in self._firsts:
            found = self._firsts[name]
        else:
            found = self._firsts[name] = self._first(_key(name))
        return default if found is None else found

    def _first(self, key: bytes) -> str | None:
        for known, value in self.raw:
            if known == key:
                return value.rstrip(b" \t").decode("latin-1")
        return None

    def replacing(self, position: int, value: bytes) -> Headers:
        """The same but for the value of one field."""
        name, _ = self.raw[position]
        raw = self.raw.copy()
        raw[position] = (name, value)
        changed = Headers(raw)
        changed._firsts = {asked: first for asked, first in self._firsts.items() if _key(asked) != name}
        return changed

    def get_all(self, name: str) -> list[str]:
        key = _key(name)
        return [value.rstrip(b" \t").decode("latin-1") for known, value in self.raw if known == key]

    def tokens(self, name: str) -> list[str]:
        """The lower-cased members of a comma-separated field, over all its repetitions."""
        return [
            token
            for value in self.get_all(name)
            for part in value.split(",")
            if (token := part.strip().lower())
        ]

    def __contains__(self, name: str) -> bool:
        key = _key(name)
        for known, _ in self.raw:  # noqa: SIM110 - asked several times of every message
            if known == key:
                return True
        return False

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for name, value in self.raw:
            yield name.decode("latin-1"), value.rstrip(b" \t").decode("latin-1")

    def __len__(self) -> int:
        return len(self.raw)

    def __repr__(self) -> str:
        # Values may be credentials; names are enough to debug with.
        return f"Headers({', '.join(name.decode('latin-1') for name, _ in self.raw)})"
