"""What the members agree on: a small key-value state, and where each member is found.

`StateMachine` is what a node applies committed proposals to; `ClusterState` is the one of this package. It is
pure: the same proposals in the same order make the same state everywhere. Every value has a version, the
index of the log entry that wrote it, which writers may make a condition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

__all__ = [
    "ClusterState",
    "Command",
    "Delete",
    "Forget",
    "Introduce",
    "Located",
    "Put",
    "StateMachine",
    "Value",
]


class StateMachine(Protocol):
    """Called on the node's loop; must not wait for anything."""

    def apply(self, index: int, data: bytes) -> Any:
        """What the proposer is answered."""
        ...

    def snapshot(self) -> bytes: ...

    def restore(self, data: bytes) -> None:
        """Become what `snapshot` was taken of; empty bytes stand for the state before everything."""
        ...


class Located(msgspec.Struct, frozen=True, array_like=True):
    """Where a member is found, and the name its certificate must show."""

    name: str
    address: str


class Value(msgspec.Struct, frozen=True, array_like=True):
    data: bytes
    #: Index of the entry that wrote it.
    version: int


class Put(msgspec.Struct, frozen=True, tag="put", array_like=True):
    key: str
    data: bytes
    #: Write only over this version, 0 for "not there"; None over any.
    over: int | None = None


class Delete(msgspec.Struct, frozen=True, tag="del", array_like=True):
    key: str
    over: int | None = None


class Introduce(msgspec.Struct, frozen=True, tag="new", array_like=True):
    """A member tells where it is, before it joins."""

    member: int
    located: Located


class Forget(msgspec.Struct, frozen=True, tag="old", array_like=True):
    """A member has left for good."""

    member: int


Command = Put | Delete | Introduce | Forget

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Command).decode


class _Image(msgspec.Struct, frozen=True, array_like=True):
    values: dict[str, Value]
    members: dict[int, Located]


class ClusterState:
    def __init__(self) -> None:
        self._values: dict[str, Value] = {}
        self._members: dict[int, Located] = {}

    @property
    def values(self) -> Mapping[str, Value]:
        return self._values

    @property
    def members(self) -> Mapping[int, Located]:
        return self._members

    @staticmethod
    def encode(command: Command) -> bytes:
        return _encode(command)

    def apply(self, index: int, data: bytes) -> bool:
        """Whether the command's condition held."""
        command = _decode(data)
        if isinstance(command, Introduce):
            self._members[command.member] = command.located
        elif isinstance(command, Forget):
            self._members.pop(command.member, None)
        elif not self._holds(command):
            return False
        elif isinstance(command, Put):
            self._values[command.key] = Value(command.data, index)
        else:
            self._values.pop(command.key, None)
        return True

    def _holds(self, command: Put | Delete) -> bool:
        if command.over is None:
            return True
        value = self._values.get(command.key)
        return command.over == (value.version if value is not None else 0)

    def snapshot(self) -> bytes:
        return _encode(_Image(self._values, self._members))

    def restore(self, data: bytes) -> None:
        image = msgspec.msgpack.decode(data, type=_Image) if data else _Image({}, {})
        self._values, self._members = image.values, image.members
