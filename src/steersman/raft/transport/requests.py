"""What programs that are no members ask of the leader, and what they are answered; the seams on both sides.

On a client's stream the node speaks first (`Welcome`). Then frames of requests go one way and frames of
replies the other, each in the order in which they are ready: a reply says which request it is to. Requests to
write carry the commands that clients may give, which are fewer than members have.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import msgspec

from steersman.raft.state_machine import Delete, Located, Put, Value

__all__ = [
    "MAX_FOUND_BYTES",
    "MAX_WRITTEN_BYTES",
    "Conversation",
    "Declined",
    "Forbidden",
    "Found",
    "Read",
    "Reply",
    "Request",
    "Service",
    "Unclear",
    "Welcome",
    "Write",
    "Written",
    "decode_replies",
    "decode_requests",
    "decode_welcome",
    "encode",
    "next_frame",
    "size_of",
    "too_large",
]

T = TypeVar("T")

#: Of a key and its value, when clients write: larger ones would hold up the heartbeats behind them.
MAX_WRITTEN_BYTES = 1 << 20
#: Of a value, when clients read: less than the transport's largest message.
MAX_FOUND_BYTES = 15 << 20
#: A frame is full with this much data, or with one item that has more.
_FRAME_BYTES = 1 << 20


class Welcome(msgspec.Struct, frozen=True, array_like=True):
    """How the node sees leadership when a stream begins."""

    term: int
    leads: bool
    #: Who else does, as far as known.
    leader: Located | None = None


class Write(msgspec.Struct, frozen=True, array_like=True, tag="write"):
    id: int
    command: Put | Delete


class Read(msgspec.Struct, frozen=True, array_like=True, tag="read"):
    id: int
    key: str


class Written(msgspec.Struct, frozen=True, array_like=True, tag="written"):
    id: int
    #: Whether the condition held; if not, nothing was changed.
    held: bool


class Found(msgspec.Struct, frozen=True, array_like=True, tag="found"):
    id: int
    value: Value | None


class Declined(msgspec.Struct, frozen=True, array_like=True, tag="declined"):
    """It was not done and will not be; it may be asked again, of `leader` if that is known."""

    id: int
    why: str
    leader: Located | None = None


class Forbidden(msgspec.Struct, frozen=True, array_like=True, tag="forbidden"):
    """It was not done, and asking again is in vain."""

    id: int
    why: str


class Unclear(msgspec.Struct, frozen=True, array_like=True, tag="unclear"):
    """It may have been done, or may yet be."""

    id: int
    why: str


Request = Write | Read
Reply = Written | Found | Declined | Forbidden | Unclear

encode = msgspec.msgpack.Encoder().encode
decode_welcome = msgspec.msgpack.Decoder(Welcome).decode
decode_requests = msgspec.msgpack.Decoder(list[Request]).decode
decode_replies = msgspec.msgpack.Decoder(list[Reply]).decode


def size_of(command: Put | Delete) -> int:
    """About as many bytes as it has on the wire."""
    return len(command.key) + (len(command.data) if isinstance(command, Put) else 0)


def too_large(command: Put | Delete) -> str:
    """Empty, or why clients do not write this."""
    size = size_of(command)
    if size <= MAX_WRITTEN_BYTES:
        return ""
    return f"key and value have {size} bytes together; clients write at most {MAX_WRITTEN_BYTES}"


def next_frame(queue: deque[T], size: Callable[[T], int]) -> list[T]:
    """Take from the queue, in order, as many as fit into a frame; at least one."""
    frame = [queue.popleft()]
    room = _FRAME_BYTES - size(frame[0])
    while queue and (room := room - size(queue[0])) >= 0:
        frame.append(queue.popleft())
    return frame


class Service(Protocol):
    """The node's side: called on the network's loop."""

    def refuse(self, shown: Sequence[str] | None) -> str:
        """Empty, or why the holder of a certificate with these names is not served. None: it needs none."""
        ...

    def welcome(self) -> Welcome: ...

    def write(self, requests: Sequence[Write], answer: Callable[[Reply], None]) -> None:
        """Does not wait: `answer` is called for each as soon as its outcome is known."""
        ...

    async def read(self, requests: Sequence[Read]) -> Sequence[Reply]: ...


class Conversation(Protocol):
    """The client's side: a stream that a node has taken."""

    welcome: Welcome

    async def send(self, requests: Sequence[Request]) -> None:
        """Raises PeerUnavailable: they may have arrived nevertheless."""
        ...

    async def receive(self) -> Sequence[Reply]:
        """The next frame. Raises PeerUnavailable when there will be none."""
        ...

    async def close(self) -> None: ...
