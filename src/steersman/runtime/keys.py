"""Which object: the identity that caches, queues and controllers pass around.

A key says nothing about the resource; whoever holds one knows of which resource it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["Key"]


class Key(NamedTuple):
    """Namespace and name; the namespace of cluster-wide objects is empty."""

    namespace: str
    name: str

    @classmethod
    def of(cls, obj: Mapping[str, Any]) -> Key:
        """The key of an API object."""
        metadata = obj["metadata"]
        return cls(metadata.get("namespace") or "", metadata["name"])

    @classmethod
    def parse(cls, text: str) -> Key:
        """The opposite of `str`: `ns/name`, or `name` without a namespace."""
        namespace, _, name = text.rpartition("/")
        return cls(namespace, name)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name
