"""The controller among an object's owners: the one owner reference with `controller: true`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from steersman.objects.kinds.types.meta_v1 import OwnerReference

__all__ = ["Owned", "controller_of", "controlling_reference", "is_controlled_by"]


def controlling_reference(obj: Mapping[str, Any]) -> OwnerReference | None:
    """The owner reference of the controller of an object; None for an orphan."""
    references: Sequence[OwnerReference] = obj["metadata"].get("ownerReferences") or ()
    return next((reference for reference in references if reference.get("controller")), None)


def is_controlled_by(obj: Mapping[str, Any], uid: str) -> bool:
    """Whether the owner of this uid is the controller of an object."""
    reference = controlling_reference(obj)
    return reference is not None and reference["uid"] == uid


# --- for views


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
