"""`Strategy`: how one resource is prepared around create, update and delete.

A strategy decides which parts of a submitted object count (status comes only through its own endpoint),
when `metadata.generation` grows, what the server warns about and what clients may select by. The
request handlers call it between admission and validation. It never allocates, stores or validates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Final, Literal

from steersman.cluster.auth.users import User
from steersman.objects.fields import quote
from steersman.objects.kinds import Object

__all__ = [
    "Fields",
    "Prepare",
    "Propagation",
    "Strategy",
    "Subresource",
    "Termination",
    "keep",
    "next_generation",
    "spec_of",
    "status_endpoint",
]

Prepare = Callable[[Object, Object], None]
Fields = Mapping[str, Callable[[Object], str]]
#: What deleting does to dependents when the client does not say; None: the resource never has any.
Propagation = Literal["Background", "Orphan"] | None

#: Metadata a status endpoint leaves alone where the resource protects it.
_STATUS_METADATA: Final = (
    "annotations",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "labels",
    "ownerReferences",
)


def keep(new: Object, old: Object, *keys: str) -> None:
    """Make these fields what they were."""
    for key in keys:
        if key in old:
            new[key] = old[key]
        else:
            new.pop(key, None)


def keep_generation(new: Object, old: Object) -> None:
    """Only the server counts generations, whatever a client sends."""
    keep(new["metadata"], old["metadata"], "generation")


def next_generation(new: Object, old: Object) -> None:
    new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def spec_of(obj: Object) -> object:
    """What most resources compare to find whether their generation grows."""
    return obj["spec"]


@dataclass(frozen=True, slots=True)
class Subresource:
    """An endpoint that changes one part of an object and keeps the rest."""

    #: Restores in the new object what this endpoint must not change.
    prepare: Prepare
    #: Paths this endpoint never owns in managedFields.
    reset_fields: tuple[str, ...] = ()
    #: Where given, the only paths it can own; "*" stands for any list item.
    owned_fields: tuple[str, ...] | None = None
    warnings: Callable[[Object], list[str]] | None = None


def status_endpoint(
    *protected: str, also: Prepare | None = None, warnings: Callable[[Object], list[str]] | None = None
) -> Subresource:
    """`/status`: the spec stays, and of the metadata what is `protected`; "metadata" stands for all of it."""
    metadata = _STATUS_METADATA if "metadata" in protected else protected

    def prepare(new: Object, old: Object) -> None:
        keep(new, old, "spec")
        keep(new["metadata"], old["metadata"], *metadata)
        if also is not None:
            also(new, old)

    named = tuple(name if name == "metadata" else f"metadata.{name}" for name in protected)
    return Subresource(prepare, ("spec", *named), warnings=warnings)


@dataclass(frozen=True, slots=True)
class Termination:
    """A deletion that begins with a mark in the object, which then stays until it is emptied."""

    #: Marks the object, given the time of its deletion.
    mark: Callable[[Object, str], None]
    #: Whether something else than finalizers in the metadata keeps it; None: nothing else does.
    is_kept: Callable[[Object], bool] | None = None
    #: Whether the options' wish for dependents counts from the mark on.
    propagates: bool = True
    #: How a failed precondition of the deletion is worded.
    word_precondition: Callable[[str], str] = str


@dataclass(frozen=True, slots=True)
class Strategy:
    group: str
    plural: str
    #: What a new object's status is, whatever the client sent; None leaves it as sent.
    zero_status: Object | None = None
    #: What is compared on update to find whether the generation grows; None: it is not counted.
    generation: Callable[[Object], object] | None = None
    #: An empty list that the stored object cannot have counts as a change, every time.
    counts_empty: bool = False
    #: Generations start with 1; the few exceptions count changes only.
    starts_generation: bool = True
    #: Runs after status and generation are set; returns warnings that only it can know of.
    on_create: Callable[[Object], Iterable[str] | None] | None = None
    #: Writes the user who creates it into a new object, once it is prepared.
    record_user: Callable[[Object, User], None] | None = None
    #: Runs on a new object that passed validation.
    after_check: Callable[[Object], None] | None = None
    #: Runs after the status is restored, before generations are compared.
    on_update: Prepare | None = None
    create_warnings: Callable[[Object], list[str]] | None = None
    update_warnings: Callable[[Object, Object], list[str]] | None = None
    #: Paths the main endpoint never owns in managedFields.
    reset_fields: tuple[str, ...] = ()
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    #: PUT to a name that does not exist creates it.
    allow_create_on_update: bool = False
    #: PUT without resourceVersion overwrites.
    allow_unconditional_update: bool = True
    #: Fields clients may select by beyond their metadata, each read from the stored form of an object.
    fields: Fields = field(default_factory=dict)
    #: Some resources with fields of their own do not know metadata.namespace.
    selects_namespace: bool = True
    #: How a selector by any other field is refused; "%s" stands for the field.
    field_refusal: str = ""
    default_propagation: Propagation = "Background"
    #: Why an object of a name cannot be deleted; empty when it can.
    deletion_refusal: Callable[[str], str] | None = None
    #: For a client that deletes one and does not say what becomes of its dependents.
    orphan_warning: str = ""
    #: The answer to a deletion is the deleted object instead of a Status.
    returns_deleted: bool = False
    termination: Termination | None = None
    #: kube-apiserver has it in its watch cache, which answers lists at resourceVersion 0 as a whole.
    is_cached: bool = True
    #: Deletion takes a grace period (see `pods.grace_period_s`).
    graceful: bool = False

    @property
    def has_status(self) -> bool:
        return "status" in self.subresources

    @property
    def tracks_generation(self) -> bool:
        return self.generation is not None

    def field_reader(self, label: str) -> Callable[[Object], str] | None:
        """What reads the value a field selector compares, None where the resource has no such field."""
        if label == "metadata.name" or (label == "metadata.namespace" and self.selects_namespace):
            key = label.removeprefix("metadata.")
            return lambda obj: obj["metadata"].get(key, "")
        return self.fields.get(label)

    def refuse_field(self, label: str) -> str:
        """The error for a client that selects by a field this resource does not have."""
        if self.field_refusal:
            return self.field_refusal % label
        if self.fields:
            return f"field label not supported: {label}"
        return f'{quote(label)} is not a known field selector: only "metadata.name", "metadata.namespace"'

    def prepare_create(self, obj: Object) -> list[str]:
        """Make a submitted object the one to validate and store; returns warnings that arose."""
        if self.zero_status is not None:
            obj["status"] = deepcopy(self.zero_status)
        if self.generation is not None and self.starts_generation:
            obj["metadata"]["generation"] = 1
        return list(self.on_create(obj) or ()) if self.on_create is not None else []

    def complete_create(self, obj: Object) -> None:
        """What is added to a new object once it is known to be good."""
        if self.after_check is not None:
            self.after_check(obj)

    def prepare_update(self, new: Object, old: Object) -> None:
        """Restore in `new` what the main endpoint must not change, and count the generation."""
        keep_generation(new, old)
        if self.has_status:
            keep(new, old, "status")
        if self.on_update is not None:
            self.on_update(new, old)
        if self.generation is not None and self.generation(new) != self.generation(old):
            next_generation(new, old)

    def prepare_subresource(self, name: str, new: Object, old: Object) -> None:
        """The same for an update through /status or another subresource endpoint."""
        keep_generation(new, old)
        self.subresources[name].prepare(new, old)

    def warnings_on_create(self, obj: Object) -> list[str]:
        return self.create_warnings(obj) if self.create_warnings is not None else []

    def warnings_on_update(self, new: Object, old: Object, subresource: str = "") -> list[str]:
        """Call after `prepare_update`: some warnings are given only where the generation grew."""
        if subresource:
            warn = self.subresources[subresource].warnings
            return warn(new) if warn is not None else []
        return self.update_warnings(new, old) if self.update_warnings is not None else []
