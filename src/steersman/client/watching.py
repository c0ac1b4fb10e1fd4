"""Watches: the API's stream of changes, line by line.

A line is cut into its type and the bytes of its object; whoever needs to look inside decodes them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import orjson

from steersman.client.errors import ApiError, Unreachable, status_error
from steersman.client.sending import unreachable
from steersman.http import HttpError

__all__ = ["WatchEvent", "WatchEvents", "reported"]


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """One change."""

    type: str
    """ADDED, MODIFIED, DELETED, BOOKMARK (only a revision) or ERROR (a Status; the watch is over)."""
    object: bytes
    """The JSON of the object."""

    def decode(self) -> dict[str, Any]:
        decoded: dict[str, Any] = orjson.loads(self.object)
        return decoded

    def error(self) -> ApiError:
        """What an ERROR event says."""
        return status_error(self.decode())


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw


_decode = msgspec.json.Decoder(_Line).decode


class WatchEvents:
    """The events of an open watch; ends when the server ends it, raises `Unreachable` if it breaks."""

    __slots__ = ("_lines",)

    def __init__(self, lines: AsyncIterator[bytes]) -> None:
        self._lines = lines

    def __aiter__(self) -> AsyncIterator[WatchEvent]:
        return self

    async def __anext__(self) -> WatchEvent:
        try:
            line = await anext(self._lines)
            while not line:
                line = await anext(self._lines)
            event = _decode(line)
        except HttpError as error:
            raise unreachable(error) from error
        except msgspec.DecodeError as error:
            raise Unreachable(f"the watch sent an invalid event: {error}", maybe_done=False) from error
        return WatchEvent(event.type, bytes(event.object))


async def reported(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Lines whose loss is `Unreachable`."""
    try:
        async for line in lines:
            yield line
    except HttpError as error:
        raise unreachable(error) from error
