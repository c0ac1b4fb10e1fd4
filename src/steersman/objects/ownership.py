"""The controller among an object's owners: the one owner reference with `controller: true`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

__all__ = ["Owned", "controller_of"]


class _OwnerReference(Protocol):
    @property
    def controller(self) -> bool | None: ...


R = TypeVar("R", bound=_OwnerReference)
R_co = TypeVar("R_co", bound=_OwnerReference, covariant=True)


class _Metadata(Protocol[R_co]):
    @property
    def owner_references(self) -> Sequence[R_co] | None: ...


def controller_of(references: Iterable[R]) -> R | None:
    """The controller among these owners; None for an orphan."""
    for reference in references:
        if reference.controller:
            return reference
    return None


class Owned:
    """Adds `controller` to views of metadata that have `owner_references`."""

    __slots__ = ()

    @property
    def controller(self: _Metadata[R]) -> R | None:
        return controller_of(self.owner_references or ())
