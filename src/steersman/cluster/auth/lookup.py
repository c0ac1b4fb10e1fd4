"""The interface through which authentication reads stored objects."""

from __future__ import annotations

from typing import Protocol

from steersman.objects.kinds import Object

__all__ = ["Lookup"]


class Lookup(Protocol):
    """Objects by resource (of the core group), namespace and name, as they are now."""

    def revision(self, plural: str, namespace: str, name: str) -> int:
        """The revision of its last change; 0 when it does not exist. Cheap: asked on every request."""

    def get(self, plural: str, namespace: str, name: str) -> Object | None: ...
