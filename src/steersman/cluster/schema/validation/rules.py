"""The checks of one kind (`Rules`), and field errors that several checks make.

`compiled` has the `Rules` of every kind that rules.txt names; the package's `__init__` adds the checks of
metadata that all kinds share. A check looks at an object in normal form after defaulting and returns what is
wrong, in Kubernetes' order; it never changes the object.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from steersman.objects.fields import FieldError, Path, invalid
from steersman.objects.kinds import Object
from steersman.objects.names import NameCheck, name_is_dns_subdomain

__all__ = [
    "Check",
    "LateCheck",
    "NameCheck",
    "Revalidation",
    "Rules",
    "UpdateCheck",
    "ValuelessError",
    "foreign_finalizers",
    "invalids",
]


_FINALIZERS: Final = Path("metadata").child("finalizers")
_STANDARD_FINALIZERS: Final = frozenset({"kubernetes", "orphan", "foregroundDeletion"})

#: The new object alone.
Check = Callable[[Object], list[FieldError]]

#: The new object against the one it replaces.
UpdateCheck = Callable[[Object, Object], list[FieldError]]

#: The new object and, on an update, the one it replaces.
LateCheck = Callable[[Object, Object | None], list[FieldError]]


class Revalidation(enum.Enum):
    """Whether an update checks the new object once more as if it were created, metadata included.

    Kinds differ in this, and it shows: what is wrong in both checks is listed as two causes.
    """

    NEVER = enum.auto()
    BEFORE = enum.auto()
    AFTER = enum.auto()


@dataclass(frozen=True, slots=True)
class Rules:
    """How one kind is validated.

    `update` and `status` hold only the kind's own part: metadata is compared before they are called.
    `late` are the checks Kubernetes declares on the fields' types ("declarative validation", beta and
    standard ones); their errors follow all others on create, update and status update, and the
    handwritten twins they replace must not be reported by the other checks.
    `subresources` are updates through other subresources than status, by their names.
    `standard_finalizers`: a finalizer without a domain must be one of Kubernetes' own.
    `own_metadata`: `create` checks the metadata, too, at its own place; `name` is not asked.
    `distinct`: an error found twice is reported once, as of everything that has declared checks. Else it is
    reported as often as it is found: metadata is compared by what all updates share and by the kind's own.
    """

    name: NameCheck = name_is_dns_subdomain
    create: Check | None = None
    update: UpdateCheck | None = None
    status: UpdateCheck | None = None
    late: LateCheck | None = None
    revalidation: Revalidation = Revalidation.NEVER
    standard_finalizers: bool = True
    own_metadata: bool = False
    distinct: bool = True
    subresources: Mapping[str, UpdateCheck] = field(default_factory=dict)


class ValuelessError(FieldError):
    """An invalid field whose value is not shown, because it is large or speaks for itself."""

    __slots__ = ()

    def __init__(self, path: Path, detail: str) -> None:
        super().__init__("FieldValueInvalid", str(path), detail)

    @property
    def message(self) -> str:
        return f"Invalid value: {self.detail}"


def invalids(path: Path, value: Any, texts: Iterable[str]) -> list[FieldError]:
    """One error for each thing that a rule of `steersman.objects.names` says about a value."""
    return [invalid(path, value, text) for text in texts]


def foreign_finalizers(metadata: Object) -> list[FieldError]:
    """Finalizers that have no domain and are not Kubernetes' own."""
    finalizers: list[str] = metadata.get("finalizers") or []
    if not finalizers:
        return []
    text = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(_FINALIZERS.index(number), name, text)
        for number, name in enumerate(finalizers)
        if "/" not in name and name not in _STANDARD_FINALIZERS
    ]
